"""Alternating directions, for every loss with a proximal map and every operator, stopped by the duality gap."""

from __future__ import annotations

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, row_sq_norms, to_numpy, unwarned
from iokr._component import component
from iokr._validation.arguments import check_stops
from iokr.problem import Problem, Solution
from iokr.solvers.base import Solver, refuses_products
from iokr.solvers.iterative.admm_boxes import State, iterate_boxes
from iokr.solvers.iterative.admm_newton import fits, newton
from iokr.solvers.iterative.certificate import Certificate, certify, gap_bound, sharpened
from iokr.solvers.iterative.reduced import LabeledKernel, LabeledProblem, labeled_bytes, labeled_problem

__all__ = ["ADMM"]

_RELAX = 1.7
_CHECK = 4  # steps between evaluations of the gap
_POLISH = 1e-8  # tolerance below which Newton steps are faster
_KINK = 2.0  # rows at a kink of the loss have no curvature, so that the estimate from the others is too small
_SOON = 100  # steps after which the estimate is corrected for these rows
_TINY = 1e-300


@component
class ADMM(Solver):
    """u = prox(z), v = 𝒦(𝒦 + (λ/ρ)I)⁻¹(u − b): alternates between the loss and the kernel.

    One factorisation is reused until ρ, which follows the curvature of the loss, changes; for tolerances below 1e-8
    small problems end with Newton steps on the fixed point. W = ρ(u − z) is dual feasible, so that the relative duality
    gap is known at every check.

    Parameters
    ----------
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=None
        None is 20 000.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.losses import EpsilonInsensitive
    >>> from iokr.solvers import ADMM
    >>> model = IOKR(loss=EpsilonInsensitive(0.1), solver=ADMM()).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> bool(model.solution_.gap < 1e-6)
    True
    """

    tol: float = 1e-6
    max_iter: int | None = None

    def refuses(self, problem: Problem) -> str | None:
        """A loss with `prox` and `dual` is required."""
        if not problem.loss.has_prox:
            return f"{problem.loss!r} has no `prox`; use a closed form, or give the loss this method."
        if problem.mask is not None and not problem.loss.radial:
            return f"{problem.loss!r} cannot be used with missing entries of `y`; drop these rows."
        if problem.constants is not None and not problem.loss.has_feasible:
            return f"{problem.loss!r} has no `feasible`, which an intercept needs; add it, or set `intercept=False`."
        return refuses_products(problem)

    def memory(self, problem: Problem) -> float:
        """4N² numbers, 8N² with a penalty; 4Np with p features, few."""
        return labeled_bytes(problem, matrices=4, thin=4, arrays=12)

    def _solve(self, problem: Problem, start: Solution | None) -> Solution:
        tol, limit = check_stops(self.tol, self.max_iter, 20_000)
        labeled = labeled_problem(problem)
        at_zero = labeled.at_zero()
        tol, P0 = sharpened(tol, at_zero), float(array_namespace(at_zero).sum(at_zero))
        if P0 == 0:
            return labeled.solution(labeled.Psi * 0.0, labeled.no_constants(), 0)
        warm = start.state if start is not None and isinstance(start.state, State) else None
        one = problem.constants is None or problem.constants.shape[1] == 1
        if problem.loss.boxes and one and not labeled.semi_supervised and problem.gram.operator is not None:
            with unwarned():  # the gap shows the effect of overflow
                certificate, n_iter, state = iterate_boxes(labeled, P0, tol, limit, warm)
        else:
            # A spectrum costs as much as many Cholesky factors, but serves every A and Newton steps of small problems.
            kernel = labeled.kernel(spectral=tol < _POLISH and fits(labeled))
            with unwarned():
                certificate, n_iter, state = _iterate(labeled, kernel, P0, tol, limit, warm)
        return labeled.solution(certificate.a, certificate.t, n_iter, certificate.gap, certificate.gap <= tol, state)


