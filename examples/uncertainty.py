"""
How sure: sets, bands and probabilities
=======================================

An answer without its error is half an answer. A conformal set holds every output that
looks no stranger at x than known outputs look at their own inputs, after (x, y) has
joined them. It holds the truth as often as asked for, whatever the distribution. Five
displays show a model from its choice to its errors.

.. rst-class:: formula

| C(x) = {y : #{i : s_i < s(x, y)} < ⌈c(n + 1)⌉}
| s(x, y) = ‖ψ(y) − h(x)‖, and s_i the same for row i
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
# A wave whose noise grows to the right, and few inputs beyond 4.

rng = np.random.default_rng(0)


def waves(n):
    x = 5 * rng.beta(1.2, 1.8, size=n)
    return x[:, None], np.sin(2 * x) + (0.05 + 0.08 * x) * rng.normal(size=n)


X_choice, y_choice = waves(100)
X, y = waves(120)
X_test, y_test = waves(500)

# %%
# Choose on other rows
# --------------------
# Kernel and ``alpha`` chosen on the rows that sets are made of would void their
# guarantee, so a part of the data is spent on the choice. ``PathDisplay`` shows it.

choice = IOKRCV([RBF(0.1), RBF(1.0), RBF(10.0)], alphas=np.logspace(-4, 2, 25))
choice.fit(X_choice, y_choice)
model = IOKR(choice.kernel_, alpha=choice.alpha_)

# %%
# Two kinds of sets
# -----------------
# By distance all intervals are about as long; scaled by the deviation of h(x), they
# grow where inputs are few. Both keep the promise, on average over the inputs.

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
# Which of five stretches of the axis is an input from? The temperature of
# ``predict_proba`` is the one with the smallest log loss on leave-one-out.

NAMES = np.array(["first", "second", "third", "fourth", "fifth"], dtype=object)


def stretches(x):
    return NAMES[np.clip(x[:, 0] + 0.4 * rng.normal(size=len(x)), 0, 4.99).astype(int)]


places, truth = stretches(X), stretches(X_test)
classes = IOKR(RBF(1.0), output_kernel=Delta(), alpha=1.0).fit(X, places)
P = classes.predict_proba(X_test, NAMES)
right = NAMES[P.argmax(axis=1)] == truth
print(f"mean probability of the answer {P.max(axis=1).mean():.2f}", end=", ")
print(f"fraction that is right {right.mean():.2f}")

# %%
# Weights of kernels
# ------------------
# ``Aligned`` weighs kernels by how well they go with the outputs.

kernels = [Linear(), RBF(0.1), RBF(1.0), RBF(10.0)]
aligned = IOKR(Aligned(kernels), alpha=0.1).fit(X, y)

# %%
# Six pictures
# ------------

figure, axes = plt.subplots(3, 2, figsize=(9, 11), layout="constrained")
PathDisplay.from_estimator(choice, ax=axes[0, 0])
axes[0, 0].set_title("the choice")
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
axes[2, 0].set_title("ranks of the true stretch")
WeightsDisplay.from_estimator(aligned, ax=axes[2, 1])
axes[2, 1].set_title("weights of kernels")
plt.show()
