"""Missing targets that A couples, many of them: conjugate gradients over the observed entries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from iokr._array import Array, FullPacked, array_namespace, asarray_like, eigh, matmul, take_rows, to_numpy
from iokr.problem import Problem
from iokr.solvers.base import Path, warn_small_alpha
from iokr.solvers.closed_form.constants import Constants
from iokr.solvers.closed_form.grouped import with_unweighted
from iokr.solvers.closed_form.symmetric_system import Geometry
from iokr.solvers.constants import least_squares
from iokr.solvers.iterative.krylov import conjugate_gradients

__all__ = ["DENSE", "MaskedPath", "by_gradients"]

DENSE = 1500  # observed entries, and half of all, up to which one Cholesky factor of their matrix is cheaper
_TOL = 1e-10  # ‖residual‖ relative to the right-hand side
_LIMIT = 2000
_EPS = float(np.finfo(float).eps)
_ENTRIES = 1 << 20  # of the arrays for rows that are left out together


def by_gradients(problem: Problem) -> bool:
    """Whether A couples too many observed entries for a matrix over them, and the map is symmetric."""
    if problem.mask is None or problem.penalised or problem.gram.operator is None or problem.operator.oblique:
        return False
    mask = np.asarray(problem.mask)
    return problem.operator.scale is None and (int(mask.sum()) > DENSE or mask.size > 2 * DENSE)


class MaskedPath(Path):
    """(m∘√w(K (√w∘Z) A) + λZ) = m∘√wΨ by conjugate gradients, C = √wZ; without a matrix over pairs of entries.

    The preconditioner is the inverse of the problem with all entries observed, R ↦ m∘(U[UᵀRE/(λ + sγᵀ)]Eᵀ), with √wK√w
    = U diag(s) Uᵀ and A = E diag(γ) Eᵀ. Without missing entries it is exact: one step. Memory n² + q² + 6nq. Leaving
    out row i empties it in m; several rows are left out side by side, each with its own steps, from the solution of all
    rows. With an intercept every term is projected on the columns Z with Σ_i m_ij √w_i e_i z_ij = 0.
    """

    mask: np.ndarray

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._problem = problem
        self.points = Geometry(replace(problem, constants=None))
        sqrt_w = self.points.sqrt_w
        K = self.points.labeled_gram.dense()
        self.K = K if sqrt_w is None else sqrt_w[:, None] * K * sqrt_w[None, :]
        self.e: Array | None = None  # √w e of the rows of positive weight
        centred = FullPacked(self.K * 1.0)
        if self.constants is not None:
            e = np.asarray(self.constants, dtype=float)[self.points.active]
            self.e = self.points.times_root(asarray_like(e, self.K))
            centred.project(Constants(problem, self.points.active).U)
        omega, self.U = eigh(centred.K, overwrite=True)
        self.omega = array_namespace(omega).clip(omega, min=0.0)
        self.seen = asarray_like(self.mask[self.points.active].astype(float), self.K)
        E, gamma = self.operator.E, self.operator.gamma
        assert E is not None  # A ≠ aI
        first = int(np.argmax(gamma > len(gamma) * _EPS * gamma.max()))  # smooth operators have few eigenvalues
        self.E, self.gamma = asarray_like(E, self.K)[:, first:], asarray_like(gamma[first:], self.K)
        self.n_steps: list[int] = []  # of each solve
        self._kept: dict[float, tuple[Array, Array]] = {}

    def _along(self, right: Array, X: Array) -> Array:
        """X times `right` for each of the b slices of X (n, q, b)."""
        return array_namespace(X).matmul(right.T[None, :, :], X)

    def _across(self, left: Array, X: Array) -> Array:
        """`left` times X for each slice."""
        n, q, b = X.shape
        xp = array_namespace(X)
        return xp.reshape(matmul(left, xp.reshape(X, (n, q * b))), (left.shape[0], q, b))

    def _means(self, V: Array, seen: Array) -> Array:
        """Σ_i m_ij √w_i e_ik v_ij / Σ_i m_ij w_i e_ik², (k, q, b), 0 without entries: the best constants for V."""
        xp = array_namespace(V)
        e = self.e
        assert e is not None
        total = self._across((e * e).T, seen)
        sums = self._across(e.T, seen * V)
        if self._problem.shapes is None:
            return sums / xp.where(total > 0, total, xp.ones_like(total))
        S = asarray_like(self._problem.shapes, V)  # (r, q), for one function e
        known = xp.matmul(S[None, :, :] * xp.permute_dims(total, (2, 0, 1)), S.T)  # (b, r, r)
        right = xp.matmul(S[None, :, :], xp.permute_dims(sums, (2, 1, 0)))  # (b, r, 1)
        beta = xp.matmul(xp.linalg.pinv(known), right)
        return xp.permute_dims(xp.matmul(xp.permute_dims(beta, (0, 2, 1)), S), (1, 2, 0))

    def _centred(self, V: Array, seen: Array) -> Array:
        """m∘V without the part along m∘√w e."""
        V = seen * V
        return V if self.e is None else V - seen * self._across(self.e, self._means(V, seen))

    def _means_without(self, B: Array, Z: Array, seen: Array) -> Array:
        """The best constants (k, q, b) of b solutions."""
        inner = self._across(self.K, self._along(self.E, Z)) * self.gamma[None, :, None]
        return self._means(B[:, :, None] - self._along(self.E.T, inner), seen)

    def _solve(self, B: Array, seen: Array, alpha: float, start: Array | None = None) -> Array:
        """Z (n, q, b) of b problems side by side."""
        xp, E, gamma = array_namespace(B), self.E, self.gamma
        extra = (1 / (alpha + self.omega[:, None] * gamma[None, :]) - 1 / alpha)[:, :, None]
        B = self._centred(B, seen)
        start = None if start is None else self._centred(start, seen)

        def system(P: Array) -> Array:
            inner = self._across(self.K, self._along(E, P[0, ...])) * gamma[None, :, None]
            return self._centred(self._along(E.T, inner), seen) + alpha * P[0, ...]

        def direction(R: Array) -> Array:
            inner = extra * self._across(self.U.T, self._along(E, R))
            return (R / alpha + self._centred(self._along(E.T, self._across(self.U, inner)), seen))[None, ...]

        goal = _TOL * xp.sqrt(xp.sum(B * B, axis=(0, 1)))

        def done(R: Array, size: Array | None = None) -> bool:
            return not bool(xp.any(xp.sqrt(xp.sum(R * R, axis=(0, 1))) > goal))

        X = xp.zeros_like(B) if start is None else start
        R = B if start is None else B - system(X[None, ...])
        X, _, _, steps = conjugate_gradients(X, R, direction(R), direction, system, done, _LIMIT, axis=(0, 1))
        self.n_steps.append(steps)
        return X

    def _whole(self, Psi: Array, alpha: float) -> Array:
        """Z (n, q) of all rows, cached for leave-one-out at the same α."""
        kept = self._kept.get(alpha)
        if kept is None or kept[0] is not Psi:
            warn_small_alpha(
                alpha, float(array_namespace(self.omega).max(self.omega)) * float(self.operator.gamma.max())
            )
            B = self.seen * self.points.targets(asarray_like(Psi, self.K))
            kept = Psi, self._solve(B[:, :, None], self.seen[:, :, None], alpha)[:, :, 0]
            self._kept = {alpha: kept}
        return kept[1]

    def coefficients(self, Psi: Array, alpha: float) -> Array:
        """C = √wZ."""
        return self.points.to_points(self._whole(Psi, alpha))

    def unpenalised(self, Psi: Array, C: Array) -> Array | None:
        """B (k, q)."""
        return least_squares(self._problem, Psi, C)

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """ψ_i − h₋ᵢ(x_i) in every coordinate (Ψ read as 0 where unobserved), without all entries of row i."""
        Z = self._whole(Psi, alpha)
        xp = array_namespace(Z)
        n, q = Z.shape
        B = self.seen * self.points.targets(asarray_like(Psi, self.K))
        together = np.arange(n) if groups is None else np.unique(groups[self.points.active], return_inverse=True)[1]
        order = np.argsort(together, kind="stable")
        n_groups, step = int(together.max()) + 1, max(1, _ENTRIES // (n * q))
        values = []
        for begin in range(0, n_groups, step):
            some = np.arange(begin, min(begin + step, n_groups))
            keep = np.asarray(together[:, None] != some, dtype=float)[:, None, :]
            kept = asarray_like(keep, Z)
            out = self._solve(
                kept * B[:, :, None],
                kept * self.seen[:, :, None],
                alpha,
                start=xp.broadcast_to(kept * Z[:, :, None], (n, q, len(some))),
            )
            means = None if self.e is None else self._means_without(B, out, kept * self.seen[:, :, None])
            for k, group in enumerate(some):  # h₋ₛ(x_S) √w_S
                own = np.flatnonzero(together == group)
                H = take_rows(self.K, own) @ out[:, :, k]
                H = matmul(matmul(H, self.E) * self.gamma[None, :], self.E.T)
                values.append(H if means is None else H + matmul(take_rows(self.e, own), means[:, :, k]))
        H = take_rows(xp.concat(values, axis=0), np.argsort(order))
        if self.points.sqrt_w is not None:
            H = H / self.points.sqrt_w[:, None]
        active = self.points.active
        observed = asarray_like(np.where(self.mask, to_numpy(Psi), 0.0)[active], Z)
        return with_unweighted(self, active, observed - H, Psi, alpha, groups)
