"""One Cholesky factorisation per α: the cheapest exact route to a single fit."""

from __future__ import annotations

from typing import cast

import numpy as np

from iokr._array import (
    Array,
    CholeskyFactor,
    Factor,
    NotPositiveDefinite,
    Packed,
    array_namespace,
    cholesky,
    cholesky_arrays,
    eigh_arrays,
    eye_like,
    inverse,
    is_cuda,
    is_numpy,
    packed_bytes,
)
from iokr._component import component
from iokr._system.memory import available_memory, check_memory, device_errors
from iokr.gram.operators import IdentityMatrix
from iokr.problem import Problem, Solution
from iokr.solvers._routes import refusal
from iokr.solvers.base import by_eigenvalue, join_columns, take_columns, warn_small_alpha
from iokr.solvers.closed_form.grouped import blocks_of_matrix, leave_groups_out
from iokr.solvers.closed_form.paths import ClosedForm, refuses_weights
from iokr.solvers.closed_form.spectral import SpectralPath
from iokr.solvers.closed_form.symmetric_system import PointsPath, geometry

__all__ = ["Cholesky"]


@component
class Cholesky(ClosedForm):
    """C = (K + α I)⁻¹ Ψ by K + α I = L Lᵀ; with A = E diag(γ) Eᵀ, one factor per distinct γ_j.

    n³/3 flops and n²/2 numbers: one triangle is evaluated and factored in place; leave-one-out takes n³/3 more and,
    under NumPy, no memory. With a manifold penalty, λI + γFᵀKF is factored instead (M = F Fᵀ). If rounding makes K + αI
    indefinite (α below n·eps·‖K‖) the eigenvalues are clipped at zero, as by `Eigen`.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.solvers import Cholesky
    >>> IOKR(alpha=0.1, solver=Cholesky()).fit([[0.0], [1.0]], [0.0, 1.0]).solution_.C.shape
    (2, 1)
    """

    def refuses(self, problem: Problem) -> str | None:
        """A quadratic loss is required and, with a penalty, weights of comparable size."""
        if problem.operator.oblique:
            return "a covariance operator has as many eigenvalues as there are outputs; use `Eigen()`."
        return super().refuses(problem) or (refuses_weights(problem) if problem.penalised else None)

    def memory(self, problem: Problem) -> float:
        """N²/2 numbers, a triangle factored in place, and 3Nq; 4N² with a penalty: L, its factor, FᵀKF and panels.

        For weights on the outputs (Ψ = I), which are N² numbers themselves, and for kernels that do not separate the
        matrix is full, see `cholesky_arrays`. In other libraries than NumPy 8N² with a penalty.
        """
        N, q = problem.gram.size, problem.Psi.shape[1]
        if problem.penalised:
            return 8.0 * float((4 if is_numpy(problem.like) else 8) * N**2 + 3 * N * q)
        if problem.gram.operator is None or isinstance(problem.Psi, IdentityMatrix):
            return 8.0 * float(cholesky_arrays(problem.like) * N**2 + 3 * N * q)
        return packed_bytes(N, problem.like, 2048) + 24.0 * float(N * q)

    def _path(self, problem: Problem) -> CholeskyPath:
        return CholeskyPath(problem)

    def _solve(self, problem: Problem, start: Solution | None) -> Solution:
        if problem.mask is not None or problem.gram.operator is None:
            return super()._solve(problem, start)
        plain = problem.penalty is None and problem.weight is None and problem.constants is None
        if plain and problem.gram.operator.scale:
            try:
                return Solution(_ridge(problem, problem.gram.operator.scale))
            except NotPositiveDefinite:  # the path clips eigenvalues
                pass
        return CholeskyPath(problem, once=True).solution(problem.Psi, problem.alpha)


def _ridge(problem: Problem, a: float) -> Array:
    """C = (K + (α/a) I)⁻¹ Ψ / a for A = aI."""
    K, shift = problem.gram.K, problem.alpha / a
    if isinstance(problem.Psi, IdentityMatrix):
        C, pivot = inverse(K.detach(lower=True), shift)
    else:
        factor = K.packed().factor(shift)
        C, pivot = factor.solve(problem.Psi), factor.largest_pivot()
    warn_small_alpha(problem.alpha, a * pivot)
    return C if a == 1 else C / a


