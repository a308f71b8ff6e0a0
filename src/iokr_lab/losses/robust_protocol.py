"""Outputs with a fraction of outliers: the data and the methods; `robust.py` makes the page."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.vectors import RBF
from iokr.losses.base import Loss
from iokr.losses.epsilon import EpsilonInsensitive, EpsilonSquare
from iokr.losses.huber import Huber
from iokr.losses.square import Square
from iokr_lab.study import Case, Plan

Matrix = NDArray[np.float64]

N_TRAIN, N_TEST, INPUTS, OUTPUTS = 150, 500, 2, 8
NOISE, DISTANCE = 0.1, 10.0  # deviation of the noise in each output; how far an outlier is from its place
FRACTIONS = (0.0, 0.05, 0.1, 0.2, 0.3)
KINDS = {"scattered": "each outlier in a direction of its own", "one-sided": "all outliers in the same direction"}
ALPHAS = np.logspace(-3, 2, 9)
RIDGE, HUBER, FLOOR = "ridge", "Huber", "ridge without the outliers"
METHODS: dict[str, list[Loss]] = {
    RIDGE: [Square()],
    "ε-ridge": [EpsilonSquare(epsilon) for epsilon in (0.1, 0.3, 1.0, 3.0)],
    "ε-SVR": [EpsilonInsensitive(epsilon) for epsilon in (0.1, 0.3, 1.0, 3.0)],
    HUBER: [Huber(kappa) for kappa in (0.1, 0.3, 1.0, 3.0)],
}
CRITERIA: dict[str, Callable[[Matrix], float]] = {
    "median": lambda distances: float(np.median(distances)),
    "mean of squares": lambda distances: float(np.mean(distances**2)),
}


@dataclass(frozen=True)
class Sample:
    """Training outputs with outliers, and what is true at test inputs."""

    X: Matrix
    Y: Matrix
    outlier: NDArray[np.bool_]
    X_test: Matrix
    F_test: Matrix  # without noise


def draw(kind: str, fraction: float, seed: tuple[int, int]) -> Sample:
    """A smooth function of two inputs with eight outputs of unit variance; noise; some rows moved far away.

    The same seed gives the same function, inputs and noise for every kind and fraction, and a larger one moves more
    rows.
    """
    rng = np.random.default_rng(seed)
    X, X_test = rng.uniform(size=(N_TRAIN, INPUTS)), rng.uniform(size=(N_TEST, INPUTS))
    f = _smooth_function(rng)
    F, F_test = f(X), f(X_test)
    Y = F + NOISE * rng.normal(size=F.shape)
    order, directions = rng.permutation(N_TRAIN), rng.normal(size=(N_TRAIN, OUTPUTS))
    if kind == "one-sided":
        directions = np.broadcast_to(directions[0], directions.shape)
    outlier = np.isin(np.arange(N_TRAIN), order[: round(fraction * N_TRAIN)])
    moved = Y + DISTANCE * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return Sample(X, np.where(outlier[:, None], moved, Y), outlier, X_test, F_test)


def _smooth_function(rng: Generator, n_waves: int = 6) -> Callable[[Matrix], Matrix]:
    """Sums of sines, each output of mean 0 and variance 1 over the inputs, about."""
    frequencies = rng.uniform(-1.5, 1.5, size=(INPUTS, n_waves))
    phases, amplitudes = rng.uniform(0, 2 * np.pi, size=n_waves), rng.normal(size=(n_waves, OUTPUTS))
    grid = rng.uniform(size=(2000, INPUTS))

    def waves(X: Matrix) -> Matrix:
        return np.asarray(np.sin(X @ frequencies * np.pi + phases) @ amplitudes)

    values = waves(grid)
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    return lambda X: (waves(X) - mean) / deviation


# ------------------------------------------------------------------------------------------------------------- methods


@dataclass(frozen=True)
class Choice:
    """What was chosen on the training part, fitted to all of it."""

    loss: Loss
    alpha: float
    model: IOKR


def model_of(loss: Loss, alpha: float) -> IOKR:
    return IOKR(RBF(), loss=loss, alpha=alpha)


def choose(X: Matrix, Y: Matrix, losses: list[Loss]) -> dict[str, Choice]:
    """The best loss and alpha by each criterion, on a third of the training rows, outliers and all; fitted to all rows.

    The rows come in random order, so the last third is a random one.
    """
    cut = len(X) - len(X) // 3
    scores: dict[str, dict[tuple[int, float], float]] = defaultdict(dict)
    for (i, loss), alpha in itertools.product(enumerate(losses), ALPHAS.tolist()):
        residuals = np.asarray(model_of(loss, alpha).fit(X[:cut], Y[:cut]).decision_function(X[cut:])) - Y[cut:]
        for name, criterion in CRITERIA.items():
            scores[name][i, alpha] = criterion(np.linalg.norm(residuals, axis=1))
    best = {name: min(found, key=found.__getitem__) for name, found in scores.items()}
    models = {(i, alpha): model_of(losses[i], alpha).fit(X, Y) for i, alpha in set(best.values())}
    return {name: Choice(losses[at[0]], at[1], models[at]) for name, at in best.items()}


def fitted(sample: Sample) -> Iterator[tuple[str, str, Choice]]:
    """Every method, by every criterion; and ridge without the outliers."""
    for method, losses in METHODS.items():
        for criterion, choice in choose(sample.X, sample.Y, losses).items():
            yield method, criterion, choice
    clean = ~sample.outlier
    for criterion, choice in choose(sample.X[clean], sample.Y[clean], METHODS[RIDGE]).items():
        yield FLOOR, criterion, choice


# ---------------------------------------------------------------------------------------------------------------- runs


@dataclass(frozen=True)
class Drawn(Case):
    """A sample; without outliers all kinds are the same, and only the first is run."""

    outliers: str
    fraction: float
    sample: int


def cases(plan: Plan, data: None) -> list[Drawn]:
    """Every kind and fraction of outliers in every sample."""
    settings = [(next(iter(KINDS)), 0.0), *itertools.product(KINDS, FRACTIONS[1:])]
    return [Drawn(kind, fraction, i) for i in range(plan.repeat) for kind, fraction in settings]


def work(case: Drawn, plan: Plan, data: None) -> dict[str, Any]:
    """Clean test error, alpha and ε or κ (0 for the square loss), by method and criterion."""
    sample = draw(case.outliers, case.fraction, (plan.seed, case.sample))
    metrics: dict[str, Any] = {"error": {}, "alpha": {}, "parameter": {}}
    for method, criterion, choice in fitted(sample):
        residuals = np.asarray(choice.model.decision_function(sample.X_test)) - sample.F_test
        parameter = getattr(choice.loss, "kappa", getattr(choice.loss, "epsilon", 0.0))
        found = {"error": float((residuals**2).sum(axis=1).mean()), "alpha": choice.alpha, "parameter": parameter}
        for name, value in found.items():
            metrics[name].setdefault(method, {})[criterion] = value
    return metrics
