"""Other losses on kernels with few features: products and solves with K = Φ Φᵀ by Φ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, cholesky, matmul
from iokr._system.compile import compiled
from iokr.solvers.iterative.box_qp import box_step, gradient_steps, newton_directions

__all__ = ["ThinQuadratic", "weighted_by_features"]

_CORNER = 2000  # largest number of free entries, or of columns of Z, for a matrix of them
_DAMPING = (1e-10, 1e-7, 1e-4, 1e-1)  # τ as fractions of the largest diagonal entry
_PATIENCE = 30  # n divided by this is the number of compiled sweeps that cost as much as a Newton step


def weighted_by_features(Phi: Array, Psi: Array, omega: Array, lam: float) -> Array:
    """(ΦΦᵀ + λ diag(1/ω))⁻¹Ψ = √ω(I − Φ_ω(Φ_ωᵀΦ_ω + λI)⁻¹Φ_ωᵀ)√ωΨ/λ with Φ_ω = √ωΦ."""
    root = array_namespace(omega).sqrt(omega)[:, None]
    F, targets = root * Phi, root * Psi
    D = cholesky(matmul(F.T, F), lam, overwrite=True).solve(matmul(F.T, targets))
    return root * (targets - matmul(F, D)) / lam


class ThinQuadratic:
    """½αᵀQα − 1ᵀα with Q = (ΦΦᵀ) ∘ (ΨΨᵀ): rank p·q, a sweep costs 4npq.

    M = Φᵀ diag(α) Ψ (p, q) is updated with every entry, and (Qα)_i = φ_iᵀMψ_i. With Numba the sweep is compiled;
    without it projected gradient steps are used.
    """

    def __init__(self, Phi: np.ndarray, Psi: np.ndarray) -> None:
        self.Phi, self.Psi = np.ascontiguousarray(Phi), np.ascontiguousarray(Psi)
        self.diagonal = np.sum(self.Phi**2, axis=1) * np.sum(self.Psi**2, axis=1)
        self._loop = compiled(_sweep, reorder=True)
        self.schedule = (30, 30, 30, 50) if self._loop else (3, 3, 30, 50)
        self.patience = len(self.Phi) / _PATIENCE if self._loop else 1.0

    def product(self, alpha: np.ndarray) -> np.ndarray:
        """Q α."""
        M = matmul(self.Phi.T, alpha[:, None] * self.Psi)
        return np.asarray(np.sum(matmul(self.Phi, M) * self.Psi, axis=1))

    def directions(self, free: np.ndarray, slope: np.ndarray) -> Iterator[np.ndarray]:
        """−(Q_FF + τI)⁻¹ g_F: by the matrix of few entries, or by the few columns of Z, Q = Z Zᵀ."""
        F, P = self.Phi[free], self.Psi[free]
        if len(free) <= _CORNER:
            yield from newton_directions(matmul(F, F.T) * matmul(P, P.T), slope)
        elif F.shape[1] * P.shape[1] <= _CORNER:
            Z = (F[:, :, None] * P[:, None, :]).reshape(len(free), -1)  # z_i = φ_i ⊗ ψ_i
            G, rhs = matmul(Z.T, Z), matmul(Z.T, slope[:, None])
            for damping in _DAMPING:
                shift = damping * float(self.diagonal[free].max())
                yield (matmul(Z, cholesky(G, shift).solve(rhs))[:, 0] - slope) / shift

    def sweep(self, upper: np.ndarray, alpha: np.ndarray, gradient: np.ndarray) -> None:
        """A sweep over the entries, or some projected gradient steps."""
        if self._loop is None:
            gradient_steps(self, float(self.diagonal.max()), upper, alpha, gradient)
            return
        M = np.ascontiguousarray(matmul(self.Phi.T, alpha[:, None] * self.Psi))
        self._loop(self.Phi, self.Psi, self.diagonal, upper, alpha, M)
        gradient[:] = np.sum(matmul(self.Phi, M) * self.Psi, axis=1) - 1.0


def _sweep(Phi: Any, Psi: Any, diagonal: Any, upper: Any, alpha: Any, M: Any) -> None:
    """α_i ← clip(α_i − g_i/Q_ii, 0, w_i) for each i in turn, M kept up to date; Numba compiles it."""
    n, p = Phi.shape
    q = Psi.shape[1]
    for i in range(n):
        slope = -1.0
        for a in range(p):
            inner = 0.0
            for b in range(q):
                inner += M[a, b] * Psi[i, b]
            slope += Phi[i, a] * inner
        new = box_step(alpha[i], slope, diagonal[i], upper[i])
        if new != alpha[i]:
            change = new - alpha[i]
            for a in range(p):
                step = change * Phi[i, a]
                for b in range(q):
                    M[a, b] += step * Psi[i, b]
            alpha[i] = new
