"""min ½αᵀQα − 1ᵀα over a box: sweeps over the entries, then Newton steps on those that no bound holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Protocol

import numpy as np

from iokr._array import NotPositiveDefinite, blocks, cholesky

__all__ = ["DenseQuadratic", "Quadratic", "box_gap", "minimize_box", "newton_directions"]

_SWEEPS = 3  # before the Newton steps; ten times as many when they are compiled, or when Newton does not get on
_NEWTON = 50  # Newton steps in a row, at most
_FREE = 6000  # entries solved for at once, at most
_DAMPING = (0.0, 1e-13, 1e-10, 1e-7, 1e-4, 1e-1)  # of the largest diagonal entry
_BLOCK = 128  # entries whose updates are gathered into one product


class Quadratic(Protocol):
    """½αᵀQα − 1ᵀα, as far as `minimize_box` needs to know Q."""

    # Sweeps before the first Newton step, sweeps later, at most that many when Newton fails, Newton steps in a row.
    schedule: tuple[int, int, int, int]

    def product(self, alpha: np.ndarray) -> np.ndarray:
        """Q α."""

    def directions(self, free: np.ndarray, slope: np.ndarray) -> Iterator[np.ndarray]:
        """−(Q_FF + τI)⁻¹ g_F for the free entries F, the first τ being the least."""

    def image(self, free: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Q δ for a change δ of some entries."""

    def sweep(self, upper: np.ndarray, alpha: np.ndarray, gradient: np.ndarray) -> None:
        """α_i ← clip(α_i − g_i/Q_ii, 0, w_i) for each i in turn, α and g in place."""


