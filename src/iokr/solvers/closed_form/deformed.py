"""K̃ = J K (αI + μLK)⁻¹ Jᵀ, the kernel deformed by unlabelled points: one reduction for every α and μ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from iokr._array import (
    Array,
    CholeskyFactor,
    FullPacked,
    NotPositiveDefinite,
    TridiagonalForm,
    array_namespace,
    cholesky,
    clear_upper,
    eigh,
    eye_like,
    is_numpy,
    matmul,
    mirror_upper,
    pivoted_cholesky,
    take_rows,
    triangular_congruence,
    tridiagonalize,
)
from iokr.problem import Problem
from iokr.solvers.base import Path, by_eigenvalue, join_columns, take_columns
from iokr.solvers.closed_form.grouped import blocks_of_matrix, leave_groups_out
from iokr.solvers.closed_form.spectral import SpectralPath, spectral_path
from iokr.solvers.closed_form.symmetric_system import BlockFactor, Geometry, PointsPath, geometry, scatter, weight_ratio

__all__ = ["DeformedPath", "ManifoldPath", "PlainKernel", "Reduction", "Shared", "deformed_kernel"]

_EPS = float(np.finfo(np.float64).eps)
_LIMIT = 1e6  # largest μγw_max/λ: beyond, the deformed form loses more than six digits


class PlainKernel:
    """Without unlabelled points: K̃ = g K/λ, and c = a/λ."""

    def __init__(self, problem: Problem) -> None:
        self.points = Geometry(problem)

    def deformed(self, alpha: float, g: float) -> Array:
        """g K/λ on the rows of positive weight."""
        return (g / alpha) * self.points.labeled_gram.dense()

    def lift(self, a: Array, alpha: float, g: float) -> Array:
        """a/λ."""
        return self.points.everywhere(a) / alpha


class _DiagonalForm:
    """A = V diag(w) Vᵀ, with the interface of `TridiagonalForm`, for libraries without a tridiagonal reduction."""

    def __init__(self, A: Array) -> None:
        w, self.V = eigh(A, overwrite=True)
        self.w = array_namespace(w).clip(w, min=0.0)

    def largest(self) -> float:
        return float(self.w[-1])

    def solve(self, a: float, b: float, B: Array) -> Array:
        return B / (a + b * self.w)[:, None]

    def rotate(self, B: Array, *, transpose: bool) -> Array:
        return (self.V.T if transpose else self.V) @ B


class Reduction:
    """K = R Rᵀ and RᵀLR = Q T Qᵀ: sufficient for all α, μ, γ and losses.

    R is a Cholesky factor (pivoted, hence thin, when K is singular) and T tridiagonal under NumPy; elsewhere R = U√s
    and T is diagonal. P = QᵀRᵀJᵀ.
    """

    def __init__(self, problem: Problem) -> None:
        self.points = Geometry(problem)
        self.N = self.points.N
        K = problem.gram.K.detach()
        if self.points.constants is not None:
            self.points.constants.KU = matmul(K, self.points.everywhere(self.points.constants.weighted))
        R, self._pull, triangular = _root(K)
        del K
        product = matmul(_thin(problem.penalty), R)
        product = triangular_congruence(R, product) if triangular else matmul(R.T, product)
        self.form: TridiagonalForm | _DiagonalForm = (
            tridiagonalize(product) if is_numpy(product) and product.shape[0] > 2 else _DiagonalForm(product)
        )
        self.P = self.form.rotate(take_rows(R, self.points.active).T, transpose=True)
        self.largest = self.form.largest() if product.shape[0] else 0.0

        self._kernels: dict[float, Array] = {}

    def kernel(self, alpha: float, mu: float, g: float) -> Array:
        """K̃ = g Pᵀ(λI + μgT)⁻¹P = (1/μ) Pᵀ(ρI + T)⁻¹P on the active labelled points, ρ = λ/(μg)."""
        if mu == 0 or g == 0:
            return (g / alpha) * matmul(self.P.T, self.P)
        ratio = alpha / (mu * g)  # as in `lift`: both must round tiny ratios in the same way
        name = round(math.log(ratio), 12)  # a grid with a common step has few distinct ratios
        if name not in self._kernels:
            if len(self._kernels) * self.P.shape[1] ** 2 > self.N**2:
                self._kernels.clear()
            self._kernels[name] = matmul(self.P.T, self.form.solve(ratio, 1.0, self.P))
        return self._kernels[name] / mu

    def lift(self, a: Array, alpha: float, mu: float, g: float) -> Array:
        """c with h(x) = g k_xᵀ c equal to K̃a on the labelled points: K c = R Q(λI + μgT)⁻¹Pa."""
        b = matmul(self.P, a)
        b = b / alpha if mu * g == 0 else self.form.solve(alpha / (mu * g), 1.0, b) / (mu * g)
        return self._pull(self.form.rotate(b, transpose=False))


def _root(K: Array) -> tuple[Array, Any, bool]:
    """R with K = R Rᵀ, b ↦ c with K c = R b, and whether R is lower triangular. K is overwritten."""
    xp = array_namespace(K)
    N = K.shape[0]
    if not is_numpy(K):
        s, U = eigh(K, overwrite=True)
        keep = int(xp.sum(xp.astype(s > N * _EPS * s[-1], xp.int64)))
        root, U = xp.sqrt(s[N - keep :]), U[:, N - keep :]
        return U * root[None, :], lambda b: (U / root[None, :]) @ b, False
    diagonal = K.diagonal().copy()
    try:
        factor = cholesky(K, overwrite=True)
        pivots = factor.L.diagonal() ** 2
        if pivots.min() > N * _EPS * pivots.max():
            clear_upper(factor.L)
            return factor.L, lambda b: factor.solve_lower(b, transpose=True), True
    except NotPositiveDefinite:
        pass
    mirror_upper(K, diagonal)  # K is not overwritten above the diagonal
    R, pivot_rows = pivoted_cholesky(K, overwrite=True)
    corner = R[pivot_rows]

    def pull(b: np.ndarray) -> np.ndarray:
        from scipy.linalg import solve_triangular

        return np.asarray(scatter(solve_triangular(corner, b, lower=True, trans=1, check_finite=False), pivot_rows, N))

    return R, pull, False


def _thin(L: Array) -> Any:
    """L, as a sparse matrix if products with it are then cheaper."""
    if is_numpy(L) and np.count_nonzero(L) < 0.05 * L.size:
        from scipy.sparse import csr_array

        return csr_array(L)
    return L


class DeformedPath(PointsPath):
    """a = (I + √wK̃√w)⁻¹√wΨe_j, leave-one-out residual a_i/(Q_ii√w_i), C e_j = lift(√w a), at one μ."""

    def __init__(self, problem: Problem, reduction: Reduction | None = None) -> None:
        super().__init__(problem)
        self.reduction = Reduction(problem) if reduction is None else reduction
        self.points, self.mu = self.reduction.points, problem.manifold_weight

    def q(self, alpha: float) -> float:
        """μγ_max w_max/λ, which the relative error grows with."""
        return self.mu * float(self.operator.gamma.max()) * self.reduction.largest / alpha

    def deformed(self, alpha: float, g: float) -> Array:
        """K̃(λ, μ, g) on the active labelled points."""
        return self.reduction.kernel(alpha, self.mu, g)

    def lift(self, a: Array, alpha: float, g: float) -> Array:
        """c with h(x) = g k_xᵀ c equal to K̃a on the labelled points."""
        return self.reduction.lift(a, alpha, self.mu, g)

    def _factor(self, alpha: float, g: float) -> tuple[CholeskyFactor, Array | float]:
        """Of I + √wK̃√w, and 0; with an intercept of I + P√wK̃√wP + τUUᵀ, and the diagonal of UUᵀ/(1 + τ)."""
        Kt = self.deformed(alpha, g)
        if self.points.sqrt_w is not None:
            Kt = self.points.sqrt_w[:, None] * Kt * self.points.sqrt_w[None, :]
        Kt = (Kt + Kt.T) / 2
        if self.points.constants is None:
            return cholesky(Kt, 1.0, overwrite=True), 0.0
        xp = array_namespace(Kt)
        tau = float(xp.sum(xp.linalg.diagonal(Kt)))
        whole = FullPacked(Kt)
        whole.project(self.points.constants.U, tau)
        return cholesky(whole.K, 1.0, overwrite=True), self.points.constants.diagonal / (1 + tau)

    def unpenalised(self, Psi: Array, C: Array) -> Array | None:
        """B (k, q); K√wU has a row for every point."""
        constants = self.points.constants
        return None if constants is None else constants.coefficients(Psi, C, self.operator)

    def coefficients(self, Psi: Array, alpha: float) -> Array:
        """C e_j = lift_j(√w a_j)."""
        root = 1.0 if self.points.sqrt_w is None else self.points.sqrt_w[:, None]
        targets = self.points.targets(self.operator.rotate(Psi))

        def solve(g: float, part: Array) -> Array:
            factor, _ = self._factor(alpha, g)
            return self.lift(root * factor.solve(part), alpha, g)

        return self.operator.unrotate(by_eigenvalue(self.operator, targets, solve))

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """a_i / (Q_ii √w_i), in the eigenbasis of A."""
        targets = self.points.targets(self.operator.rotate(Psi))
        xp = array_namespace(targets)
        R, Q = [], []
        if groups is not None:
            columns = []
            for g, group in self.operator.groups(targets.shape[1]):
                factor, _ = self._factor(alpha, g)
                N = factor.solve(eye_like(targets.shape[0], targets))
                N = self.points.centre((N + N.T) / 2)
                columns.append((group, N @ take_columns(targets, group), blocks_of_matrix(N)))
            return leave_groups_out(self, self.points, columns, Psi, alpha, groups)
        for g, group in self.operator.groups(targets.shape[1]):
            factor, own = self._factor(alpha, g)
            a = factor.solve(take_columns(targets, group))
            R.append((group, a))
            Q.append((group, xp.broadcast_to((factor.inverse_diagonal() - own)[:, None], a.shape)))
        return self.leave_out(join_columns(R), join_columns(Q), Psi, alpha)


@dataclass(eq=False)
class Shared:
    """The reduction for all μ, computed at its first use."""

    problem: Problem

    @cached_property
    def reduction(self) -> Reduction:
        return Reduction(self.problem)

    @cached_property
    def blocks(self) -> BlockFactor:
        return BlockFactor(self.problem)


class ManifoldPath(Path):
    """At each α the deformed form if it is accurate (μγw_max/λ ≤ 1e6) and cheaper, else the M-form."""

    def __init__(self, problem: Problem, shared: Shared, form: str | None) -> None:
        super().__init__(problem)
        self._problem, self._shared, self._form = problem, shared, form

    @cached_property
    def deformed_form(self) -> DeformedPath:
        """Section 4.2."""
        return DeformedPath(self._problem, self._shared.reduction)

    @cached_property
    def eigen_form(self) -> SpectralPath:
        """Section 4.1."""
        return spectral_path(self._problem, geometry(self._problem, self._shared.blocks))

    def at(self, alpha: float, n_alphas: int = 1) -> DeformedPath | SpectralPath:
        """The form to use at `alpha`, for `n_alphas` values of it."""
        if self._form == "deformed":
            return self.deformed_form
        N = self._problem.gram.shape[0]
        # An n × n system per α and γ against one eigendecomposition of size N, unless it is known already.
        costly = (
            weight_ratio(self._problem) <= _LIMIT
            and n_alphas * len(self.operator.gamma) * self.n**2 * (self.n + 2 * N) > 13 * N**3
        )
        if self._form == "eigen" or "eigen_form" in self.__dict__ or costly or self.operator.oblique:
            return self.eigen_form
        # Rounding is multiplied by q here and by the ratio of the weights there.
        limit = max(_LIMIT, weight_ratio(self._problem))
        return self.deformed_form if self.deformed_form.q(alpha) <= limit else self.eigen_form

    def coefficients(self, Psi: Array, alpha: float) -> Array:
        """C by the chosen form."""
        return self.at(alpha).coefficients(Psi, alpha)

    def unpenalised(self, Psi: Array, C: Array) -> Array | None:
        """B (k, q), by a form that has been used."""
        form = self.eigen_form if "eigen_form" in vars(self) else self.deformed_form
        return form.unpenalised(Psi, C)

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """Residuals by the chosen form."""
        return self.at(alpha).loo_residuals(Psi, alpha, groups)

    def loo_errors(self, Psi: Array, alphas: Sequence[float], groups: np.ndarray | None = None) -> np.ndarray:
        """Errors along the path, each by the chosen form."""
        errors = np.empty(len(alphas))
        chosen = [self.at(alpha, len(alphas)) for alpha in alphas]
        for form in {id(f): f for f in chosen}.values():
            mine = [i for i, f in enumerate(chosen) if f is form]
            errors[mine] = form.loo_errors(Psi, [alphas[i] for i in mine], groups)
        return errors

    def deformed(self, alpha: float, g: float) -> Array:
        """K̃(λ, μ, g) on the labelled points."""
        return self.at(alpha).deformed(alpha, g)

    def lift(self, a: Array, alpha: float, g: float) -> Array:
        """c with h(x) = g k_xᵀ c equal to K̃a on the labelled points."""
        return self.at(alpha).lift(a, alpha, g)


def deformed_kernel(problem: Problem) -> ManifoldPath | PlainKernel:
    """K̃ of a problem, with or without unlabelled points; of the sample weights only their zeros matter."""
    labelled = problem.row_weight > 0  # the other rows remain points, without labels
    weight = None if labelled.all() else labelled.astype(float)
    problem = replace(problem, weight=weight, mask=None, constants=None)
    if problem.penalty is None or problem.manifold_weight == 0:
        return PlainKernel(problem)
    return ManifoldPath(problem, Shared(problem), None)
