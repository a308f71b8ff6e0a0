"""min ½αᵀQα − 1ᵀα over a box: sweeps over the entries, then Newton steps on those that are not at a bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from scipy.linalg.blas import dsymv

from iokr._array import CholeskyFactor, NotPositiveDefinite, cholesky
from iokr._system.compile import compiled, inlined

__all__ = [
    "DenseQuadratic",
    "Quadratic",
    "box_gap",
    "box_step",
    "damped_factors",
    "gradient_steps",
    "minimize_box",
    "newton_directions",
]

_NEWTON = 50  # largest number of Newton steps in a row
_FREE = 6000  # largest number of entries in a Newton step
_DAMPING = (0.0, 1e-13, 1e-10, 1e-7, 1e-4, 1e-1)  # τ as fractions of the largest diagonal entry
_STEPS = 10  # projected gradient steps that count as one sweep
_GROUP = 10  # sweeps over which progress is measured
_PATIENCE = 30  # n divided by this is the number of compiled sweeps that cost as much as a Newton step
_NEAR = 0.2  # slope, relative to the largest free one, above which an entry stays at its bound
_SHRINK = 0.75  # largest fraction of the other entries for which a restriction to them is worth it


class Quadratic(Protocol):
    """½αᵀQα − 1ᵀα, by the operations with Q that `minimize_box` needs."""

    # Sweeps before the first Newton step, sweeps later, at most that many when Newton fails, Newton steps in a row.
    schedule: tuple[int, int, int, int]
    patience: float  # sweeps that cost as much as a Newton step

    def product(self, alpha: np.ndarray) -> np.ndarray:
        """Q α."""

    def directions(self, free: np.ndarray, slope: np.ndarray) -> Iterator[np.ndarray]:
        """−(Q_FF + τI)⁻¹ g_F for the free entries F, from small to large τ."""

    def sweep(self, upper: np.ndarray, alpha: np.ndarray, gradient: np.ndarray) -> None:
        """α_i ← clip(α_i − g_i/Q_ii, 0, w_i) for each i in turn, or as much progress by other steps; in place."""


class DenseQuadratic:
    """½αᵀQα − 1ᵀα for a stored Q: compiled sweeps, or projected gradient steps without a compiler."""

    def __init__(self, Q: np.ndarray) -> None:
        loop = compiled(_sweep, reorder=True)
        self.Q = Q
        self._loop = loop
        self.first = 8 if loop else 1  # sweeps over all entries, before those at a bound are left out
        self.schedule = (30, 30, 30, _NEWTON) if loop else (3, 3, 30, _NEWTON)
        self.patience = len(Q) / _PATIENCE if loop else 1.0

    def product(self, alpha: np.ndarray) -> np.ndarray:
        """Q α."""
        return np.asarray(dsymv(1.0, self.Q.T, alpha))

    def restrict(self, keep: np.ndarray) -> DenseQuadratic:
        """The quadratic of some entries."""
        return DenseQuadratic(self.Q.take(keep, axis=0).take(keep, axis=1))

    def directions(self, free: np.ndarray, slope: np.ndarray) -> Iterator[np.ndarray]:
        """−(Q_FF + τI)⁻¹ g_F by Cholesky; none when too many are free."""
        if len(free) > _FREE:
            return
        yield from newton_directions(self.Q.take(free, axis=0).take(free, axis=1), slope)

    def sweep(self, upper: np.ndarray, alpha: np.ndarray, gradient: np.ndarray) -> None:
        """A sweep over the entries, or some projected gradient steps."""
        if self._loop is None:
            gradient_steps(self, float(np.diagonal(self.Q).max()), upper, alpha, gradient)
        else:
            self._loop(self.Q, upper, alpha, gradient)


def minimize_box(
    Q: np.ndarray | Quadratic, upper: np.ndarray, tol: float, limit: int, start: np.ndarray | None = None
) -> tuple[np.ndarray, int, float]:
    """(α, steps, gap): the minimiser over 0 ≤ α ≤ upper, to a relative gap of `tol`."""
    if isinstance(Q, np.ndarray):
        Q = DenseQuadratic(Q)
    n, goal = len(upper), tol * float(upper.sum())
    alpha = np.zeros(n) if start is None else np.clip(start, 0.0, upper)
    gradient = np.full(n, -1.0) if start is None else Q.product(alpha) - 1.0
    done, gap = 0, box_gap(alpha, gradient, upper)
    while gap > goal and done < limit:
        if isinstance(Q, DenseQuadratic):
            done += _shrunk(Q, upper, alpha, gradient, goal, limit - done)
        else:
            done += _descend(Q, upper, alpha, gradient, goal, limit - done)
        gradient = Q.product(alpha) - 1.0  # without the rounding of the updates
        gap = box_gap(alpha, gradient, upper)
    return alpha, done, gap / float(upper.sum())


def _shrunk(
    Q: DenseQuadratic, upper: np.ndarray, alpha: np.ndarray, gradient: np.ndarray, goal: float, limit: int
) -> int:
    """Steps made: some sweeps over all entries, then a descent in those that are not clearly at a bound."""
    first = min(Q.first, limit)
    for _ in range(first):
        Q.sweep(upper, alpha, gradient)
    near = _NEAR * float(np.max(np.abs(gradient[_free(upper, alpha, gradient)]), initial=0.0))
    keep = np.flatnonzero(((alpha > 0) | (gradient < near)) & ((alpha < upper) | (gradient > -near)))
    if not 0 < len(keep) < _SHRINK * len(alpha):
        return first + _descend(Q, upper, alpha, gradient, goal, limit - first)
    part, slope = alpha[keep], gradient[keep]
    done = _descend(Q.restrict(keep), upper[keep], part, slope, goal / 2, limit - first)
    alpha[keep] = part
    return first + done


def _descend(Q: Quadratic, upper: np.ndarray, alpha: np.ndarray, gradient: np.ndarray, goal: float, limit: int) -> int:
    """Steps made: sweeps and Newton steps in turn, until the gap is `goal` or `limit` steps are made."""
    sweeps, later, most, newton = Q.schedule
    done, gap, before = 0, box_gap(alpha, gradient, upper), np.inf
    while gap > goal and done < limit:
        swept, gap = _sweep_down(Q, upper, alpha, gradient, goal, min(sweeps, limit - done), limit - done)
        done += swept
        if gap > before / 2:  # little progress by Newton steps: more sweeps between them
            later = min(2 * later, most)
        before = gap
        # a sweep comes last, as Newton steps lower J but not always the gap
        for _ in range(min(newton, limit - done - 1)):
            if gap <= goal or not _newton(Q, upper, alpha, gradient):
                break
            done += 1
            gap = box_gap(alpha, gradient, upper)
        sweeps = later
    return done


def _sweep_down(
    Q: Quadratic, upper: np.ndarray, alpha: np.ndarray, gradient: np.ndarray, goal: float, sweeps: int, limit: int
) -> tuple[int, float]:
    """(sweeps made, gap): some sweeps, and more if they will reach the goal before a Newton step would."""
    gaps = [box_gap(alpha, gradient, upper)]
    while len(gaps) <= sweeps:
        Q.sweep(upper, alpha, gradient)
        gaps.append(box_gap(alpha, gradient, upper))
        if gaps[-1] <= goal:
            break
        if len(gaps) > sweeps and Q.patience:
            past = min(_GROUP, len(gaps) - 1)
            rate = np.log(gaps[-1] / gaps[-1 - past]) / past
            if rate < 0 and np.log(goal / gaps[-1]) / rate <= Q.patience:
                sweeps = min(sweeps + past, limit)
    return len(gaps) - 1, gaps[-1]


def box_gap(alpha: np.ndarray, gradient: np.ndarray, upper: np.ndarray) -> float:
    """Σ w hinge + ½αᵀQα − (1ᵀα − ½αᵀQα), from g = Qα − 1: hinge_i = max(0, −g_i), αᵀQα = αᵀ(g + 1).

    Σ_i w_i max(0, −g_i) + α_i g_i: 0 for entries at a bound with a gradient that points outwards.
    """
    return float(upper @ np.maximum(-gradient, 0.0) + alpha @ gradient)


def _free(upper: np.ndarray, alpha: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The entries that are not at a bound, or that the gradient moves away from it."""
    return np.flatnonzero(((alpha > 0) | (gradient < 0)) & ((alpha < upper) | (gradient > 0)))


