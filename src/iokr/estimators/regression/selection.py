"""argmin over kernel, manifold weight and alpha: by exact leave-one-out in closed form, or by folds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from iokr._array import Array
from iokr._validation.arguments import check_folds, check_number
from iokr.data.objects import error_context
from iokr.estimators.inputs import check_kernel, fresh_solver
from iokr.estimators.regression.posing import Data, Fit, FittedInputs, pose, solve
from iokr.estimators.search.tally import Tally
from iokr.kernels.base import Kernel
from iokr.manifolds.base import Manifold
from iokr.operator_kernels.base import OperatorKernel
from iokr.problem import Problem, Solution
from iokr.solvers.auto import Auto
from iokr.solvers.base import Path, Solver
from iokr.solvers.closed_form.paths import ClosedForm
from iokr.solvers.closed_form.spectral import SpectralPath

__all__ = [
    "ALPHAS",
    "Criterion",
    "Fold",
    "Grid",
    "Selected",
    "Track",
    "best_of",
    "check_grid",
    "check_values",
    "closed_paths",
    "drop_single_axes",
    "row_splits",
    "select_by_folds",
    "select_by_leave_one_out",
    "solutions",
    "solve_best",
    "squared_errors",
]

ALPHAS = tuple(float(f"{a:.6g}") for a in np.logspace(-6, 3, 19))

Criterion = Callable[[Path, Array, Sequence[float]], np.ndarray]
"""(path, targets, alphas) ↦ measures of shape (m, len(alphas)): the first row is minimised, the others are kept."""

Track = Callable[[Iterable[Any]], Iterator[Any]]
"""Passes tasks on, one after the other, and reports progress."""


@dataclass(frozen=True, eq=False)
class Grid:
    """What is searched: every kernel with every manifold weight of the manifold and every alpha."""

    kernels: list[Kernel | OperatorKernel]
    manifold_weights: list[float]
    alphas: list[float]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Kernels × manifold_weights × alphas."""
        return len(self.kernels), len(self.manifold_weights), len(self.alphas)


@dataclass(frozen=True, eq=False)
class Selected:
    """The best of a grid, solved."""

    measures: np.ndarray  # (m, kernels, manifold_weights, alphas): what was minimised, and what was measured beside it
    index: tuple[int, ...]  # which kernel, manifold weight and alpha; the first of equal ones
    fit: Fit


@dataclass(frozen=True, eq=False)
class Fold:
    """Data to learn from, other inputs, and the measures of h there: `measure(H)` is a number, or m of them."""

    data: Data
    X: Any
    measure: Callable[[Array], Any]
    weight: float = 1.0  # what the sums that `measure` gives are to be divided by


def check_grid(kernel: Any, manifold_weights: Any, alphas: Any, manifold: Manifold | None) -> Grid:
    """The grid of one kernel or a list of them; without manifold_weights, the manifold's own."""
    kernels = list(kernel) if isinstance(kernel, (list, tuple)) else [kernel]
    if not kernels:
        raise ValueError("`kernel` is an empty list; give at least one kernel.")
    kernels = [check_kernel(kernel) for kernel in kernels]
    if len({kernel.pairwise for kernel in kernels}) > 1:
        raise ValueError(
            "`kernel` mixes `Precomputed()`, for which X is a Gram matrix, with kernels on objects; "
            "give the Gram matrices as `Precomputed(matrix)` and row numbers as X."
        )
    alphas = check_values(alphas, "alphas", strict=True)
    if manifold_weights is None:
        return Grid(kernels, [0.0 if manifold is None else manifold.weight], alphas)
    if manifold is None:
        raise ValueError("`manifold_weights` was given but `manifold` is None; set `manifold`.")
    return Grid(kernels, check_values(manifold_weights, "manifold_weights", strict=False), alphas)