def from_margin_dual(problem: Problem, weights: np.ndarray) -> Solution:
    """A start for `ADMM` from a point of the margin's dual, W_i = a_i ψ_i: u = 𝒦W/λ, ρb = −W."""
    labeled = labeled_problem(problem)
    W = labeled.Psi * asarray_like(weights, labeled.Psi)[:, None]
    u = labeled.kernel(spectral=False).product(W / labeled.lam)
    return Solution(labeled.lift(W / labeled.lam), state=State(u, -W))


def _iterate(
    problem: LabeledProblem, kernel: LabeledKernel, P0: float, tol: float, limit: int, warm: State | None
) -> tuple[Certificate, int, State]:
    xp = array_namespace(problem.Psi)
    norm = xp.linalg.matrix_norm
    rho = _first_rho(problem)  # of this loss: the last steps of the neighbour are too small to show curvature
    if warm is not None and warm.u.shape == problem.Psi.shape:
        u, b = warm.u, warm.rho_b / rho
    else:
        u, b = problem.Psi * 0.0, problem.Psi * 0.0
    balance = 2 * _CHECK + 1  # right after the gap, so that no solved problem is factored
    z = u + b
    best: Certificate | None = None
    for step in range(1, limit + 2):
        S, v = kernel.resolve(u - b, problem.lam / rho)
        due = step > 1 and (step - 1) % _CHECK == 0
        if due and tol >= _POLISH:  # a product is only worth it if a lower bound of the gap is small enough
            due = gap_bound(problem, rho * (u - z), (S, v), P0) <= tol
        if due or step > limit:
            # S is the primal point of W = ρ(u − z), which the next step also needs.
            found = certify(problem, kernel, rho * (u - z), (S, v), P0, tol)
            best = found if best is None or found.gap < best.gap else best
            if tol < best.gap < 1e-3 and tol < _POLISH:
                polished = _polish(problem, kernel, z, rho, P0, tol, best.gap)
                if polished is not None:
                    u, z, S, v, best = polished
                    b = z - u
            if best.gap <= tol or step > limit:
                return best, step - 1, State(u, rho * b)
        z = _RELAX * v + (1 - _RELAX) * u + b
        u_before, b_before = u, b
        u = problem.loss.prox(z, problem.targets(z), rho / problem.weight)
        b = z - u
        if step == balance:
            balance = 2 * balance - 1
            if best is not None and best.gap <= 10 * tol and step < _SOON:
                continue  # a few last steps cost less than a new factor
            # W = −ρb is a slope of the loss at u, so that ‖ΔW‖/‖Δu‖ estimates its curvature, to which ρ is set.
            moved, turned = float(norm(u - u_before)), float(norm(b - b_before))
            shown = (1.0 if problem.loss.smooth else _KINK) * turned / max(moved, _TINY)
            factor = min(max(shown, 0.05), 20.0)
            if not 1 / 2 <= factor <= 2:
                rho, b = factor * rho, b / factor
                z = u + b
    raise AssertionError("the last step returns")


def _polish(
    problem: LabeledProblem, kernel: LabeledKernel, z: Array, rho: float, P0: float, tol: float, gap: float
) -> tuple[Array, Array, Array, Array, Certificate] | None:
    """A Newton step from z, if it halves the gap."""
    step = newton(problem, kernel, z, rho)
    if step is None:
        return None
    z, u = step
    S, v = kernel.resolve(2 * u - z, problem.lam / rho)
    found = certify(problem, kernel, rho * (u - z), (S, v), P0, tol)
    return (u, z, S, v, found) if found.gap < gap / 2 else None


def _first_rho(problem: LabeledProblem) -> float:
    """1 for losses like ½r², 3/median‖ψ_i‖ for losses like r, as residuals are shorter than outputs."""
    if problem.loss.smooth:
        return 1.0
    length = float(np.median(np.sqrt(to_numpy(row_sq_norms(problem.Psi)))))
    return 3 / length if length > 0 else 1.0
