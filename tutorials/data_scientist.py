r"""
For a data scientist: label sets with confidence
================================================

A table in which each row has a *set* of tags, and new rows without tags. The model
learns whole sets, exact leave-one-out selects its parameters, and prediction sets
identify the rows for which the prediction is reliable. The result is a decision: which
rows are tagged automatically, and which by a person.

.. math::

   &k_Y(y, z) = \lvert y \cap z\rvert / \lvert y \cup z\rvert \quad
   \text{between sets of tags} \\
   &C(x) = \text{sets } y
   \text{ whose nonconformity score is at most the 90 \% quantile}
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from iokr import IOKRCV, Conformal
from iokr.decoders import MinimumRisk, Threshold
from iokr.kernels import Tanimoto
from iokr.metrics import decoded_scorer, f1_samples

# %%
# The file
# --------
# Tickets of a support desk: counts of 40 words, and the tags given by a person, in one
# column. The data are simulated with correlated tags, which favours whole sets over
# single tags below; compare both on your own data, read by ``read_csv`` or
# ``read_excel``.

KINDS = ["login;mobile", "login;password", "billing;refund", "billing;invoice;export"]
KINDS += ["crash;mobile", "crash;export", "slow;export", "slow;api", "api;login;crash"]


def tickets(n, rng):
    names = sorted({tag for kind in KINDS for tag in kind.split(";")})
    words = np.random.default_rng(5).gamma(0.25, 0.9, size=(len(names), 40))
    sets = np.array([[tag in kind.split(";") for tag in names] for kind in KINDS])
    sets = sets[rng.integers(len(KINDS), size=n)] ^ (
        rng.random((n, len(names))) < 0.005
    )
    counts = pd.DataFrame(
        rng.poisson(0.2 + sets @ words), columns=[f"w{i}" for i in range(40)]
    )
    counts["tags"] = [";".join(np.array(names)[row]) for row in sets]
    return counts.set_index(pd.Index([f"T{i:04d}" for i in range(n)], name="ticket"))


temporary = TemporaryDirectory()
path = Path(temporary.name) / "tickets.csv"
tickets(1000, np.random.default_rng(1)).to_csv(path)

table = pd.read_csv(path, index_col="ticket")
print(table.iloc[:3, [0, 1, 2, 3, -1]])

# %%
# pandas converts sets of tags to rows of zeros and ones. The last 500 rows are the test
# set: their tags are used for the evaluation only.

tags = table.pop("tags").fillna("").str.get_dummies(";")
X, Y = np.sqrt(table), tags
known, new = table.index[:500], table.index[500:]
print(f"{len(known)} training tickets, {Y.shape[1]} tags")

# %%
# Whole sets or single tags?
# --------------------------
# :class:`~iokr.IOKRCV` is a scikit-learn estimator. It accepts the frames, standardises
# the columns, and selects kernel and ``alpha`` by exact leave-one-out, without further
# arguments: 13 × 19 models from 13 eigendecompositions (:ref:`without-arguments`).
#
# Three models of it: ``MinimumRisk("f1")`` predicts the set with the largest expected
# F1, ``Threshold`` each tag that is more likely than not, and with ``Tanimoto`` outputs
# whole sets are learned. Their leave-one-out errors are not comparable, so they are
# compared by the F1 of tags, on folds. On the same folds: a chain of logistic
# regressions, each with a penalty selected by cross-validation, and a random forest.
# Both predict the tags that are more likely than not.

logistic = GridSearchCV(
    make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    {"logisticregression__C": np.logspace(-3, 1, 9)},
    scoring="neg_log_loss",
    cv=3,
)
models = {
    "IOKR, largest expected F1": IOKRCV(decoder=MinimumRisk("f1")),
    "IOKR, tag by tag": IOKRCV(decoder=Threshold()),
    "IOKR, whole sets": IOKRCV(output_kernel=Tanimoto()),
    "chain of logistic regressions": ClassifierChain(logistic, random_state=0),
    "random forest": RandomForestClassifier(300, random_state=0),
}
cv = KFold(5, shuffle=True, random_state=0)
rows = {}
for name, model in models.items():
    folds = cross_val_score(
        model, X.loc[known], Y.loc[known], scoring=decoded_scorer("f1_samples"), cv=cv
    )
    rows[name] = {"F1": folds.mean(), "error": folds.std(ddof=1) / np.sqrt(len(folds))}
print(pd.DataFrame(rows).T.round(3))

# %%
model = models["IOKR, whole sets"].fit(X.loc[known], Y.loc[known])
print(model.kernel_, f"alpha = {model.alpha_:.2g}")
answers = model.predict(X.loc[new])
print(f"F1 on the test tickets: {f1_samples(Y.loc[new], answers):.3f}")

# %%
# Confidence
# ----------
# Some tickets are easier than others. :class:`~iokr.Conformal` returns, for each
# ticket, a prediction set: the sets of tags whose nonconformity score is at most the
# calibration quantile. ``method="split"`` fits on half of the rows and calibrates on
# the others, which guarantees the coverage for exchangeable rows, as ``guarantee_``
# states.
#
# Candidates are the sets of tags in the training data. ``conformity="relative"``
# compares each with the best of them, so that prediction sets are small if one
# candidate is much better than the others.

candidates = Y.loc[known].drop_duplicates().to_numpy()
sure = Conformal(
    models["IOKR, whole sets"], method="split", conformity="relative", random_state=0
)
sure.fit(X.loc[known], Y.loc[known])
print(sure.guarantee_)
for coverage in (0.8, 0.9, 0.95):
    held = sure.contains(X.loc[new], Y.loc[new], coverage, candidates).mean()
    print(f"requested {coverage:.0%}, observed {held:.1%}")

# %%
# The decision
# ------------
# If the prediction set has one element, the ticket is tagged automatically. If it has
# several, a person chooses among them. If it is empty, the ticket is unlike the
# training data, and a person reads it.

possible = sure.predict_set(X.loc[new], candidates, coverage=0.9)
sizes = np.array([len(found) for found in possible])
group = np.select([sizes == 1, sizes > 1], ["automatic", "choose"], "read")
right = (np.asarray(answers) == Y.loc[new].to_numpy()).all(axis=1)
done = pd.DataFrame({"group": group, "sets": sizes, "correct": right}, index=new)
report = done.groupby("group").agg(
    tickets=("correct", "size"), correct=("correct", "mean"), sets=("sets", "mean")
)
print(report.round(2))

# %%
# Sets of tags that are not exactly correct are often partly correct, so also consider
# the F1 of each group. A higher coverage gives a smaller and more accurate automatic
# group.

fractions = []
for coverage in np.linspace(0.85, 0.98, 14):
    found = sure.predict_set(X.loc[new], candidates, coverage=coverage)
    alone = np.array([len(some) == 1 for some in found])
    fractions.append((coverage, alone.mean(), right[alone].mean()))
fractions = pd.DataFrame(
    fractions, columns=["coverage", "tagged automatically", "accuracy of these"]
)

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for name, color in (("tagged automatically", "C0"), ("accuracy of these", "C1")):
    axes.plot(fractions.coverage, fractions[name], color=color, label=name)
axes.axhline(right.mean(), color="0.6", linestyle=":", label="accuracy on all tickets")
axes.set(xlabel="requested coverage", ylabel="fraction of tickets", ylim=(0, 1.02))
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
