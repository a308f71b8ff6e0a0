"""Errors of kernel regression on a grid: exact leave-one-out in closed form, or folds."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from iokr._array import Array
from iokr._system.callers import user_level
from iokr._validation.arguments import check_folds
from iokr.data.objects import distinct, error_context
from iokr.estimators.inputs import check_kernel, fresh_solver
from iokr.estimators.regression.posing import Data, Fit, FittedInputs, pose, warn_centred
from iokr.estimators.search.engine import Part
from iokr.estimators.search.result import Axis, Choice, check_values, excess, listed
from iokr.kernels.base import Kernel
from iokr.kernels.generic import Delta
from iokr.manifolds.base import Manifold
from iokr.operator_kernels.base import OperatorKernel
from iokr.problem import Problem, Solution
from iokr.solvers._routes import slow_search
from iokr.solvers.auto import Auto
from iokr.solvers.base import Path, Solver
from iokr.solvers.closed_form.paths import ClosedForm
from iokr.solvers.closed_form.spectral import SpectralPath

__all__ = [
    "Fold",
    "Grid",
    "check_grid",
    "check_quadratic",
    "closed_paths",
    "fit_on_path",
    "leave_one_out",
    "on_folds",
    "row_splits",
    "solutions",
]


@dataclass(frozen=True, eq=False)
class Grid:
    """Every kernel with every weight of the manifold and every alpha."""

    kernels: list[Kernel | OperatorKernel]
    manifold_weights: list[float]
    alphas: list[float]

    @property
    def axes(self) -> tuple[Axis, Axis, Axis]:
        """The searched parameters, by their names in `IOKR`."""
        return (
            Axis("kernel", self.kernels),
            Axis("manifold__weight", self.manifold_weights),
            Axis("alpha", self.alphas),
        )


@dataclass(frozen=True, eq=False)
class Fold:
    """Data to learn from, held-out inputs, and `measure`, from h at these inputs to one sum or several by name."""

    data: Data
    X: Any
    measure: Callable[[Array], Any]
    weight: float = 1.0  # what the sums are to be divided by


def check_grid(kernel: Any, manifold_weights: Any, alphas: Any, manifold: Manifold | None) -> Grid:
    """The grid of one kernel or a list of them; without manifold_weights, the manifold's own."""
    kernels = [check_kernel(kernel) for kernel in listed(kernel, "kernel")]
    if len({kernel.pairwise for kernel in kernels}) > 1:
        raise ValueError(
            "`kernel` mixes `Precomputed()`, for which X is a Gram matrix, with kernels on objects; "
            "give the Gram matrices as `Precomputed(matrix)` and row numbers as X."
        )
    alphas = check_values(alphas, "alphas", strict=True)
    if manifold_weights is None:
        return Grid(kernels, [0.0 if manifold is None else manifold.weight], alphas)
    if manifold is None:
        raise ValueError("`manifold_weights` was given without a `manifold`; set `manifold`.")
    return Grid(kernels, check_values(manifold_weights, "manifold_weights", strict=False), alphas)


