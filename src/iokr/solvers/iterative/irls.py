"""Iteratively reweighted least squares for the Huber loss."""

from __future__ import annotations

from typing import cast

from iokr._array import Array, array_namespace, cholesky, matmul
from iokr._component import component
from iokr._validation.arguments import check_stops
from iokr.losses.radial import RadialLoss, distances
from iokr.problem import Problem, Solution
from iokr.solvers.base import Solver, refuses_products
from iokr.solvers.iterative.certificate import Certificate, certify, sharpened
from iokr.solvers.iterative.reduced import DenseKernel, LabeledProblem, ThinKernel, labeled_bytes
from iokr.solvers.iterative.thin import weighted_by_features

__all__ = ["IRLS"]


@component
class IRLS(Solver):
    """a = (𝒦 + λ diag(1/ω))⁻¹Ψ, then ω_i = w_i min(1, κ/‖ψ_i − h(x_i)‖), for Huber and A = aI.

    Every step lowers the objective and costs one Cholesky factorisation; a few steps reach a gap of 1e-6. W = λa,
    shortened to ‖W_i‖ ≤ w_i κ, is dual feasible, for the duality gap.

    Parameters
    ----------
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=None
        None is 500.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.losses import Huber
    >>> from iokr.solvers import IRLS
    >>> IOKR(loss=Huber(0.5), solver=IRLS()).fit([[0.0], [1.0]], [0.0, 9.0]).solution_.converged
    True
    """

    tol: float = 1e-6
    max_iter: int | None = None

    def refuses(self, problem: Problem) -> str | None:
        """The Huber loss, A = aI and complete outputs are required."""
        if not problem.loss.reweighted:
            return f"reweighting majorises the Huber loss only, got {problem.loss!r}; use `ADMM()`."
        if problem.operator.scale is None:
            return "`A` is not a multiple of the identity; use `ADMM()`."
        if problem.mask is not None:
            return "`y` has missing entries; use `ADMM()`."
        return refuses_products(problem)

    def memory(self, problem: Problem) -> float:
        """3N² numbers, 8N² with a penalty; 4Np with p features, few."""
        return labeled_bytes(problem, matrices=3, thin=4, arrays=8)

    def _solve(self, problem: Problem, start: Solution | None) -> Solution:
        tol, limit = check_stops(self.tol, self.max_iter, 500)
        labeled = LabeledProblem(problem)
        at_zero = labeled.at_zero()
        tol, P0 = sharpened(tol, at_zero), float(array_namespace(at_zero).sum(at_zero))
        if P0 == 0:
            return labeled.solution(labeled.Psi * 0.0, labeled.no_constants(), 0)
        plain = DenseKernel(labeled) if labeled.factor is None else ThinKernel(labeled)
        kernel = labeled.with_constants(plain)
        loss = cast("RadialLoss", problem.loss)
        xp = array_namespace(labeled.Psi)
        weight = labeled.weight
        best: Certificate | None = None
        warm = start is not None and getattr(start.state, "shape", None) == weight.shape
        omega = start.state if start is not None and warm else weight
        n_iter = 0
        while best is None or (best.gap > tol and n_iter < limit):
            n_iter += 1
            a = _weighted(labeled, plain, omega)
            inside = labeled.inside(labeled.Psi) - labeled.lam * a / omega[:, None]  # h, without a product
            a, H = labeled.with_rest(a, inside, omega)
            found = certify(labeled, kernel, labeled.lam * a, (a, H), P0, tol)
            best = found if best is None or found.gap < best.gap else best
            r = distances(H, labeled.Psi)
            omega = weight * xp.where(r > 0, loss.slope(r) / xp.where(r > 0, r, 1.0), 1.0)
        return labeled.solution(best.a, best.t, n_iter, best.gap, best.gap <= tol, omega)


def _weighted(labeled: LabeledProblem, kernel: DenseKernel | ThinKernel, omega: Array) -> Array:
    """(𝒦 + λ diag(1/ω))⁻¹Ψ = √ω(√ωK√ω + λI)⁻¹√ωΨ; with an intercept of Ψ − Ut, t such that Uᵀa = 0."""
    lam, U = labeled.lam, labeled.U
    xp = array_namespace(omega)
    Psi = labeled.inside(labeled.Psi)
    right = Psi if U is None else xp.concat([Psi, U], axis=1)
    if isinstance(kernel, ThinKernel):
        a = weighted_by_features(float(labeled.operator.gamma[0]) ** 0.5 * labeled.factor, right, omega, lam)
    else:
        root = xp.sqrt(omega)[:, None]
        S = kernel.K * root
        S *= root.T
        a = root * cholesky(S, lam, overwrite=True).solve(root * right)
    if U is None:
        return a
    q = Psi.shape[1]
    a, constant = a[:, :q], a[:, q:]
    return a - matmul(constant, xp.linalg.solve(matmul(U.T, constant), matmul(U.T, a)))
