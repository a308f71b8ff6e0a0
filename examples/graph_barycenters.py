"""
Graph barycentres: a graph that nobody has seen
===============================================

A number goes in, a graph of twenty nodes comes out: its blocks divide as the number
grows. No list of candidates has the answer. ``GraphBarycenter(rounded=False)`` averages
the training graphs on which the regression puts its weight, by the fused
Gromov–Wasserstein distance: nodes are matched softly, then edges and labels averaged.

.. rst-class:: formula

| ŷ = argmin over y of Σᵢ βᵢ(x) FGW(y, yᵢ)
| β(x) = (K + αI)⁻¹ kₓ
"""

import matplotlib.pyplot as plt
import numpy as np

from iokr import IOKRCV
from iokr.datasets import make_blocks
from iokr.decoders import GraphBarycenter
from iokr.kernels import RBF, Normalized, WeisfeilerLehman
from iokr.metrics import fgw

# %%
# The data
# --------
# Nodes come in no order, so that two graphs cannot be compared entry by entry. The
# label of a node is the number of its block.

X, y = make_blocks(40, n_nodes=20, seed=0)
X_test, y_test = make_blocks(x=[1.0, 1.5, 2.0, 2.5, 3.0, 3.5], n_nodes=20, seed=1)

# %%
# The model
# ---------
# Leave-one-out chooses width and ``alpha``, and measures its errors under an output
# kernel, here the counts of labels (depth 0). The answers do not depend on it: FGW
# itself decides.

decoder = GraphBarycenter(rounded=False)
outputs = Normalized(WeisfeilerLehman(0))
model = IOKRCV(
    [RBF(g) for g in (0.3, 1, 3, 10)], output_kernel=outputs, decoder=decoder
)
found = model.fit(X, y).predict(X_test)
print(f"chosen: gamma {model.kernel_.gamma:g}, alpha {model.alpha_:.2g}")

# %%
# How near
# --------
# The distance to the truth, beside that of the training graph with the nearest input
# and that of a second graph drawn for the same number: half an edge is a good bet where
# edges come and go by chance.

nearest = y[np.argmin(np.abs(X_test - X.T), axis=1)]
_, again = make_blocks(x=X_test[:, 0], n_nodes=20, seed=2)
for name, answers in {"barycentre": found, "nearest": nearest, "again": again}.items():
    print(f"{name}: mean FGW {fgw(y_test, answers):.3f}")

# %%
# The figure
# ----------
# Adjacency matrices, nodes sorted by label. Barycentres are grey where the graphs that
# they average disagree.

figure, grid = plt.subplots(2, 6, figsize=(10, 3.6), layout="constrained")
for row, graphs in zip(grid, (y_test, found), strict=True):
    for axes, (structure, labels), x in zip(row, graphs, X_test[:, 0], strict=True):
        order = np.argsort(np.ravel(labels), kind="stable")
        axes.imshow(structure[np.ix_(order, order)], cmap="Greys", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        if graphs is y_test:
            axes.set_title(f"x = {x:g}", fontsize=10)
grid[0, 0].set_ylabel("truth")
grid[1, 0].set_ylabel("barycentre")
plt.show()