def _newton(Q: Quadratic, upper: np.ndarray, alpha: np.ndarray, gradient: np.ndarray) -> bool:
    """A projected Newton step on the free entries; whether it lowered the objective enough."""
    free = _free(upper, alpha, gradient)
    if not len(free):
        return False
    slope, old, change = gradient[free], alpha[free], np.zeros(len(alpha))
    for direction in Q.directions(free, slope):
        length = 1.0
        for _ in range(10):
            change[free] = step = np.clip(old + length * direction, 0.0, upper[free]) - old
            image, expected = Q.product(change), float(step @ slope)
            if expected < 0 and expected + 0.5 * float(step @ image[free]) <= 1e-4 * expected:
                alpha[free] = np.clip(old + step, 0.0, upper[free])
                gradient += image
                return True
            length /= 2
    return False


def newton_directions(corner: np.ndarray, slope: np.ndarray) -> Iterator[np.ndarray]:
    """−(corner + τI)⁻¹ slope, for growing τ, in case that the corner is singular."""
    for factor in damped_factors(corner, _DAMPING):
        yield factor.solve(-slope[:, None])[:, 0]


def damped_factors(M: np.ndarray, dampings: Sequence[float]) -> Iterator[CholeskyFactor]:
    """Cholesky factors of M + τI where it is definite, τ these fractions of the largest diagonal entry."""
    size = float(np.diagonal(M).max())
    for damping in dampings:
        try:
            yield cholesky(M, damping * size)
        except NotPositiveDefinite:
            continue


