"""Smooth losses from value and gradient only: quasi-Newton steps in the space of functions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, matmul, to_numpy, unwarned
from iokr._component import component
from iokr._validation.arguments import check_integer, check_stops
from iokr.problem import Problem, Solution
from iokr.solvers.base import Solver
from iokr.solvers.iterative.certificate import sharpened

__all__ = ["LBFGS"]

# Gradients D and directions S are arrays (2, N, q): coefficients, and G times these.

_TO_THE_END: Any = {"maxiter": 1000, "ftol": 0.0, "gtol": 0.0}  # as far as rounding allows
_TRIALS = 60  # steps of a line search, each without a product
_SLOPE = 0.1  # fraction of the first slope at which a line search ends


@component
class LBFGS(Solver):
    """C ← C − t B D, ∇J = Σ_i 𝒦(·, x_i) d_i, B an inverse Hessian from the last steps, inner products ⟨D, G D⟩.

    For a convex loss of which only value and gradient are known. J is α-strongly convex in h, hence J(h) − min J ≤
    ‖∇J‖²/(2α) with ‖∇J‖² = ⟨D, G D⟩: this bound, relative to J(0), is the `gap` of the solution. It is not as sharp as
    the duality gap, which needs `prox` and `dual` (`ADMM`). A step costs one product with G, 2N²q flops; a small α
    takes more steps. With an intercept J(C) is min_b J(C, b), which is α-strongly convex, too; b is found anew after
    each step.

    Parameters
    ----------
    tol : float, default=1e-6
        Relative gap at which to stop.
    max_iter : int, default=None
        None is 5000.
    history : int, default=20
        The number of last steps in B: larger takes fewer steps, and 4Nq numbers each.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.losses import Huber
    >>> from iokr.solvers import LBFGS
    >>> model = IOKR(loss=Huber(0.5), alpha=0.1, solver=LBFGS()).fit([[0.0], [1.0]], [0.0, 9.0])
    >>> bool(model.solution_.gap < 1e-6)
    True
    """

    tol: float = 1e-6
    max_iter: int | None = None
    history: int = 20

    def refuses(self, problem: Problem) -> str | None:
        """A smooth loss and complete outputs are required."""
        loss = problem.loss
        if not loss.smooth:
            return f"{loss!r} has kinks (`smooth = False`); it needs `prox` and `dual`, for `ADMM()`."
        if problem.mask is not None and not (loss.radial or loss.quadratic):
            return f"{loss!r} cannot be used with missing entries of `y`; drop these rows."
        return None

    def memory(self, problem: Problem) -> float:
        """At most N² numbers for G, and 4Nq for each of the last steps."""
        N, q = problem.gram.size, problem.Psi.shape[1]
        return float(8 * (N**2 + (8 + 4 * check_integer(self.history, "history", minimum=1)) * N * q))

    def _solve(self, problem: Problem, start: Solution | None) -> Solution:
        tol, limit = check_stops(self.tol, self.max_iter, 5000)
        history = check_integer(self.history, "history", minimum=1)
        xp, G = array_namespace(problem.like), problem.gram
        zero = xp.zeros((G.shape[0], problem.Psi.shape[1]), dtype=xp.float64, device=problem.like.device)
        B = _constants(problem, zero, None)
        at_zero = problem.losses(problem.with_constants(zero, B))
        tol, J_0 = sharpened(tol, at_zero), float(xp.sum(at_zero))
        if J_0 <= 0:
            return _solution(zero, B, 0, 0.0, tol)
        warm = start is not None and tuple(start.C.shape) == tuple(zero.shape)
        C = start.C if start is not None and warm else zero
        H = G @ C if warm else zero
        B = _constants(problem, H, B)
        D = _with_product(problem, C, H, B)
        pairs: deque[_Pair] = deque(maxlen=history)
        best, n_iter = (C, B, _gap(problem, D, H, B, J_0)), 0
        while best[2] > tol and n_iter < limit:
            S = _direction(D, pairs)
            t = _step(problem, C, H, B, S, 1.0 if pairs else _first(problem, D))
            if t is None:
                if not pairs:
                    break  # no step lowers J any further: rounding
                pairs.clear()
                continue
            C = C + t * S[0, ...]
            H = H + t * S[1, ...]
            before = D
            if n_iter % history == history - 1:
                H = G @ C  # without accumulated rounding
            B = _constants(problem, H, B)
            D = _with_product(problem, C, H, B)
            change = D - before
            step = t * S
            curvature = _inner(step, change)
            if curvature > 0:
                pairs.append(_Pair(step, change, curvature))
            gap, n_iter = _gap(problem, D, H, B, J_0), n_iter + 1
            best = (C, B, gap) if gap < best[2] else best
        return _solution(*best[:2], max(n_iter, 1), best[2], tol)


def _solution(C: Array, B: Array | None, n_iter: int, gap: float, tol: float) -> Solution:
    return Solution(C, n_iter, gap, gap <= tol, intercept=None if B is None else B[0, :])


def _constants(problem: Problem, H: Array, start: Array | None) -> Array | None:
    """argmin_B Σ_i w_i ℓ(h_i + Bᵀe_i, ψ_i), (k, q); None without an intercept."""
    if problem.constants is None:
        return None
    from scipy.optimize import minimize

    xp = array_namespace(H)
    shape = (problem.constants.shape[1], int(problem.Psi.shape[1]))
    first = np.zeros(shape) if start is None else to_numpy(start)

    def objective(values: np.ndarray) -> tuple[float, np.ndarray]:
        B = asarray_like(values.reshape(shape), H)
        total = float(xp.sum(problem.losses(problem.with_constants(H, B))))
        return total, to_numpy(_slope_of_constants(problem, H, B)).ravel()

    with unwarned():
        found = minimize(objective, first.ravel(), jac=True, method="L-BFGS-B", options=_TO_THE_END)
    return asarray_like(found.x.reshape(shape), H)


def _slope_of_constants(problem: Problem, H: Array, B: Array) -> Array:
    """Σ_i w_i e_i ∂ℓ/∂h, (k, q): 0 at the best B."""
    slope = problem.loss_gradient(problem.with_constants(H, B))
    if problem.weight is not None:
        slope = slope * asarray_like(problem.weight, H)[:, None]
    return matmul(asarray_like(problem.constants, H).T, slope)


@dataclass(frozen=True, eq=False)
class _Pair:
    """A step, the change of the gradient along it, and their positive inner product."""

    step: Array
    change: Array
    curvature: float


def _inner(a: Array, b: Array) -> float:
    """⟨a, G b⟩."""
    return float(array_namespace(a).sum(a[0, ...] * b[1, ...]))


def _with_product(problem: Problem, C: Array, H: Array, B: Array | None) -> Array:
    """The gradient D at C and B, H = G C, and G D."""
    D = problem.gradient(C, H, B)
    return array_namespace(D).stack([D, problem.gram @ D])


def _gap(problem: Problem, D: Array, H: Array, B: Array | None, J_0: float) -> float:
    """‖∇J‖²/(2α J(0)); with an intercept plus what its own slope is worth over the range of the outputs."""
    gap = max(_inner(D, D), 0.0) / (2 * problem.alpha * J_0)
    if B is None:
        return gap
    xp = array_namespace(H)
    Psi = problem.targets
    reach = xp.max(Psi, axis=0) - xp.min(Psi, axis=0)
    return gap + float(xp.sum(xp.abs(_slope_of_constants(problem, H, B)) * reach[None, :])) / J_0


def _direction(D: Array, pairs: deque[_Pair]) -> Array:
    """−B D by two loops over the pairs."""
    shares = []
    for pair in reversed(pairs):
        share = _inner(pair.step, D) / pair.curvature
        D = D - share * pair.change
        shares.append(share)
    if pairs:
        last = pairs[-1]
        D = last.curvature / _inner(last.change, last.change) * D
    for pair, share in zip(pairs, reversed(shares), strict=True):
        more = share - _inner(pair.change, D) / pair.curvature
        D = D + more * pair.step
    return -D


def _first(problem: Problem, D: Array) -> float:
    """1/(α + ⟨D, G D⟩/⟨D, D⟩), the first step along −D: of the size of the kernel."""
    return 1 / (problem.alpha + max(_inner(D, D), 0.0) / float(array_namespace(D).sum(D[0, ...] * D[0, ...])))


def _step(problem: Problem, C: Array, H: Array, B: Array | None, S: Array, t: float) -> float | None:
    """t > 0 near the minimum of the convex J(C + tS), from slopes only, without a product; None if J does not fall."""
    slope = _slopes(problem, C, H, B, S)
    first = slope(0.0)
    if not first < 0:
        return None
    low, at_low, high, at_high = 0.0, first, None, 0.0
    for _ in range(_TRIALS):
        here = slope(t)
        if abs(here) <= -_SLOPE * first:
            return t
        if here < 0:
            low, at_low = t, here
        else:  # beyond the minimum, or not finite
            high, at_high = t, here
        if high is None:
            t = 4 * t
        else:
            secant = low - at_low * (high - low) / (at_high - at_low) if at_high == at_high else low
            inside = low + 0.05 * (high - low) < secant < high - 0.05 * (high - low)
            t = secant if inside else (low + high) / 2
    return low or None


def _slopes(problem: Problem, C: Array, H: Array, B: Array | None, S: Array) -> Callable[[float], float]:
    """t ↦ dJ(C + tS)/dt = ⟨∇ℓ, GS⟩ + α⟨C + tS, GS⟩ + μ⟨L(H + tGS), GS⟩."""
    xp = array_namespace(H)
    GS = S[1, ...]
    constant = problem.alpha * float(xp.sum(C * GS))
    linear = problem.alpha * _inner(S, S)
    if problem.penalty is not None and problem.manifold_weight:
        turned = problem.penalty @ GS
        constant += problem.manifold_weight * float(xp.sum(H * turned))
        linear += problem.manifold_weight * float(xp.sum(GS * turned))
    along = GS[: problem.n_labeled, :]
    if problem.weight is not None:
        along = along * asarray_like(problem.weight, H)[:, None]
    if problem.mask is not None:
        along = xp.where(asarray_like(problem.mask, H), along, 0.0)

    def slope(t: float) -> float:
        gradient = problem.loss_gradient(problem.with_constants(H + t * GS, B))
        return float(xp.sum(gradient * along)) + constant + t * linear

    return slope
