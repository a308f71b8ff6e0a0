"""Reduced-rank regression P̂h: projected on the leading components of the fitted values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
from sklearn.base import clone

from iokr._array import Array, array_namespace, asarray_like, eigh, matmul, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_component, check_integer, check_number
from iokr.gram.operators import IdentityMatrix, OutputOperator
from iokr.losses.square import Square
from iokr.problem import Problem, Solution
from iokr.solvers.auto import Auto
from iokr.solvers.base import Path, Reduction, Solver
from iokr.solvers.closed_form.paths import ClosedForm
from iokr.solvers.constants import least_squares, left_out_constants

__all__ = ["ReducedRank"]

_EPS = float(np.finfo(float).eps)


@component
class ReducedRank(ClosedForm):
    """h(x) = P̂ h_λ₂(x), P̂ = V_pV_pᵀ the projection on the top p components of the fitted values h_λ₁(x_i).

    The components are those of the fitted values, not of the outputs: directions that do not depend on the inputs, and
    their noise, are left out. The fits are followed by a q × q eigenproblem. For any loss and separable operator. With
    an intercept, deviations from the mean are projected, and the mean is not.

    Leave-one-out keeps P̂ fixed, for all p at once: e(p) = Σ_i [Σ_{k≤p} (RV)²_ik + Σ_{k>p} (ΨV)²_ik] with the
    leave-one-out residuals R at λ₂; with an intercept Ψ is ψ_i minus the mean of the other outputs. As P̂ is learned
    from all labels, e(p) is optimistic; cross-validation learns it in each fold.

    Parameters
    ----------
    rank : int or sequence of int, default=None
        p; None or a sequence takes the smallest e(p) (square loss only).
    alpha : float or sequence of float, default=None
        λ₁; None is the alpha λ₂ of the model. A sequence takes the value with the smallest e(p).
    solver : Solver, default=None
        The solver of the fits at λ₁ and λ₂; None is `Auto()`.

    Attributes
    ----------
    rank_ : int
    directions_ : array of shape (q, p)
        V_p.
    coefficients_ : array of shape (n, p), or None
        CV_p if A = aI and there is no intercept: Vᵀh(x) = a(CV_p)ᵀk_x, so that ranking takes p numbers per candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.solvers import ReducedRank
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> Y = np.sin(X) @ np.array([[1.0, -1.0, 2.0]]) + 0.3 * np.random.default_rng(0).normal(size=(40, 3))
    >>> IOKR(alpha=0.1, solver=ReducedRank()).fit(X, Y).solver_.rank_
    1
    """

    rank: Any = None
    alpha: Any = None
    solver: Solver | None = None

    needs_coordinates = True

    @property
    def reduced(self) -> Reduction | None:  # type: ignore[override]
        """V_p and CV_p, after a fit."""
        if not hasattr(self, "rank_"):
            return None
        return Reduction(self.directions_, self.coefficients_)

    def refuses(self, problem: Problem) -> str | None:
        """Orthonormal and complete coordinates and a separable kernel are required."""
        if isinstance(problem.Psi, IdentityMatrix) or problem.operator.oblique:
            return "it projects in coordinates of the outputs; use `embedding=Eigen()` or `Nystroem(n_components)`."
        if problem.gram.operator is None:
            return "the kernel does not separate into k·A; use a scalar kernel, or `Decomposable`."
        if problem.mask is not None:
            return "targets must be complete, but some are missing; drop these rows."
        if not problem.loss.quadratic and (self.rank is None or isinstance(self.rank, (Sequence, np.ndarray))):
            return "`rank` is chosen by leave-one-out, which has a closed form for the square loss only; give a number."
        return self._base().refuses(problem)

    def memory(self, problem: Problem) -> float:
        """That of the fit, and q² numbers."""
        return float(self._base().memory(problem)) + 24.0 * float(problem.Psi.shape[1]) ** 2

    def explain(self) -> str:
        """The rank of the last fit."""
        if not hasattr(self, "rank_"):
            return super().explain()
        return f"{self!r}: {self.rank_} of {self.directions_.shape[0]} components of the fitted values."

    def _base(self) -> Solver:
        if self.solver is None:
            return Auto()
        base: Solver = clone(check_component(self.solver, Solver, "solver", "solvers"))  # type: ignore[type-abstract]
        return base

    def _ranks(self) -> list[int] | None:
        """The ranks to choose from; None is all."""
        if self.rank is None:
            return None
        return [check_integer(rank, "rank", minimum=1) for rank in _listed(self.rank, "rank")]

    def _alphas(self, own: float) -> list[float]:
        given = _listed(self.alpha, "alpha")
        return [own if a is None else check_number(a, "alpha", minimum=0.0, strict=True) for a in given]

    def _path(self, problem: Problem) -> Path:
        base = self._base()
        closed = base.closed_form(problem, n_alphas=2, loo=True) if isinstance(base, Auto) else base
        if not isinstance(closed, ClosedForm):
            raise ValueError(f"`solver` {closed!r} has no closed form; use `Auto()`.")
        return _ReducedPath(problem, closed.path(problem), self)

    def _solve(self, problem: Problem, start: Solution | None) -> Solution:
        if problem.loss.quadratic:
            return super()._solve(problem, start)
        base = self._base()
        solution = base.solve(problem, start)
        (first,) = self._alphas(problem.alpha)[:1]
        other = solution if first == problem.alpha else base.solve(replace(problem, alpha=first), solution)
        f, V = components(problem, other.C)
        (rank,) = self._ranks() or [0]
        check_rank(rank, f, problem.n_labeled)
        C = self.keep(problem, solution.C, V, rank)
        if solution.intercept is None:
            return replace(solution, C=C)
        # the values at the labelled points keep their mean
        moved = least_squares(replace(problem, loss=Square()), problem.targets * 0.0, solution.C - C)
        assert moved is not None
        return replace(solution, C=C, intercept=solution.intercept - moved[0, :])

    def keep(self, problem: Problem, C: Array, V: Array, rank: int) -> Array:
        """C' with C'A = CAP̂; stores the directions."""
        operator = problem.operator
        self.rank_, self.directions_ = rank, V[:, :rank]
        whole = operator.scale is None or problem.constants is not None
        self.coefficients_ = None if whole else matmul(C, self.directions_)
        return projected(operator, C, self.directions_)


def _listed(given: Any, name: str) -> list[Any]:
    """One value, or a sequence of them."""
    values = list(np.atleast_1d(given))
    if not values:
        raise ValueError(f"`{name}` is empty; give at least one value.")
    return values


def components(problem: Problem, C: Array) -> tuple[np.ndarray, Array]:
    """(f, V), f descending: FᵀWF = V diag(f) Vᵀ of the fitted values F (n, q) at the labelled points.

    With an intercept those of the deviations of F from their mean.
    """
    F = (problem.gram @ C)[: problem.n_labeled, :]
    means = least_squares(problem, F * 0.0, C)
    if means is not None:  # of −F
        F = F + matmul(asarray_like(problem.constants, F), means)
    if problem.weight is not None:
        F = asarray_like(np.sqrt(problem.weight), F)[:, None] * F
    f, V = eigh(matmul(F.T, F))
    xp = array_namespace(V)
    return np.clip(to_numpy(f)[::-1], 0.0, None), xp.flip(V, axis=1)


def check_rank(rank: int, f: np.ndarray, n: int) -> None:
    """Raise if the rank is larger than the number of components of the fitted values."""
    most = numerical_rank(f, n)
    if rank > most:
        raise ValueError(f"`rank` is {rank}, but the fitted values have {most} components; lower it.")


def numerical_rank(f: np.ndarray, n: int) -> int:
    """The number of f_k > n·eps·f_1, at least one."""
    return max(1, int(np.sum(f > n * _EPS * f[0])))


def projected(operator: OutputOperator, C: Array, V: Array) -> Array:
    """C AP̂A⁺, so that h(x) = A C'ᵀk_x = P̂ACᵀk_x: V lies in the range of A."""
    if operator.scale is not None:
        return matmul(matmul(C, V), V.T)
    gamma, E = operator.gamma, operator.E
    assert E is not None
    inverse = np.where(gamma > len(gamma) * _EPS * gamma.max(), 1 / np.where(gamma > 0, gamma, 1.0), 0.0)
    back = matmul(matmul(V.T, E) * asarray_like(inverse, V)[None, :], E.T)  # VᵀA⁺
    return matmul(matmul(operator.act(C), V), back)


