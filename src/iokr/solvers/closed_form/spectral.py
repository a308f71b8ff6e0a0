"""N = I − H by the eigenvectors of the symmetric system: one eigendecomposition for every α and γ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, eigh, matmul, take_rows
from iokr.gram.operators import Oblique, as_array
from iokr.problem import Problem
from iokr.solvers.base import take_columns, warn_small_alpha
from iokr.solvers.closed_form.grouped import (
    blocks_of_product,
    leave_groups_out,
    solve_groups,
    times_groups,
    with_unweighted,
)
from iokr.solvers.closed_form.symmetric_system import Geometry, PointsPath, scatter

__all__ = ["ObliquePath", "SpectralPath", "spectral_path"]

_COLUMNS = 768  # columns of a product along the path: enough for GEMM, and much less than n² numbers


class SpectralPath(PointsPath):
    """N_j(λ) = I − H_j = 𝓑 + Tᵀ diag(λ/(λ + ω γ_j)) T with S = V diag(ω) Vᵀ, T = Vᵀ G."""

    def __init__(self, problem: Problem, points: Geometry, eigenpairs: tuple[Array, Array] | None = None) -> None:
        super().__init__(problem)
        self.points = points
        omega, self.V = points.eigenpairs() if eigenpairs is None else eigenpairs
        xp = array_namespace(omega)
        smallest, largest = float(xp.min(omega)), float(xp.max(omega))
        if smallest < -1e-8 * largest:
            raise ValueError(
                f"The Gram matrix of the inputs has eigenvalues from {smallest:.3g} to {largest:.3g}, so `kernel` "
                "is not positive semi-definite on these objects; use another kernel."
            )
        self.omega = xp.clip(omega, min=0.0)
        self._top = points.largest(largest)  # s_max(K), or a lower bound of it
        self._kept: tuple[Array, Array] | None = None  # targets, and their projection

    def with_operator(self, problem: Problem) -> SpectralPath:
        """The path of the same points and weights under another A: with the same eigendecomposition."""
        path = copy(self)
        path._kept = None
        path.gram, path.operator = problem.gram, problem.operator
        return path

    def shrink(self, alpha: float) -> Array:
        """λ + ω γᵀ, shape (r, 1) or (r, q)."""
        return alpha + self.omega[:, None] * asarray_like(self.operator.gamma, self.omega)[None, :]

    def project(self, Psi: Array) -> Array:
        """T √w Ψ E, cached for the next α."""
        if self._kept is None or self._kept[0] is not Psi:
            targets = self.points.targets(self.operator.rotate(Psi))
            self._kept = Psi, matmul(self.V.T, self.points.from_labels(targets))
        return self._kept[1]

    def coefficients(self, Psi: Array, alpha: float) -> Array:
        """C = F V [T√wΨE / (λ + ωγᵀ)] Eᵀ."""
        warn_small_alpha(alpha, self._top * float(self.operator.gamma.max()))
        Z = matmul(self.V, self.project(Psi) / self.shrink(alpha))
        return self.operator.unrotate(self.points.to_points(Z))

    def values(self, K_new: Array, Psi: Array, alpha: float) -> Array:
        """h at m new inputs, (K* F V) [T√wΨE / (λ + ωγᵀ)] Eᵀ A: without C, a further α costs m rows instead of N.

        `K_new` holds k(x, x_j) against all N points.
        """
        left = matmul(K_new, self.points.to_points(self.V))
        return self.operator.act(self.operator.unrotate(matmul(left, self.project(Psi) / self.shrink(alpha))))

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """diag(1/√w)(R/Q)Eᵀ with R = 𝓑√wΨE + Tᵀ(D∘T_Ψ), Q = diag 𝓑 + (T∘T)ᵀD, D = λ/(λ + ωγᵀ). May be overridden."""
        Tt = self.points.to_labels(self.V)
        D = alpha / self.shrink(alpha)
        R = matmul(Tt, D * self.project(Psi))
        if groups is not None:
            return self._leave_groups_out(R, Tt, D, Psi, alpha, groups)
        return self.leave_out(R, matmul(Tt * Tt, D), Psi, alpha)

    def _leave_groups_out(
        self, R: Array, Tt: Array, D: Array, Psi: Array, alpha: float, groups: np.ndarray, *, thin: bool = False
    ) -> Array:
        """The same with (N_SS)⁻¹R_S in place of R/Q; `thin`: N = I − T(I − D)Tᵀ, T with fewer columns than rows."""
        B = self.points.remainder
        if B is not None:
            R = R + B @ self.points.targets(self.operator.rotate(Psi))
        columns = []
        for _, which in self.operator.groups(R.shape[1]):
            d = D[:, int(which[0]) if D.shape[1] > 1 else 0]
            columns.append((which, take_columns(R, which), blocks_of_product(Tt, d - 1 if thin else d, B, eye=thin)))
        return leave_groups_out(self, self.points, columns, Psi, alpha, groups)

    def loo_errors(self, Psi: Array, alphas: Sequence[float], groups: np.ndarray | None = None) -> np.ndarray:
        """Σ w‖ψ − h₋ᵢ‖² / Σ w for each alpha, several per product. May be overridden."""
        if groups is not None:
            return super().loo_errors(Psi, alphas, groups)
        # w_i ‖r_i‖² is (R/Q)_i² before the division by √w, and E preserves norms.
        Tt = self.points.to_labels(self.V)
        xp = array_namespace(Tt)
        squares = Tt * Tt
        projected = self.project(Psi)
        r, q = projected.shape
        fixed = None
        if self.points.remainder is not None:
            B, targets = self.points.remainder, self.points.targets(self.operator.rotate(Psi))
            fixed = B @ targets, xp.linalg.diagonal(B)
        errors = np.empty(len(alphas))
        step = max(1, _COLUMNS // q)
        for start in range(0, len(alphas), step):
            some = alphas[start : start + step]
            D = xp.stack([alpha / self.shrink(alpha) for alpha in some], axis=1)  # (r, c, 1 or q)
            width = D.shape[2]
            R = xp.reshape(matmul(Tt, xp.reshape(D * projected[:, None, :], (r, -1))), (-1, len(some), q))
            Q = xp.reshape(matmul(squares, xp.reshape(D, (r, -1))), (-1, len(some), width))
            if fixed is not None:
                R = R + fixed[0][:, None, :]
                Q = Q + fixed[1][:, None, None]
            R /= Q
            R *= R
            errors[start : start + len(some)] = np.asarray(asarray_like(xp.sum(xp.sum(R, axis=2), axis=0), np.empty(0)))
        return errors / float(self.row_weight.sum())

    # For other losses and missing entries: the deformed kernel and its lift, for w = 1.

    def deformed(self, alpha: float, g: float) -> Array:
        """K̃(λ, μ, g) on the labelled points, from N = (I + K̃)⁻¹: eigenvalues (1 − ν)/ν on those of N."""
        Tt = self.points.to_labels(self.V)
        xp = array_namespace(Tt)
        D = alpha / (alpha + self.omega * g)
        if self.points.remainder is None:
            return (Tt * (self.omega * (g / alpha))[None, :]) @ Tt.T
        N = self.points.remainder + (Tt * D[None, :]) @ Tt.T
        nu, basis = eigh((N + N.T) / 2, overwrite=True)
        nu = xp.clip(nu, min=float(np.finfo(float).tiny), max=1.0)
        return matmul(basis * ((1 - nu) / nu)[None, :], basis.T)

    def lift(self, a: Array, alpha: float, g: float) -> Array:
        """c = F V [T(a + K̃a)/(λ + gω)], so that h(x) = g k_xᵀ c is K̃a on the labelled points."""
        values = a + self.deformed(alpha, g) @ a
        Z = self.V @ ((self.V.T @ self.points.from_labels(values)) / (alpha + g * self.omega)[:, None])
        return self.points.to_points(Z)


class ObliquePath(SpectralPath):
    """h = p L with p_j = K(λI + γ_j K)⁻¹ Ψe_j for A = E L, L E = diag(γ): without division by small γ.

    ‖ψ_i − h‖² = ‖ψ_i‖² − 2⟨p, τ_i⟩ + Σ_j γ_j p_j² with τ = ΨE, because L is orthogonal in F with squared norms γ.
    """

    operator: Oblique

    def _loo_parts(self, Psi: Array) -> Callable[[float], Array]:
        """α ↦ p₋ᵢ(x_i), shape (n, r); products that do not depend on α are computed once."""
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

    def _without_groups(self, Psi: Array, groups: np.ndarray) -> Callable[[float], Array]:
        """α ↦ p₋ₛ(x_S) of the rows of positive weight, without their groups S: `_loo_parts` by blocks."""
        points, tau = self.points, self.operator.rotate(Psi)
        xp, targets = array_namespace(tau), points.targets(tau)
        X = matmul(self.V.T, points.from_labels(targets))
        Tt, mine = points.to_labels(self.V), groups[points.active]
        own = points.rows_of(tau)
        root = 1.0 if points.sqrt_w is None else points.sqrt_w[:, None]

        def column(j: int, alpha: float) -> Array:
            gamma, target = float(self.operator.gamma[j]), targets[:, j : j + 1]
            shrink = self.shrink(alpha)[:, j]
            if gamma * float(self.omega[-1]) > alpha:  # (τ − N_SS⁻¹R_S)/γ
                D = alpha / shrink
                R = matmul(Tt, D[:, None] * X[:, j : j + 1])
                B = points.remainder
                R = R if B is None else R + B @ target
                left = solve_groups(R, blocks_of_product(Tt, D, B), mine, len(mine))
                return (own[:, j : j + 1] - left / root) / gamma
            P = self.omega / shrink  # (I − γP_SS)⁻¹(p_S − P_SSτ_S)
            p, inner = matmul(Tt, P[:, None] * X[:, j : j + 1]), blocks_of_product(Tt, P)

            def both(rows: np.ndarray) -> Array:
                eye = xp.eye(rows.shape[1], dtype=p.dtype, device=p.device)
                return eye[None, :, :] - gamma * inner(rows)

            return solve_groups(p - times_groups(target, inner, mine, len(mine)), both, mine, len(mine)) / root

        return lambda alpha: xp.concat([column(j, alpha) for j in range(len(self.operator.gamma))], axis=1)

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """ψ_i − h₋ᵢ(x_i) in the coordinates of Ψ."""
        if groups is not None:
            residuals = self.points.rows_of(as_array(Psi)) - matmul(
                self._without_groups(Psi, groups)(alpha), self.operator.L
            )
            return with_unweighted(self, self.points.active, residuals, Psi, alpha, groups)
        return as_array(Psi) - matmul(self._loo_parts(Psi)(alpha), self.operator.L)

    def loo_errors(self, Psi: Array, alphas: Sequence[float], groups: np.ndarray | None = None) -> np.ndarray:
        """Σ w‖ψ_i − h₋ᵢ‖² / Σ w for each alpha, norms in F."""
        tau = self.operator.rotate(Psi)
        left_out = self._loo_parts(Psi) if groups is None else self._without_groups(Psi, groups)
        xp, gamma = array_namespace(tau), asarray_like(self.operator.gamma, tau)
        w = asarray_like(self.row_weight / self.row_weight.sum(), tau)
        errors = []
        for alpha in alphas:
            p = left_out(alpha)
            if groups is not None:  # rows of weight 0 are left out
                p = scatter(p, self.points.active, self.n)
            squares = self.operator.sq_norms + xp.sum(p * (gamma[None, :] * p - 2 * tau), axis=1)
            errors.append(float(xp.sum(w * xp.clip(squares, min=0.0))))
        return np.array(errors)


def spectral_path(problem: Problem, points: Geometry) -> SpectralPath:
    """The path by eigenvectors for the operator of the problem."""
    return (ObliquePath if problem.operator.oblique else SpectralPath)(problem, points)
