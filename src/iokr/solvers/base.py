"""Problem → Solution: choose, check compatibility and memory, solve, warn if not converged."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from iokr._array import Array, array_namespace, asarray_like, matmul, take_rows, to_numpy
from iokr._component import Component
from iokr._system.memory import check_memory, device_errors
from iokr.gram.operators import OutputOperator, as_array
from iokr.problem import Problem, Solution
from iokr.solvers._routes import refusal
from iokr.solvers._units import own_units

__all__ = [
    "Choice",
    "Path",
    "Reduction",
    "Solver",
    "Use",
    "by_eigenvalue",
    "join_columns",
    "refuses_products",
    "take_columns",
    "warn_small_alpha",
]


@dataclass(frozen=True)
class Use:
    """The use of a solver: `n_alphas` values of α, `n_manifold_weights` of μ, and whether leave-one-out.

    Examples
    --------
    >>> from iokr.solvers import Use
    >>> Use(n_alphas=19, loo=True)
    Use(n_alphas=19, n_manifold_weights=1, loo=True)
    """

    n_alphas: int = 1
    n_manifold_weights: int = 1
    loo: bool = False


class Choice(NamedTuple):
    """A solver, and the reason for it, a sentence.

    Examples
    --------
    >>> from iokr.solvers import Choice, Eigen
    >>> Choice(Eigen(), "one eigendecomposition is reused.").solver
    Eigen()
    """

    solver: Solver
    reason: str


class Reduction(NamedTuple):
    """h(x) = V Vᵀh(x) in p learned directions V (q, p); Vᵀh(x) = a (C V)ᵀk_x for the coefficients C V (n, p).

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.solvers import Reduction
    >>> Reduction(np.eye(3)[:, :1], None).directions.shape
    (3, 1)
    """

    directions: Array
    coefficients: Array | None  # None for an operator A other than a·I


class Solver(Component, ABC):
    """minimise J(C) of a `Problem`; the answer is a `Solution` with its duality gap.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import Linear
    >>> from iokr.losses import Square
    >>> from iokr.problem import Problem
    >>> from iokr.solvers import Cholesky, Solver
    >>> isinstance(Cholesky(), Solver)
    True
    >>> gram = Linear().gram(np.array([[1.0], [2.0]]))
    >>> Cholesky().solve(Problem(gram, np.array([[1.0], [2.0]]), Square(), 5.0)).C.round(3)
    array([[0.1],
           [0.2]])
    """

    in_own_units: ClassVar[bool] = True  # `_solve` gets outputs and weights near one, and α in these units
    needs_coordinates: ClassVar[bool] = False  # whether outputs must be in coordinates, not known through K_Y alone
    checkpoint: Any = None  # the folder for moments of chunks, of solvers that have such a parameter
    outcome_: str | None = None  # a sentence about the last solve, of solvers that have one
    reduced: Reduction | None = None  # the learned directions, of solvers that learn some

    @abstractmethod
    def refuses(self, problem: Problem) -> str | None:
        """Why this solver cannot solve `problem`, or None."""

    @abstractmethod
    def memory(self, problem: Problem) -> float:
        """An estimate of the peak memory of `solve`, in bytes."""

    @abstractmethod
    def _solve(self, problem: Problem, start: Solution | None) -> Solution:
        """The algorithm."""

    def choose(self, problem: Problem, use: Use | None = None) -> Choice:
        """The solver for this problem and this use of it: itself, unless it is `Auto`. May be overridden."""
        return Choice(self, "as given.")

    def _solve_by(self, choice: Choice, problem: Problem, start: Solution | None) -> Solution:
        """The solution by the chosen solver. May be overridden."""
        return choice.solver._solve(problem, start)

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Check, solve, warn; `start` is the solution of a neighbouring problem. Not to be overridden."""
        choice = self.check(problem)
        if not problem.loss.quadratic:
            problem.loss.check(problem.targets)
        posed, units = own_units(problem) if choice.solver.in_own_units else (problem, None)
        with device_errors(choice.solver.memory(problem), *refusal(self, problem), problem.like):
            solution = self._solve_by(choice, posed, start if units is None else units.start(start))
        if problem.constants is not None and solution.intercept is None:
            raise ValueError(f"{self!r} returns no intercept; set `intercept=False`, or a solver that finds it.")
        solution = solution if units is None else units.back(solution)
        if solution.gap != solution.gap:
            raise ValueError(
                f"{self!r} computed infinite or NaN values at `alpha` = {problem.alpha:g}; choose one nearer to the "
                "size of the Gram matrix, or scale the data."
            )
        if not solution.converged:
            warnings.warn(
                f"{self!r} stopped after {solution.n_iter} steps at a relative duality gap of {solution.gap:.1e}; "
                "raise `max_iter` or accept the stated gap.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return solution

    def check(self, problem: Problem, *, penalised: bool = False) -> Choice:
        """The choice for this problem; raises if it cannot be solved, or not in memory.

        With `penalised` for the problem with a manifold penalty, which is not computed yet.
        """
        if penalised:
            problem = replace(problem, awaits_penalty=True)
        choice = self.choose(problem)
        reason = refuses_constants(problem) or choice.solver.refuses(problem)
        if reason is not None:
            raise ValueError(f"{self!r} cannot solve this problem: {reason}")
        check_memory(choice.solver.memory(problem), *refusal(self, problem), problem.like)
        return choice

    def explain(self) -> str:
        """The solver used and the reason; after a fit also its outcome, if there is one."""
        if self.outcome_ is None:
            return f"{self!r}, as given."
        return f"{self!r}, as given: {self.outcome_}"

    def __str__(self) -> str:
        return self.explain()


class Path(ABC):
    """The solutions of one problem for every α (and every set of targets), from factors that are computed once.

    In the eigenbasis A = E diag(γ) Eᵀ each column j of the outputs is a problem of its own, with the kernel γ_j k.
    Targets are arrays or an `IdentityMatrix`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import Linear
    >>> from iokr.losses import Square
    >>> from iokr.problem import Problem
    >>> from iokr.solvers import Eigen
    >>> problem = Problem(Linear().gram(np.array([[1.0], [2.0]])), np.array([[1.0], [2.0]]), Square(), 1.0)
    >>> Eigen().path(problem).coefficients(problem.Psi, 5.0).round(3)
    array([[0.1],
           [0.2]])
    """

    def __init__(self, problem: Problem) -> None:
        self.gram, self.row_weight, self.n = problem.gram, problem.row_weight, problem.n_labeled
        self.operator = problem.operator
        self.mask = None if problem.mask is None else np.asarray(problem.mask)
        self.constants = problem.constants

    @abstractmethod
    def coefficients(self, Psi: Array, alpha: float) -> Array:
        """C (N, q) of the solution at `alpha` for the targets `Psi`."""

    def unpenalised(self, Psi: Array, C: Array) -> Array | None:
        """B (k, q) of the solution with these coefficients; None without an intercept. May be overridden."""
        return None

    def solution(self, Psi: Array, alpha: float) -> Solution:
        """C and the intercept of the solution at `alpha` for the targets `Psi`."""
        C = self.coefficients(Psi, alpha)
        B = self.unpenalised(Psi, C)
        return Solution(C, intercept=None if B is None else B[0, :])

    @abstractmethod
    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """ψ_i − h₋ᵢ(x_i), shape (n, q): without the label of x_i; x_i remains an unlabelled point.

        With `groups`, an integer for each row, the labels of a group are left out together.
        """

    def loo_errors(self, Psi: Array, alphas: Sequence[float], groups: np.ndarray | None = None) -> np.ndarray:
        """Σ_i w_i ‖ψ_i − h₋ᵢ(x_i)‖² / Σ w for each alpha; with missing entries q Σ w_i m_ij r_ij² / Σ w_i m_ij.

        May be overridden.
        """
        return np.asarray(self.loo_shares(Psi, alphas, groups).sum(axis=1))

    def loo_shares(self, Psi: Array, alphas: Sequence[float], groups: np.ndarray | None = None) -> np.ndarray:
        """What every row adds to `loo_errors`, (number of alphas, n)."""
        weight = self.row_weight[:, None]
        if self.mask is not None:
            weight = weight * self.mask
        weight = weight * (weight.shape[1] / weight.sum())
        residuals = self._residuals(Psi, alphas, groups)
        return np.array([to_numpy(array_namespace(R).sum(asarray_like(weight, R) * R * R, axis=1)) for R in residuals])

    def _residuals(self, Psi: Array, alphas: Sequence[float], groups: np.ndarray | None) -> Iterable[Array]:
        """`loo_residuals` for each alpha. May be overridden."""
        return (self.loo_residuals(Psi, alpha, groups) for alpha in alphas)

    def fitted(self, Psi: Array, alpha: float, rows: np.ndarray) -> Array:
        """h(x_i) at some labelled rows."""
        C = self.coefficients(Psi, alpha)
        H = self.operator.act(self.gram.K.rows(rows) @ C)
        B = self.unpenalised(Psi, C)
        return H if B is None else H + matmul(asarray_like(self.constants[rows], H), B)

    def plain_residuals(self, Psi: Array, alpha: float, rows: np.ndarray) -> Array:
        """ψ_i − h(x_i) at some labelled rows."""
        return take_rows(as_array(Psi), rows) - self.fitted(Psi, alpha, rows)


def refuses_constants(problem: Problem) -> str | None:
    """Why a problem cannot have an intercept, or None."""
    if problem.constants is None:
        return None
    if not problem.loss.calibrated:
        return f"an intercept could follow the classes alone with {problem.loss!r}; set `intercept=False`."
    if problem.operator.oblique:
        return (
            "an intercept with a covariance operator needs outputs in coordinates; set `embedding=Eigen()`, or "
            "`intercept=False`."
        )
    return None


def refuses_products(problem: Problem) -> str | None:
    """Why a solver that needs the matrix cannot use a Gram with products only, or None."""
    if problem.gram.products_only:
        return f"{problem.gram!r} has products only, and this solver needs its matrix; use `Auto()`."
    return None


def take_columns(B: Array, columns: np.ndarray) -> Array:
    """The columns of B at `columns`."""
    return B if len(columns) == B.shape[1] else array_namespace(B).stack([B[:, int(j)] for j in columns], axis=1)


def join_columns(parts: Sequence[tuple[np.ndarray, Array]]) -> Array:
    """A matrix from groups of its columns."""
    if len(parts) == 1:
        return parts[0][1]
    columns = {int(j): values[:, k] for group, values in parts for k, j in enumerate(group)}
    return array_namespace(parts[0][1]).stack([columns[j] for j in range(len(columns))], axis=1)


def by_eigenvalue(operator: OutputOperator, B: Array, solve: Callable[[float, Array], Array]) -> Array:
    """`solve(γ, columns)` of the columns of B with each distinct eigenvalue γ, joined."""
    groups = operator.groups(B.shape[1])
    return join_columns([(group, solve(g, take_columns(B, group))) for g, group in groups])


def warn_small_alpha(alpha: float, largest: float, units: str = "") -> None:
    """Warn if α < 1e-12 times the largest eigenvalue, or a lower bound of it; `units` are those of α."""
    if alpha < 1e-12 * largest:
        warnings.warn(
            f"`alpha` = {alpha:.1e}{units} is below 1e-12 times the largest eigenvalue (at least {largest:.1e}): the "
            "solution has few correct digits; raise `alpha`.",
            RuntimeWarning,
            stacklevel=3,
        )
