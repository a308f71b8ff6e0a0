"""
Rankings: the best of all orders
================================

Five shops in a town; people rank them by distance. From where a hundred and fifty
people live and how they rank, predict the ranking of everybody else. Nobody tells all:
a third of the ranks is unknown. Kendall's kernel compares what two rankings have in
common, and ``Assignment`` finds the best complete order exactly.

.. rst-class:: formula

| k(y, z) = (concordant − discordant pairs) / pairs
| ŷ = argmax over all d! orders of ⟨h(x), ψ(y)⟩
"""

import matplotlib.pyplot as plt
import numpy as np

from iokr import IOKRCV
from iokr.decoders import Assignment
from iokr.kernels import RBF, Kendall
from iokr.metrics import kendall_tau

# %%
# The data
# --------
# A ranking is a row of ranks, 1 for the nearest shop, NaN where it is unknown.

rng = np.random.default_rng(3)
shops = np.array([[0.2, 0.25], [0.75, 0.15], [0.5, 0.5], [0.25, 0.8], [0.85, 0.75]])


def ranks_at(points):
    far = np.linalg.norm(points[:, None] - shops, axis=2)
    return far.argsort(axis=1).argsort(axis=1) + 1.0


homes = rng.random((150, 2))
told = np.where(rng.random((150, 5)) < 1 / 3, np.nan, ranks_at(homes))
enough = (~np.isnan(told)).sum(axis=1) >= 2
homes, told = homes[enough], told[enough]
print(told[:3])

# %%
# The model
# ---------
# Kernel and ``alpha`` by leave-one-out. The answers are complete rankings, although no
# training ranking needs to be.

inputs = [RBF(1.0), RBF(3.0), RBF(10.0)]
model = IOKRCV(inputs, output_kernel=Kendall(), decoder=Assignment())
model.fit(homes, told)
side = np.linspace(0.005, 0.995, 100)
town = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
predicted, truth = np.stack(model.predict(town)), ranks_at(town)
tau = kendall_tau(truth, predicted)
print(f"Kendall's τ over the town: {tau:.3f}")

# %%
# The figure
# ----------
# A colour for every order, alike where orders are alike: the first shop gives the hue,
# the second the shade.


def colours(ranks):
    order = ranks.argsort(axis=1)
    hue = plt.get_cmap("Set2")(order[:, 0])[:, :3]
    return (hue * (1 - 0.07 * order[:, 1:2])).reshape(100, 100, 3)


agree = (predicted == truth).all(axis=1).reshape(100, 100)
pictures = {
    "true rankings": colours(truth),
    f"predicted, τ = {tau:.2f}": colours(predicted),
    f"whole order right: {agree.mean():.0%}, by chance 1 in 120": np.where(
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
