"""K = Φ Φᵀ with fewer features than points: fits from the moments ΦᵀΦ and ΦᵀΨ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np

from iokr._array import (
    Array,
    NotPositiveDefinite,
    array_namespace,
    asarray_like,
    blocks,
    cholesky,
    eigh,
    matmul,
    take_rows,
    thin_svd,
    to_numpy,
)
from iokr._component import component
from iokr.gram.moments import chunk_rows, squares
from iokr.problem import Problem
from iokr.solvers.base import Path, warn_small_alpha
from iokr.solvers.closed_form.paths import ClosedForm
from iokr.solvers.closed_form.spectral import SpectralPath
from iokr.solvers.closed_form.symmetric_system import Geometry, PointsPath

__all__ = ["THIN", "LowRank", "MomentsPath", "ThinPath", "left_out_errors"]

THIN = 2  # times as many points as features: np² + p³/3 flops of the moments are then fewer than n³/3
_FEW_DIGITS = 1e-12  # of the largest eigenvalue: below, a Cholesky factor of G + αI loses too many digits
_EPS = float(np.finfo(float).eps)
_CLOSE = 1e-5  # 1 − h_ii below which it has lost too many digits


@component
class LowRank(ClosedForm):
    """D = Q[QᵀB E/(α + ωγᵀ)]Eᵀ, B = ΦᵀΨ, ΦᵀΦ = Q diag(ω) Qᵀ, K = Φ Φᵀ, Φ of shape (n, p): h(x) = A Dᵀφ(x).

    Exact for kernels with few features, such as `Nystroem(kernel, n_components)`: np² + 9p³ + 4npq flops, and no n × n
    array. Every α, every eigenvalue of A and leave-one-out, with fixed features, come from one p × p eigendecomposition
    and a pass over Φ. Weights multiply Φ and Ψ by √w. With a covariance operator use few coordinates for the outputs,
    too: `embedding=Nystroem(n_components)`.

    Parameters
    ----------
    checkpoint : str or path, default=None
        A folder for fits of rows in chunks (`Stream`, Dask arrays): the moments of every chunk are written there, and
        an interrupted fit continues from them. A folder serves one fit; another fit raises an error.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF, Nystroem
    >>> from iokr.solvers import LowRank
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> model = IOKR(Nystroem(RBF(1.0), n_components=20), alpha=1e-3, solver=LowRank()).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(2)
    array([1.])
    """

    checkpoint: Any = None

    def refuses(self, problem: Problem) -> str | None:
        """Features are required, and no penalty or operator that couples all points."""
        if problem.gram.factor is None:
            return (
                "`kernel` must have fewer explicit features than there are rows; use `Nystroem(kernel, n_components)`."
            )
        if problem.operator.oblique:
            return "a covariance operator of implicit outputs is n × n; set `embedding=Nystroem(n_components)`."
        if problem.penalised:
            return "a manifold penalty couples all points; use `ManifoldEigen()`."
        if problem.mask is not None:
            return "with missing targets each column has its own points; use `Cholesky()`."
        return super().refuses(problem)

    def memory(self, problem: Problem) -> float:
        """6p² numbers and a few arrays of the size of Ψ; with many features Φ four times."""
        (n, q), Phi = problem.Psi.shape, problem.gram.factor
        p = n if Phi is None else int(Phi.shape[1])
        if THIN * p > n:
            return 32.0 * float(n * p + n * q)
        return 8.0 * float(6 * p * p + 4 * n * q + 3 * min(n, chunk_rows(p, problem.like)) * p)

    def _path(self, problem: Problem) -> Path:
        n, p = problem.gram.factor.shape  # type: ignore[union-attr]
        return MomentsPath(problem) if THIN * p <= n else ThinPath(problem)


class MomentsPath(PointsPath):
    """h_ii(λ) = Σ_j F_ij² γ/(ω_jγ + λ), F = √wΦQ, G = ΦᵀWΦ = Q diag(ω) Qᵀ; c_i = w_i (ψ_i − h(x_i))/λ.

    One λ and one γ need no eigenvalues: D = (γG + λI)⁻¹B by Cholesky. F is computed in chunks and not stored.
    1 − h_ii has few digits if h_ii is close to 1: then the singular vectors of Φ are used, without cancellation.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.points, self._problem = Geometry(problem), problem
        self._mean: Array | None = None  # (√wΦ)ᵀU, with an intercept
        if self.points.constants is not None:
            U = self.points.constants.U
            self._mean = reduce(add, (matmul(Phi.T, U[rows, :]) for rows, Phi in self._chunks()))
        self.G: Array = reduce(add, (squares(Phi) for _, Phi in self._chunks()))
        self._kept: tuple[Array, Array, Array] | None = None
        self._first: float | None = None  # the α that was solved for without eigenvalues

    @cached_property
    def _pairs(self) -> tuple[Array, Array]:
        omega, Q = eigh(self.G)
        return array_namespace(omega).clip(omega, min=0.0), Q

    @property
    def omega(self) -> Array:
        """ω, ascending."""
        return self._pairs[0]

    @property
    def Q(self) -> Array:
        """The eigenvectors of G."""
        return self._pairs[1]

    def _chunks(self, width: int = 0) -> Iterator[tuple[slice, Array]]:
        """(rows among those of positive weight, their P√wΦ), fewer at a time for more numbers `width` per row."""
        Phi, points = self._problem.gram.factor, self.points
        for rows in blocks(len(points.active), chunk_rows(max(width, int(Phi.shape[1])), Phi)):  # type: ignore[union-attr]
            part = take_rows(Phi, rows if points.whole else points.active[rows])
            if points.sqrt_w is not None:
                part = points.sqrt_w[rows][:, None] * part
            if self._mean is not None and points.constants is not None:
                part = part - matmul(points.constants.U[rows, :], self._mean.T)
            yield rows, part

    def _targets(self, Psi: Array) -> tuple[Array, Array]:
        """√wΨE and BE, cached for the next α."""
        if self._kept is None or self._kept[0] is not Psi:
            targets = self.points.targets(self.operator.rotate(Psi))
            B = reduce(add, (matmul(Phi.T, targets[rows, :]) for rows, Phi in self._chunks()))
            self._kept = Psi, targets, B
        return self._kept[1], self._kept[2]

    def _shrunk(self, alpha: float) -> Array:
        return shrunk(self.omega, self.operator.gamma, alpha)

    def _residuals_of(self, Psi: Array, alpha: float) -> Array:
        """√w(Ψ − H)E."""
        targets, B = self._targets(Psi)
        D = self._once(B, alpha)
        if D is None:
            D = matmul(self.Q, self._shrunk(alpha) * matmul(self.Q.T, B))
        parts = [targets[rows, :] - matmul(Phi, D) for rows, Phi in self._chunks()]
        return parts[0] if len(parts) == 1 else array_namespace(targets).concat(parts, axis=0)

    def _once(self, B: Array, alpha: float) -> Array | None:
        """γ(γG + λI)⁻¹B by Cholesky, for the first α and one γ, unless eigenvalues are known or more accurate."""
        gamma = self.operator.gamma
        if "_pairs" in vars(self) or len(gamma) != 1 or self._first not in (None, alpha):
            return None
        xp, g = array_namespace(self.G), float(gamma[0])
        if not alpha > _FEW_DIGITS * g * float(xp.max(xp.linalg.diagonal(self.G))):
            return None
        try:
            factor = cholesky(self.G if g == 1 else g * self.G, alpha)
        except NotPositiveDefinite:
            return None
        self._first = alpha
        return g * factor.solve(B)

    def coefficients(self, Psi: Array, alpha: float) -> Array:
        """C = w(Ψ − H)/λ."""
        xp = array_namespace(self.G)
        # The trace is at most r times the largest eigenvalue, which is only computed if this does not decide.
        g = float(self.operator.gamma.max())
        if alpha < _FEW_DIGITS * g * float(xp.sum(xp.linalg.diagonal(self.G))):
            warn_small_alpha(alpha, float(xp.max(self.omega)) * g)
        return self.operator.unrotate(self.points.to_points(self._residuals_of(Psi, alpha) / alpha))

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """diag(1/√w)(R/(1 − h_ii))Eᵀ with R = √w(Ψ − H)E."""
        if groups is not None:
            return self._by_singular_vectors.loo_residuals(Psi, alpha, groups)
        values, parts = self._shrunk(alpha), []
        for rows, Phi in self._chunks():
            F = matmul(Phi, self.Q)
            parts.append(self.points.unit_diagonal(rows) - matmul(F * F, values))
        xp = array_namespace(parts[0])
        own = xp.concat(parts, axis=0)
        if float(xp.min(own)) < _CLOSE:
            return self._by_singular_vectors.loo_residuals(Psi, alpha)
        return self.leave_out(self._residuals_of(Psi, alpha), own, Psi, alpha)

    def loo_errors(self, Psi: Array, alphas: Sequence[float], groups: np.ndarray | None = None) -> np.ndarray:
        """Σ w‖ψ − h₋ᵢ‖² / Σ w for every alpha, in one pass."""
        if groups is not None or self.points.leaves_nothing():
            return self._by_singular_vectors.loo_errors(Psi, alphas, groups)
        targets, B = self._targets(Psi)
        T = matmul(self.Q.T, B)
        errors, closest, gamma = np.zeros(len(alphas)), 1.0, self.operator.gamma
        for rows, Phi in self._chunks(len(alphas) * int(T.shape[1])):
            unit = self.points.unit_diagonal(rows)
            part, near = left_out_errors(matmul(Phi, self.Q), targets[rows, :], self.omega, T, gamma, alphas, unit)
            errors, closest = errors + part, min(closest, near)
        if closest < _CLOSE:
            return self._by_singular_vectors.loo_errors(Psi, alphas)
        return errors / float(self.row_weight.sum())

    @cached_property
    def _by_singular_vectors(self) -> ThinPath:
        """The same path without cancellation."""
        return ThinPath(self._problem)