@inlined
def box_step(a: Any, gradient: Any, curvature: Any, upper: Any) -> Any:
    """The minimiser over [0, upper] of a parabola with this slope and curvature at a, or of a line."""
    if curvature > 0:
        return min(max(a - gradient / curvature, 0.0), upper)
    return upper if gradient < 0 else 0.0


def _sweep(Q: Any, upper: Any, alpha: Any, gradient: Any) -> None:
    """α_i ← clip(α_i − g_i/Q_ii, 0, w_i) for each i in turn, g kept up to date; Numba compiles it."""
    for i in range(len(upper)):
        new = box_step(alpha[i], gradient[i], Q[i, i], upper[i])
        if new != alpha[i]:
            change = new - alpha[i]
            for j in range(len(upper)):
                gradient[j] += change * Q[i, j]
            alpha[i] = new


def gradient_steps(Q: Quadratic, largest: float, upper: np.ndarray, alpha: np.ndarray, gradient: np.ndarray) -> None:
    """α ← α + s(clip(α − tg, 0, w) − α), the best s ≤ 1 and Barzilai and Borwein's two t in turn; one product each.

    `largest` is the largest diagonal entry of Q. Without compiled loops a sweep takes as long as about ten products,
    which lower the objective more.
    """
    t = 1.0 / max(largest, np.finfo(float).tiny)
    for i in range(_STEPS):
        d = np.clip(alpha - t * gradient, 0.0, upper) - alpha
        slope = float(d @ gradient)
        if not slope < 0:
            return
        image = Q.product(d)
        curvature = float(d @ image)
        s = min(1.0, -slope / curvature) if curvature > 0 else 1.0
        alpha += s * d
        np.clip(alpha, 0.0, upper, out=alpha)
        gradient += s * image
        if curvature > 0:
            t = float(d @ d) / curvature if i % 2 == 0 else curvature / float(image @ image)
