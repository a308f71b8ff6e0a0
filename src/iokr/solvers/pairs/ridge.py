"""Ridge on pairs of nodes: the closed form for all pairs, else conjugate gradients with a preconditioner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, is_numpy, matmul, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_stops
from iokr.gram.pairs.gram import PairGram
from iokr.problem import Problem, Solution
from iokr.solvers.base import Solver
from iokr.solvers.constants import typical_constants, without_constants
from iokr.solvers.iterative.krylov import column_norms, restarted
from iokr.solvers.pairs.spectrum import CompletePairs, pair_preconditioner

__all__ = ["PairRidge"]

_FEW = 50  # number of pairs up to which there is no preconditioner


@component
class PairRidge(Solver):
    """(G + λ diag(1/w)) C = Ψ on pairs of nodes, from products with G of about 3nm multiplications, n pairs of m nodes.

    If all pairs are observed, self-pairs with half the weight of the others, the solution takes one eigendecomposition
    of K. Otherwise conjugate gradients, with this closed form as preconditioner if nearly all pairs are observed, else
    with the leading eigenvectors of K. ½⟨d, G d⟩/λ, d = w ∘ residual, bounds the duality gap. An intercept is one more
    right-hand side. `Auto` and `ConjugateGradient` use it for many pairs.

    Parameters
    ----------
    tol, max_iter : as in `ConjugateGradient`
        The residual is that of each output, relative to its targets.

    Examples
    --------
    >>> from iokr import PairModel
    >>> from iokr.solvers.pairs import PairRidge
    >>> model = PairModel(solver=PairRidge()).fit([[0.0], [1.0], [3.0]], [[0, 1], [0, 2]], [1.0, -1.0])
    >>> model.solution_.n_iter, bool(model.solution_.gap < 1e-12)
    (2, True)
    """

    tol: float = 1e-8
    max_iter: int | None = None

    def refuses(self, problem: Problem) -> str | None:
        """A quadratic loss and labels of all pairs are required."""
        if not problem.loss.quadratic:
            return f"`loss` must be quadratic, got {problem.loss!r}; use `PairMargin()`."
        if not isinstance(problem.gram, PairGram):
            return f"the kernel must be between pairs of nodes, got {problem.gram!r}; use `ConjugateGradient()`."
        if problem.penalised or problem.mask is not None:
            return "unlabelled pairs and missing entries need `ConjugateGradient()`."
        return None

    def memory(self, problem: Problem) -> float:
        """Eight arrays of the size of C, six of that of K, and blocks."""
        n, q = problem.Psi.shape
        m = cast("PairGram", problem.gram).nodes.shape[0]
        return 8.0 * float(8 * n * q + 6 * m**2 + 2**20)

    def _solve(self, problem: Problem, start: Solution | None) -> Solution:
        if np.any(problem.row_weight == 0):
            raise ValueError("Weights of pairs must be positive; drop pairs of weight zero.")
        if problem.constants is not None:
            return self._with_constants(problem)
        first = None if start is None or start.C.shape != problem.targets.shape else start.C
        C, R, n_iter, small = self._solutions(problem, problem.targets, first)
        return Solution(C, n_iter, _relative_gap(problem, R), small)

    def _with_constants(self, problem: Problem) -> Solution:
        """C = Z − Z_e B, Z and Z_e the solutions for Ψ and e, B such that eᵀC = 0; then B as the residual says."""
        base = typical_constants(problem)
        Psi = without_constants(problem, base)
        e, xp, q = asarray_like(problem.constants, Psi), array_namespace(Psi), int(Psi.shape[1])
        Z, R, n_iter, small = self._solutions(problem, xp.concat([Psi, e], axis=1), None)
        sums = to_numpy(matmul(e.T, Z))
        B = asarray_like(np.linalg.solve(sums[:, q:], sums[:, :q]), Psi)
        C = Z[:, :q] - matmul(Z[:, q:], B)
        if R is not None:
            R = R[:, :q] - matmul(R[:, q:], B)
            w = asarray_like(problem.row_weight, Psi)[:, None]
            step = matmul(e.T, w * R) / xp.sum(w * e * e, axis=0)[:, None]
            B, R = B + step, R - matmul(e, step)
        gap = _relative_gap(replace(problem, Psi=Psi), R)
        return Solution(C, n_iter, gap, small, intercept=(base + B)[0, :])

    def _solutions(self, problem: Problem, B: Array, first: Array | None) -> tuple[Array, Array | None, int, bool]:
        """(G + λ diag(1/w))⁻¹B, the residual (None in closed form), steps, whether the residual is small."""
        tol, limit = check_stops(self.tol, self.max_iter, 1000)
        gram = cast("PairGram", problem.gram)
        shift = problem.alpha / problem.row_weight
        inverse = None
        if is_numpy(gram.nodes, B):
            complete = CompletePairs(gram, shift)
            if complete.exact:
                return _by_columns(complete.solve, B), None, 1, True
            if len(shift) >= _FEW:
                inverse = pair_preconditioner(gram, shift)
        diagonal = asarray_like(shift, B)[:, None]

        def precondition(R: Array) -> Array:
            return R if inverse is None else _by_columns(inverse, R)

        C, R, n_iter = restarted(lambda C: gram @ C + diagonal * C, B, precondition, tol, limit, first)
        return C, R, max(n_iter, 1), bool(array_namespace(R).all(column_norms(R) <= tol * column_norms(B)))


def _by_columns(f: Callable[[np.ndarray], np.ndarray], R: np.ndarray) -> np.ndarray:
    """f of every column."""
    return np.stack([f(R[:, j]) for j in range(R.shape[1])], axis=1)


def _relative_gap(problem: Problem, R: Array | None) -> float:
    """½⟨d, G d⟩/(λ J(0)) with d = −w ∘ R: ∇J is Σ_p k_P(·, p) d_p, and J is λ-strongly convex in f."""
    if R is None:
        return 0.0
    xp = array_namespace(R)
    Psi = problem.targets
    w = asarray_like(problem.row_weight, Psi)[:, None]
    J_0 = float(xp.sum(w * Psi * Psi)) / 2
    if J_0 == 0:
        return 0.0
    return max(float(xp.sum(w * R * (problem.gram @ (w * R)))) / (2 * problem.alpha * J_0), 0.0)
