"""The duality gap, a bound of the distance of the objective to its minimum."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from iokr._array import Array, array_namespace, to_numpy
from iokr.solvers.iterative.reduced import LabeledKernel, LabeledProblem

__all__ = ["Certificate", "certify", "gap_bound", "sharpened"]

_FEW = 1e-2  # fraction of P₀ below which most rows contribute almost nothing
_HIDDEN = 1e-11  # fraction below which the contribution of the others is rounding in a product with K
_ROUNDING = 1e-15


@dataclass(frozen=True, eq=False)
class Certificate:
    """A primal point, and a bound of the distance of its objective to the minimum."""

    a: Array  # coefficients of the better primal point
    dual: float
    gap: float  # (primal − dual)/P₀


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
    W = problem.loss.feasible(W, problem.Psi, problem.weight)
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
    W = problem.loss.feasible(W, problem.Psi, problem.weight)
    KW = kernel.product(W)
    energy = float(xp.sum(W * KW))
    dual = float(xp.sum(problem.loss.dual(W, problem.Psi, problem.weight))) - energy / (2 * problem.lam)

    def certificate(a: Array, H: Array) -> Certificate:
        primal = problem.objective(H, float(xp.sum(a * H)))
        return Certificate(a, dual, (primal - dual) / max(P0, float(np.finfo(float).tiny)))

    plain, from_dual = certificate(*point), certificate(W / problem.lam, KW / problem.lam)
    return from_dual if from_dual.gap <= max(tol, plain.gap) else plain
