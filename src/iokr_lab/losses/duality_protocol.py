"""Laforgue et al. 2020 on the yeast data: the protocol and the runs; `duality.py` shows them.

The paper's objective is (1/n) Σ ℓ(h(xᵢ) − yᵢ) + (Λ/2)‖h‖², so that `alpha` = nΛ; ε and κ are the paper's.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, train_test_split

from iokr.datasets.home import find_data
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.vectors import RBF
from iokr.losses.base import Loss
from iokr.losses.epsilon import EpsilonInsensitive, EpsilonSquare
from iokr.losses.huber import Huber
from iokr.losses.square import Square
from iokr.solvers.auto import Auto
from iokr_lab.data.multilabel import MultiLabel

__all__ = [
    "FAMILIES",
    "GAMMA",
    "LAMBDAS",
    "RIDGE",
    "TOL",
    "Family",
    "Grid",
    "Matrix",
    "Published",
    "Reading",
    "Split",
    "chosen_on_training_part",
    "first_rows",
    "held_out_error",
    "on_grid",
    "published",
    "random_splits",
    "readings",
    "ridge_errors",
    "their_splits",
]

Matrix = NDArray[np.float64]
Step = Callable[[str], None]

ROWS, TEST_SHARE, SEEDS = 300, 1 / 3, (0, 1, 2)
GAMMA = 1.0  # k(x, z) = exp(−‖x − z‖²)
LAMBDAS = np.logspace(-8, -1, 20)  # Λ of the paper
TOL = 1e-8  # relative duality gap
ZERO = 1e-3  # a row is zero below this share of the longest, and saturated above 1 − this share of its bound
RIDGE = "ridge"


@dataclass(frozen=True)
class Family:
    """A loss with its parameter: ε or κ."""

    name: str
    symbol: str
    values: Matrix
    loss: Callable[[float], Loss]
    saturates: bool  # what is counted: rows at their bound (Huber), else rows that are zero
    to_choose_from: tuple[float, ...]  # when the parameter is chosen on the training part

    @property
    def share(self) -> str:
        """What is counted, in words."""
        return "saturated rows" if self.saturates else "zero rows"


_EPSILONS, _TO_CHOOSE = np.linspace(0.1, 1, 10), (0.1, 0.3, 0.5, 0.7, 0.9)
FAMILIES = {
    "krr": Family("ε-ridge", "ε", _EPSILONS, EpsilonSquare, saturates=False, to_choose_from=_TO_CHOOSE),
    "svr": Family("ε-SVR", "ε", _EPSILONS, EpsilonInsensitive, saturates=False, to_choose_from=_TO_CHOOSE),
    "huber": Family(
        "Huber", "κ", np.logspace(-3, 1, 16), Huber, saturates=True, to_choose_from=(0.03, 0.1, 0.3, 1.0, 3.0)
    ),
}
"""By the names in the authors' file of results."""


# -------------------------------------------------------------------------------------------------------- their side


@dataclass(frozen=True)
class Published:
    """The authors' saved figures for one loss: rows are Λ, columns ε or κ."""

    errors: Matrix
    shares: Matrix
    ridge: Matrix  # plain IOKR, by Λ


def published() -> dict[str, Published]:
    """The arrays of `data_home()`/duality2020_results/results.npz, by family."""
    path = find_data("duality2020_results/results.npz")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: (file[f"yeast_{key}_MSEs"], file[f"yeast_{key}_Spar"]) for key in FAMILIES}
    except (KeyError, ValueError, OSError, EOFError, BadZipFile) as error:
        raise ValueError(f"{path} does not hold the results of Laforgue et al. 2020: {error}") from error
    for key, (errors, shares) in arrays.items():
        sizes = (len(LAMBDAS), len(FAMILIES[key].values))
        if shares.shape != sizes or errors.shape != (sizes[0], sizes[1] + 1):
            raise ValueError(f"{path} must hold {sizes} shares for {key!r}, and a column more of errors.")
    return {key: Published(errors[:, :-1], shares, errors[:, -1]) for key, (errors, shares) in arrays.items()}


# ------------------------------------------------------------------------------------------------------------- splits


@dataclass(frozen=True)
class Split:
    """Features X and labels Y of the training part and of the test part."""

    X: Matrix
    Y: Matrix
    X_test: Matrix
    Y_test: Matrix

    @property
    def n(self) -> int:
        """The number of training rows: `alpha` = nΛ."""
        return len(self.X)


def first_rows(data: MultiLabel) -> tuple[Matrix, Matrix]:
    """The 300 rows of the paper: the first in the order of the file that the authors read."""
    if data.order_libsvm is None:
        raise ValueError("the rows of Laforgue et al. 2020 need `order_libsvm`, which this file does not have.")
    rows = data.order_libsvm[:ROWS]
    return np.asarray(data.X[rows]), data.Y[rows]


def their_splits(X: Matrix, Y: Matrix) -> list[Split]:
    """Three random splits that may overlap, as drawn by the authors' scripts: not three folds."""
    parts = [train_test_split(X, Y, test_size=TEST_SHARE, random_state=seed) for seed in SEEDS]
    return [Split(X_train, Y_train, X_test, Y_test) for X_train, X_test, Y_train, Y_test in parts]


def random_splits(X: Matrix, Y: Matrix, seed: int, repeat: int) -> Iterator[Split]:
    """As many other splits of the same sizes."""
    n_test = round(len(X) * TEST_SHARE)
    for i in range(repeat):
        rows = np.random.default_rng((seed, i)).permutation(len(X))
        train, test = rows[n_test:], rows[:n_test]
        yield Split(X[train], Y[train], X[test], Y[test])


