"""Laforgue et al. 2020 on the yeast data: protocol and cases; `duality.py` makes the page.

The paper's objective is (1/n) Σ ℓ(h(xᵢ) − yᵢ) + (Λ/2)‖h‖², so that `alpha` = nΛ; ε and κ are the paper's. There is no
intercept.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
from iokr.solvers.base import Solver
from iokr_lab.data.archives import read_arrays
from iokr_lab.data.multilabel import MultiLabel, load_multilabel
from iokr_lab.splits import TrainTest
from iokr_lab.study import Case, Plan

Matrix = NDArray[np.float64]

ROWS = 300
TEST_FRACTION = 1 / 3
SEEDS = (0, 1, 2)
GAMMA = 1.0  # k(x, z) = exp(−‖x − z‖²)
LAMBDAS = np.logspace(-8, -1, 20)  # Λ of the paper
TOL = 1e-8  # relative duality gap
ZERO = 1e-3  # a row is zero below this fraction of the longest row, saturated above 1 − this fraction of its bound
RIDGE = "ridge"


@dataclass(frozen=True)
class Family:
    """A loss with its parameter: ε or κ."""

    name: str
    symbol: str
    values: Matrix
    loss: Callable[[float], Loss]
    saturates: bool  # count rows at their bound (Huber) instead of zero rows
    candidates: tuple[float, ...]  # for the choice on the training part

    @property
    def counted(self) -> str:
        """The name of the counted rows."""
        return "saturated rows" if self.saturates else "zero rows"


_EPSILONS = np.linspace(0.1, 1, 10)
_CANDIDATES = (0.1, 0.3, 0.5, 0.7, 0.9)
FAMILIES = {
    "krr": Family("ε-ridge", "ε", _EPSILONS, EpsilonSquare, saturates=False, candidates=_CANDIDATES),
    "svr": Family("ε-SVR", "ε", _EPSILONS, EpsilonInsensitive, saturates=False, candidates=_CANDIDATES),
    "huber": Family("Huber", "κ", np.logspace(-3, 1, 16), Huber, saturates=True, candidates=(0.03, 0.1, 0.3, 1.0, 3.0)),
}
"""Families by their names in the authors' file of results."""


# -------------------------------------------------------------------------------------------------- published results


@dataclass(frozen=True)
class Grid:
    """Means over the splits on the grid of the paper for one loss: rows are Λ, columns ε or κ."""

    errors: Matrix
    fractions: Matrix  # fractions of zero or saturated rows


@dataclass(frozen=True)
class Published(Grid):
    """The authors' saved numbers for one loss."""

    ridge: Matrix  # plain IOKR, by Λ


def published() -> dict[str, Published]:
    """The arrays of `data_home()`/duality2020_results/results.npz, by family."""
    path = find_data("duality2020_results/results.npz")
    names = tuple(f"yeast_{key}_{what}" for key in FAMILIES for what in ("MSEs", "Spar"))
    arrays = read_arrays(path, "a Laforgue et al. 2020 results", names)
    found = {}
    for key, family in FAMILIES.items():
        errors = arrays[f"yeast_{key}_MSEs"]
        fractions = arrays[f"yeast_{key}_Spar"]
        sizes = (len(LAMBDAS), len(family.values))
        if fractions.shape != sizes or errors.shape != (sizes[0], sizes[1] + 1):
            raise ValueError(f"{path} must have {sizes} fractions for {key!r}, and errors with one more column.")
        found[key] = Published(errors[:, :-1], fractions, errors[:, -1])
    return found


# ------------------------------------------------------------------------------------------------------------- splits


class Split(TrainTest):
    """Features X and labels Y of the training part and of the test part."""

    @property
    def n(self) -> int:
        """The number of training rows: `alpha` = nΛ."""
        return len(self.X)


def first_rows(data: MultiLabel) -> tuple[Matrix, Matrix]:
    """The 300 rows of the paper: the first rows in the order of the authors' file."""
    if data.order_libsvm is None:
        raise ValueError("the yeast file must have `order_libsvm` to select the rows of Laforgue et al. 2020.")
    rows = data.order_libsvm[:ROWS]
    return np.asarray(data.X[rows]), data.Y[rows]


