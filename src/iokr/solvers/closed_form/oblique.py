"""Leave-one-out where the operator's eigenvectors are not orthogonal: covariance operators of implicit outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, matmul, take_rows
from iokr.gram.operators import Oblique, as_array
from iokr.problem import Problem
from iokr.solvers.closed_form.spectral import SpectralPath
from iokr.solvers.closed_form.symmetric_system import Geometry, scatter

__all__ = ["ObliquePath", "spectral_path"]


def spectral_path(problem: Problem, points: Geometry) -> SpectralPath:
    """The path by eigenvectors for the operator that the problem has."""
    return (ObliquePath if problem.operator.oblique else SpectralPath)(problem, points)


class ObliquePath(SpectralPath):
    """h = p L with p_j = K(λI + γ_j K)⁻¹ Ψe_j for A = E L, L E = diag(γ): nothing is divided by a small γ.

    ‖ψ_i − h‖² = ‖ψ_i‖² − 2⟨p, τ_i⟩ + Σ_j γ_j p_j² with τ = ΨE, because L is orthogonal in F with squared norms γ.
    """

    operator: Oblique

    def _loo_parts(self, Psi: Array) -> Callable[[float], Array]:
        """α ↦ p₋ᵢ(x_i), shape (n, r), sharing what does not depend on α."""
        points, tau = self.points, self.operator.rotate(Psi)
        xp = array_namespace(tau)
        targets = points.targets(tau)
        X = matmul(self.V.T, points.from_labels(targets))
        Tt = points.to_labels(self.V)
        squares = Tt * Tt
        B = points.remainder
        gamma = asarray_like(self.operator.gamma, X)
        active = points.active

        def values(rows: np.ndarray, alpha: float, some: slice) -> Array:
            """p at some labelled points."""
            Z = points.to_points(matmul(self.V, X[:, some] / self.shrink(alpha)[:, some]))
            return matmul(self.gram.K.rows(rows), Z)

        def large(alpha: float, some: slice) -> Array:
            """γω > λ somewhere: (τ − R/Q)/γ, R and Q by products that do not cancel."""
            D = alpha / self.shrink(alpha)[:, some]
            R, Q = matmul(Tt, D * X[:, some]), matmul(squares, D)
            if B is not None:
                R, Q = R + B @ targets[:, some], Q + xp.linalg.diagonal(B)[:, None]

            def plain(rows: np.ndarray) -> Array:
                return take_rows(tau[:, some], rows) - gamma[None, some] * values(rows, alpha, some)

            return (tau[:, some] - points.finish(R, Q, plain)) / gamma[None, some]

        def small(alpha: float, some: slice) -> Array:
            """γω ≤ λ: (p_i − P_ii τ_i)/(1 − γP_ii) with P = Tᵀ diag(ω/(λ + ωγ)) T."""
            G = self.omega[:, None] / self.shrink(alpha)[:, some]
            own = matmul(squares, G)
            Q = 1 - gamma[None, some] * own
            R = matmul(Tt, G * X[:, some]) - own * targets[:, some]
            everywhere = scatter(own, active, self.n) if len(active) < self.n else own

            def plain(rows: np.ndarray) -> Array:
                return values(rows, alpha, some) - take_rows(everywhere, rows) * take_rows(tau[:, some], rows)

            return points.finish(R, Q, plain)

        def left_out(alpha: float) -> Array:
            split = int(np.count_nonzero(self.operator.gamma * float(self.omega[-1]) <= alpha))
            parts = [small(alpha, slice(0, split))] if split else []
            if split < len(self.operator.gamma):
                parts.append(large(alpha, slice(split, len(self.operator.gamma))))
            return parts[0] if len(parts) == 1 else xp.concat(parts, axis=1)

        return left_out

    def loo_residuals(self, Psi: Array, alpha: float) -> Array:
        """ψ_i − h₋ᵢ(x_i) in the coordinates of Ψ."""
        return as_array(Psi) - matmul(self._loo_parts(Psi)(alpha), self.operator.L)

    def loo_errors(self, Psi: Array, alphas: Sequence[float]) -> np.ndarray:
        """Σ w‖ψ_i − h₋ᵢ‖² / Σ w for each alpha, norms in F."""
        tau, left_out = self.operator.rotate(Psi), self._loo_parts(Psi)
        xp, gamma = array_namespace(tau), asarray_like(self.operator.gamma, tau)
        w = np.ones(self.n) if self.weight is None else self.weight
        w = asarray_like(w / w.sum(), tau)
        errors = []
        for alpha in alphas:
            p = left_out(alpha)
            squares = self.operator.sq_norms + xp.sum(p * (gamma[None, :] * p - 2 * tau), axis=1)
            errors.append(float(xp.sum(w * xp.clip(squares, min=0.0))))
        return np.array(errors)