def check_values(values: Any, name: str, *, strict: bool) -> list[float]:
    """A non-empty list of (strictly) positive numbers."""
    try:
        if isinstance(values, (str, bytes)):
            raise TypeError
        items = [v.item() if hasattr(v, "item") else v for v in values]
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` must be a sequence of numbers, got {values!r:.60}.") from None
    if not items:
        raise ValueError(f"`{name}` is empty; give at least one value.")
    return [check_number(v, name, minimum=0.0, strict=strict) for v in items]


def drop_single_axes(values: np.ndarray, index: tuple[int, ...]) -> tuple[np.ndarray, tuple[int, ...]]:
    """Values on the grid and an index into them, both without the axes of length one."""
    kept = [axis for axis, size in enumerate(values.shape) if size > 1]
    return values.reshape([values.shape[axis] for axis in kept]), tuple(index[axis] for axis in kept)


def best_of(errors: np.ndarray) -> tuple[int, ...]:
    """The index of the smallest error, the first of equal ones."""
    return tuple(int(i) for i in np.unravel_index(np.argmin(errors), errors.shape))


def row_splits(cv: Any, n: int, y: Any, groups: np.ndarray | None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to learn from and rows to predict, for each fold; an integer with groups keeps each in one fold."""
    from sklearn.model_selection import GroupKFold  # brings half of scikit-learn

    whole = groups is not None and isinstance(cv, Integral)
    return check_folds(GroupKFold(int(cv)) if whole else cv, n, y, groups)


def squared_errors(path: Path, targets: Array, alphas: Sequence[float], groups: np.ndarray | None = None) -> np.ndarray:
    """(1/n) Σ_i ‖ψ(y_i) − h₋ᵢ(x_i)‖² for each alpha; with `groups`, each without the rows of its group."""
    return path.loo_errors(targets, alphas, groups)[None]


def select_by_leave_one_out(
    data: Data,
    grid: Grid,
    *,
    manifold: Manifold | None = None,
    solver: Solver | None = None,
    criterion: Criterion = squared_errors,
    track: Track = iter,
    seen: np.ndarray | None = None,
) -> Selected:
    """The smallest criterion of values h₋ᵢ(x_i), one factorisation per kernel (and manifold_weight) for every alpha.

    `seen`, of the shape of the grid, is filled with what is minimised as it becomes known.
    """
    if not data.outputs.loss.quadratic:
        raise ValueError(
            f"Leave-one-out has a closed form for quadratic losses only, not {data.outputs.loss!r}; set `cv=5`."
        )
    found: list[np.ndarray] = []
    targets, best, smallest = None, None, np.inf
    for inputs, kept, problem, path in track(closed_paths(data, grid, manifold, solver)):
        i, j = divmod(len(found), len(grid.manifold_weights))
        if path.operator.oblique:  # errors in F come from Ψ and K_Y themselves
            measures = criterion(path, problem.Psi, grid.alphas)
        else:  # in orthonormal coordinates errors are sums of squares
            targets = data.outputs.embedding.euclidean(problem.like) if targets is None else targets
            measures = criterion(path, targets, grid.alphas)
            if getattr(criterion, "func", criterion) is squared_errors:
                measures = measures + data.outputs.embedding.left_out(data.targets.weight)
        if not np.all(np.isfinite(measures[0])):
            raise ValueError(
                f"Leave-one-out errors are not finite for {grid.kernels[i]!r}; scale the data or raise the alphas."
            )
        if seen is not None:
            seen[i, j] = measures[0]
        k = int(np.argmin(measures[0]))
        if measures[0, k] < smallest:
            smallest, alpha = measures[0, k], grid.alphas[k]
            best = Fit(inputs, kept, Solution(path.coefficients(problem.Psi, alpha)), alpha, grid.manifold_weights[j])
        found.append(measures)
    assert best is not None
    values = np.stack(found, axis=1).reshape(-1, *grid.shape)
    return Selected(values, best_of(values[0]), best)


def closed_paths(
    data: Data, grid: Grid, manifold: Manifold | None, solver: Solver | None
) -> Iterator[tuple[FittedInputs, Solver, Problem, Path]]:
    """A closed-form path per kernel and manifold_weight, with what it was posed on and the solver that a model
    keeps."""
    path: Path | None = None
    closed: tuple[Solver, ClosedForm] | None = None
    for i, kernel in enumerate(grid.kernels):
        scalar = getattr(kernel, "scalar", None)  # two operators on one: its eigendecomposition is used again
        again = scalar is not None and i and manifold is None and scalar is getattr(grid.kernels[i - 1], "scalar", None)
        before = path if again else None
        inputs, problem = pose(data, kernel, manifold, solver=solver, K=None if before is None else before.gram.K)
        problem = replace(problem, manifold_weight=grid.manifold_weights[0])
        if closed and isinstance(before, SpectralPath) and before.operator.oblique == problem.operator.oblique:
            path = before.with_operator(problem)
            yield inputs, closed[0], problem, path
            continue
        closed = _closed_form(solver, problem, grid)
        for path in closed[1].paths(problem, grid.manifold_weights):
            yield inputs, closed[0], problem, path


def _closed_form(solver: Solver | None, problem: Problem, grid: Grid) -> tuple[Solver, ClosedForm]:
    """The solver that a model keeps, and the closed form that it uses on this grid."""
    kept = fresh_solver(solver)
    if isinstance(kept, Auto):
        _, n_manifold_weights, n_alphas = grid.shape
        return kept, kept.closed_form(problem, n_alphas=n_alphas, n_manifold_weights=n_manifold_weights, loo=True)
    if not isinstance(kept, ClosedForm):
        raise ValueError(f"`solver` {kept!r} has no closed form for leave-one-out; use `Auto()`, or set `cv=5`.")
    return kept, kept


def select_by_folds(
    folds: Iterable[Fold],
    grid: Grid,
    *,
    manifold: Manifold | None = None,
    solver: Solver | None = None,
    track: Track = iter,
    tally: Tally | None = None,
) -> tuple[np.ndarray, int]:
    """Sums over the folds of what they measure, (m, kernels, manifold_weights, alphas), and the number of folds.

    In `tally` the first measure of each fold is kept as it becomes known, divided by the weight of the fold.
    """
    total: np.ndarray | None = None
    n_folds = 0
    for fold, i in track((fold, i) for fold in folds for i in range(len(grid.kernels))):
        n_folds += i == 0
        if tally is not None and i == 0:
            kept = tally.fold(fold.weight, *grid.shape)
        inputs, problem = pose(fold.data, grid.kernels[i], manifold, solver=solver)
        with error_context("X"):
            R = inputs.kernel.represent(fold.X)
        for _, j, k, C in solutions(replace(problem, manifold_weight=grid.manifold_weights[0]), grid, solver):
            measures = np.atleast_1d(fold.measure(inputs.values(R, C)))
            total = np.zeros((len(measures), *grid.shape)) if total is None else total
            total[:, i, j, k] += measures
            if tally is not None:
                kept[i, j, k] = measures[0] / fold.weight if fold.weight else np.nan
    return np.zeros((1, *grid.shape)) if total is None else total, n_folds


def solutions(
    problem: Problem, grid: Grid, solver: Solver | None, targets: Sequence[Array] | None = None
) -> Iterator[tuple[int, int, int, Array]]:
    """(t, j, k, C) for all targets (those of the problem unless others are given), manifold_weights and alphas.

    A closed-form path per manifold weight serves all targets; other losses start warm, from the largest alpha down.
    """
    alphas, targets = grid.alphas, [problem.Psi] if targets is None else targets
    if problem.loss.quadratic:
        _, closed = _closed_form(solver, problem, grid)
        for j, path in enumerate(closed.paths(problem, grid.manifold_weights)):
            for t, Psi in enumerate(targets):
                for k, alpha in enumerate(alphas):
                    yield t, j, k, path.coefficients(Psi, alpha)
        return
    iterative = fresh_solver(solver)
    for (t, Psi), (j, manifold_weight) in itertools.product(enumerate(targets), enumerate(grid.manifold_weights)):
        solution = None
        for k in sorted(range(len(alphas)), key=lambda k: -alphas[k]):
            solution = iterative.solve(
                replace(problem, Psi=Psi, alpha=alphas[k], manifold_weight=manifold_weight), solution
            )
            yield t, j, k, solution.C


def solve_best(
    data: Data, grid: Grid, measures: np.ndarray, *, manifold: Manifold | None = None, solver: Solver | None = None
) -> Selected:
    """The model at the smallest of the first measures, learned from all data."""
    i, j, k = index = best_of(measures[0])
    fit = solve(data, grid.kernels[i], grid.alphas[k], grid.manifold_weights[j], manifold=manifold, solver=solver)
    return Selected(measures, index, fit)
