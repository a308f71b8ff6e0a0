"""
All quantiles at once
=====================

How spread out is y at x, and is it skewed? h(x) is a function of the level θ, so every
quantile comes from one fit. Learned one by one, quantiles cross; the second sum below
asks for slopes in θ that are not negative.

.. rst-class:: formula

| min_h (1/m) Σ_ij ρ_θj(y_i − h(x_i)(θ_j)) + ν Σ_ib max(0, −∂_θh(x_i)(θ̃_b)) + (α/2)‖h‖²
"""

import matplotlib.pyplot as plt
import numpy as np

from iokr import QuantileCurves
from iokr.kernels import RBF

# %%
# The data
# --------
# A wave with skewed noise that grows to the right.

rng = np.random.default_rng(0)


def waves(n):
    x = rng.uniform(0, 5, size=n)
    return x[:, None], np.sin(2 * x) + (0.1 + 0.2 * x) * (rng.exponential(size=n) - 0.7)


X, y = waves(100)
X_test, y_test = waves(1000)

# %%
# Together and one by one
# -----------------------
# A unit matrix over the levels learns each for itself.

levels = np.round(np.linspace(0.1, 0.9, 9), 1)
options = {"levels": levels, "alpha": 0.01}
together = QuantileCurves(RBF(2.0), crossing=0.05, **options).fit(X, y)
alone = QuantileCurves(RBF(2.0), level_kernel=np.eye(9), crossing=0.0, **options).fit(
    X, y
)
for name, model in {"together": together, "one by one": alone}.items():
    rate, loss = model.crossing_rate(X_test), -model.score(X_test, y_test)
    print(f"{name:10}  crossings {rate:.3f} before sorting, pinball loss {loss:.4f}")

# %%
# Intervals
# ---------
# The quantiles at 0.1 and 0.9 are no interval of 80 %: calibrated ones are.

low, high = together.predict(X_test, levels=[0.1, 0.9]).T
print(f"as they come: coverage {np.mean((low <= y_test) & (y_test <= high)):.2f}")
low, high = together.interval(X_test, coverage=0.8).T
print(f"calibrated:   coverage {np.mean((low <= y_test) & (y_test <= high)):.2f}")

# %%
# Two pictures
# ------------
# Quantiles before sorting, at levels that were not trained on the left.

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
axes[0].set(title="together, and an interval of 80 %", ylabel="y")
axes[1].set_title("one by one")
plt.show()