def _rank(root: Array) -> int:
    """The number of singular values, in descending order, that are not rounding; at least one."""
    values = to_numpy(root)
    return max(1, int(np.count_nonzero(values > len(values) * _EPS * values[0])))


def shrunk(omega: Array, gamma: np.ndarray, alpha: float) -> Array:
    """γ/(λ + ωγ), shape (r, 1) or (r, q)."""
    g = asarray_like(gamma, omega)[None, :]
    return g / (alpha + omega[:, None] * g)


def left_out_errors(
    F: Array,
    targets: Array,
    omega: Array,
    T: Array,
    gamma: np.ndarray,
    alphas: Sequence[float],
    unit: Array | float = 1.0,
) -> tuple[np.ndarray, float]:
    """Σ_i ‖R_i/(1 − h_ii)‖² of some rows for each alpha, and the smallest 1 − h_ii.

    F = √wΦQ, targets √wΨE, T = QᵀBE: R = √wΨE − F[γ/(λ + ωγᵀ) ∘ T], h_ii = Σ_j F_ij² γ/(λ + ω_jγ). With an intercept
    Φ and Ψ are centred, and `unit` (n, 1) is the diagonal of P in place of 1.
    """
    xp, (r, q), a = array_namespace(F), T.shape, len(alphas)
    values = xp.stack([shrunk(omega, gamma, alpha) for alpha in alphas], axis=1)  # (r, a, 1 or q)
    fitted_own = xp.reshape(matmul(F * F, xp.reshape(values, (r, -1))), (-1, a, values.shape[2]))
    left = (unit if isinstance(unit, float) else unit[:, :, None]) - fitted_own
    fitted = matmul(F, xp.reshape(values * T[:, None, :], (r, -1)))
    R = (targets[:, None, :] - xp.reshape(fitted, (-1, a, q))) / left
    return to_numpy(xp.sum(xp.sum(R * R, axis=2), axis=0)), float(xp.min(left))


