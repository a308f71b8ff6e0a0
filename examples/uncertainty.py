r"""
Prediction sets, bands and probabilities
========================================

A prediction set contains the outputs whose nonconformity score at :math:`x`, computed
with :math:`(x, y)` included in the fit, is at most the calibration quantile. Its
coverage is guaranteed for every distribution of exchangeable rows. Displays show model
selection, coverage and errors.

.. math::

   C(x) = \{y : \#\{i : s_i < s(x, y)\} < \lceil c(n + 1)\rceil\}, \qquad
   s(x, y) = \lVert\psi(y) - h(x)\rVert
"""

import matplotlib.pyplot as plt
import numpy as np

from iokr import IOKR, IOKRCV, Conformal
from iokr.kernels import RBF, Aligned, Delta, Linear
from iokr.metrics import (
    CoverageDisplay,
    PathDisplay,
    PredictionDisplay,
    RankDisplay,
    WeightsDisplay,
)

# %%
# The data
# --------
# A wave whose noise increases with x, and few inputs above 4.

rng = np.random.default_rng(0)


def waves(n):
    x = 5 * rng.beta(1.2, 1.8, size=n)
    return x[:, None], np.sin(2 * x) + (0.05 + 0.08 * x) * rng.normal(size=n)


X_choice, y_choice = waves(100)
X, y = waves(120)
X_test, y_test = waves(500)

# %%
# Model selection on other rows
# -----------------------------
# Selecting kernel and ``alpha`` on the calibration rows would void the guarantee, so a
# part of the data is used for the selection. ``PathDisplay`` shows it for three widths
# of the kernel, from standard deviation 2.2, half of the axis, to 0.2.

choice = IOKRCV([RBF(0.1), RBF(1.0), RBF(10.0)], alphas=np.logspace(-4, 2, 25))
choice.fit(X_choice, y_choice)
model = IOKR(choice.kernel_, alpha=choice.alpha_)

# %%
# Two nonconformity scores
# ------------------------
# With distances all intervals have about the same length; scaled by the standard
# deviation of h(x), they are longer where inputs are few. Both have the guaranteed
# coverage on average over inputs.

sets = Conformal(model).fit(X, y)
scaled = Conformal(model, conformity="scaled").fit(X, y)
print(sets.guarantee_)
for name, one in {"distance": sets, "scaled": scaled}.items():
    inside = one.contains(X_test, y_test, coverage=0.9).mean()
    widths = np.ptp(one.band([[1.0], [4.8]], coverage=0.9), axis=1)
    print(f"{name:9} coverage {inside:.3f}, widths {widths.round(2)} at 1 and 4.8")

# %%
# Probabilities of candidates
# ---------------------------
# Which of five segments of the axis does an input belong to? The temperature of
# ``predict_proba`` minimises the leave-one-out log loss. ``RBF(1.0)`` has a standard
# deviation of 0.7, near the length of a segment.

NAMES = np.array(["first", "second", "third", "fourth", "fifth"], dtype=object)


def segments(x):
    return NAMES[np.clip(x[:, 0] + 0.4 * rng.normal(size=len(x)), 0, 4.99).astype(int)]


places, truth = segments(X), segments(X_test)
classes = IOKR(RBF(1.0), output_kernel=Delta(), alpha=1.0).fit(X, places)
P = classes.predict_proba(X_test, NAMES)
right = NAMES[P.argmax(axis=1)] == truth
print(f"mean probability of the prediction {P.max(axis=1).mean():.2f}", end=", ")
print(f"accuracy {right.mean():.2f}")

# %%
# Weights of kernels
# ------------------
# ``Aligned`` weights kernels by their alignment with the outputs, here the three widths
# above and the inner product.

kernels = [Linear(), RBF(0.1), RBF(1.0), RBF(10.0)]
aligned = IOKR(Aligned(kernels), alpha=0.1).fit(X, y)

# %%
# The figure
# ----------

figure, axes = plt.subplots(3, 2, figsize=(9, 11), layout="constrained")
PathDisplay.from_estimator(choice, ax=axes[0, 0])
axes[0, 0].set_title("model selection")
grid = np.linspace(0, 5, 200)[:, None]
axes[0, 1].plot(X[:, 0], y, ".", color="#888888", markersize=4)
for one, colour, name in ((sets, "C0", "distance"), (scaled, "C1", "scaled")):
    low, high = one.band(grid, coverage=0.9).T
    axes[0, 1].fill_between(grid[:, 0], low, high, color=colour, alpha=0.2, label=name)
axes[0, 1].plot(grid[:, 0], sets.predict(grid), color="black", linewidth=1)
axes[0, 1].set(title="bands of 90 %", xlabel="x", ylabel="y")
axes[0, 1].legend(frameon=False, loc="lower left")
CoverageDisplay.from_estimator(sets, X_test, y_test, ax=axes[1, 0])
axes[1, 0].set_title("coverage of 500 new rows")
PredictionDisplay.from_estimator(scaled, X_test[:80], y_test[:80], ax=axes[1, 1])
axes[1, 1].set_title("80 predictions")
RankDisplay.from_estimator(classes, X_test, truth, NAMES, ax=axes[2, 0])
axes[2, 0].set_title("ranks of the true segment")
WeightsDisplay.from_estimator(aligned, ax=axes[2, 1])
axes[2, 1].set_title("weights of kernels")
plt.show()