def folds(X: Matrix, Y: Matrix, seed: int | None = None) -> list[Split]:
    """Three folds: of consecutive rows, or shuffled."""
    cut = KFold(3, shuffle=seed is not None, random_state=seed)
    return [Split(X[train], Y[train], X[test], Y[test]) for train, test in cut.split(X)]


# ------------------------------------------------------------------------------------------------------- our side


def held_out_error(predicted: Any, Y: Matrix) -> float:
    """Mean over rows of ‖y − h(x)‖², the sum over the labels."""
    return float(((np.asarray(predicted) - Y) ** 2).sum(axis=1).mean())


def _error(split: Split, loss: Loss, alpha: float) -> float:
    """The error on the test part of a model fitted to the training part."""
    model = IOKR(RBF(GAMMA), loss=loss, alpha=alpha).fit(split.X, split.Y)
    return held_out_error(model.decision_function(split.X_test), split.Y_test)


def ridge_errors(splits: Sequence[Split], alphas: Callable[[Split], Matrix] | None = None) -> Matrix:
    """Plain IOKR at every Λ, the mean over the splits."""
    errors = np.zeros(len(LAMBDAS))
    for split in splits:
        grid = split.n * LAMBDAS if alphas is None else alphas(split)
        errors += np.array([_error(split, Square(), alpha) for alpha in grid.tolist()]) / len(splits)
    return errors


@dataclass(frozen=True)
class Grid:
    """Ours on the grid of the paper: rows are Λ, columns ε or κ."""

    errors: Matrix
    shares: Matrix
    gap: float  # the largest relative duality gap


def on_grid(splits: Sequence[Split], family: Family, step: Step) -> Grid:
    """Test error and share of zero or saturated rows for every Λ and parameter, means over the splits."""
    errors, shares = np.zeros((2, len(LAMBDAS), len(family.values)))
    gaps = []
    for split, (j, value) in itertools.product(splits, enumerate(family.values)):
        step(f"{family.name} on the grid of the paper")
        for i, alpha in enumerate((split.n * LAMBDAS).tolist()):
            model = IOKR(RBF(GAMMA), loss=family.loss(float(value)), alpha=alpha, solver=Auto(tol=TOL))
            model.fit(split.X, split.Y)
            errors[i, j] += held_out_error(model.decision_function(split.X_test), split.Y_test) / len(splits)
            shares[i, j] += share(family, model, float(value)) / len(splits)
            gaps.append(model.solution_.gap)
    return Grid(errors, shares, max(gaps))


def share(family: Family, model: IOKR, value: float) -> float:
    """The share of training points whose coefficients are zero, or as long as the loss lets them be."""
    lengths = np.linalg.norm(np.asarray(model.solution_.C), axis=1)
    if family.saturates:
        return float(np.mean(model.alpha * lengths >= (1 - ZERO) * value))
    return float(np.mean(lengths <= ZERO * lengths.max()))


# ------------------------------------------------------------------------------------------ which reading is theirs


@dataclass(frozen=True)
class Reading:
    """Plain IOKR under one reading of the protocol: a curve over Λ for every way to draw the splits."""

    name: str
    curves: list[Matrix]


def readings(data: MultiLabel, step: Step, shuffles: int = 10) -> list[Reading]:
    """The protocol as the authors ran it, then with one thing changed at a time."""
    X, Y = first_rows(data)
    their = their_splits(X, Y)
    other_rows = np.asarray(data.X[:ROWS]), data.Y[:ROWS]
    variants: list[tuple[str, list[list[Split]], Callable[[Split], Matrix] | None]] = [
        (f"random splits with seeds {', '.join(map(str, SEEDS))}", [their], None),
        ("folds of consecutive rows", [folds(X, Y)], None),
        (f"shuffled folds, {shuffles} seeds", [folds(X, Y, seed) for seed in range(shuffles)], None),
        ("rows of the other distribution of the data", [their_splits(*other_rows)], None),
        ("labels −½ and ½", [their_splits(X, Y - 0.5)], None),
        ("`alpha` = Λ, not nΛ", [their], lambda split: LAMBDAS),
    ]
    found = []
    for name, drawn, alphas in variants:
        step("plain IOKR under every reading")
        found.append(Reading(name, [ridge_errors(splits, alphas) for splits in drawn]))
    return found


# ------------------------------------------------------------------------------- everything chosen on the training part

TO_CHOOSE = LAMBDAS[8:18]


def chosen_on_training_part(splits: Sequence[Split], step: Step) -> dict[str, list[float]]:
    """Test errors by method, a figure a split; Λ and ε or κ by three folds of the training part."""
    errors: dict[str, list[float]] = defaultdict(list)
    candidates: dict[str, list[Loss]] = {RIDGE: [Square()]}
    candidates |= {f.name: [f.loss(value) for value in f.to_choose_from] for f in FAMILIES.values()}
    for split, (name, losses) in itertools.product(splits, candidates.items()):
        step("parameters chosen on the training part")
        errors[name].append(_error(split, *_best(split, losses)))
    return errors


def _best(split: Split, losses: list[Loss]) -> tuple[Loss, float]:
    """The loss and alpha with the smallest error over three folds of the training part, whose order is random."""
    parts = folds(split.X, split.Y)
    grid = itertools.product(losses, (split.n * TO_CHOOSE).tolist())
    return min(grid, key=lambda candidate: sum(_error(part, *candidate) for part in parts))
