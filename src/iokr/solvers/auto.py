"""The choice made for users, readable as a list."""

from __future__ import annotations

from dataclasses import replace

from iokr._component import component
from iokr._memory import available_memory
from iokr.problem import Problem, Solution
from iokr.solvers.base import ClosedForm, Solver
from iokr.solvers.closed_form.cholesky import Cholesky
from iokr.solvers.closed_form.eigen import Eigen
from iokr.solvers.closed_form.lowrank import LowRank
from iokr.solvers.closed_form.manifold import ManifoldEigen
from iokr.solvers.iterative.admm import ADMM, from_margin_dual
from iokr.solvers.iterative.conjugate_gradient import ConjugateGradient
from iokr.solvers.iterative.coordinate_descent import CoordinateDescent
from iokr.solvers.pairs.margin import PairMargin
from iokr.solvers.pairs.parts import many_pairs_reason, takes_many_pairs
from iokr.solvers.pairs.ridge import PairRidge

__all__ = ["Auto"]

_THIN = 5  # times as many points as features, where 6np² flops are fewer than the n³/3 of a Cholesky factor
_PATIENCE = 500  # sweeps and Newton steps on the margin's dual before something else is tried


@component
class Auto(Solver):
    """The cheapest exact solver for the problem at hand; `explain()` says which and why.

    Parameters
    ----------
    tol : float, default=1e-6
        Relative duality gap at which iterative solvers stop.
    max_iter : int, default=None
        Their iteration limit; None is the solver's own.

    Attributes
    ----------
    chosen_ : Solver
        What was used.

    Examples
    --------
    >>> from iokr import IOKR
    >>> print(IOKR().fit([[0.0], [1.0]], [0.0, 1.0]).solver_)
    Cholesky(): 1 alpha and 1 operator eigenvalue ask for 1 factorisation of n³/3 flops; an eigendecomposition
    costs about ten.
    """

    tol: float = 1e-6
    max_iter: int | None = None

    def choose(self, problem: Problem, *, n_alphas: int = 1, n_strengths: int = 1, loo: bool = False) -> Solver:
        """The solver for this problem and this use of it, kept in `chosen_`."""
        gamma, E, _ = problem.gram.spectrum()
        distinct = 1 if E is None else len(set(gamma.round(12).tolist()))
        factors = n_alphas * distinct
        values = f"{_count(n_alphas, 'alpha')} and {_count(distinct, 'operator eigenvalue')}"
        if not problem.loss.quadratic:
            self.chosen_, self.reason_ = self._iterative(problem)
        elif not loo and takes_many_pairs(PairRidge(), problem):
            self.chosen_, self.reason_ = PairRidge(), many_pairs_reason(problem)
        elif problem.gram.dim is not None and not loo and n_alphas == 1 and _too_large(problem):
            self.chosen_ = ConjugateGradient()
            self.reason_ = (
                f"the kernel does not separate, and its {problem.gram.size} × {problem.gram.size} matrix does not fit "
                "in memory: products with it, evaluated as they go."
            )
        elif problem.penalty is not None and (
            loo or n_alphas * n_strengths > 1 or distinct >= 10 or Cholesky().refuses(problem)
        ):
            self.chosen_ = ManifoldEigen()
            self.reason_ = (
                f"unlabelled points with {values}, {_count(n_strengths, 'strength')}"
                f"{' and leave-one-out' if loo else ''}: one reduction of the penalty serves every point of the grid."
            )
        elif problem.penalty is not None:
            self.chosen_ = Cholesky()
            self.reason_ = (
                f"unlabelled points with {values}: {_count(factors, 'Cholesky factorisation')} of αI + γFᵀKF "
                "(M = F Fᵀ), symmetric although MK is not."
            )
        elif LowRank().refuses(problem) is None and _THIN * _n_features(problem) <= problem.n_labeled:
            self.chosen_ = LowRank()
            self.reason_ = (
                f"the kernel has {_count(_n_features(problem), 'feature')} for {problem.n_labeled} points: one thin "
                "singular value decomposition serves every alpha and every eigenvalue, and nothing is n × n."
            )
        elif factors < (5 if loo else 10) and not Cholesky().refuses(problem):
            self.chosen_ = Cholesky()
            self.reason_ = (
                f"{values} ask for {_count(factors, 'factorisation')} of n³/3 flops"
                f"{' and an inverse each for leave-one-out' if loo else ''}; "
                f"an eigendecomposition costs about {'five' if loo else 'ten'}."
            )
        else:
            self.chosen_ = Eigen()
            self.reason_ = (
                f"{values}{' with leave-one-out' if loo else ''} would ask for {factors} factorisations; "
                "one eigendecomposition serves them all."
            )
        return self.chosen_

    def _iterative(self, problem: Problem) -> tuple[Solver, str]:
        """The solver for a loss without a closed form."""
        tol, max_iter = self.tol, self.max_iter
        if takes_many_pairs(PairMargin(), problem):
            return PairMargin(tol, max_iter), many_pairs_reason(problem)
        descent = CoordinateDescent(tol, max_iter)
        if descent.refuses(problem) is None:
            return descent, "the dual of the margin is a quadratic in a box, and most of its entries rest at a bound."
        return ADMM(tol, max_iter), "one factorisation serves every step, for any loss with a proximal map and any A."

    def explain(self) -> str:
        """What was chosen and why, in words."""
        if not hasattr(self, "chosen_"):
            return f"{self!r}: chooses when it sees the problem."
        return f"{self.chosen_!r}: {self.reason_}"

    def refuses(self, problem: Problem) -> str | None:
        """What the chosen solver says."""
        return self.choose(problem).refuses(problem)

    def memory(self, problem: Problem) -> float:
        """What the chosen solver needs."""
        return self.choose(problem).memory(problem)

    def _solve(self, problem: Problem, start: Solution | None) -> Solution:
        chosen = self.choose(problem)
        if not isinstance(chosen, (CoordinateDescent, PairMargin)) or self.max_iter is not None:
            return chosen._solve(problem, start)
        first = type(chosen)(self.tol, _PATIENCE)._solve(problem, start)
        if first.converged:
            return first
        # Points that no h separates, a singular K and a small λ: the box has no corner near which to solve.
        self.chosen_ = ADMM(self.tol)
        self.reason_ = f"coordinate descent stood at a gap of {first.gap:.1e} after {first.n_iter} steps; this went on."
        second = self.chosen_._solve(problem, from_margin_dual(problem, first.state))
        second = replace(second, n_iter=first.n_iter + second.n_iter)
        return second if second.gap < first.gap else first

    def closed_form(self, problem: Problem, **use: int | bool) -> ClosedForm:
        """The closed form for this use, or a refusal."""
        chosen = self.choose(problem, **use)  # type: ignore[arg-type]
        if not isinstance(chosen, ClosedForm):
            raise ValueError(f"{chosen!r} has no closed form.")
        return chosen


def _n_features(problem: Problem) -> int:
    """p of K = Φ Φᵀ, Φ (n, p)."""
    return int(problem.gram.K.factor.shape[1])  # type: ignore[attr-defined]


def _too_large(problem: Problem) -> bool:
    solver = Cholesky() if problem.penalty is None else ManifoldEigen()
    available = available_memory(problem.Psi)
    return available is not None and solver.memory(problem) > available


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
