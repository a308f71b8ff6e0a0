r"""
Quantile curves
===============

:math:`h(x)` is a function of the level :math:`θ`, so one fit gives all conditional
quantiles. Quantiles learned separately can cross; the second sum penalises negative
slopes in :math:`θ`.

.. math::

   \min_h \frac1m \sum_{i,j} \rho_{\theta_j}(y_i - h(x_i)(\theta_j))
   + \nu \sum_{i,b} \max(0, -\partial_\theta h(x_i)(\tilde{\theta}_b))
   + \frac{\alpha}{2}\lVert h\rVert^2
"""

import matplotlib.pyplot as plt
import numpy as np

from iokr import QuantileCurves
from iokr.kernels import RBF

# %%
# The data
# --------
# A wave with skewed noise that increases with x.

rng = np.random.default_rng(0)


def waves(n):
    x = rng.uniform(0, 5, size=n)
    return x[:, None], np.sin(2 * x) + (0.1 + 0.2 * x) * (rng.exponential(size=n) - 0.7)


X, y = waves(100)
X_test, y_test = waves(1000)

# %%
# Joint and separate quantiles
# ----------------------------
# With an identity matrix over the levels they are learned separately. The standard
# deviation of the kernel is 1/2, a sixth of the period of the wave.

levels = np.round(np.linspace(0.1, 0.9, 9), 1)
options = {"levels": levels, "alpha": 0.01}
together = QuantileCurves(RBF(2.0), crossing=0.05, **options).fit(X, y)
alone = QuantileCurves(RBF(2.0), level_kernel=np.eye(9), crossing=0.0, **options).fit(
    X, y
)
for name, model in {"joint": together, "separate": alone}.items():
    rate, loss = model.crossing_rate(X_test), -model.score(X_test, y_test)
    print(f"{name:10}  crossings {rate:.3f} before sorting, pinball loss {loss:.4f}")

# %%
# Intervals
# ---------
# The interval between the quantiles at 0.1 and 0.9 has a coverage below 80 %;
# calibrated intervals do not.

low, high = together.predict(X_test, levels=[0.1, 0.9]).T
print(f"raw:        coverage {np.mean((low <= y_test) & (y_test <= high)):.2f}")
low, high = together.interval(X_test, coverage=0.8).T
print(f"calibrated: coverage {np.mean((low <= y_test) & (y_test <= high)):.2f}")

# %%
# The figure
# ----------
# Quantiles before sorting; those on the left are at levels that were not trained.

grid = np.linspace(0, 5, 200)[:, None]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
between = np.round(np.linspace(0.05, 0.95, 19), 2)
for ax, model, shown in ((axes[0], together, between), (axes[1], alone, levels)):
    ax.plot(X[:, 0], y, ".", color="#888888", markersize=4)
    ax.plot(
        grid, model.predict(grid, levels=shown, sort=False), color="C0", linewidth=0.8
    )
    ax.set_xlabel("x")
axes[0].fill_between(grid[:, 0], *together.interval(grid).T, color="C0", alpha=0.15)
axes[0].set(title="joint, with an interval of 80 %", ylabel="y")
axes[1].set_title("separate")
plt.show()
