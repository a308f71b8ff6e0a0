r"""
Multi-task regression with missing values
=========================================

Six sensors follow the same wave with different delays, and report rarely. A model for
each sensor has no information in its gaps. An operator :math:`A` that couples the
sensors fills them from the others.

.. math::

   \min_h \tfrac12 \sum_{y_{ij} \text{ observed}} (y_{ij} - h_j(x_i))^2
   + \frac{\alpha}{2}\lVert h\rVert^2, \qquad
   \mathcal{K}(x, z) = k(x, z) A
"""

import matplotlib.pyplot as plt
import numpy as np

from iokr import MultiTaskCV
from iokr.kernels import RBF

# %%
# The data
# --------
# NaN is a missing value. Each sensor has a gap, and a third of the other values is
# missing.

rng = np.random.default_rng(0)
time = np.sort(rng.uniform(0, 10, size=90))
delay = np.linspace(0, 0.4, 6)


def wave(t, late):
    return np.sin(1.7 * (t - late)) + 0.6 * np.sin(4.1 * (t - late) + 1)


truth = np.stack([wave(time, late) for late in delay], axis=1)
seen = truth + rng.normal(scale=0.15, size=truth.shape)
gaps = np.array([[abs(t - (1.5 + 1.4 * j)) < 0.9 for j in range(6)] for t in time])
seen[gaps | (rng.random(seen.shape) < 1 / 3)] = np.nan
some = ~np.isnan(seen).all(axis=1)  # a row needs one value at least
time, truth, seen, gaps = time[some], truth[some], seen[some], gaps[some]

# %%
# The model
# ---------
# ``task_weight`` couples the tasks; 0 means independent tasks. It is selected with
# ``alpha`` by leave-one-out. The similarity of two sensors is estimated from the values
# that both have. The standard deviation of the kernel is 1/2, a third of the shorter
# period, 2π/4.1: leaving out single rows would not show how well gaps are filled.

alphas = np.logspace(-3, 0, 7)
models = {
    "separately": MultiTaskCV(RBF(2.0), task_weights=[0.0], alphas=alphas),
    "jointly": MultiTaskCV(RBF(2.0), task_weights=[0.5, 0.8, 0.95], alphas=alphas),
}
grid = np.linspace(0, 10, 400)
for name, model in models.items():
    model.fit(time[:, None], seen)
    error = np.sqrt(np.mean((model.predict(time[:, None]) - truth)[gaps] ** 2))
    print(f"{name}: error in the gaps {error:.2f}, task weight {model.task_weight_:g}")

# %%
# The figure
# ----------
# Gaps are grey.

figure = plt.figure(figsize=(10.5, 4.6), layout="constrained")
panels = figure.subplots(2, 3, sharex=True, sharey=True)
for j, axes in enumerate(panels.flat):
    axes.axvspan(0.6 + 1.4 * j, 2.4 + 1.4 * j, color="0.93")
    axes.plot(grid, wave(grid, delay[j]), color="black", linewidth=0.8, label="true")
    axes.plot(time, seen[:, j], ".", color="0.5", markersize=4, label="observed")
    for (name, model), color in zip(models.items(), ("C1", "C0"), strict=True):
        axes.plot(grid, model.predict(grid[:, None])[:, j], color=color, label=name)
    axes.set_title(f"sensor {j + 1}", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
lines = panels[0, 0].get_legend_handles_labels()
figure.legend(*lines, loc="outside upper center", ncols=4, frameon=False)
figure.supxlabel("time", fontsize=10)
plt.show()
