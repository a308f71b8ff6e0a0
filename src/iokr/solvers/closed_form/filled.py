"""Few missing targets that A couples: the complete problem, with values in the gaps that fit exactly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from iokr._array import Array, asarray_like, to_numpy
from iokr._system.memory import check_memory
from iokr.problem import Problem
from iokr.solvers.base import Path, warn_small_alpha
from iokr.solvers.closed_form.grouped import with_unweighted
from iokr.solvers.closed_form.symmetric_system import Geometry
from iokr.solvers.constants import least_squares

__all__ = ["FilledPath", "by_filling"]

_MOST = 1500  # gaps: one Cholesky factor of this size per alpha
_NUMBERS = 5e7  # of the functions of all gaps
_BATCH = 1 << 22  # numbers of the blocks that are solved side by side
_SHARE = 0.25  # of all entries: with more gaps, a system over the observed entries is smaller


def by_filling(problem: Problem) -> bool:
    """Whether so few entries are missing that the complete problem, and a system over the gaps, cost less."""
    if problem.mask is None or problem.penalised or problem.gram.operator is None or problem.operator.oblique:
        return False
    mask = np.asarray(problem.mask)[problem.row_weight > 0]
    n_functions = mask.size - int(mask.sum()) + (0 if problem.shapes is None else len(problem.shapes))
    few = n_functions <= min(_MOST, _SHARE * mask.size) and n_functions * mask.size <= _NUMBERS
    return few and _determined(problem, mask)


def _determined(problem: Problem, seen: np.ndarray) -> bool:
    """Whether observed entries fix an intercept."""
    if problem.shapes is None:
        return bool(seen.any(axis=0).all())
    shapes = np.asarray(problem.shapes, dtype=float)
    total = seen.sum(axis=0)
    return int(np.linalg.matrix_rank((shapes * total) @ shapes.T)) == len(shapes)


@dataclass(frozen=True)
class _Solved:
    """Of one α: what the values in the gaps are made of."""

    g: np.ndarray  # (n, q), 1/(λ + ω_l γ_k): G in the eigenbasis
    GF: np.ndarray  # (p, n, q)
    Q: np.ndarray  # (p, n q), (FᵀGF)⁻¹FᵀG


class FilledPath(Path):
    """Z = G(√wΨ + Fμ) with FᵀZ = 0: G = (K ⊗ A + λI)⁻¹ of the complete problem, F the unit vectors of the gaps.

    A gap has no coefficient, and μ is what h has there. An intercept is projected out of K; one that is a combination
    of few shapes adds the columns √w e ⊗ s to F. Memory and time grow with the number of gaps p: p² nq flops for every
    α, and those of q × q blocks for leave-one-out.
    """

    mask: np.ndarray

    def __init__(self, problem: Problem, otherwise: type[Path]) -> None:
        super().__init__(problem)
        self._problem, self._otherwise = problem, otherwise
        self.points = Geometry(replace(problem, constants=None))
        active, q = self.points.active, self.mask.shape[1]
        self.seen = self.mask[active]
        n_gaps = self.seen.size - int(self.seen.sum())
        check_memory(
            8.0 * (3 * self.seen.size * (n_gaps + 1) + 3 * len(active) ** 2),
            f"A fit with {n_gaps} missing entries coupled by A",
            "To reduce memory: fewer rows, or A = I, for which columns are solved separately.",
            problem.Psi,
        )
        K = to_numpy(self.points.labeled_gram.dense())
        self.sqrt_w = np.ones(len(K)) if self.points.sqrt_w is None else to_numpy(self.points.sqrt_w)
        K = self.sqrt_w[:, None] * K * self.sqrt_w[None, :]
        self.E = np.eye(q) if self.operator.E is None else to_numpy(self.operator.E)
        self.gamma = np.broadcast_to(np.asarray(self.operator.gamma, dtype=float), q)
        n_free = 0
        weighted = np.zeros((len(K), 0))
        if self.constants is not None:
            weighted = self.sqrt_w[:, None] * np.asarray(self.constants, dtype=float)[self.points.active]
        if self.constants is not None and problem.shapes is None:
            U = np.linalg.qr(weighted)[0]
            n_free = U.shape[1]
            P = np.eye(len(K)) - U @ U.T
            K = P @ K @ P + (1.0 + 2.0 * np.trace(K)) * U @ U.T  # these directions come last
        omega, self.U = np.linalg.eigh(K)
        self.omega = np.clip(omega, 0.0, None)
        self.n_free = n_free
        self.gaps = np.argwhere(~self.seen)
        i, j = self.gaps.T
        functions = self.U[i][:, :, None] * self.E[j][:, None, :]  # (p, n, q) in the eigenbasis
        if problem.shapes is not None:
            shapes = np.asarray(problem.shapes, dtype=float) @ self.E
            along = self.U.T @ weighted
            free = np.einsum("lk,sj->kslj", along, shapes).reshape(-1, len(K), q)
            functions = np.concatenate([functions, free])
        self.functions = functions
        self._solved = lru_cache(maxsize=1)(self._at)

    def _at(self, alpha: float) -> _Solved:
        n = len(self.U)
        largest = float(self.omega[: n - self.n_free].max(initial=0.0)) * float(self.gamma.max())
        warn_small_alpha(alpha, largest)
        g = 1.0 / (alpha + self.omega[:, None] * self.gamma[None, :])
        g[n - self.n_free :] = 0.0  # no coefficients along an intercept
        flat = self.functions.reshape(len(self.functions), g.size)
        scaled = (g[None] * self.functions).reshape(flat.shape)
        GF = np.matmul(np.matmul(self.U, scaled.reshape(self.functions.shape)), self.E.T)
        system = flat @ scaled.T
        Q = cho_solve(cho_factor((system + system.T) / 2), GF.reshape(flat.shape))
        return _Solved(g, GF, Q)

    def _fit(self, Psi: Array, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Z (n, q), and μ: what h has in the gaps, times √w, and coefficients of shapes."""
        at = self._solved(alpha)
        B = np.where(self.seen, self.sqrt_w[:, None] * to_numpy(Psi)[self.points.active], 0.0)
        mu = -at.Q @ B.ravel()
        free = self.U @ (at.g * (self.U.T @ B @ self.E)) @ self.E.T
        Z = free + np.tensordot(mu, at.GF, axes=1)
        Z[~self.seen] = 0.0
        return Z, mu

    def coefficients(self, Psi: Array, alpha: float) -> Array:
        """C = √wZ."""
        return self.points.to_points(asarray_like(self._fit(Psi, alpha)[0], self._problem.like))

    def unpenalised(self, Psi: Array, C: Array) -> Array | None:
        """B (k, q)."""
        return least_squares(self._problem, Psi, C)

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """ψ_i − h₋ᵢ(x_i) in every coordinate (Ψ read as 0 where unobserved), without all entries of row i.

        (N_SS)⁻¹Z_S at the observed entries S, N = G − GFQ; they move the values in the gaps of the same rows by Q.
        """
        active = self.points.active
        together = np.arange(len(active)) if groups is None else np.unique(groups[active], return_inverse=True)[1]
        parts = [np.flatnonzero(together == group) for group in range(int(together.max()) + 1)]
        kept = [np.delete(self.seen, own, axis=0) for own in parts]
        if self.constants is not None and not all(_determined(self._problem, seen) for seen in kept):
            return self._otherwise(self._problem).loo_residuals(Psi, alpha, groups)
        Z, mu = self._fit(Psi, alpha)
        at = self._solved(alpha)
        residuals = np.zeros(Z.shape)
        for size in np.unique([len(own) for own in parts]):
            chosen = np.array([own for own in parts if len(own) == size])
            step = max(1, _BATCH // (size * Z.shape[1]) ** 2)
            for begin in range(0, len(chosen), step):
                rows = chosen[begin : begin + step]
                residuals[rows] = self._left_out(at, Z, rows)
        self._fill(at, residuals, mu, together)
        found = asarray_like(residuals / self.sqrt_w[:, None], self._problem.like)
        return with_unweighted(self, active, found, Psi, alpha, groups)

    def _left_out(self, at: _Solved, Z: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(N_SS)⁻¹Z_S for groups of rows (c, s); (c, s, q), 0 where an entry is missing."""
        count, size = rows.shape
        q = Z.shape[1]
        U = self.U[rows]  # (c, s, n)
        pairs = U[:, :, None, :] * U[:, None, :, :]
        along = pairs @ at.g  # (c, s, s, q): the diagonal in the eigenbasis of A
        G = (self.E * along[:, :, :, None, :]) @ self.E.T
        width = size * q
        N = G.transpose(0, 1, 3, 2, 4).reshape(count, width, width)
        entries = (rows[:, :, None] * q + np.arange(q)).reshape(count, width)
        GF = at.GF.reshape(len(at.GF), Z.size)[:, entries].transpose(1, 2, 0)  # (c, s q, p)
        N = N - GF @ at.Q[:, entries].transpose(1, 0, 2)
        seen = self.seen[rows].reshape(count, width)
        N = np.where(seen[:, :, None] & seen[:, None, :], N, np.eye(width))
        right = np.where(seen, Z[rows].reshape(count, width), 0.0)
        return np.asarray(np.linalg.solve(N, right[:, :, None]).reshape(count, size, q))

    def _fill(self, at: _Solved, residuals: np.ndarray, mu: np.ndarray, together: np.ndarray) -> None:
        """Residuals in the gaps, −h₋ₛ, in place: h there without the other entries of the group S."""
        for number, (i, j) in enumerate(self.gaps):
            group = np.flatnonzero(together == together[i])
            moved = (at.Q[number].reshape(residuals.shape)[group] * np.where(self.seen, residuals, 0.0)[group]).sum()
            residuals[i, j] = -(mu[number] + moved)
