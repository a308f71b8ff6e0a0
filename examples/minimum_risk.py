"""
Decoding by the loss itself
===========================

Which set of labels to answer depends on how answers are evaluated. If every wrong label
costs the same (Hamming loss), a label has to be more likely than not. If whole sets are
compared (F1), it pays to name labels that are less likely than that. ``MinimumRisk``
takes the weights β of any model and the loss, and searches all sets, exactly.

.. rst-class:: formula

| h(x) = Σ_i β_i(x) ψ(y_i)
| ŷ = argmin over y of Σ_i β_i(x) Δ(y_i, y)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_multilabel_classification

from iokr import IOKR, Neighbors
from iokr.decoders import MinimumRisk
from iokr.kernels import RBF
from iokr.metrics import f1_samples, hamming

# %%
# The data
# --------
# Texts as counts of twenty words, and their topics: two of twelve on average.

X, Y = make_multilabel_classification(
    700, n_features=20, n_classes=12, n_labels=2, length=15, random_state=1
)
X = X / np.linalg.norm(X, axis=1, keepdims=True).clip(min=1)
train, test = slice(0, 400), slice(400, 700)

# %%
# One model, two losses
# ---------------------
# The weights are the same; only the decision is not.

ways = {
    "ridge": lambda loss: IOKR(RBF(2.0), alpha=0.3, decoder=MinimumRisk(loss)),
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
# A loss of one's own is a function of the truth and of the answer; then candidates are
# compared, those of the training part unless others are given. Here a forgotten topic
# costs three times as much as one too many.


def forgetful(truth, answer):
    return 3 * np.sum((truth == 1) & (answer == 0)) + np.sum(
        (truth == 0) & (answer == 1)
    )


careful = Neighbors(15, decoder=MinimumRisk(forgetful)).fit(X[train], Y[train])
some = slice(400, 440)
print("topics an answer:", careful.predict(X[some]).sum(axis=1).mean())

# %%
# The figure
# ----------
# Each decoder wins in its own loss.

figure, panels = plt.subplots(1, 3, figsize=(9.5, 3.2), layout="constrained")
titles = (
    "F1, %: more is better",
    "Hamming loss, %: less is better",
    "labels an answer",
)
for k, (axes, title) in enumerate(zip(panels, titles, strict=True)):
    for shift, loss, words in ((-0.18, "f1", "F1"), (0.18, "hamming", "Hamming loss")):
        values = [found[name, loss][k] for name in ways]
        label = f"decided by {words}"
        axes.bar(np.arange(len(ways)) + shift, values, 0.34, label=label)
    axes.set(title=title, xticks=range(len(ways)), xticklabels=ways)
panels[2].axhline(Y[test].sum(axis=1).mean(), color="0.4", label="labels in truth")
figure.legend(
    *panels[2].get_legend_handles_labels(), ncols=3, loc="outside lower center"
)
plt.show()
