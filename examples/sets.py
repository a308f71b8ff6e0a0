"""
Sets: a label for many members
==============================

A molecule has many shapes, a slide many patches, and one label for all of them. Three
worlds with a known truth: every member tells the label with noise; one member of a
positive set tells it and the others tell nothing; members lie on either side of a
curve, far from it but for one, and single members near the curve are asked for. Who
learns what: each member on its own (``SetModel``), the worst of them (``worst=True``),
or the mean of their features (``SetKernel``)?

.. rst-class:: formula

| min over g of Σ_p (1/\\|p\\|) Σ_{x∈p} ℓ(g(x), y_p) + (α/2)‖g‖²
| f(p) = mean of g(x) over x ∈ p
"""

import matplotlib.pyplot as plt
import numpy as np

from iokr import IOKR, SetModel
from iokr.kernels import RBF, SetKernel
from iokr.losses import MaxMargin

# %%
# The worlds
# ----------
# A set is an array with a row for each member.


def every_member(label, rng, asked):
    middle = np.array([2.0 * label - 1.0, 0.0])
    return middle + rng.normal(size=(rng.integers(2, 9), 2))


def one_member(label, rng, asked):
    points = rng.normal(size=(rng.integers(2, 9), 2))
    if label:
        points[rng.integers(len(points))] = 2.5 + 0.3 * rng.normal(size=2)
    return points


def near_the_curve(label, rng, asked):
    x = rng.uniform(-3, 3, size=rng.integers(3, 9))
    away = np.r_[rng.uniform(0.05, 0.6), rng.uniform(1.5, 3, size=len(x) - 1)]
    points = np.column_stack([x, np.sin(2 * x) + (2 * label - 1) * away])
    return points[:1] if asked else points


WORLDS = {
    "every member": (every_member, RBF(0.5)),
    "one member": (one_member, RBF(0.5)),
    "near the curve": (near_the_curve, RBF(2.0)),
}


def draw(world, n, rng, asked=False):
    y = rng.integers(0, 2, size=n)
    return [world(label, rng, asked) for label in y], y


# %%
# Five models
# -----------
# 60 sets to learn from, α chosen on as many others, 300 sets asked for; three draws.

MODELS = {
    "members, square": lambda k, a: SetModel(k, alpha=a),
    "members, hinge": lambda k, a: SetModel(k, loss=MaxMargin(), alpha=a),
    "worst member": lambda k, a: SetModel(k, alpha=a, worst=True),
    "SetKernel, square": lambda k, a: IOKR(SetKernel(k), alpha=a / 6),
    "SetKernel, hinge": lambda k, a: IOKR(SetKernel(k), loss=MaxMargin(), alpha=a / 6),
}


def right(model, sets, y):
    return np.mean((model.decision_function(sets).ravel() > 0) == (y == 1))


table = np.zeros((len(WORLDS), len(MODELS), 3))
for row, (world, kernel) in enumerate(WORLDS.values()):
    for number in range(3):
        rng = np.random.default_rng(number)
        sets, y = draw(world, 60, rng)
        others = draw(world, 60, rng)
        test = draw(world, 300, rng, asked=True)
        for column, make in enumerate(MODELS.values()):
            fitted = [make(kernel, a).fit(sets, 2.0 * y - 1) for a in (0.01, 0.1, 1.0)]
            best = max(fitted, key=lambda model: right(model, *others))
            table[row, column, number] = 100 * right(best, *test)
for name, row in zip(WORLDS, table.mean(axis=2), strict=True):
    print(f"{name:>14}", *(f"{value:5.1f}" for value in row))

# %%
# The figure
# ----------
# Where every member tells, all but the worst member do alike. Where one does, the mean
# of features finds it and members on their own do not: all of a positive set are called
# positive. Near the curve it is the other way round. The worst member wins
# nowhere: as soon as one member of most sets cannot be right, g = 0 is best.

figure, axes = plt.subplots(figsize=(8.5, 3.8), layout="constrained")
width = 0.16
for column, name in enumerate(MODELS):
    places = np.arange(len(WORLDS)) + (column - 2) * width
    axes.bar(places, table[:, column].mean(axis=1), width, label=name)
    axes.plot(places, table[:, column], "k.", markersize=3)
axes.axhline(50, color="0.3", linewidth=0.8, linestyle=":", label="chance")
axes.set(
    xticks=range(len(WORLDS)), xticklabels=WORLDS, ylim=(40, 102), ylabel="right, %"
)
figure.legend(ncols=3, loc="outside upper center", fontsize=9)
plt.show()