class CholeskyPath(PointsPath):
    """z_j = (λI + γ_j S)⁻¹ G√wΨe_j by Cholesky of S + (λ/γ_j) I; with `once`, for one use, S is overwritten."""

    def __init__(self, problem: Problem, *, once: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.points = geometry(problem)
        self._once = once
        self._S: Array | None = None
        self._triangle: Packed | None = None  # of S, for further factors, if there is memory for it

    def _factor(self, shift: float, *, last: bool) -> Factor:
        overwrite = self._once and last
        if self.points.remainder is None:
            solver, problem = Cholesky(), self.problem
            with device_errors(solver.memory(problem), *refusal(solver, problem), problem.like):
                return self._packed(overwrite=overwrite).factor(shift)
        S = self.points.system(lift=True) if self._S is None else self._S
        self._S = None if overwrite else S
        return cholesky(S, shift, overwrite=overwrite)

    def _packed(self, *, overwrite: bool) -> Packed:
        """S by one triangle, to be factored in place: a copy of the cached one, or evaluated again."""
        kept, self._triangle = self._triangle, None
        S = self.points.packed() if kept is None else kept
        if overwrite:
            return S
        like = self.problem.like
        free = available_memory(like)
        if is_cuda(like) or (free is not None and packed_bytes(S.n, like) > free):  # evaluating K is fast on a device
            return S
        self._triangle = S
        return S.copy()

    def _spectral(self) -> SpectralPath:
        """The path by eigenvalues, if rounding makes S + shift indefinite."""
        self._S = self._triangle = None
        check_memory(
            8.0 * eigh_arrays(self.problem.like) * self.problem.gram.size**2,
            "K + αI is indefinite by rounding, and the eigendecomposition that clips it",
            "Raise `alpha`; a definite K + αI needs half of K only.",
            self.problem.like,
        )
        return SpectralPath(self.problem, geometry(self.problem))

    def coefficients(self, Psi: Array, alpha: float) -> Array:
        """C = F Z Eᵀ."""
        try:
            Z = self._solve(self.points.from_labels(self.points.targets(self.operator.rotate(Psi))), alpha)
        except NotPositiveDefinite:
            return self._spectral().coefficients(Psi, alpha)
        return self.operator.unrotate(self.points.to_points(Z))

    def _solve(self, B: Array, alpha: float) -> Array:
        last = self.operator.groups(B.shape[1])[-1][0]

        def solve(g: float, part: Array) -> Array:
            if g == 0:
                return part / alpha
            factor = self._factor(alpha / g, last=g == last)
            warn_small_alpha(alpha, g * self.points.largest(factor.largest_pivot()))  # at most s_max + α/γ
            Z = factor.solve(part)
            return Z if g == 1 else Z / g

        return by_eigenvalue(self.operator, B, solve)

    def _leave_out(self, B: Array, alpha: float, g: float) -> tuple[Array, Array]:
        """λGᵀZ and λ diag(Gᵀ(λI + γS)⁻¹G) for the columns of one γ."""
        points = self.points
        xp = array_namespace(B)
        if g == 0:  # N = P
            R = points.to_labels(B)
            Q = points.unit_diagonal(slice(None)) * xp.ones_like(R[:, :1])
            B0 = points.remainder
            return R, Q[:, 0] if B0 is None else Q[:, 0] - xp.linalg.diagonal(B0)
        factor = self._factor(alpha / g, last=False)
        R = points.to_labels(factor.solve(B)) * (alpha / g)
        if points.remainder is None:
            return R, factor.inverse_diagonal() * (alpha / g) - points.own_share(alpha, g)
        half = cast(CholeskyFactor, factor).solve_lower(points.from_labels(eye_like(len(points.active), B)))
        return R, xp.sum(half * half, axis=0) * (alpha / g)

    def _leave_groups_out(self, Psi: Array, alpha: float, groups: np.ndarray) -> Array:
        """(N_SS)⁻¹R_S with N = λ(λI + γS)⁻¹, an inverse per distinct γ."""
        if self.points.remainder is not None or len(self.points.active) < self.n:
            return self._spectral().loo_residuals(Psi, alpha, groups)
        points = self.points
        targets = points.targets(self.operator.rotate(Psi))
        columns = []
        for g, group in self.operator.groups(targets.shape[1]):
            own = take_columns(targets, group)
            if g == 0:
                columns.append((group, own, blocks_of_matrix(points.centre(eye_like(self.n, own)))))
                continue
            N = points.centre(inverse(points.system(lift=True), alpha / g)[0] * (alpha / g))
            columns.append((group, N @ own, blocks_of_matrix(N)))
        return leave_groups_out(self, self.points, columns, Psi, alpha, groups)

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """R = 𝓑√wΨE + λGᵀZ, Q = diag 𝓑 + λ diag(Gᵀ(λI + γS)⁻¹G); R/Q as in `SpectralPath`."""
        B = self.points.from_labels(self.points.targets(self.operator.rotate(Psi)))
        xp = array_namespace(B)
        residuals, leverages = [], []
        try:
            if groups is not None:
                return self._leave_groups_out(Psi, alpha, groups)
            for g, group in self.operator.groups(B.shape[1]):
                R, Q = self._leave_out(take_columns(B, group), alpha, g)
                residuals.append((group, R))
                leverages.append((group, xp.broadcast_to(Q[:, None], R.shape)))
        except NotPositiveDefinite:
            return self._spectral().loo_residuals(Psi, alpha, groups)
        return self.leave_out(join_columns(residuals), join_columns(leverages), Psi, alpha)
