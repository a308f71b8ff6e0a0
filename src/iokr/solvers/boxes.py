"""min ½αᵀQα − 1ᵀα over a box, by coordinate descent with shrinking and an exact last step."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from iokr._array import NotPositiveDefinite, cholesky

__all__ = ["box_gap", "minimize_box"]

_PATIENCE = 10  # sweeps in which the gap may fail to halve before the free entries are solved for
_STEPS = 30  # Newton steps on the free entries at a time
_FREE = 4000  # free entries that are solved for, at most


def minimize_box(
    Q: np.ndarray, upper: np.ndarray, tol: float, limit: int, start: np.ndarray | None = None
) -> tuple[np.ndarray, int, float]:
    """(α, sweeps, gap): the minimiser over 0 ≤ α ≤ upper, to a relative gap of `tol`."""
    n = len(upper)
    alpha = np.zeros(n) if start is None else np.clip(start, 0.0, upper)
    gradient = np.full(n, -1.0) if start is None else Q @ alpha - 1.0
    diagonal = np.ascontiguousarray(np.diagonal(Q))
    sweep = _compiled_sweep()
    active = np.arange(n)
    gap, seen, stuck = box_gap(alpha, gradient, upper), np.inf, 0
    for done in range(limit + 1):
        if gap <= tol or len(active) == 0 or stuck >= _PATIENCE:
            gradient = Q @ alpha - 1.0  # what was set aside looks again, without the rounding of the updates
            gap = box_gap(alpha, gradient, upper)
            if gap <= tol:
                break
            _solve_free(Q, upper, alpha, gradient)
            gap = box_gap(alpha, gradient, upper)
            active, stuck = np.arange(n), 0
            if gap <= tol:
                break
        if done == limit:
            break
        violation = sweep(Q, diagonal, upper, alpha, gradient, active)
        active = _shrink(alpha, gradient, upper, active, violation)
        gap = box_gap(alpha, gradient, upper)
        stuck = 0 if gap <= 0.5 * seen else stuck + 1
        seen = gap if gap <= 0.5 * seen else seen
    return alpha, done, gap


def box_gap(alpha: np.ndarray, gradient: np.ndarray, upper: np.ndarray) -> float:
    """(Σ w hinge + ½αᵀQα − (1ᵀα − ½αᵀQα)) / Σ w, from g = Qα − 1: hinge_i = max(0, −g_i), αᵀQα = αᵀ(g + 1)."""
    primal_minus_dual = upper @ np.maximum(-gradient, 0.0) + alpha @ gradient
    return float(primal_minus_dual / upper.sum())


def _shrink(
    alpha: np.ndarray, gradient: np.ndarray, upper: np.ndarray, active: np.ndarray, violation: float
) -> np.ndarray:
    """Leave out what sits at a bound and is pushed against it by more than the last violation."""
    a, g = alpha[active], gradient[active]
    resting = ((a <= 0) & (g > violation)) | ((a >= upper[active]) & (g < -violation))
    return np.asarray(active[~resting])


def _solve_free(Q: np.ndarray, upper: np.ndarray, alpha: np.ndarray, gradient: np.ndarray) -> None:
    """Newton steps on the free entries, each up to the first bound, until none is met: their exact minimiser."""
    for _ in range(_STEPS):
        free = np.flatnonzero((alpha > 0) & (alpha < upper))
        if not 0 < len(free) <= _FREE:
            return
        corner = Q[np.ix_(free, free)]
        try:  # the shift only bends the direction; the length of the step is exact
            direction = cholesky(corner, 1e-13 * float(np.trace(corner))).solve(-gradient[free][:, None])[:, 0]
        except NotPositiveDefinite:
            direction = np.linalg.lstsq(corner, -gradient[free], rcond=None)[0]
        image = Q[:, free] @ direction
        curvature = float(direction @ image[free])
        downhill = -float(direction @ gradient[free])
        if downhill <= 0:
            return
        full = downhill / curvature if curvature > 0 else np.inf
        room = np.where(direction > 0, upper[free] - alpha[free], -alpha[free])
        limits = np.divide(room, direction, out=np.full(len(free), np.inf), where=direction != 0)
        length = min(full, float(limits.min()))
        if not np.isfinite(length):
            return
        alpha[free] = np.clip(alpha[free] + length * direction, 0.0, upper[free])
        met = free[limits <= length]
        alpha[met] = np.where(direction[limits <= length] > 0, upper[met], 0.0)
        gradient += length * image
        if length == full:
            return


def _sweep(Q: Any, diagonal: Any, upper: Any, alpha: Any, gradient: Any, active: Any) -> float:
    """One pass over `active`: α_i ← clip(α_i − g_i/Q_ii, 0, w_i), g kept up to date; the largest violation seen."""
    worst = 0.0
    for i in active:
        g, a, w = gradient[i], alpha[i], upper[i]
        projected = min(g, 0.0) if a <= 0 else max(g, 0.0) if a >= w else g
        if projected == 0.0:
            continue
        worst = max(worst, abs(projected))
        d = diagonal[i]
        new = min(max(a - g / d, 0.0), w) if d > 0 else (w if g < 0 else 0.0)
        if new != a:
            gradient += (new - a) * Q[i]
            alpha[i] = new
    return worst


@cache
def _compiled_sweep() -> Callable[..., float]:
    """The sweep compiled by Numba where it is installed, else as it stands."""
    try:
        from numba import njit
    except ImportError:
        return _sweep
    compiled: Callable[..., float] = njit(cache=True)(_sweep)
    return compiled
