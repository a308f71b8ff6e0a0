r"""
Link prediction
===============

All nodes have features; the links are known among some of them. A diffusion kernel of
the known network is the output kernel: nodes are similar if many short paths connect
them. The regression maps features into its feature space, where any two nodes, labelled
or new, are compared.

.. math::

   k_Y = \exp(-\beta L) \text{ on the known network}, \qquad
   \hat{\kappa}(u, v) = \langle h(u), h(v)\rangle
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy.spatial.distance import pdist, squareform

from iokr import LinkPredictorCV
from iokr.metrics import pair_metrics

# %%
# The data
# --------
# Two hundred nodes on a ring, linked if they are close. The positions are hidden; the
# features are noisy functions of them. The links among a third of the nodes are known.

rng = np.random.default_rng(0)
angle, radius = rng.uniform(0, 2 * np.pi, size=200), rng.uniform(0.5, 1.0, size=200)
place = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
truth = squareform(pdist(place) < 0.2)
features = np.tanh(place @ rng.normal(size=(2, 30)) + rng.normal(size=30))
features += rng.normal(scale=0.15, size=features.shape)
known = np.sort(rng.choice(200, size=70, replace=False))
new = np.setdiff1d(np.arange(200), known)

# %%
# The model
# ---------
# The width of the Gaussian kernel is the median distance of two nodes, and ``alpha`` is
# selected by leave-one-out on the labelled nodes. The scores of all pairs of new nodes
# are evaluated.

model = LinkPredictorCV()
model.fit(features, truth, labeled=known)
scores = model.decision_function()[np.ix_(new, new)]
metrics = pair_metrics(truth[np.ix_(new, new)], scores)
print({name: round(float(value), 3) for name, value in metrics.items()})

# %%
# The figure
# ----------
# Left, the known links. Right, the best pairs of new nodes; their number is that of the
# true links between them.

first, second = np.triu_indices(len(new), 1)
best = np.argsort(-scores[first, second])[: metrics["n_links"]]
found = np.column_stack([new[first[best]], new[second[best]]])
hit = truth[found[:, 0], found[:, 1]]
within = known[np.argwhere(np.triu(truth[np.ix_(known, known)]))]


def draw(axes, pairs, color):
    axes.add_collection(LineCollection(place[pairs], colors=color, linewidths=1))


figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5.4), layout="constrained")
draw(left, within, "C0")
draw(right, found[~hit], "C1")
draw(right, found[hit], "C0")
left.set_title(
    f"known: {len(within)} links of {len(known)} nodes\nother nodes are grey"
)
right.set_title(
    f"the {len(best)} best pairs of {len(new)} new nodes\n"
    f"{hit.mean():.0%} are links (blue), at random {metrics['prevalence']:.0%}"
)
for axes, bright in ((left, known), (right, new)):
    axes.scatter(*place.T, s=8, color="0.8", zorder=2)
    axes.scatter(*place[bright].T, s=16, color="black", zorder=3)
    axes.set_aspect("equal")
    axes.axis("off")
figure.get_layout_engine().set(h_pad=0.1)
plt.show()
