"""Outliers among the training outputs: samples with a known truth, the methods, and the choice of their parameters."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.vectors import RBF
from iokr.losses.base import Loss
from iokr.losses.epsilon import EpsilonInsensitive, EpsilonSquare
from iokr.losses.huber import Huber
from iokr.losses.square import Square

Matrix = NDArray[np.float64]

N_TRAIN = 150
N_TEST = 500
INPUTS = 2
OUTPUTS = 8
NOISE = 0.1  # standard deviation of the noise in each output
DISTANCE = 10.0  # distance of an outlier from its true output
FRACTIONS = (0.0, 0.05, 0.1, 0.2, 0.3)
KINDS = {"scattered": "each outlier in its own direction", "one-sided": "all outliers in the same direction"}
ALPHAS = np.logspace(-3, 2, 9)
RIDGE = "ridge"
HUBER = "Huber"
FLOOR = "ridge without the outliers"
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
    """Training data with outliers, and the true function at test inputs."""

    X: Matrix
    Y: Matrix
    outlier: NDArray[np.bool_]
    X_test: Matrix
    F_test: Matrix  # true function values without noise


def draw(kind: str, fraction: float, seed: tuple[int, int]) -> Sample:
    """A smooth function of two inputs with eight outputs of unit variance, noise, and a fraction of outliers.

    The same seed gives the same function, inputs and noise for every kind and fraction; the outliers of a smaller
    fraction are outliers of a larger one, too.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(N_TRAIN, INPUTS))
    X_test = rng.uniform(size=(N_TEST, INPUTS))
    f = _smooth_function(rng)
    F = f(X)
    F_test = f(X_test)
    Y = F + NOISE * rng.normal(size=F.shape)
    order = rng.permutation(N_TRAIN)
    directions = rng.normal(size=(N_TRAIN, OUTPUTS))
    if kind == "one-sided":
        directions = np.broadcast_to(directions[0], directions.shape)
    outlier = np.isin(np.arange(N_TRAIN), order[: round(fraction * N_TRAIN)])
    moved = Y + DISTANCE * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return Sample(X, np.where(outlier[:, None], moved, Y), outlier, X_test, F_test)


def _smooth_function(rng: Generator, n_waves: int = 6) -> Callable[[Matrix], Matrix]:
    """Sums of sines; each output has mean about 0 and variance about 1 over the inputs."""
    frequencies = rng.uniform(-1.5, 1.5, size=(INPUTS, n_waves))
    phases = rng.uniform(0, 2 * np.pi, size=n_waves)
    amplitudes = rng.normal(size=(n_waves, OUTPUTS))
    grid = rng.uniform(size=(2000, INPUTS))

    def waves(X: Matrix) -> Matrix:
        return np.asarray(np.sin(X @ frequencies * np.pi + phases) @ amplitudes)

    values = waves(grid)
    mean = values.mean(axis=0)
    deviation = values.std(axis=0)
    return lambda X: (waves(X) - mean) / deviation


# ------------------------------------------------------------------------------------------------------------- methods


@dataclass(frozen=True)
class Choice:
    """Loss and alpha chosen on the training part, and the model fitted to all of it."""

    loss: Loss
    alpha: float
    model: IOKR


def model_of(loss: Loss, alpha: float) -> IOKR:
    """The model of every method, without an intercept: outputs have mean about 0."""
    return IOKR(RBF(), loss=loss, alpha=alpha, intercept=False)


def choose(X: Matrix, Y: Matrix, losses: list[Loss]) -> dict[str, Choice]:
    """The best loss and alpha by each criterion on the last third of the rows, which are in random order; refitted."""
    cut = len(X) - len(X) // 3
    scores: dict[str, dict[tuple[int, float], float]] = defaultdict(dict)
    for (i, loss), alpha in itertools.product(enumerate(losses), ALPHAS.tolist()):
        residuals = np.asarray(model_of(loss, alpha).fit(X[:cut], Y[:cut]).decision_function(X[cut:])) - Y[cut:]
        for name, criterion in CRITERIA.items():
            scores[name][i, alpha] = criterion(np.linalg.norm(residuals, axis=1))
    choices = {}
    for name, found in scores.items():
        i, alpha = min(found, key=lambda point: found[point])
        choices[name] = Choice(losses[i], alpha, model_of(losses[i], alpha).fit(X, Y))
    return choices


def fitted(sample: Sample) -> Iterator[tuple[str, str, Choice]]:
    """Every method with every criterion, and ridge without the outliers."""
    for method, losses in METHODS.items():
        for criterion, choice in choose(sample.X, sample.Y, losses).items():
            yield method, criterion, choice
    clean = ~sample.outlier
    for criterion, choice in choose(sample.X[clean], sample.Y[clean], METHODS[RIDGE]).items():
        yield FLOOR, criterion, choice
