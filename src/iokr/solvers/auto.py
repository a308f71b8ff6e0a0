"""The choice of a solver, as a list of rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from iokr._array import is_cuda, slow_double
from iokr._component import component
from iokr._system.memory import available_memory, human_bytes
from iokr.gram.pairs.gram import PairGram
from iokr.problem import Problem, Solution
from iokr.solvers._routes import expected_time
from iokr.solvers.base import Choice, Solver, Use
from iokr.solvers.closed_form.cholesky import Cholesky
from iokr.solvers.closed_form.eigen import Eigen, ManifoldEigen
from iokr.solvers.closed_form.filled import by_filling
from iokr.solvers.closed_form.lowrank import THIN, LowRank
from iokr.solvers.closed_form.masked_gradients import DENSE, by_gradients
from iokr.solvers.closed_form.paths import ClosedForm
from iokr.solvers.iterative.admm import ADMM, from_margin_dual
from iokr.solvers.iterative.conjugate_gradient import ConjugateGradient
from iokr.solvers.iterative.coordinate_descent import CoordinateDescent
from iokr.solvers.iterative.lbfgs import LBFGS
from iokr.solvers.iterative.mixed_precision import MixedPrecision
from iokr.solvers.pairs.margin import PairMargin
from iokr.solvers.pairs.ridge import PairRidge

__all__ = ["RULES", "Auto", "Case", "Rule", "rule_rows"]

_STOPPED = (PairMargin, CoordinateDescent, ADMM, LBFGS)  # stopped by the duality gap: they get `tol` and `max_iter`
_LARGE = 10_000  # rows from which on the reason includes bytes and seconds
_PATIENCE = 500  # sweeps and Newton steps on the dual of the margin before another solver continues


@dataclass(frozen=True, eq=False)
class Case:
    """A case for the rules: a problem, the use of its solver, and its systems, one per alpha and distinct γ."""

    problem: Problem
    use: Use
    distinct: int
    systems: int
    words: str
    cuda: bool  # where an eigendecomposition costs as much as 40 factorisations, 10 on the host


@dataclass(frozen=True, eq=False)
class Rule:
    """A solver, when the rule applies, and why; the reason for a case ends in that of the table."""

    when: str
    applies: Callable[[Case], bool]
    solver: type[Solver]
    because: str
    facts: Callable[[Case], str] = lambda case: ""


RULES = (
    Rule(
        "many pairs of nodes, ``MaxMargin()``",
        lambda case: case.problem.gram.prefers_products and not PairMargin().refuses(case.problem),
        PairMargin,
        "products need no matrix of pairs",
        lambda case: _pairs(case.problem),
    ),
    Rule(
        "many pairs of nodes, square loss, one fit",
        lambda case: case.problem.gram.prefers_products and not case.use.loo and not PairRidge().refuses(case.problem),
        PairRidge,
        "products need no matrix of pairs",
        lambda case: _pairs(case.problem),
    ),
    Rule(
        "``MaxMargin()``",
        lambda case: not case.problem.loss.quadratic and not CoordinateDescent().refuses(case.problem),
        CoordinateDescent,
        "the dual of the margin is a quadratic in a box, and most of its entries are at a bound",
    ),
    Rule(
        "a loss with value and gradient only",
        lambda case: case.problem.loss.smooth and not case.problem.loss.quadratic and not _has_dual(case.problem),
        LBFGS,
        "quasi-Newton steps use these only, and the norm of the gradient bounds the distance of J to its minimum",
    ),
    Rule(
        "any other loss but the square",
        lambda case: not case.problem.loss.quadratic,
        ADMM,
        "one factorisation is reused for every step, for any loss with a proximal map and any A",
    ),
    Rule(
        "a Gram with products only",
        lambda case: case.problem.gram.products_only,
        ConjugateGradient,
        "there is no matrix to factor",
    ),
    Rule(
        "a kernel that does not separate, one alpha, whose (nd)² matrix does not fit in memory",
        lambda case: case.problem.gram.operator is None and _too_large_to_store(case),
        ConjugateGradient,
        "products with it, evaluated in panels",
        lambda case: (
            f"the kernel does not separate and its matrix of {case.problem.gram.size}² numbers does not fit in memory: "
        ),
    ),
    Rule(
        "few missing entries that A couples, no manifold",
        lambda case: by_filling(case.problem) and case.problem.operator.scale is None,
        Eigen,
        "the complete problem is solved in the eigenvectors of K and A, with values in the gaps that fit exactly",
        lambda case: f"{int((~np.asarray(case.problem.mask)).sum())} missing entries coupled by A: ",
    ),
    Rule(
        f"missing entries that A couples, more than {DENSE} observed or {2 * DENSE} in all, no manifold",
        lambda case: by_gradients(case.problem),
        Eigen,
        "the eigenvectors of K and A precondition conjugate gradients over the entries, which need no matrix of them",
        lambda case: f"{int(np.asarray(case.problem.mask).sum())} observed entries coupled by A: ",
    ),
    Rule(
        "manifold, several alphas or manifold weights, leave-one-out, or 10 or more distinct eigenvalues of A",
        lambda case: case.problem.penalised and _is_grid(case),
        ManifoldEigen,
        "one reduction of the penalty is reused for every point of the grid",
        lambda case: (
            f"unlabelled points with {case.words}, {_count(case.use.n_manifold_weights, 'manifold weight')}"
            f"{' and leave-one-out' if case.use.loo else ''}: "
        ),
    ),
    Rule(
        "manifold, one fit",
        lambda case: case.problem.penalised,
        Cholesky,
        "αI + γFᵀKF (M = F Fᵀ), symmetric although MK is not",
        lambda case: f"unlabelled points with {case.words}: {_count(case.systems, 'Cholesky factorisation')} of ",
    ),
    Rule(
        f"a kernel with p features, {THIN}p ≤ n, no manifold",
        lambda case: case.problem.gram.factor is not None and _is_thin(case.problem),
        LowRank,
        "one p × p eigendecomposition is reused for every alpha and every eigenvalue, without n × n matrices",
        lambda case: (
            f"the kernel has {_count(_n_features(case.problem), 'feature')} for {case.problem.n_labeled} points: "
        ),
    ),
    Rule(
        "a CUDA device whose float64 is slow, 20 000 points or more, one alpha, no leave-one-out",
        lambda case: case.cuda and _one(case) and case.problem.n_labeled >= 20_000 and slow_double(case.problem.like),
        MixedPrecision,
        "a float32 factor preconditions float64; the rule is from the data sheet of the device, not measured",
        lambda case: "float64 of this device is 1/16 of its float32 or slower: ",
    ),
    Rule(
        "CUDA, 50 000 points or more, one alpha, no leave-one-out, where n²/2 fit as float32 and not as float64",
        lambda case: case.cuda and _one(case) and _fits_single_only(case),
        MixedPrecision,
        "exact to the stated residual",
        lambda case: "a float64 triangle does not fit, and one of float32 does: ",
    ),
    Rule(
        "one fit or a path, fewer than 10 systems of n³/3 flops (41 on CUDA)",
        lambda case: (
            not case.use.loo and case.systems < (41 if case.cuda else 10) and not Cholesky().refuses(case.problem)
        ),
        Cholesky,
        "an eigendecomposition costs more",
        lambda case: f"{case.words} take {_count(case.systems, 'factorisation')} of n³/3 flops; ",
    ),
    Rule(
        "leave-one-out, fewer than 5 systems of n³/3 flops and an inverse (21 on CUDA)",
        lambda case: case.use.loo and case.systems < (21 if case.cuda else 5) and not Cholesky().refuses(case.problem),
        Cholesky,
        "an eigendecomposition costs more",
        lambda case: (
            f"{case.words} take {_count(case.systems, 'factorisation')} of n³/3 flops and an inverse each for "
            "leave-one-out; "
        ),
    ),
    Rule(
        "more systems, an eigendecomposition that does not fit in memory",
        lambda case: _too_large_to_diagonalise(case),
        Cholesky,
        "a triangle is factored again for each",
        lambda case: (
            f"{case.words} take {_count(case.systems, 'factorisation')}; an eigendecomposition would cost less, but "
            f"needs {human_bytes(Eigen().memory(case.problem))}: "
        ),
    ),
    Rule(
        "otherwise",
        lambda case: True,
        Eigen,
        "one eigendecomposition is reused for all of them",
        lambda case: (
            f"{case.words}{' with leave-one-out' if case.use.loo else ''} would take {case.systems} factorisations; "
        ),
    ),
)


def rule_rows() -> list[tuple[str, str, str]]:
    """(problem, solver, reason) of each rule: the table of the guide."""
    return [(rule.when, f"``{rule.solver()!r}``", rule.because) for rule in RULES]


@component
class Auto(Solver):
    """The cheapest exact solver for a problem; `explain()` returns the choice and its reason.

    Parameters
    ----------
    tol : float, default=1e-6
        Relative duality gap at which iterative solvers stop.
    max_iter : int, default=None
        Their iteration limit; None is the solver's own.

    Attributes
    ----------
    chosen_ : Solver
        The solver used.
    reason_ : str
        The reason.

    Examples
    --------
    >>> from iokr import IOKR
    >>> print(IOKR().fit([[0.0], [1.0]], [0.0, 1.0]).solver_)
    Cholesky(): 1 alpha and 1 operator eigenvalue take 1 factorisation of n³/3 flops; an eigendecomposition
    costs more.
    """

    tol: float = 1e-6
    max_iter: int | None = None

    def choose(self, problem: Problem, use: Use | None = None) -> Choice:
        """The solver for this problem and this use of it, by the first rule that applies."""
        use, distinct = use or Use(), problem.operator.n_distinct
        words = f"{_count(use.n_alphas, 'alpha')} and {_count(distinct, 'operator eigenvalue')}"
        case = Case(problem, use, distinct, use.n_alphas * distinct, words, is_cuda(problem.like))
        rule = next(rule for rule in RULES if rule.applies(case))
        stops = (self.tol, self.max_iter) if rule.solver in _STOPPED else ()
        solver = rule.solver(*stops)
        cost = _cost(case, solver) if problem.gram.size >= _LARGE else ""
        return Choice(solver, f"{rule.facts(case)}{rule.because}.{cost}")

    def explain(self) -> str:
        """The chosen solver and the reason."""
        if not hasattr(self, "chosen_"):
            return f"{self!r}: chooses when it sees the problem."
        outcome = self.chosen_.outcome_
        return f"{self.chosen_!r}: {self.reason_}{'' if outcome is None else f' Found: {outcome}'}"

    def refuses(self, problem: Problem) -> str | None:
        """The reason of the chosen solver, or None."""
        return self.choose(problem).solver.refuses(problem)

    def memory(self, problem: Problem) -> float:
        """The memory of the chosen solver."""
        return self.choose(problem).solver.memory(problem)

    def _solve(self, problem: Problem, start: Solution | None) -> Solution:
        return self._solve_by(self.choose(problem), problem, start)

    def record(self, solver: Solver, reason: str) -> None:
        """Keep a choice, and the reason for it."""
        self.chosen_ = solver
        self.reason_ = reason

    def _solve_by(self, choice: Choice, problem: Problem, start: Solution | None) -> Solution:
        self.record(*choice)
        if not isinstance(choice.solver, (CoordinateDescent, PairMargin)) or self.max_iter is not None:
            return choice.solver._solve(problem, start)
        first = type(choice.solver)(self.tol, _PATIENCE)._solve(problem, start)
        if first.converged:
            return first
        # If no h separates the points, K is singular and λ small, Newton steps on the free entries do not converge.
        self.chosen_ = ADMM(self.tol)
        self.reason_ = (
            f"coordinate descent left a gap of {first.gap:.1e} after {first.n_iter} steps; this continued from there."
        )
        second = self.chosen_._solve(problem, from_margin_dual(problem, first.state))
        second = replace(second, n_iter=first.n_iter + second.n_iter)
        return second if second.gap < first.gap else first

    def closed_form(self, problem: Problem, **use: Any) -> ClosedForm:
        """The closed form for `Use(**use)`, stored in `chosen_`; raises if there is none."""
        choice = self.choose(problem, Use(**use))
        self.record(*choice)
        if not isinstance(choice.solver, ClosedForm):
            raise ValueError(f"{choice.solver!r} has no closed form.")
        return choice.solver


def _too_large_to_store(case: Case) -> bool:
    """Whether the matrix of a kernel that does not separate exceeds memory, and products suffice."""
    if case.use.loo or case.use.n_alphas > 1:
        return False
    return _exceeds_memory(ManifoldEigen() if case.problem.penalised else Cholesky(), case.problem)


def _one(case: Case) -> bool:
    """Whether the use is one fit of a problem that `MixedPrecision` can solve."""
    return case.systems == 1 and not case.use.loo and MixedPrecision().refuses(case.problem) is None


def _fits_single_only(case: Case) -> bool:
    """Whether there are many points, and memory for a triangle of float32 but not of float64."""
    if case.problem.n_labeled < 50_000 or _exceeds_memory(MixedPrecision(), case.problem):
        return False
    return _exceeds_memory(Cholesky(), case.problem)


def _too_large_to_diagonalise(case: Case) -> bool:
    return Cholesky().refuses(case.problem) is None and _exceeds_memory(Eigen(), case.problem)


def _exceeds_memory(solver: Solver, problem: Problem) -> bool:
    """Whether a solver needs more than the free memory; False where that is unknown."""
    free = available_memory(problem.like)
    return free is not None and solver.memory(problem) > free


def _cost(case: Case, solver: Solver) -> str:
    """Bytes and seconds of a large closed form, as text."""
    n, q, like = case.problem.gram.size, int(case.problem.Psi.shape[1]), case.problem.like
    if not isinstance(solver, (Cholesky, Eigen, MixedPrecision)):
        return ""
    factor, solve = n**3 / 3, 2.0 * n * n * q
    flops = case.systems * (factor * (2 if case.use.loo else 1) + solve)
    if isinstance(solver, Eigen):
        flops = 27 * factor + case.systems * 2 * solve
    if isinstance(solver, MixedPrecision):
        flops = factor / 4 + 10 * (solve + 2.0 * n * n * (case.problem.gram.K.n_columns or 0))
    free = available_memory(like)
    room = "" if free is None else f" of {human_bytes(free)} that are free"
    return f" It takes {human_bytes(solver.memory(case.problem))}{room}, and {expected_time(flops, like)}."


def _has_dual(problem: Problem) -> bool:
    """Whether the loss has the methods of a dual, with its domain for an intercept."""
    return problem.loss.has_prox and (problem.constants is None or problem.loss.has_feasible)


def _is_grid(case: Case) -> bool:
    """Whether there are many penalised systems, or Cholesky factors would lose too many digits."""
    several = case.use.loo or case.use.n_alphas * case.use.n_manifold_weights > 1 or case.distinct >= 10
    return several or Cholesky().refuses(case.problem) is not None


def _is_thin(problem: Problem) -> bool:
    """Whether the kernel has few features."""
    return LowRank().refuses(problem) is None and THIN * _n_features(problem) <= problem.n_labeled


def _n_features(problem: Problem) -> int:
    """p of K = Φ Φᵀ, Φ (n, p)."""
    return int(problem.gram.factor.shape[1])  # type: ignore[union-attr]


def _pairs(problem: Problem) -> str:
    return f"{problem.gram.shape[0]} pairs of {cast('PairGram', problem.gram).nodes.shape[0]} nodes: "


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
