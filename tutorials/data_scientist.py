"""
For a data scientist: tags that you can trust
=============================================

A table in which each row has a *set* of tags, and new rows that have none. The model
learns whole sets, leave-one-out chooses its parameters from one factorisation, and
conformal sets say where an answer can be trusted. The decision at the end: which rows
are tagged by the machine, and which by a person.

.. rst-class:: formula

| k_Y(y, z) = \\|y ∩ z\\| / \\|y ∪ z\\| between sets of tags
| C(x) = the sets that fit x no worse than the true ones fit nine in ten known rows
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_score

from iokr import IOKRCV, Conformal
from iokr.decoders import Threshold
from iokr.kernels import RBF, Tanimoto
from iokr.metrics import decoded_scorer, f1_samples

# %%
# The file
# --------
# Tickets of a support desk: how often each of 40 words occurs, and the tags that a
# person gave, in one column. The file is made here, and made so that tags go together:
# how far whole sets beat single tags below is a property of these data, which is why
# you compare the two on yours. A file of yours comes from ``read_csv`` or
# ``read_excel`` alike.

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
# A set of tags is a row of zeros and ones, which pandas makes in one call. The last 500
# rows play the tickets of next week: no model sees their tags, which are there to count
# with at the end.

tags = table.pop("tags").fillna("").str.get_dummies(";")
X, Y = np.sqrt(table), tags
known, new = table.index[:500], table.index[500:]
print(f"{len(known)} tickets to learn from, {Y.shape[1]} tags")

# %%
# Whole sets or single tags?
# --------------------------
# :class:`~iokr.IOKRCV` is a scikit-learn estimator. It takes the frames, and chooses
# bandwidth and ``alpha`` by exact leave-one-out: 3 × 19 models from three
# eigendecompositions. Under two output kernels those errors are not in the same units,
# so the two ways to answer are compared by what counts, the F1 of tags, on folds.

widths = [RBF(0.01), RBF(0.02), RBF(0.05)]
models = {
    "tag by tag": IOKRCV(widths, decoder=Threshold()),
    "whole sets": IOKRCV(widths, output_kernel=Tanimoto()),
}
for name, model in models.items():
    folds = cross_val_score(
        model, X.loc[known], Y.loc[known], scoring=decoded_scorer("f1_samples")
    )
    print(f"{name}: F1 {folds.mean():.3f} ± {folds.std() / np.sqrt(len(folds)):.3f}")

# %%
model = models["whole sets"].fit(X.loc[known], Y.loc[known])
print(model.kernel_, f"alpha = {model.alpha_:.2g}")
answers = model.predict(X.loc[new])
print(f"F1 on next week's tickets: {f1_samples(Y.loc[new], answers):.3f}")

# %%
# How sure?
# ---------
# The mean hides that some tickets are easy and some are hopeless.
# :class:`~iokr.Conformal` answers with every set of tags that cannot be excluded.
# ``method="split"`` learns from half of the rows and calibrates on the others, which
# the model has not seen: then the coverage is a theorem and not a hope. ``guarantee_``
# says what is promised, and under which condition.
#
# Candidates are the sets of tags that have occurred. ``conformity="relative"`` compares
# each with the best of them, so that sets are small where one answer stands out.

candidates = Y.loc[known].drop_duplicates().to_numpy()
sure = Conformal(
    models["whole sets"], method="split", conformity="relative", random_state=0
)
sure.fit(X.loc[known], Y.loc[known])
print(sure.guarantee_)
for coverage in (0.8, 0.9, 0.95):
    held = sure.contains(X.loc[new], Y.loc[new], coverage, candidates).mean()
    print(f"asked {coverage:.0%}, found {held:.1%}")

# %%
# The decision
# ------------
# One set of tags left: the machine tags the ticket. Several: a person chooses among
# these few. None: the ticket is like nothing before, and a person reads it.

possible = sure.predict_set(X.loc[new], candidates, coverage=0.9)
sizes = np.array([len(found) for found in possible])
pile = np.select([sizes == 1, sizes > 1], ["machine", "choose"], "read")
right = (np.asarray(answers) == Y.loc[new].to_numpy()).all(axis=1)
done = pd.DataFrame({"pile": pile, "sets": sizes, "right": right}, index=new)
report = done.groupby("pile").agg(
    tickets=("right", "size"), right=("right", "mean"), sets=("sets", "mean")
)
print(report.round(2))

# %%
# Tags that are not right as a whole are often right in part, so look at the F1 of each
# pile too before you decide. If the machine's pile is not good enough, ask for a higher
# coverage: it shrinks, and gets better.

shares = []
for coverage in np.linspace(0.85, 0.98, 14):
    found = sure.predict_set(X.loc[new], candidates, coverage=coverage)
    alone = np.array([len(some) == 1 for some in found])
    shares.append((coverage, alone.mean(), right[alone].mean()))
shares = pd.DataFrame(
    shares, columns=["coverage", "tagged by the machine", "of these right"]
)

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for name, color in (("tagged by the machine", "C0"), ("of these right", "C1")):
    axes.plot(shares.coverage, shares[name], color=color, label=name)
axes.axhline(right.mean(), color="0.6", linestyle=":", label="right without a choice")
axes.set(xlabel="coverage asked for", ylabel="fraction of tickets", ylim=(0, 1.02))
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
