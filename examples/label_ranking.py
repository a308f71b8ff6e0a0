r"""
Label ranking
=============

People in a town rank five shops by distance. From the positions of a hundred and fifty
people and their rankings, predict the ranking of everybody else. A third of the ranks
is missing. Kendall's kernel counts concordant pairs of two rankings, and ``Assignment``
finds the best complete ranking exactly.

.. math::

   k(y, z) = \frac{\text{concordant} - \text{discordant pairs}}{\text{pairs}}, \qquad
   \hat{y} = \operatorname*{arg\,max}_y \langle h(x), \psi(y)\rangle
   \text{ over all } d! \text{ rankings}
"""

import matplotlib.pyplot as plt
import numpy as np

from iokr import IOKRCV
from iokr.decoders import Assignment
from iokr.kernels import Kendall
from iokr.metrics import kendall_tau

# %%
# The data
# --------
# A ranking is a row of ranks, 1 for the nearest shop; NaN is unknown.

rng = np.random.default_rng(3)
shops = np.array([[0.2, 0.25], [0.75, 0.15], [0.5, 0.5], [0.25, 0.8], [0.85, 0.75]])


def ranks_at(points):
    far = np.linalg.norm(points[:, None] - shops, axis=2)
    return far.argsort(axis=1).argsort(axis=1) + 1.0


homes = rng.random((150, 2))
given = np.where(rng.random((150, 5)) < 1 / 3, np.nan, ranks_at(homes))
enough = (~np.isnan(given)).sum(axis=1) >= 2
homes, given = homes[enough], given[enough]
print(given[:3])

# %%
# The model
# ---------
# Kernel and ``alpha`` are selected by leave-one-out. Predictions are complete rankings;
# training rankings need not be.

model = IOKRCV(output_kernel=Kendall(), decoder=Assignment())
model.fit(homes, given)
side = np.linspace(0.005, 0.995, 100)
town = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
predicted, truth = np.stack(model.predict(town)), ranks_at(town)
tau = kendall_tau(truth, predicted)
print(f"Kendall's τ over the town: {tau:.3f}")

# %%
# The figure
# ----------
# A colour for every ranking: the first shop gives the hue, the second the shade.


def colours(ranks):
    order = ranks.argsort(axis=1)
    hue = plt.get_cmap("Set2")(order[:, 0])[:, :3]
    return (hue * (1 - 0.07 * order[:, 1:2])).reshape(100, 100, 3)


agree = (predicted == truth).all(axis=1).reshape(100, 100)
pictures = {
    "true rankings": colours(truth),
    f"predicted, τ = {tau:.2f}": colours(predicted),
    f"exactly correct: {agree.mean():.0%}; at random 1 in 120": np.where(
        agree[..., None], 0.96, [0.9, 0.55, 0.4]
    ),
}
figure, panels = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
for axes, (title, picture) in zip(panels, pictures.items(), strict=True):
    axes.imshow(picture, origin="lower", extent=(0, 1, 0, 1))
    axes.scatter(*shops.T, s=110, marker="s", color="white", edgecolor="black")
    for name, shop in zip("ABCDE", shops, strict=True):
        axes.text(*shop, name, ha="center", va="center", fontsize=8)
    axes.set(title=title, xticks=[], yticks=[])
panels[2].scatter(*homes.T, s=5, color="0.3")
plt.show()
