"""Conjugate gradients: quadratic problems through products with the Gram alone."""

from __future__ import annotations

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, matmul
from iokr._component import component
from iokr._validation import check_stops
from iokr.problem import Problem, Solution
from iokr.solvers.base import Solver
from iokr.solvers.iterative.krylov import Map, conjugate_gradients
from iokr.solvers.pairs.ridge import PairRidge

__all__ = ["ConjugateGradient"]


@component
class ConjugateGradient(Solver):
    """(λI + M G) C = Jᵀ diag(w) Ψ with M = Jᵀ diag(w) J + μL, symmetric in ⟨a, b⟩ = aᵀ G b: one product with G a step.

    Nothing is factored and G need not be stored, so memory grows like Nq. For kernels that do not separate, when (Nd)²
    numbers are too many; steps grow with the root of s_max/λ. ½⟨r, G r⟩/λ bounds the duality gap at the residual r.
    Between pairs of nodes products need no matrix, and the spectrum of the nodes' kernel serves as a preconditioner:
    such problems are handed to `PairRidge`.

    Parameters
    ----------
    tol : float, default=1e-8
        Residual, relative to the right-hand side, both in the norm of G.
    max_iter : int, default=None
        None is 1000.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.solvers import ConjugateGradient
    >>> model = IOKR(alpha=0.1, solver=ConjugateGradient()).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> model.solution_.n_iter, bool(model.solution_.gap < 1e-12)
    (2, True)
    """

    tol: float = 1e-8
    max_iter: int | None = None

    def refuses(self, problem: Problem) -> str | None:
        """Needs a quadratic loss and coefficients that do not contain A."""
        if not problem.loss.quadratic:
            return f"`loss` must be quadratic, got {problem.loss!r}; use `ADMM()`."
        if problem.operator.oblique:
            return "a covariance operator of implicit outputs has a closed form; use `Eigen()`."
        return None

    def memory(self, problem: Problem) -> float:
        """Eight arrays of the size of C, a panel of G, and the penalty."""
        N, q = problem.gram.shape[0], problem.Psi.shape[1]
        return 8.0 * float(8 * N * q + 2**24 + (N**2 if problem.penalised else 0))

    def _solve(self, problem: Problem, start: Solution | None) -> Solution:
        special = PairRidge(self.tol, self.max_iter)
        if special.refuses(problem) is None:
            return special._solve(problem, start)
        tol, limit = check_stops(self.tol, self.max_iter, 1000)
        gram, lam = problem.gram, problem.alpha
        b, system = _system(problem)
        xp = array_namespace(b)

        def direction(R: Array) -> Array:
            return xp.stack([R, gram @ R])

        C, R, D = b * 0.0, b, direction(b)
        goal = tol * tol * max(float(xp.sum(b * D[1, ...])), 0.0)
        if start is not None and start.C.shape == b.shape:
            C, R = start.C, b - system(direction(start.C))
            D = direction(R)
        C, _, size, steps = conjugate_gradients(
            C, R, D, direction, system, lambda R, size: not float(size) > goal, limit, axis=None
        )
        left, J_0 = max(float(size), 0.0), float(xp.sum(problem.targets * b[: problem.n_labeled, :])) / 2
        return Solution(C, max(steps, 1), left / (2 * lam) / J_0 if J_0 > 0 else 0.0, left <= goal)


def _system(problem: Problem) -> tuple[Array, Map]:
    """Jᵀ diag(w) Ψ, and (C, H) ↦ λC + M H, missing entries of weight 0."""
    Psi, xp = problem.targets, array_namespace(problem.like)
    N, n = problem.gram.shape[0], problem.n_labeled
    observed = np.ones(tuple(Psi.shape)) if problem.mask is None else np.asarray(problem.mask)
    w = asarray_like(observed * problem.row_weight[:, None], Psi)
    pad = asarray_like(np.zeros((N - n, Psi.shape[1])), Psi)
    b = xp.concat([w * Psi, pad], axis=0) if n < N else w * Psi
    w = xp.concat([w, pad], axis=0) if n < N else w
    lam, L, mu = problem.alpha, problem.penalty, problem.strength
    if L is None or not mu:
        return b, lambda P: lam * P[0, ...] + w * P[1, ...]
    return b, lambda P: lam * P[0, ...] + w * P[1, ...] + mu * matmul(L, P[1, ...])
