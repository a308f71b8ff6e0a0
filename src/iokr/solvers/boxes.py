"""min ½αᵀQα − 1ᵀα over a box, by coordinate descent with shrinking and an exact last step."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

__all__ = ["box_gap", "minimize_box"]


def minimize_box(
    Q: np.ndarray, upper: np.ndarray, tol: float, limit: int, start: np.ndarray | None = None
) -> tuple[np.ndarray, int, float]:
    """(α, sweeps, gap): the minimiser over 0 ≤ α ≤ upper, to a relative gap of `tol`."""
    n = len(upper)
    alpha = np.zeros(n) if start is None else np.clip(start, 0.0, upper)
    gradient = Q @ alpha - 1.0 if start is not None else np.full(n, -1.0)
    diagonal = np.ascontiguousarray(np.diagonal(Q))
    sweep = _compiled_sweep()
    done = 0
    gap = box_gap(alpha, gradient, upper)
    while gap > tol and done < limit:
        active = np.arange(n)
        violation = np.inf
        threshold = 0.1 * max(tol, 1e-16)
        while done < limit and len(active):
            before = violation
            violation = sweep(Q, diagonal, upper, alpha, gradient, active)
            done += 1
            active = _shrink(alpha, gradient, upper, active, violation)
            if violation <= threshold or (done % 10 == 0 and box_gap(alpha, gradient, upper) <= tol):
                break
            if violation > 0.5 * before and done % 5 == 0:  # slow: solve for the free ones
                _solve_free(Q, upper, alpha, gradient)
        gradient = Q @ alpha - 1.0  # what was set aside looks again, without the rounding of the updates
        before_gap, gap = gap, box_gap(alpha, gradient, upper)
        if gap > tol:
            _solve_free(Q, upper, alpha, gradient)
            gap = box_gap(alpha, gradient, upper)
            if gap >= 0.99 * before_gap and done > 50 and violation <= threshold:
                break
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
    """An exact step on the free entries, cut at the box; kept if it lowers the objective."""
    free = np.flatnonzero((alpha > 0) & (alpha < upper))
    if not 0 < len(free) <= 4000:
        return
    step, *_ = np.linalg.lstsq(Q[np.ix_(free, free)], -gradient[free], rcond=None)
    new = np.clip(alpha[free] + step, 0.0, upper[free])
    change = new - alpha[free]
    image = Q[:, free] @ change
    if change @ gradient[free] + 0.5 * change @ image[free] <= 0:
        alpha[free] = new
        gradient += image


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
