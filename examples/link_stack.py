r"""
Stacking two models of links
============================

The nodes of a network have two views. ``LinkPredictor`` maps a node into the network
by the first view; ridge on all pairs of nodes, ``PairLinkPredictor``, learns from the
second which kinds of nodes are linked. They find different links. ``LinkStack`` adds
the log-odds of their scores, with the weights that are best on nodes held out with
all their links. Averages of ranks, its default, suit models of the same links: a pair
would have to rank high in both.

.. math::

   s(u, v) = \sum_m w_m t_m(s_m(u, v)), \quad w \ge 0
"""

import matplotlib.pyplot as plt
import numpy as np

from iokr import LinkPredictor, LinkStack, PairLinkPredictor
from iokr.kernels import RBF, Columns
from iokr.metrics import average_precision_pairs, roc_auc_pairs

# %%
# The network
# -----------
# Some links connect nodes that are similar in the first view, others nodes of opposite
# kinds in the second, and some are random.

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
# Single models and the stack
# ---------------------------

similar = LinkPredictor(Columns(RBF(), [0, 1, 2]), alpha=0.3)
pairs = PairLinkPredictor(Columns(RBF(), [3, 4, 5]), alpha=1.0)
models = {
    "LinkPredictor": similar,
    "PairLinkPredictor": pairs,
    "stack": LinkStack([similar, pairs], combine="logits"),
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
# Areas on known-new pairs, and the calibration of the probabilities of the stack, which
# are fitted on held-out nodes.

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