class _ReducedPath(Path):
    """The path of the fits, projected; at each λ₂ with the λ₁ and p of the smallest e(p)."""

    def __init__(self, problem: Problem, base: Path, solver: ReducedRank) -> None:
        super().__init__(problem)
        self.problem, self.base, self.solver = problem, base, solver
        self._kept: dict[tuple[int, float], tuple[np.ndarray, Array]] = {}

    def _components(self, Psi: Array, alpha: float) -> tuple[np.ndarray, Array]:
        key = id(Psi), alpha
        if key not in self._kept:
            self._kept[key] = components(self.problem, self.base.coefficients(Psi, alpha))
        return self._kept[key]

    def _best(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> tuple[float, int, Array]:
        """(e(p)/Σw, p, V) at λ₂ = alpha."""
        R = self.base.loo_residuals(Psi, alpha, groups)
        rest = left_out_constants(self.problem, Psi, groups)
        w = self.row_weight
        found = []
        for first in self.solver._alphas(alpha):
            f, V = self._components(Psi, first)
            left = w @ to_numpy(matmul(R, V)) ** 2
            right = w @ to_numpy(matmul(rest, V)) ** 2
            errors = (np.cumsum(left) + np.sum(right) - np.cumsum(right)) / w.sum()  # [p − 1]
            most = numerical_rank(f, self.n)
            ranks = self.solver._ranks() or range(1, most + 1)
            check_rank(min(ranks), f, self.n)
            p = min((p for p in ranks if p <= most), key=lambda p: errors[p - 1])
            found.append((float(errors[p - 1]), p, V))
        return min(found, key=itemgetter(0))

    def _fixed(self, Psi: Array, alpha: float) -> tuple[int, Array]:
        """p and V, without leave-one-out if there is no choice."""
        ranks, firsts = self.solver._ranks(), self.solver._alphas(alpha)
        if ranks is not None and len(ranks) == 1 and len(firsts) == 1:
            f, V = self._components(Psi, firsts[0])
            check_rank(ranks[0], f, self.n)
            return ranks[0], V
        _, rank, V = self._best(Psi, alpha)
        return rank, V

    def coefficients(self, Psi: Array, alpha: float) -> Array:
        """C of P̂h."""
        rank, V = self._fixed(Psi, alpha)
        return self.solver.keep(self.problem, self.base.coefficients(Psi, alpha), V, rank)

    def unpenalised(self, Psi: Array, C: Array) -> Array | None:
        """B (k, q)."""
        return least_squares(self.problem, Psi, C)

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """RP̂ + Ψ(I − P̂), Ψ minus its mean without the row for an intercept."""
        rank, V = self._fixed(Psi, alpha)
        P = V[:, :rank]
        R = self.base.loo_residuals(Psi, alpha, groups)
        rest = left_out_constants(self.problem, Psi, groups)
        return rest + matmul(matmul(R - rest, P), P.T)

    def loo_errors(self, Psi: Array, alphas: Sequence[float], groups: np.ndarray | None = None) -> np.ndarray:
        """The smallest e(p)/Σw of each alpha."""
        return np.array([self._best(Psi, alpha, groups)[0] for alpha in alphas])