def row_splits(
    cv: Any, n: int, y: Any, groups: np.ndarray | None, output_kernel: Kernel | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and held-out rows of each fold.

    With groups an integer `cv` keeps each group in one fold; of classes every fold has the same fractions, as with
    scikit-learn. Outputs are classes with the output kernel `Delta()`, or as indicators with a one in each row.
    """
    from sklearn.model_selection import GroupKFold  # imports half of scikit-learn

    if groups is not None and isinstance(cv, Integral):
        cv = GroupKFold(int(cv))
    classes = _classes(y, output_kernel)
    if classes is not None and isinstance(cv, Integral) and np.bincount(classes).max() < cv:
        classes = None  # no class has a row for each fold
    if classes is None:
        return check_folds(cv, n, y, groups)
    return check_folds(cv, n, classes, groups, classifier=True)


def _classes(y: Any, output_kernel: Kernel | None) -> np.ndarray | None:
    """The class of each row, as a number; None if outputs are not classes."""
    if isinstance(output_kernel, Delta):
        return distinct(y)[1]
    vectors = output_kernel is None and isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype.kind in "buif"
    if not vectors or y.shape[1] < 2:
        return None
    indicators = np.all((y == 0) | (y == 1)) and np.all(y.sum(axis=1) == 1)
    return np.argmax(y, axis=1) if indicators else None


def check_quadratic(data: Data) -> None:
    """Leave-one-out has a closed form for quadratic losses only."""
    if not data.outputs.loss.quadratic:
        raise ValueError(
            f"Leave-one-out has a closed form for quadratic losses only, not {data.outputs.loss!r}; set `cv=5`."
        )


def leave_one_out(
    data: Data,
    grid: Grid,
    *,
    manifold: Manifold | None = None,
    solver: Solver | None = None,
    groups: np.ndarray | None = None,
    shares: bool = False,
) -> Iterator[Part]:
    """(1/n) Σ_i ‖ψ(y_i) − h₋ᵢ(x_i)‖², a path over alpha for every kernel and manifold weight; parts solve to a `Fit`.

    With `groups` each row is left out together with its group. With `shares` the parts have the measures of the rule
    `OneStandardError`, too.
    """
    check_quadratic(data)
    outputs, weight = data.outputs, data.targets.weight
    targets: Array | None = None
    for number, (inputs, kept, problem, path) in enumerate(closed_paths(data, grid, manifold, solver)):
        i, j = divmod(number, len(grid.manifold_weights))
        if j == 0:
            warn_centred(problem, outputs.embedding)
        if path.operator.oblique:  # errors in F come from Ψ and K_Y themselves
            errors = path.loo_errors(problem.Psi, grid.alphas, groups)
        else:  # in orthonormal coordinates errors are sums of squares
            if targets is None:
                targets = outputs.embedding.euclidean(problem.like)
            if shares:
                of_rows = path.loo_shares(targets, grid.alphas, groups)
            errors = of_rows.sum(axis=1) if shares else path.loo_errors(targets, grid.alphas, groups)
            errors = errors + outputs.embedding.left_out(weight, groups)
        if not np.all(np.isfinite(errors)):
            raise ValueError(
                f"Leave-one-out errors are not finite for {grid.kernels[i]!r}; scale the data or raise the alphas."
            )
        solve = partial(fit_on_path, inputs, kept, path, problem.Psi, grid.manifold_weights[j])
        values = {"error": errors, "excess": excess(of_rows, groups)} if shares else errors
        yield Part((i, j), values, solve=solve)


def fit_on_path(
    inputs: FittedInputs, solver: Solver, path: Path, Psi: Array, manifold_weight: float, choice: Choice
) -> Fit:
    """The model at a choice of alpha."""
    return Fit(inputs, solver, path.solution(Psi, choice.value), choice.value, manifold_weight)


def closed_paths(
    data: Data, grid: Grid, manifold: Manifold | None, solver: Solver | None
) -> Iterator[tuple[FittedInputs, Solver, Problem, Path]]:
    """A closed-form path for every kernel and manifold weight: inputs, the solver that a model keeps, problem, path."""
    path: Path | None = None
    closed: tuple[Solver, ClosedForm] | None = None
    factorizations = len({id(kernel.scalar or kernel) for kernel in grid.kernels})
    for i, kernel in enumerate(grid.kernels):
        # two operators on one kernel: its eigendecomposition is used again
        again = i and manifold is None and kernel.scalar is not None and kernel.scalar is grid.kernels[i - 1].scalar
        before = path if again else None
        inputs, problem = pose(data, kernel, manifold, solver=solver, K=None if before is None else before.gram.K)
        problem = replace(problem, manifold_weight=grid.manifold_weights[0])
        if i == 0 and len(grid.alphas) > 1:
            warn_long(problem, factorizations)
        if closed and isinstance(before, SpectralPath) and before.operator.oblique == problem.operator.oblique:
            path = before.with_operator(problem)
            yield inputs, closed[0], problem, path
            continue
        closed = _closed_form(solver, problem, grid)
        for path in closed[1].paths(problem, grid.manifold_weights):
            yield inputs, closed[0], problem, path


def warn_long(problem: Problem, factorizations: int) -> None:
    """Say how long a search takes, before it starts, where that is more than a minute."""
    message = slow_search(problem, factorizations)
    if message is not None:
        warnings.warn(message, UserWarning, stacklevel=user_level())


def _closed_form(solver: Solver | None, problem: Problem, grid: Grid) -> tuple[Solver, ClosedForm]:
    """The solver that a model keeps, and the closed form that it uses on this grid."""
    kept = fresh_solver(solver)
    if isinstance(kept, Auto):
        n_weights = len(grid.manifold_weights)
        return kept, kept.closed_form(problem, n_alphas=len(grid.alphas), n_manifold_weights=n_weights, loo=True)
    if not isinstance(kept, ClosedForm):
        raise ValueError(f"`solver` {kept!r} has no closed form for leave-one-out; use `Auto()`, or set `cv=5`.")
    return kept, kept


def on_folds(
    folds: Iterable[Fold], grid: Grid, *, manifold: Manifold | None = None, solver: Solver | None = None
) -> Iterator[Part]:
    """What each fold measures on its held-out inputs, at every point of the grid."""
    for number, fold in enumerate(folds):
        for i, kernel in enumerate(grid.kernels):
            inputs, problem = pose(fold.data, kernel, manifold, solver=solver)
            with error_context("X"):
                R = inputs.kernel.represent(fold.X)
            problem = replace(problem, manifold_weight=grid.manifold_weights[0])
            for _, j, k, solution in solutions(problem, grid, solver):
                yield Part((i, j, k), fold.measure(inputs.values(R, solution)), number, fold.weight)


def solutions(
    problem: Problem, grid: Grid, solver: Solver | None, targets: Sequence[Array] | None = None
) -> Iterator[tuple[int, int, int, Solution]]:
    """(t, j, k, solution) for all targets (those of the problem unless others are given), manifold weights and alphas.

    A closed-form path per manifold weight serves all targets; other losses start warm, from the largest alpha down.
    """
    alphas = grid.alphas
    targets = [problem.Psi] if targets is None else targets
    if problem.loss.quadratic:
        _, closed = _closed_form(solver, problem, grid)
        for j, path in enumerate(closed.paths(problem, grid.manifold_weights)):
            for t, Psi in enumerate(targets):
                for k, alpha in enumerate(alphas):
                    yield t, j, k, path.solution(Psi, alpha)
        return
    iterative = fresh_solver(solver)
    descending = sorted(range(len(alphas)), key=lambda k: -alphas[k])
    for (t, Psi), (j, manifold_weight) in itertools.product(enumerate(targets), enumerate(grid.manifold_weights)):
        solution = None
        for k in descending:
            part = replace(problem, Psi=Psi, alpha=alphas[k], manifold_weight=manifold_weight)
            solution = iterative.solve(part, solution)
            yield t, j, k, solution
