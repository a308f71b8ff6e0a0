r"""
Decoding by the target loss
===========================

The best label set depends on the loss. Under the Hamming loss a label should be
predicted if it is more likely than not; for F1, which compares whole sets, less likely
labels are predicted as well. ``MinimumRisk`` takes the weights :math:`β` of a model and
the loss, and searches all sets exactly.

.. math::

   h(x) = \sum_i \beta_i(x) \psi(y_i), \qquad
   \hat{y} = \operatorname*{arg\,min}_y \sum_i \beta_i(x) \Delta(y_i, y)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_multilabel_classification

from iokr import IOKRCV, Neighbors
from iokr.decoders import MinimumRisk
from iokr.metrics import f1_samples, hamming

# %%
# The data
# --------
# Texts as counts of twenty words, with two of twelve topics on average.

X, Y = make_multilabel_classification(
    700, n_features=20, n_classes=12, n_labels=2, length=15, random_state=1
)
X = X / np.linalg.norm(X, axis=1, keepdims=True).clip(min=1)
train, test = slice(0, 400), slice(400, 700)

# %%
# One model, two losses
# ---------------------
# The weights are the same; only the decoding differs.

ways = {
    "ridge": lambda loss: IOKRCV(decoder=MinimumRisk(loss)),
    "neighbours": lambda loss: Neighbors(15, decoder=MinimumRisk(loss)),
}
found = {}
for name, make in ways.items():
    for loss in ("f1", "hamming"):
        answers = make(loss).fit(X[train], Y[train]).predict(X[test])
        found[name, loss] = (
            100 * f1_samples(Y[test], answers),
            100 * hamming(Y[test], answers),
            answers.sum(axis=1).mean(),
        )
        print(name, loss, *(f"{value:.1f}" for value in found[name, loss]))

# %%
# A custom loss is a function of the true output and the prediction. Candidates are then
# compared, the training outputs unless others are given. Here a missed topic costs
# three times as much as a false one.


def forgetful(truth, answer):
    return 3 * np.sum((truth == 1) & (answer == 0)) + np.sum(
        (truth == 0) & (answer == 1)
    )


careful = Neighbors(15, decoder=MinimumRisk(forgetful)).fit(X[train], Y[train])
some = slice(400, 440)
print("topics per prediction:", careful.predict(X[some]).sum(axis=1).mean())

# %%
# The figure
# ----------
# Each decoder is the best for its own loss.

figure, panels = plt.subplots(1, 3, figsize=(9.5, 3.2), layout="constrained")
titles = (
    "F1, % (larger is better)",
    "Hamming loss, % (smaller is better)",
    "labels per prediction",
)
for k, (axes, title) in enumerate(zip(panels, titles, strict=True)):
    for shift, loss, words in ((-0.18, "f1", "F1"), (0.18, "hamming", "Hamming loss")):
        values = [found[name, loss][k] for name in ways]
        label = f"decoded for {words}"
        axes.bar(np.arange(len(ways)) + shift, values, 0.34, label=label)
    axes.set(title=title, xticks=range(len(ways)), xticklabels=ways)
panels[2].axhline(Y[test].sum(axis=1).mean(), color="0.4", label="true labels")
figure.legend(
    *panels[2].get_legend_handles_labels(), ncols=3, loc="outside lower center"
)
plt.show()
