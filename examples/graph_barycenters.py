r"""
Graph barycentres: predicting new graphs
========================================

The input is a number, the output a graph of twenty nodes, whose blocks divide as the
number increases. No list of candidates contains the output.
``GraphBarycenter(rounded=False)`` averages training graphs with the weights of the
regression, in the fused Gromov–Wasserstein distance: nodes are matched softly, then
edges and labels are averaged.

.. math::

   \hat{y} = \operatorname*{arg\,min}_y \sum_i \beta_i(x) \text{FGW}(y, y_i), \qquad
   \beta(x) = (K + \alpha I)^{-1} k_x
"""

import matplotlib.pyplot as plt
import numpy as np

from iokr import IOKRCV
from iokr.datasets import make_blocks
from iokr.decoders import GraphBarycenter
from iokr.kernels import Normalized, WeisfeilerLehman
from iokr.metrics import fgw

# %%
# The data
# --------
# The order of nodes is arbitrary, so graphs cannot be compared entry by entry. The
# label of a node is the number of its block.

X, y = make_blocks(40, n_nodes=20, seed=0)
X_test, y_test = make_blocks(x=[1.0, 1.5, 2.0, 2.5, 3.0, 3.5], n_nodes=20, seed=1)

# %%
# The model
# ---------
# Leave-one-out selects kernel and ``alpha`` by errors under an output kernel, here
# the counts of labels (depth 0). Predictions do not depend on it, as FGW decodes.

decoder = GraphBarycenter(rounded=False)
outputs = Normalized(WeisfeilerLehman(0))
model = IOKRCV(output_kernel=outputs, decoder=decoder)
found = model.fit(X, y).predict(X_test)
print(f"selected: {model.kernel_}, alpha = {model.alpha_:.2g}")

# %%
# Distances
# ---------
# The distance to the true graph, compared with that of the training graph with the
# nearest input and that of a second graph drawn for the same number. Edges are random,
# so relaxed predictions can be closer than another draw.

nearest = y[np.argmin(np.abs(X_test - X.T), axis=1)]
_, again = make_blocks(x=X_test[:, 0], n_nodes=20, seed=2)
for name, answers in {"barycentre": found, "nearest": nearest, "again": again}.items():
    print(f"{name}: mean FGW {fgw(y_test, answers):.3f}")

# %%
# The figure
# ----------
# Adjacency matrices, with nodes sorted by label. Barycentres are grey where the
# averaged graphs disagree.

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