class DenseQuadratic:
    """½αᵀQα − 1ᵀα for a stored Q."""

    def __init__(self, Q: np.ndarray) -> None:
        self.Q, self._sweep = Q, _compiled_sweep()
        first = _SWEEPS if self._sweep is _blocked_sweep else 10 * _SWEEPS
        self.schedule = (first, 10 * _SWEEPS, 10 * _SWEEPS, _NEWTON)

    def product(self, alpha: np.ndarray) -> np.ndarray:
        """Q α."""
        return np.asarray(self.Q @ alpha)

    def directions(self, free: np.ndarray, slope: np.ndarray) -> Iterator[np.ndarray]:
        """−(Q_FF + τI)⁻¹ g_F by Cholesky; none when too many are free."""
        if len(free) > _FREE:
            return
        yield from newton_directions(self.Q[np.ix_(free, free)], slope)

    def image(self, free: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Q δ for a change δ of some entries."""
        return np.asarray(change @ self.Q[free])

    def sweep(self, upper: np.ndarray, alpha: np.ndarray, gradient: np.ndarray) -> None:
        """Entry by entry, compiled or in blocks."""
        self._sweep(self.Q, upper, alpha, gradient)


def minimize_box(
    Q: np.ndarray | Quadratic, upper: np.ndarray, tol: float, limit: int, start: np.ndarray | None = None
) -> tuple[np.ndarray, int, float]:
    """(α, steps, gap): the minimiser over 0 ≤ α ≤ upper, to a relative gap of `tol`."""
    if isinstance(Q, np.ndarray):
        Q = DenseQuadratic(Q)
    n = len(upper)
    alpha = np.zeros(n) if start is None else np.clip(start, 0.0, upper)
    gradient = np.full(n, -1.0) if start is None else Q.product(alpha) - 1.0
    sweeps, later, most, newton = Q.schedule
    done, gap, before = 0, box_gap(alpha, gradient, upper), np.inf
    while gap > tol and done < limit:
        for _ in range(min(sweeps, limit - done)):
            Q.sweep(upper, alpha, gradient)
            done += 1
            gap = box_gap(alpha, gradient, upper)
            if gap <= tol:
                break
        if gap > before / 2:  # Newton steps do not get on: rest longer between them
            later = min(2 * later, most)
        before = gap
        for _ in range(min(newton, limit - done - 1)):  # a sweep comes last: Newton steps lower J, not always the gap
            if gap <= tol or not _newton(Q, upper, alpha, gradient):
                break
            done += 1
            gap = box_gap(alpha, gradient, upper)
        gradient = Q.product(alpha) - 1.0  # without the rounding of the updates
        gap = box_gap(alpha, gradient, upper)
        sweeps = later
    return alpha, done, gap


def box_gap(alpha: np.ndarray, gradient: np.ndarray, upper: np.ndarray) -> float:
    """(Σ w hinge + ½αᵀQα − (1ᵀα − ½αᵀQα)) / Σ w, from g = Qα − 1: hinge_i = max(0, −g_i), αᵀQα = αᵀ(g + 1)."""
    primal_minus_dual = upper @ np.maximum(-gradient, 0.0) + alpha @ gradient
    return float(primal_minus_dual / upper.sum())


def _newton(Q: Quadratic, upper: np.ndarray, alpha: np.ndarray, gradient: np.ndarray) -> bool:
    """A projected Newton step on the entries that no bound holds; whether it lowered the objective enough."""
    free = np.flatnonzero(((alpha > 0) | (gradient < 0)) & ((alpha < upper) | (gradient > 0)))
    if not len(free):
        return False
    slope = gradient[free]
    for direction in Q.directions(free, slope):
        length = 1.0
        for _ in range(10):
            change = np.clip(alpha[free] + length * direction, 0.0, upper[free]) - alpha[free]
            image = Q.image(free, change)
            expected = float(change @ slope)
            if expected < 0 and expected + 0.5 * float(change @ image[free]) <= 1e-4 * expected:
                alpha[free] += change
                gradient += image
                return True
            length /= 2
    return False


def newton_directions(corner: np.ndarray, slope: np.ndarray) -> Iterator[np.ndarray]:
    """−(corner + τI)⁻¹ slope, τ growing: a singular corner bends Newton towards the gradient."""
    size = float(np.diagonal(corner).max())
    for damping in _DAMPING:
        try:
            yield cholesky(corner, damping * size).solve(-slope[:, None])[:, 0]
        except NotPositiveDefinite:
            continue


def _sweep(Q: Any, upper: Any, alpha: Any, gradient: Any) -> None:
    """α_i ← clip(α_i − g_i/Q_ii, 0, w_i) for each i in turn, g kept up to date; Numba compiles it."""
    for i in range(len(upper)):
        d = Q[i, i]
        new = min(max(alpha[i] - gradient[i] / d, 0.0), upper[i]) if d > 0 else (upper[i] if gradient[i] < 0 else 0.0)
        if new != alpha[i]:
            change = new - alpha[i]
            for j in range(len(upper)):
                gradient[j] += change * Q[i, j]
            alpha[i] = new


def _blocked_sweep(Q: np.ndarray, upper: np.ndarray, alpha: np.ndarray, gradient: np.ndarray) -> None:
    """The same sweep in NumPy: within a block entry by entry, then one product brings all of g up to date."""
    for block in blocks(len(upper), _BLOCK):
        corner, g, old = Q[block, block], gradient[block].copy(), alpha[block].copy()
        a, w = old.copy(), upper[block]
        diagonal = np.diagonal(corner).tolist()
        for i, d in enumerate(diagonal):
            new = min(max(a[i] - g[i] / d, 0.0), w[i]) if d > 0 else (w[i] if g[i] < 0 else 0.0)
            if new != a[i]:
                g += (new - a[i]) * corner[i]
                a[i] = new
        moved = np.flatnonzero(a != old)
        gradient += (a - old)[moved] @ Q[block][moved]
        alpha[block] = a


@cache
def _compiled_sweep() -> Callable[..., None]:
    """The sweep compiled by Numba where it is installed, else in blocks."""
    try:
        from numba import njit
    except ImportError:
        return _blocked_sweep
    compiled: Callable[..., None] = njit(cache=True, fastmath=True)(_sweep)
    return compiled
