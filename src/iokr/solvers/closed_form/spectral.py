"""N = I − H by the eigenvectors of the symmetric system: one eigendecomposition for every α and γ."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, blocks, eigh, matmul, take_rows, to_numpy
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
        smallest = float(xp.min(omega))
        largest = float(xp.max(omega))
        if smallest < -1e-8 * largest:
            raise ValueError(
                f"The Gram matrix of the inputs has eigenvalues from {smallest:.3g} to {largest:.3g}, so `kernel` "
                "is not positive semi-definite on these objects; use another kernel."
            )
        self.omega = xp.clip(omega, min=0.0)
        self._top = points.largest(largest)  # s_max(K), or a lower bound of it
        self._projected: tuple[Array, Array] | None = None  # Ψ, and `project(Psi)`

    def with_operator(self, problem: Problem) -> SpectralPath:
        """The path of the same points and weights under another A: with the same eigendecomposition."""
        path = copy(self)
        path._projected = None
        path.gram = problem.gram
        path.operator = problem.operator
        return path

    def shrink(self, alpha: float) -> Array:
        """λ + ω γᵀ, shape (r, 1) or (r, q)."""
        return alpha + self.omega[:, None] * asarray_like(self.operator.gamma, self.omega)[None, :]

    def project(self, Psi: Array) -> Array:
        """T √w Ψ E, cached for the next α."""
        if self._projected is None or self._projected[0] is not Psi:
            targets = self.points.targets(self.operator.rotate(Psi))
            self._projected = Psi, matmul(self.V.T, self.points.from_labels(targets))
        return self._projected[1]

    def coefficients(self, Psi: Array, alpha: float) -> Array:
        """C = F V [T√wΨE / (λ + ωγᵀ)] Eᵀ."""
        warn_small_alpha(alpha, self._top * float(self.operator.gamma.max()))
        Z = matmul(self.V, self.project(Psi) / self.shrink(alpha))
        return self.operator.unrotate(self.points.to_points(Z))

    def values(self, K_new: Array, Psi: Array, alpha: float) -> Array:
        """h at m new inputs, (K* F V) [T√wΨE / (λ + ωγᵀ)] Eᵀ A: without C, a further α costs m rows instead of N.

        `K_new` holds k(x, x_j) against all N points. The intercept takes C.
        """
        left = matmul(K_new, self.points.to_points(self.V))
        H = self.operator.act(self.operator.unrotate(matmul(left, self.project(Psi) / self.shrink(alpha))))
        B = None if self.constants is None else self.unpenalised(Psi, self.coefficients(Psi, alpha))
        return H if B is None else H + B[0, :][None, :]

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
        middle = D - 1 if thin else D  # N = 𝓑 + Tᵀ diag(middle) T, plus I if `thin`
        columns = []
        for _, which in self.operator.groups(R.shape[1]):
            N_blocks = blocks_of_product(Tt, middle[:, int(which[0])], B, eye=thin)  # columns `which` have the same γ
            columns.append((which, take_columns(R, which), N_blocks))
        return leave_groups_out(self, self.points, columns, Psi, alpha, groups)

    def loo_errors(self, Psi: Array, alphas: Sequence[float], groups: np.ndarray | None = None) -> np.ndarray:
        """Σ w‖ψ − h₋ᵢ‖² / Σ w for each alpha, several per product. May be overridden."""
        if groups is not None or self.points.leaves_nothing():
            return super().loo_errors(Psi, alphas, groups)
        # w_i ‖r_i‖² is (R/Q)_i² before the division by √w, and E preserves norms.
        Tt = self.points.to_labels(self.V)
        xp = array_namespace(Tt)
        squares = Tt * Tt
        projected = self.project(Psi)
        r, q = projected.shape
        B = self.points.remainder
        if B is not None:
            fixed_R = B @ self.points.targets(self.operator.rotate(Psi))
            fixed_Q = xp.linalg.diagonal(B)
        errors = np.empty(len(alphas))
        for batch in blocks(len(alphas), max(1, _COLUMNS // q)):
            D = xp.stack([alpha / self.shrink(alpha) for alpha in alphas[batch]], axis=1)  # (r, c, 1 or q)
            _, c, width = D.shape
            R = xp.reshape(matmul(Tt, xp.reshape(D * projected[:, None, :], (r, -1))), (-1, c, q))
            Q = xp.reshape(matmul(squares, xp.reshape(D, (r, -1))), (-1, c, width))
            if B is not None:
                R = R + fixed_R[:, None, :]
                Q = Q + fixed_Q[:, None, None]
            R /= Q
            R *= R
            errors[batch] = to_numpy(xp.sum(xp.sum(R, axis=2), axis=0))
        return errors / float(self.row_weight.sum())

    # For other losses and missing entries: the deformed kernel and its lift, for w = 1.

    def deformed(self, alpha: float, g: float) -> Array:
        """K̃(λ, μ, g) on the labelled points, from N = (I + K̃)⁻¹: eigenvalues (1 − ν)/ν on those of N."""
        Tt = self.points.to_labels(self.V)
        if self.points.remainder is None:
            return (Tt * (self.omega * (g / alpha))[None, :]) @ Tt.T
        xp = array_namespace(Tt)
        D = alpha / (alpha + self.omega * g)
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

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """ψ_i − h₋ᵢ(x_i) in the coordinates of Ψ."""
        left_out = _LeftOut(self, Psi)
        if groups is None:
            return as_array(Psi) - matmul(left_out.by_rows(alpha), self.operator.L)
        h = matmul(left_out.by_groups(alpha, groups), self.operator.L)
        residuals = self.points.rows_of(as_array(Psi)) - h
        return with_unweighted(self, self.points.active, residuals, Psi, alpha, groups)

    def loo_errors(self, Psi: Array, alphas: Sequence[float], groups: np.ndarray | None = None) -> np.ndarray:
        """Σ w‖ψ_i − h₋ᵢ‖² / Σ w for each alpha, norms in F."""
        left_out = _LeftOut(self, Psi)
        tau = left_out.tau
        xp = array_namespace(tau)
        gamma = asarray_like(self.operator.gamma, tau)
        w = asarray_like(self.row_weight / self.row_weight.sum(), tau)
        errors = []
        for alpha in alphas:
            if groups is None:
                p = left_out.by_rows(alpha)
            else:  # rows of weight 0 do not count in the sum
                p = scatter(left_out.by_groups(alpha, groups), self.points.active, self.n)
            squares = self.operator.sq_norms + xp.sum(p * (gamma[None, :] * p - 2 * tau), axis=1)
            errors.append(float(xp.sum(w * xp.clip(squares, min=0.0))))
        return np.array(errors)


class _LeftOut:
    """p₋ᵢ(x_i) of an `ObliquePath` for each α; products that do not depend on α are computed once.

    p₋ᵢ = (τ_i − R_i/Q_i)/γ, R and Q as in `SpectralPath`, if γω > λ for some ω. For smaller γ this would divide by a
    small number; then p₋ᵢ = (p_i − P_ii τ_i)/(1 − γP_ii) with P = Tᵀ diag(ω/(λ + ωγ)) T.
    """

    def __init__(self, path: ObliquePath, Psi: Array) -> None:
        self.path = path
        self.points = path.points
        self.gamma = path.operator.gamma  # ascending
        self.tau = path.operator.rotate(Psi)
        self.targets = self.points.targets(self.tau)
        self.X = path.project(Psi)
        self.Tt = self.points.to_labels(path.V)

    @cached_property
    def squares(self) -> Array:
        """T∘T, transposed."""
        return self.Tt * self.Tt

    def by_rows(self, alpha: float) -> Array:
        """p₋ᵢ(x_i), (n, r)."""
        n_small = int(np.count_nonzero(self.gamma * float(self.path.omega[-1]) <= alpha))
        parts = []
        if n_small:
            parts.append(self._small(alpha, slice(0, n_small)))
        if n_small < len(self.gamma):
            parts.append(self._large(alpha, slice(n_small, len(self.gamma))))
        return parts[0] if len(parts) == 1 else array_namespace(self.tau).concat(parts, axis=1)

    def _values(self, rows: np.ndarray, alpha: float, columns: slice) -> Array:
        """p at some labelled points."""
        path = self.path
        Z = self.points.to_points(matmul(path.V, self.X[:, columns] / path.shrink(alpha)[:, columns]))
        return matmul(path.gram.K.rows(rows), Z)

    def _residuals(self, D: Array, columns: slice) -> Array:
        """R = 𝓑√wΨE + Tᵀ(D∘T_Ψ)."""
        R = matmul(self.Tt, D * self.X[:, columns])
        B = self.points.remainder
        return R if B is None else R + B @ self.targets[:, columns]

    def _large(self, alpha: float, columns: slice) -> Array:
        """(τ − R/Q)/γ."""
        D = alpha / self.path.shrink(alpha)[:, columns]
        R = self._residuals(D, columns)
        Q = matmul(self.squares, D)
        B = self.points.remainder
        if B is not None:
            Q = Q + array_namespace(B).linalg.diagonal(B)[:, None]
        gamma = asarray_like(self.gamma, self.X)[None, columns]
        tau = self.tau[:, columns]

        def plain(rows: np.ndarray) -> Array:
            return take_rows(tau, rows) - gamma * self._values(rows, alpha, columns)

        return (tau - self.points.finish(R, Q, plain)) / gamma

    def _small(self, alpha: float, columns: slice) -> Array:
        """(p_i − P_ii τ_i)/(1 − γP_ii)."""
        G = self.path.omega[:, None] / self.path.shrink(alpha)[:, columns]
        P_ii = matmul(self.squares, G)
        Q = 1 - asarray_like(self.gamma, self.X)[None, columns] * P_ii
        R = matmul(self.Tt, G * self.X[:, columns]) - P_ii * self.targets[:, columns]

        def plain(rows: np.ndarray) -> Array:
            own = take_rows(scatter(P_ii, self.points.active, self.path.n), rows)
            return self._values(rows, alpha, columns) - own * take_rows(self.tau[:, columns], rows)

        return self.points.finish(R, Q, plain)

    def by_groups(self, alpha: float, groups: np.ndarray) -> Array:
        """p₋ₛ(x_S) of the rows of positive weight, without their groups S."""
        mine = groups[self.points.active]
        columns = [self._group_column(j, alpha, mine) for j in range(len(self.gamma))]
        return array_namespace(self.tau).concat(columns, axis=1)

    def _group_column(self, j: int, alpha: float, groups: np.ndarray) -> Array:
        """Column j: R/Q of the rows becomes N_SS⁻¹R_S, and (p_i − P_ii τ_i)/(1 − γP_ii) its block form."""
        points = self.points
        gamma = float(self.gamma[j])
        column = slice(j, j + 1)
        shrink = self.path.shrink(alpha)[:, column]
        root = 1.0 if points.sqrt_w is None else points.sqrt_w[:, None]
        if gamma * float(self.path.omega[-1]) > alpha:
            D = alpha / shrink
            N_blocks = blocks_of_product(self.Tt, D[:, 0], points.remainder)
            residuals = solve_groups(self._residuals(D, column), N_blocks, groups, len(groups))
            return (points.rows_of(self.tau)[:, column] - residuals / root) / gamma
        G = self.path.omega[:, None] / shrink
        p = matmul(self.Tt, G * self.X[:, column])
        P_blocks = blocks_of_product(self.Tt, G[:, 0])

        def system(rows: np.ndarray) -> Array:
            """I − γP_SS."""
            eye = array_namespace(p).eye(rows.shape[1], dtype=p.dtype, device=p.device)
            return eye[None, :, :] - gamma * P_blocks(rows)

        without_own = p - times_groups(self.targets[:, column], P_blocks, groups, len(groups))
        return solve_groups(without_own, system, groups, len(groups)) / root


def spectral_path(problem: Problem, points: Geometry) -> SpectralPath:
    """The path by eigenvectors for the operator of the problem."""
    if problem.operator.oblique:
        return ObliquePath(problem, points)
    return SpectralPath(problem, points)