def their_splits(X: Matrix, Y: Matrix) -> list[Split]:
    """Three random splits that may overlap, as in the authors' scripts, instead of three folds."""
    parts = [train_test_split(X, Y, test_size=TEST_FRACTION, random_state=seed) for seed in SEEDS]
    return [Split(X_train, Y_train, X_test, Y_test) for X_train, X_test, Y_train, Y_test in parts]


def random_split(X: Matrix, Y: Matrix, seed: int, i: int) -> Split:
    """The i-th new split of the same sizes."""
    n_test = round(len(X) * TEST_FRACTION)
    rows = np.random.default_rng((seed, i)).permutation(len(X))
    return Split.of(X, Y, rows[n_test:], rows[:n_test])


def folds(X: Matrix, Y: Matrix, seed: int | None = None) -> list[Split]:
    """Three folds: of consecutive rows, or shuffled."""
    cut = KFold(3, shuffle=seed is not None, random_state=seed)
    return [Split.of(X, Y, train, test) for train, test in cut.split(X)]


# --------------------------------------------------------------------------------------------------------- our results


def held_out_error(predicted: Any, Y: Matrix) -> float:
    """Mean over rows of ‖y − h(x)‖², summed over labels."""
    return float(((np.asarray(predicted) - Y) ** 2).sum(axis=1).mean())


def model_of(loss: Loss, alpha: float, solver: Solver | None = None) -> IOKR:
    """h(x) = Σ cᵢ k(xᵢ, x) of the paper."""
    return IOKR(RBF(GAMMA), loss=loss, alpha=alpha, solver=solver, intercept=False)


def _error(split: Split, loss: Loss, alpha: float) -> float:
    """The error on the test part of a model fitted to the training part."""
    model = model_of(loss, alpha).fit(split.X, split.Y)
    return held_out_error(model.decision_function(split.X_test), split.Y_test)


def ridge_errors(splits: Sequence[Split], alphas: Callable[[Split], Matrix] | None = None) -> Matrix:
    """Errors of plain IOKR at every Λ, means over the splits."""
    errors = np.zeros(len(LAMBDAS))
    for split in splits:
        grid = split.n * LAMBDAS if alphas is None else alphas(split)
        errors += np.array([_error(split, Square(), alpha) for alpha in grid.tolist()]) / len(splits)
    return errors


def column(split: Split, family: Family, value: float) -> dict[str, Any]:
    """Test error and fraction of zero or saturated rows for every Λ, and the largest relative duality gap."""
    errors = []
    fractions = []
    gaps = []
    for alpha in (split.n * LAMBDAS).tolist():
        model = model_of(family.loss(value), alpha, Auto(tol=TOL)).fit(split.X, split.Y)
        errors.append(held_out_error(model.decision_function(split.X_test), split.Y_test))
        fractions.append(fraction_of(family, model, value))
        gaps.append(model.solution_.gap)
    return {"errors": errors, "fractions": fractions, "gap": max(gaps)}


def fraction_of(family: Family, model: IOKR, value: float) -> float:
    """The fraction of training points whose coefficients are zero, or at the bound of the loss."""
    lengths = np.linalg.norm(np.asarray(model.solution_.C), axis=1)
    if family.saturates:
        return float(np.mean(model.alpha * lengths >= (1 - ZERO) * value))
    return float(np.mean(lengths <= ZERO * lengths.max()))


@dataclass(frozen=True)
class Interpretation:
    """An interpretation of the protocol: several draws of splits, and `alpha` as a function of Λ."""

    draws: list[list[Split]]
    alphas: Callable[[Split], Matrix] | None = None


