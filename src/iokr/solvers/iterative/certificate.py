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

    def certificate(a: Array, H: Array) -> Certificate:
        primal = problem.objective(H, float(xp.sum(a * H)))
        t = None if problem.U is None else matmul(problem.U.T, problem.inside(H))
        return Certificate(a, dual, (primal - dual) / max(P0, float(np.finfo(float).tiny)), t)

    plain = certificate(*point)
    from_dual = certificate(W / problem.lam, _with_constants(problem, KW / problem.lam, plain.t))
    return from_dual if from_dual.gap <= max(tol, plain.gap) else plain


def _with_constants(problem: LabeledProblem, H: Array, t: Array | None) -> Array:
    """H plus constants, so that UᵀH = t as far as their shapes allow."""
    if t is None or problem.U is None:
        return H
    missing = t - matmul(problem.U.T, problem.inside(H))
    if problem.S is not None:
        missing = matmul(matmul(missing, problem.S.T), problem.S)
    return with_last(H, problem.inside(H) + matmul(problem.U, missing))


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
    inside = problem.inside(W)
    counted = xp.astype(xp.any(W != 0, axis=1)[:, None] & (xp.ones_like(inside) > 0), W.dtype)
    if problem.mask is not None:
        counted = xp.where(problem.mask, counted, 0.0)
    return _shortened(problem, with_last(W, inside - counted * _explained(problem, inside, counted)))


def _explained(problem: LabeledProblem, W: Array, counted: Array) -> Array:
    """U t with Uᵀ(W − counted∘U t) = 0; with shapes U t S with the same along these."""
    xp = array_namespace(W)
    U, S = problem.U, problem.S
    assert U is not None
    sums, total = matmul(U.T, W), matmul((U * U).T, counted)
    if S is None:
        return matmul(U, sums / xp.where(total > 0, total, xp.ones_like(total)))
    known = matmul(S * total, S.T)
    t = matmul(xp.linalg.pinv(known), matmul(S, sums.T))
    return matmul(U, matmul(t.T, S))


def with_last(X: Array, inside: Array) -> Array:
    """X with other values in the first columns; the last stays if these are fewer."""
    if inside.shape[1] == X.shape[1]:
        return inside
    return array_namespace(X).concat([inside, X[:, -1:]], axis=1)


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
    """clip(W − U t) to the boxes with UᵀW = 0, or UᵀW Sᵀ = 0: each column is a monotone equation in one number.

    Of shapes [D, F], D diagonal, the first columns answer for the others: D(UᵀW)₁ = −F(UᵀW)₂.
    """
    U = problem.U
    assert U is not None
    xp = array_namespace(W)

    ends = [problem.loss.feasible(W * 0.0 + far, problem.Psi, problem.weight) for far in (-_HUGE, _HUGE)]

    def clipped(V: Array) -> Array:
        return xp.minimum(xp.maximum(V, ends[0]), ends[1])

    r, goal = int(W.shape[1]), matmul(U.T, W) * 0.0
    if problem.shapes is not None:
        r = int(problem.shapes.shape[0])
        D, F = xp.linalg.diagonal(problem.shapes[:, :r]), problem.shapes[:, r:]
        goal = -matmul(matmul(U.T, W[:, r:]), F.T) / D[None, :]
        reach = [matmul(U.T, end)[:, :r] for end in ends]
        if bool(xp.any((goal < reach[0]) | (goal > reach[1]))):  # far from the solution
            W = xp.concat([W[:, :r], W[:, r:] * 0.0], axis=1)
            goal = goal * 0.0
    free, rest = W[:, :r], W[:, r:]
    width = float(xp.max(xp.abs(W))) + max(float(xp.max(xp.abs(end))) for end in ends)
    high = matmul(U.T, free) * 0.0 + 2 * width / float(xp.max(xp.abs(U)))
    low = -high
    for _ in range(_BISECTIONS):
        t = (low + high) / 2
        moved = clipped(xp.concat([free - matmul(U, t), rest], axis=1))[:, :r]
        above = matmul(U.T, moved) > goal
        low, high = xp.where(above, t, low), xp.where(above, high, t)
    return clipped(xp.concat([free - matmul(U, (low + high) / 2), rest], axis=1))