class ThinPath(SpectralPath):
    """N = I − H = (I − V Vᵀ) + V diag(λ/(λ + ωγ)) Vᵀ with √wΦ = V diag(√ω) Qᵀ; C is in the range of V."""

    def __init__(self, problem: Problem) -> None:
        points = Geometry(problem)
        Phi = problem.gram.factor if points.whole else take_rows(problem.gram.factor, points.active)
        V, root = thin_svd(points.centre(Phi if points.sqrt_w is None else points.sqrt_w[:, None] * Phi))
        if points.constants is not None:  # directions without features may have a part along U
            kept = _rank(root)
            V = points.centre(V[:, :kept])
            root = root[:kept]
        super().__init__(problem, points, (root * root, V))

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """diag(1/√w)(R/Q)Eᵀ with R = N√wΨE and Q = diag N."""
        targets, T, V = self.points.targets(self.operator.rotate(Psi)), self.project(Psi), self.V
        xp = array_namespace(targets)
        D = alpha / self.shrink(alpha)
        R = (targets - matmul(V, T)) + matmul(V, D * T)
        if groups is not None:
            if self.points.constants is not None:  # N U = 0
                U = self.points.constants.U
                V = xp.concat([V, U], axis=1)
                D = xp.concat([D, xp.zeros((U.shape[1], D.shape[1]), dtype=D.dtype, device=D.device)], axis=0)
            return self._leave_groups_out(R, V, D, Psi, alpha, groups, thin=True)
        own = V * V
        rest = self.points.unit_diagonal(slice(None)) - xp.sum(own, axis=1)[:, None]
        Q = xp.clip(rest, min=0.0) + matmul(own, D)
        return self.leave_out(R, Q, Psi, alpha)

    def loo_errors(self, Psi: Array, alphas: Sequence[float], groups: np.ndarray | None = None) -> np.ndarray:
        """Those of the residuals."""
        return Path.loo_errors(self, Psi, alphas, groups)
