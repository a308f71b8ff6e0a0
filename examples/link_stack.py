"""
Links: two models together
==========================

Two views of the nodes of a network. ``LinkPredictor`` maps a node into the network by
the first one and compares nodes there; ridge on all pairs of nodes, ``PairLinks``,
learns from the second one which kinds of nodes are linked. They find different links.
``LinkStack`` makes log-odds of their scores and adds them, with the weights that are
best on nodes which were left out with all their links. Averages of ranks, its default,
are for models of the same links: a pair would have to rank high in both.

.. rst-class:: formula

| s(u, v) = Σ_m w_m t_m(s_m(u, v)),    w ≥ 0
"""

import matplotlib.pyplot as plt
import numpy as np

from iokr import LinkPredictor, LinkStack
from iokr.kernels import RBF, Columns
from iokr.metrics import average_precision_pairs, roc_auc_pairs
from iokr_lab.baselines import PairLinks

# %%
# The network
# -----------
# Some links join nodes that are alike in the first view, others nodes of opposite kinds
# in the second, and some are there by chance.

rng = np.random.default_rng(2)
n = 160
X = rng.normal(size=(n, 6))
near = ((X[:, None, :3] - X[None, :, :3]) ** 2).sum(axis=2) < 0.6
across = (X[:, None, 3] > 1.4) & (X[None, :, 3] < -1.4)
chance = rng.random((n, n)) < 0.003
links = np.triu(near | across | across.T | chance, k=1)
links = (links | links.T).astype(float)
known, new = np.arange(120), np.arange(120, n)
print(f"{int(links.sum() / 2)} links between {n} nodes")

# %%
# Each alone, and the stack
# -------------------------

alike = LinkPredictor(Columns(RBF(0.3), [0, 1, 2]), alpha=0.3)
pairs = PairLinks(Columns(RBF(0.3), [3, 4, 5]), alpha=1.0)
models = {
    "LinkPredictor": alike,
    "PairLinks": pairs,
    "stack": LinkStack([alike, pairs], combine="logits"),
}
truth, found = links[np.ix_(new, known)] > 0, {}
for name, model in models.items():
    model.fit(X, links, labeled=known)
    scores = np.asarray(model.decision_function())[np.ix_(new, known)]
    found[name] = (
        100 * roc_auc_pairs(truth.ravel(), scores.ravel()),
        100 * average_precision_pairs(truth.ravel(), scores.ravel()),
    )
    print(f"{name:13}", *(f"{value:.1f}" for value in found[name]))
print("weights:", models["stack"].weights_)

# %%
# The figure
# ----------
# Areas on pairs of a new and a known node, and how often a link is there where the
# stack says so: its probabilities are calibrated on nodes left out.

figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.4), layout="constrained")
for k, area in enumerate(("ROC", "PR")):
    places = np.arange(3) + (k - 0.5) * 0.36
    left.bar(places, [values[k] for values in found.values()], 0.34, label=area)
left.set(xticks=range(3), xticklabels=found, ylabel="area, %")
left.legend()
probability = np.asarray(models["stack"].link_probability())[np.ix_(new, known)].ravel()
groups = np.array_split(np.argsort(probability), 12)
right.plot(
    [probability[group].mean() for group in groups],
    [truth.ravel()[group].mean() for group in groups],
    "o",
)
right.plot([0, 0.5], [0, 0.5], color="0.5")
right.set(xlabel="probability of a link", ylabel="fraction that are links")
plt.show()
