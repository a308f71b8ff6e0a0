r"""
Curves from a few noisy points
==============================

Each output is a function, observed with noise at a few points of its own. A kernel
:math:`L` on the points couples the values at different points, so that curves inform
each other where they were not observed.

.. math::

   &\min_h \sum_i \int(y_i - h(x_i))^2 + \frac{\alpha}{2}\lVert h\rVert^2, \quad
   \mathcal{K}(x, z) = k(x, z) T_L \\
   &h(x)(\theta) = \sum_t (k_x^{\top}C)_t \sqrt{w_t} L(\theta_t, \theta)
"""

import matplotlib.pyplot as plt
import numpy as np

from iokr import FunctionalCV
from iokr.kernels import RBF

# %%
# The data
# --------
# A bump whose position and height depend on x: 60 curves with 6 points each, as pairs
# (points, values). A matrix with NaN, a long table or scikit-fda's grids work as well.

rng = np.random.default_rng(0)


def bump(x, theta):
    place, height = 0.2 + 0.6 * x[:, :1], 1 + x[:, 1:]
    return height * np.exp(-((theta - place) ** 2) / 0.02)


x = rng.uniform(size=(60, 2))
points = np.sort(rng.uniform(size=(60, 6)), axis=1)
values = bump(x, points) + 0.1 * rng.normal(size=points.shape)
curves = list(zip(points, values, strict=True))

# %%
# Three widths of the curve kernel
# --------------------------------
# Kernel, widths and ``alpha`` are selected by leave-one-curve-out.

widths = (0.03, 0.1, 0.3)
model = FunctionalCV(
    curve_kernel=[RBF(1 / (2 * width**2)) for width in widths],
    grid=np.linspace(0, 1, 41),
    intercept=False,
).fit(x, curves)
print(f"width {widths[model.best_index_[0]]}, alpha {model.alpha_:.3g}")

# %%
# Predictions and derivatives
# ---------------------------
# Predictions are functions, with values and derivatives at any point.

x_new = rng.uniform(size=(3, 2))
theta = np.linspace(0, 1, 200)
found, slope = (
    model.predict(x_new, at=theta),
    model.predict(x_new, at=theta, derivative=1),
)
error = np.sqrt(np.mean((found - bump(x_new, theta)) ** 2))
print(f"root mean squared error {error:.3f}, noise 0.1")

# %%
# The figure
# ----------
# Left: new inputs, with the true curves dashed. Right: training curves and their
# observations; bands are two standard deviations of leave-one-out residuals.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for k, colour in enumerate(("C0", "C1", "C2")):
    axes[0].plot(theta, found[k], color=colour)
    axes[0].plot(theta, bump(x_new, theta)[k], "--", color=colour, linewidth=0.8)
axes[0].set(title="new inputs", xlabel="θ", ylabel="h(x)(θ)")
model.plot(x, curves, rows=[0, 1], ax=axes[1])
plt.show()
