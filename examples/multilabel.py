r"""
Label sets: whole sets or single labels
=======================================

Each picture has a set of correlated labels: *beach* occurs with *sea* and *sky*, rarely
with *snow*. A model for each label ignores this. With the Tanimoto kernel on outputs
whole sets are compared, learned and predicted.

.. math::

   k(y, z) = \frac{\lvert y \cap z\rvert}{\lvert y \cup z\rvert}, \qquad
   \hat{y} = \operatorname*{arg\,min}_y \lVert h(x) - \psi(y)\rVert^2
   \text{ over sets } y
"""

import matplotlib.pyplot as plt
import numpy as np

from iokr import IOKRCV
from iokr.decoders import MinimumRisk, Threshold
from iokr.kernels import Tanimoto
from iokr.metrics import f1_samples

# %%
# The data
# --------
# Six scenes, each a set of labels. A picture has the labels of its scene with a few
# changes; its features are a noisy sum of one vector per label.

SCENES = [
    ["sky", "sea", "beach", "people"],
    ["sky", "sea"],
    ["sky", "mountain", "trees"],
    ["sky", "mountain", "snow"],
    ["street", "cars", "people"],
    ["street", "cars", "night"],
]
LABELS = list(dict.fromkeys(label for scene in SCENES for label in scene))

rng = np.random.default_rng(1)
scenes = np.array([[label in scene for label in LABELS] for scene in SCENES])
looks = rng.normal(size=(len(LABELS), 20))


def pictures(n):
    changes = rng.random((n, len(LABELS))) < 0.04
    sets = scenes[rng.integers(len(SCENES), size=n)] ^ changes
    return sets @ looks + rng.normal(scale=2.0, size=(n, 20)), sets.astype(float)


X, Y = pictures(400)
X_test, Y_test = pictures(300)

# %%
# Three models
# ------------
# They differ in the output kernel and in the decoder. All select the input kernel and
# ``alpha`` by leave-one-out. With linear outputs ``Threshold`` rounds each label
# separately, and ``MinimumRisk`` predicts the set with the largest expected F1; with
# Tanimoto outputs the prediction is the nearest training set.

models = {
    "label by label": IOKRCV(decoder=Threshold()),
    "largest expected F1": IOKRCV(decoder=MinimumRisk("f1")),
    "Tanimoto outputs": IOKRCV(output_kernel=Tanimoto()),
}
sizes = [25, 50, 100, 200, 400]
f1 = {name: [] for name in models}
for name, model in models.items():
    for n in sizes:
        f1[name].append(f1_samples(Y_test, model.fit(X[:n], Y[:n]).predict(X_test)))
    print(f"{name}: {f1[name][-1]:.3f} with {model.kernel_}, alpha = {model.alpha_:g}")

# %%
# The figure
# ----------
# Left, the F1 of the predicted sets. Right, thirty predictions with Tanimoto outputs:
# correct, missed and false labels.

figure = plt.figure(figsize=(10, 4), layout="constrained")
left, right = figure.subplots(1, 2, width_ratios=(1, 1.6))
for (name, values), color in zip(f1.items(), ("0.6", "C1", "C0"), strict=True):
    left.plot(sizes, values, "o-", color=color, label=name)
left.set(xlabel="training pictures", ylabel="example-F1 on new pictures", xscale="log")
left.set_xticks(sizes, sizes, minor=False)
left.minorticks_off()
left.legend(loc="lower right", frameon=False)

truth = Y_test[:30].T > 0
answer = models["Tanimoto outputs"].predict(X_test[:30]).T > 0
kinds = {
    "correct": (truth & answer, "C0", "s"),
    "missed": (truth & ~answer, "C1", "x"),
    "false": (answer & ~truth, "C3", "+"),
}
for name, (where, color, marker) in kinds.items():
    rows, columns = np.nonzero(where)
    right.scatter(columns, rows, s=36, marker=marker, color=color, label=name)
right.set_yticks(range(len(LABELS)), LABELS)
right.set(xlabel="test picture", ylim=(len(LABELS) - 0.5, -0.5), xlim=(-1, 30))
right.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
