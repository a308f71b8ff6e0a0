"""min ½αᵀQα − 1ᵀα, α ≥ 0, Σ_{x∈p} α_x ≤ w_p: the dual of a hinge loss of sets, that of their worst members."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsymv

from iokr.solvers.iterative.box_qp import damped_factors

__all__ = ["minimize_sets", "set_gap"]

Point = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # α, s, z, μ

_BACK = 0.995  # largest fraction of the way to the nearest bound of a step
_IDLE = 3  # steps without progress after which the search ends
_DAMPING = (0.0, 1e-14, 1e-11, 1e-8)  # of the largest diagonal entry, if rounding makes a matrix indefinite


def minimize_sets(
    Q: np.ndarray, starts: np.ndarray, upper: np.ndarray, tol: float, limit: int
) -> tuple[np.ndarray, int, float]:
    """(α, steps, gap): the minimiser, to a relative gap of `tol`; set p are the entries from starts[p] on.

    An interior point: with s = w − Aα the slacks, z and μ the multipliers of α ≥ 0 and of s ≥ 0,

        Qα − 1 − z + Aᵀμ = 0,   z∘α = μ∘s = ν → 0,

    by Mehrotra's predictor and corrector, from a point that satisfies the equation. A step costs a Cholesky
    factorisation, n³/3 flops for n members of all sets, for any conditioning of Q; about 10 to 30 are needed, and
    rounding ends them at a gap of about 1e-9. The gap is that between the primal at g = Σ_x α_x y_x k(x, ·)/λ and the
    dual at α, relative to the primal at 0, Σ_p w_p.
    """
    sizes = np.diff(np.append(starts, len(Q)))
    scale = float(upper.sum())
    alpha = np.repeat(upper / (2.0 * sizes), sizes)
    gradient = _product(Q, alpha) - 1.0
    worst = np.maximum(np.maximum.reduceat(-gradient, starts), 0.0)
    mu = worst + max(1.0, float(np.abs(gradient).max()))
    z, s = gradient + np.repeat(mu, sizes), upper / 2.0
    done, gap = 0, set_gap(alpha, gradient, starts, upper)
    best, idle = (alpha, gap), 0
    while gap > tol * scale and done < limit and idle < _IDLE:
        off = gradient - z + np.repeat(mu, sizes), upper - s - np.add.reduceat(alpha, starts)  # rounding
        step = _step(Q, starts, sizes, (alpha, s, z, mu), off)
        if step is None:  # no further progress: rounding
            break
        alpha, s, z, mu = step
        gradient = _product(Q, alpha) - 1.0
        gap = set_gap(alpha, gradient, starts, upper)
        idle = 0 if gap < best[1] else idle + 1
        best = (alpha, gap) if gap < best[1] else best
        done += 1
    return best[0], done, best[1] / scale


def set_gap(alpha: np.ndarray, gradient: np.ndarray, starts: np.ndarray, upper: np.ndarray) -> float:
    """Σ_p w_p max(0, max_{x∈p} −g_x) + αᵀg, with g = Qα − 1: primal minus dual, never negative."""
    worst = np.maximum(np.maximum.reduceat(-gradient, starts), 0.0)
    return float(upper @ worst + alpha @ gradient)


def _product(Q: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    return np.asarray(dsymv(1.0, Q.T, alpha))


def _step(
    Q: np.ndarray, starts: np.ndarray, sizes: np.ndarray, point: Point, off: tuple[np.ndarray, np.ndarray]
) -> Point | None:
    """The next point: (Q + diag(z/α) + Aᵀ diag(μ/s) A) Δα = r₁/α − Aᵀ(r₂/s), by a predictor and a corrector.

    `off` is the residual of the equations by rounding, which the step removes.
    """
    alpha, s, z, mu = point
    M = Q.copy()
    M[np.diag_indices_from(M)] += z / alpha
    for start, size, value in zip(starts, sizes, mu / s, strict=True):
        M[start : start + size, start : start + size] += value
    factor = next(damped_factors(M, _DAMPING), None)
    if factor is None:
        return None

    def solve(r1: np.ndarray, r2: np.ndarray) -> Point:
        right = r1 / alpha - np.repeat((r2 - mu * off[1]) / s, sizes) - off[0]
        d = np.asarray(factor.solve(right[:, None]))[:, 0]
        ds = off[1] - np.add.reduceat(d, starts)
        return d, ds, (r1 - z * d) / alpha, (r2 - mu * ds) / s

    total = float(z @ alpha + mu @ s)
    count = len(alpha) + len(s)
    d, ds, dz, dm = solve(-z * alpha, -mu * s)
    primal, dual = min(_length(alpha, d), _length(s, ds)), min(_length(z, dz), _length(mu, dm))
    ahead = float((z + dual * dz) @ (alpha + primal * d) + (mu + dual * dm) @ (s + primal * ds))
    nu = (ahead / total) ** 3 * total / count
    d, ds, dz, dm = solve(nu - z * alpha - dz * d, nu - mu * s - dm * ds)
    length = _BACK * min(_length(alpha, d), _length(s, ds), _length(z, dz), _length(mu, dm))
    if not np.isfinite(length) or length <= 1e-14:
        return None
    return alpha + length * d, s + length * ds, z + length * dz, mu + length * dm


def _length(values: np.ndarray, change: np.ndarray) -> float:
    """The largest t ≤ 1/0.995 with values + t·change ≥ 0."""
    down = change < 0
    return float(np.min(-values[down] / change[down], initial=1.0 / _BACK))