def interpretations(data: MultiLabel, shuffles: int = 10) -> dict[str, Interpretation]:
    """The protocol of the authors' scripts, then with one change at a time."""
    X, Y = first_rows(data)
    their = their_splits(X, Y)
    other_rows = np.asarray(data.X[:ROWS]), data.Y[:ROWS]
    shuffled = [folds(X, Y, seed) for seed in range(shuffles)]
    return {
        f"random splits with seeds {', '.join(map(str, SEEDS))}": Interpretation([their]),
        "folds of consecutive rows": Interpretation([folds(X, Y)]),
        f"shuffled folds, {shuffles} seeds": Interpretation(shuffled),
        "rows of the other distribution of the data": Interpretation([their_splits(*other_rows)]),
        "labels −½ and ½": Interpretation([their_splits(X, Y - 0.5)]),
        "`alpha` = Λ, not nΛ": Interpretation([their], lambda split: LAMBDAS),
    }


CANDIDATE_LAMBDAS = LAMBDAS[8:18]


def chosen_error(split: Split, losses: Sequence[Loss]) -> float:
    """Test error with the loss and Λ of the smallest error over three folds of the training part."""
    parts = folds(split.X, split.Y)
    grid = itertools.product(losses, (split.n * CANDIDATE_LAMBDAS).tolist())
    loss, alpha = min(grid, key=lambda candidate: sum(_error(part, *candidate) for part in parts))
    return _error(split, loss, alpha)


# ---------------------------------------------------------------------------------------------------------------- runs


@dataclass(frozen=True)
class DualityPlan(Plan):
    """The number of new splits; every `stride`-th value of ε and κ is run."""

    stride: int = 1


@dataclass(frozen=True)
class Data:
    """The data of all cases; families and the authors' grids are restricted to the plan."""

    families: dict[str, Family]
    theirs: dict[str, Published]
    X: Matrix
    Y: Matrix
    splits: list[Split]  # the splits of the paper
    interpretations: dict[str, Interpretation]


def load(plan: DualityPlan) -> Data:
    """The yeast data and the authors' results."""
    every = slice(None, None, plan.stride)
    data = load_multilabel("yeast")
    families = {
        key: replace(family, values=family.values[every], candidates=family.candidates[every])
        for key, family in FAMILIES.items()
    }
    theirs = {
        key: replace(found, errors=found.errors[:, every], fractions=found.fractions[:, every])
        for key, found in published().items()
    }
    X, Y = first_rows(data)
    return Data(families, theirs, X, Y, their_splits(X, Y), interpretations(data))


@dataclass(frozen=True)
class Curve(Case):
    """Plain IOKR along Λ for one interpretation of the protocol."""

    interpretation: str
    draw: int


@dataclass(frozen=True)
class Column(Case):
    """A value of ε or κ at every Λ, on one split of the paper."""

    family: str
    parameter: int
    split: int


@dataclass(frozen=True)
class Chosen(Case):
    """A method with parameters chosen on the training part, on one new split."""

    method: str
    draw: int


def cases(plan: DualityPlan, data: Data) -> list[Case]:
    """Every interpretation, every column of the grids, every new split."""
    return [
        *(Curve(name, i) for name, found in data.interpretations.items() for i in range(len(found.draws))),
        *(
            Column(key, j, i)
            for key, family in data.families.items()
            for i, j in itertools.product(range(len(data.splits)), range(len(family.values)))
        ),
        *(Chosen(name, i) for i in range(plan.repeat) for name in _candidates(data.families)),
    ]


def work(case: Curve | Column | Chosen, plan: DualityPlan, data: Data) -> dict[str, Any]:
    """The errors along Λ, or the test error of a method with chosen parameters."""
    if isinstance(case, Curve):
        found = data.interpretations[case.interpretation]
        return {"errors": ridge_errors(found.draws[case.draw], found.alphas)}
    if isinstance(case, Column):
        family = data.families[case.family]
        return column(data.splits[case.split], family, float(family.values[case.parameter]))
    split = random_split(data.X, data.Y, plan.seed, case.draw)
    return {"error": chosen_error(split, _candidates(data.families)[case.method])}


def _candidates(families: dict[str, Family]) -> dict[str, list[Loss]]:
    """The candidates for the loss of each method."""
    return {RIDGE: [Square()]} | {f.name: [f.loss(value) for value in f.candidates] for f in families.values()}
