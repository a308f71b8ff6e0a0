"""Conjugate gradients: quadratic problems by products with the Gram only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from iokr._array import (
    Array,
    CholeskyFactor,
    NotPositiveDefinite,
    array_namespace,
    asarray_like,
    blocks,
    cholesky,
    exponent,
    matmul,
    take_rows,
    times_power,
)
from iokr._component import component
from iokr._validation.arguments import check_integer, check_stops
from iokr.problem import Problem, Solution
from iokr.solvers._routes import preconditioned_bytes
from iokr.solvers.base import Solver, join_columns, take_columns
from iokr.solvers.closed_form.symmetric_system import Geometry
from iokr.solvers.constants import least_squares
from iokr.solvers.iterative.certificate import sharpened
from iokr.solvers.iterative.krylov import Map, conjugate_gradients, restarted
from iokr.solvers.iterative.symmetric import refuses_symmetric, relative_gap, relative_residual
from iokr.solvers.pairs.ridge import PairRidge

__all__ = ["ConjugateGradient"]

_SLAB = 1 << 24  # entries of the features that are whitened at a time


@component
class ConjugateGradient(Solver):
    """(λI + M G) C = Jᵀ diag(w) Ψ with M = Jᵀ diag(w) J + μL, symmetric in ⟨a, b⟩ = aᵀ G b: a product with G per step.

    Nothing is factored and G need not be stored: memory grows like Nq. For kernels that do not separate, if (Nd)²
    numbers are too many; the number of steps grows like the root of s_max/λ. ½⟨r, G r⟩/λ bounds the duality gap at the
    residual r. With `rank` m there is a preconditioner from m random points P, M⁻¹r = (r − Φ(ΦᵀΦ + λI)⁻¹Φᵀr)/λ with ΦΦᵀ
    = K_XP K_PP⁻¹ K_PX: a few dozen steps instead of hundreds, for nm + m² numbers. This is the exact solver if n²/2
    numbers are too many: K is evaluated in panels, 2n²(p + q) flops per step, and ½‖r‖² is the duality gap. Problems on
    pairs of nodes are solved by `PairRidge`, with products without a matrix.

    Parameters
    ----------
    tol : float, default=1e-8
        Residual, relative to the right-hand side, both in the norm of G; with `rank` of every column in the plain norm.
    max_iter : int, default=None
        None is 1000.
    rank : int, default=None
        m: larger takes fewer steps and more memory; 1000 to 8000 for a hundred thousand points. None uses no
        preconditioner.

    Attributes
    ----------
    outcome_ : str
        Steps, residual and duality gap of the last fit.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.solvers import ConjugateGradient
    >>> model = IOKR(alpha=0.1, solver=ConjugateGradient()).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> model.solution_.n_iter, bool(model.solution_.gap < 1e-12)
    (1, True)
    """

    tol: float = 1e-8
    max_iter: int | None = None
    rank: int | None = None

    def refuses(self, problem: Problem) -> str | None:
        """A quadratic loss and coefficients without A are required; with `rank` the same as for `MixedPrecision`."""
        if self.rank is not None:
            return refuses_symmetric(problem)
        if not problem.loss.quadratic:
            return f"`loss` must be quadratic, got {problem.loss!r}; use `ADMM()`."
        if problem.operator.oblique:
            return "a covariance operator of implicit outputs has a closed form; use `Eigen()`."
        return None

    def memory(self, problem: Problem) -> float:
        """Eight arrays of the size of C, a panel of G, and the penalty; with `rank` m also Nm + m² numbers."""
        N, q = problem.gram.shape[0], problem.Psi.shape[1]
        if self.rank is not None:
            m = min(check_integer(self.rank, "rank", minimum=1), N)
            return preconditioned_bytes(N, q, m, problem.like)
        return 8.0 * float(8 * N * q + 2**24 + (N**2 if problem.penalised else 0))

    def _solve(self, problem: Problem, start: Solution | None) -> Solution:
        if self.rank is not None:
            return self._preconditioned(problem)
        special = PairRidge(self.tol, self.max_iter)
        if special.refuses(problem) is None:
            return special._solve(problem, start)
        tol, limit = check_stops(self.tol, self.max_iter, 1000)
        tol = _of_all_rows(tol, problem)
        gram = problem.gram
        diagonal = gram.diagonal()
        k = exponent(max(problem.alpha, float(array_namespace(diagonal).max(diagonal))))
        lam = math.ldexp(problem.alpha, -k)
        b, system = _system(replace(problem, alpha=lam))
        xp = array_namespace(b)

        def direction(R: Array) -> Array:  # (2⁻ᵏλI + M 2⁻ᵏG)(2ᵏC) = b: steps multiply G by itself
            return xp.stack([R, times_power(gram @ R, -k)])

        C, R, D = b * 0.0, b, direction(b)
        size_0 = max(float(xp.sum(b * D[1, ...])), 0.0)
        goal = min(tol * tol, 1.0) * size_0
        if start is not None and start.C.shape == b.shape:
            C = times_power(start.C, k)
            R = b - system(direction(C))
            D = direction(R)
        C, _, size, steps = conjugate_gradients(
            C, R, D, direction, system, lambda R, size: not float(size) > goal, limit, axis=None
        )
        left, J_0 = max(float(size), 0.0), float(xp.sum(problem.targets * b[: problem.n_labeled, :])) / 2
        gap = left / (2 * lam) / J_0 if J_0 > 0 else 0.0
        residual = (left / size_0) ** 0.5 if size_0 > 0 else 0.0
        self.outcome_ = f"residual {residual:.1e} after {steps} steps, duality gap {gap:.1e}."
        C = times_power(C, -k)
        B = least_squares(problem, problem.targets, C)
        return Solution(C, max(steps, 1), gap, left <= goal, intercept=None if B is None else B[0, :])

    def _preconditioned(self, problem: Problem) -> Solution:
        tol, limit = check_stops(self.tol, self.max_iter, 1000)
        tol = min(_of_all_rows(tol, problem), 1.0)
        m = check_integer(self.rank, "rank", minimum=1)
        points, operator, alpha = Geometry(problem), problem.operator, problem.alpha
        B = points.targets(operator.rotate(problem.Psi))
        gamma = asarray_like(np.broadcast_to(operator.gamma, (B.shape[1],)).copy(), B)[None, :]
        approximate = _nystroem(points, operator.groups(B.shape[1]), alpha, m)

        def precondition(R: Array) -> Array:
            return points.centre(approximate(R))

        def system(Z: Array) -> Array:
            return gamma * points.times(Z) + alpha * Z

        Z, R, steps = restarted(system, B, precondition, tol, limit)
        residual, gap = relative_residual(R, B), relative_gap(problem, R)
        self.outcome_ = f"residual {residual:.1e} after {steps} steps, duality gap {gap:.1e}."
        C = operator.unrotate(points.to_points(Z))
        constants = points.unpenalised(problem.Psi, C, operator)
        intercept = None if constants is None else constants[0, :]
        return Solution(C, max(steps, 1), gap, residual <= tol, intercept=intercept)


def _root(own: Array, shift: float) -> CholeskyFactor:
    """The factor of K_PP; a small shift of its diagonal only costs steps."""
    for _ in range(8):
        try:
            return cholesky(own, shift)
        except NotPositiveDefinite:
            shift *= 100
    raise ValueError("The kernel of the points drawn for `rank` is not positive semi-definite; use another kernel.")


def _nystroem(points: Geometry, groups: Sequence[tuple[float, np.ndarray]], alpha: float, m: int) -> Map:
    """R ↦ (R − Φ(ΦᵀΦ + (λ/γ)I)⁻¹ΦᵀR)/λ by columns, √w K √w ≈ ΦΦᵀ; stores F = Φᵀ (m, n)."""
    K, n = points.labeled_gram, len(points.active)
    chosen = np.sort(np.random.default_rng(0).permutation(n)[:m])
    F = K.rows(chosen)
    own = take_rows(F.T, chosen)
    if points.sqrt_w is not None:
        F = F * points.sqrt_w[None, :]
    own = (own + own.T) / 2
    xp = array_namespace(F)
    shift = len(chosen) * float(np.finfo(float).eps) * float(xp.max(xp.linalg.diagonal(own)))
    root = _root(own, shift)
    for columns in blocks(n, max(1, _SLAB // len(chosen))):
        F[:, columns] = root.solve_lower(F[:, columns])
    G = matmul(F, F.T)
    factors = [(g, group, cholesky(G, alpha / g) if g > 0 else None) for g, group in groups]

    def precondition(R: Array) -> Array:
        T = matmul(F, R)
        inner = [
            (group, take_columns(T, group) * 0.0 if f is None else f.solve(take_columns(T, group)))
            for _, group, f in factors
        ]
        return (R - matmul(F.T, join_columns(inner))) / alpha

    return precondition


def _of_all_rows(tol: float, problem: Problem) -> float:
    """The tolerance of residuals, smaller if rows of small weight would not be measured otherwise."""
    return sharpened(tol, problem.losses(problem.targets * 0.0), power=0.5)


def _system(problem: Problem) -> tuple[Array, Map]:
    """Jᵀ diag(w) Ψ, and (C, H) ↦ λC + M H, missing entries of weight 0; with an intercept without what it explains."""
    Psi, xp = problem.targets, array_namespace(problem.like)
    N, n = problem.gram.shape[0], problem.n_labeled
    observed = np.ones(tuple(Psi.shape)) if problem.mask is None else np.asarray(problem.mask)
    w = asarray_like(observed * problem.row_weight[:, None], Psi)
    pad = asarray_like(np.zeros((N - n, Psi.shape[1])), Psi)
    centre = _centring(problem, w)
    b = xp.concat([centre(w * Psi), pad], axis=0)
    lam, L, mu = problem.alpha, problem.penalty, problem.manifold_weight

    def system(P: Array) -> Array:
        H = P[1, ...]
        total = lam * P[0, ...] + xp.concat([centre(w * H[:n, :]), pad], axis=0)
        return total if L is None or not mu else total + mu * matmul(L, H)

    return b, system


def _centring(problem: Problem, w: Array) -> Callable[[Array], Array]:
    """V ↦ V − w∘e(eᵀV/Σ w e²) for V = w ∘ h, the part of h that the functions e of an intercept explain taken out."""
    if problem.constants is None:
        return lambda V: V
    e = asarray_like(np.asarray(problem.constants, dtype=float), w)
    xp = array_namespace(w)
    total = matmul((e * e).T, w)
    total = xp.where(total > 0, total, xp.ones_like(total))
    return lambda V: V - w * matmul(e, matmul(e.T, V) / total)
