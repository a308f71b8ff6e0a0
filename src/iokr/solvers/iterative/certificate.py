"""The duality gap, a bound of the distance of the objective to its minimum."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from iokr._array import Array, array_namespace, matmul, to_numpy
from iokr.solvers.iterative.reduced import LabeledKernel, LabeledProblem

__all__ = ["Certificate", "certify", "feasible", "gap_bound", "sharpened"]

_FEW = 1e-2  # fraction of P₀ below which most rows contribute almost nothing
_HIDDEN = 1e-11  # fraction below which the contribution of the others is rounding in a product with K
_ROUNDING = 1e-15
_BISECTIONS = 60
_HUGE = 1e300


@dataclass(frozen=True, eq=False)
class Certificate:
    """A primal point, and a bound of the distance of its objective to the minimum."""

    a: Array  # coefficients of the better primal point
    dual: float
    gap: float  # (primal − dual)/P₀
    t: Array | None = None  # its intercept, h = 𝒦a + U t


def sharpened(tol: float, at_zero: Array, *, power: float = 1.0) -> float:
    """tol · (n·median(ℓ)/P₀)^power if that is far less than `tol`, ℓ_i = w_i ℓ(0, ψ_i) and P₀ their sum.

    A few outliers, or rows of large weight, can dominate P₀; a gap relative to P₀ would then not measure the others.
    `power` is ½ for a tolerance of lengths, not of squares.
    """
    losses = to_numpy(at_zero)
    losses = losses[losses > 0]
    usual = float(np.median(losses)) * len(losses) / float(losses.sum()) if len(losses) else 1.0
    if not usual < _FEW:
        return tol
    wanted = tol * float(usual**power)
    if wanted < _ROUNDING < tol or usual < _HIDDEN:
        warnings.warn(
            f"A row of `y` has a loss {losses.max() / np.median(losses):.0e} times the median, weights included: "
            "rounding hides the contribution of other rows; drop it, clip it to their size, or give it less weight.",
            RuntimeWarning,
            stacklevel=4,
        )
    return min(tol, max(wanted, _ROUNDING))


def gap_bound(problem: LabeledProblem, W: Array, point: tuple[Array, Array], P0: float) -> float:
    """A lower bound of the relative gap of the primal point (a, 𝒦a) and the dual at W, without a product with 𝒦.

    With D = W − λa, ⟨W, 𝒦W⟩/2λ = (λ/2)⟨a, 𝒦a⟩ + ⟨D, 𝒦a⟩ + ⟨D, 𝒦D⟩/2λ, and the last term is not negative.
    """
    a, H = point
    xp = array_namespace(W)
    W = feasible(problem, W)
    lam, sq_norm = problem.lam, float(xp.sum(a * H))
    energy = lam / 2 * sq_norm + float(xp.sum((W - lam * a) * H))
    dual = float(xp.sum(problem.loss.dual(W, problem.Psi, problem.weight))) - energy
    return (problem.objective(H, sq_norm) - dual) / max(P0, float(np.finfo(float).tiny))


def certify(
    problem: LabeledProblem, kernel: LabeledKernel, W: Array, point: tuple[Array, Array], P0: float, tol: float
) -> Certificate:
    """The gap between a primal point (a, 𝒦a), or W/λ, and the dual at W.

    W/λ is taken when it meets the tolerance: its rows are exactly zero for points without a gradient of the loss.
    """
    xp = array_namespace(W)
    W = feasible(problem, W)
    KW = kernel.product(W)
    energy = float(xp.sum(W * KW))
    dual = float(xp.sum(problem.loss.dual(W, problem.Psi, problem.weight))) - energy / (2 * problem.lam)
    t = None if problem.U is None else matmul(problem.U.T, point[1])

    def certificate(a: Array, H: Array) -> Certificate:
        primal = problem.objective(H, float(xp.sum(a * H)))
        return Certificate(a, dual, (primal - dual) / max(P0, float(np.finfo(float).tiny)), t)

    plain = certificate(*point)
    H = KW / problem.lam
    from_dual = certificate(W / problem.lam, H if t is None else H + matmul(problem.U, t))
    return from_dual if from_dual.gap <= max(tol, plain.gap) else plain


def feasible(problem: LabeledProblem, W: Array) -> Array:
    """W in the domain of the conjugate and, with an intercept, with UᵀW = 0: 0 ∈ ∂J/∂b."""
    loss = problem.loss
    W = loss.feasible(W, problem.Psi, problem.weight)
    if problem.U is None:
        return W
    if loss.boxes:
        return _shifted(problem, W)
    # zero stay the rows of points without a gradient of the loss, and missing entries
    xp = array_namespace(W)
    counted = xp.astype(xp.any(W != 0, axis=1)[:, None] & (xp.ones_like(W) > 0), W.dtype)
    if problem.mask is not None:
        counted = xp.where(problem.mask, counted, 0.0)
    U = problem.U
    total = matmul((U * U).T, counted)
    W = W - counted * matmul(U, matmul(U.T, W) / xp.where(total > 0, total, xp.ones_like(total)))
    return _shortened(problem, W)


def _shortened(problem: LabeledProblem, W: Array) -> Array:
    """tW with the largest t ≤ 1 for which it is in the domain of the conjugate, a convex set around 0."""

    def inside(t: float) -> bool:
        return bool(xp.all(problem.loss.feasible(t * W, problem.Psi, problem.weight) == t * W))

    xp = array_namespace(W)
    if inside(1.0):
        return W
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) else (low, middle)
    return low * W


def _shifted(problem: LabeledProblem, W: Array) -> Array:
    """clip(W − U t) to the boxes, t such that UᵀW = 0: each column is a monotone equation in one number."""
    loss, weight = problem.loss, problem.weight
    xp = array_namespace(W)
    U = problem.U
    width = float(xp.max(xp.abs(W))) + float(xp.max(xp.abs(loss.feasible(W * 0.0 + _HUGE, problem.Psi, weight))))
    width = 2 * width / float(xp.max(xp.abs(U)))
    low = matmul(U.T, W) * 0.0 - width
    high = low + 2 * width
    for _ in range(_BISECTIONS):
        t = (low + high) / 2
        above = matmul(U.T, loss.feasible(W - matmul(U, t), problem.Psi, weight)) > 0
        low, high = xp.where(above, t, low), xp.where(above, high, t)
    return loss.feasible(W - matmul(U, (low + high) / 2), problem.Psi, weight)
