"""The algorithms of Laforgue et al. 2020 with their stopping rule, the cause of the remaining differences.

In the scale of h(x) = Σ cᵢ k(x, xᵢ) the dual problem is min ½⟨C, QC⟩ − ⟨C, Y⟩ + ε Σ‖cᵢ‖ with ‖cᵢ‖ ≤ ρ, where Q = K + λI
(ε-SVR: K) and ρ = κ/λ (Huber), 1/λ (ε-SVR). They stop when the objective changes by less than a fraction of its first
value, which does not bound the distance from the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from iokr.kernels.vectors import RBF
from iokr.losses.base import Loss
from iokr_lab.losses.duality_protocol import FAMILIES, GAMMA, Matrix, Split, held_out_error

__all__ = ["RULES", "Solved", "solved_as_published"]

JITTER = 1e-8  # added to the diagonal of K for ε-SVR
RULES = {
    "krr": (1e-4, 60),
    "svr": (1e-5, 500),
    "huber": (1e-4, 500),
}  # relative change of the objective, maximal number of iterations


@dataclass(frozen=True)
class Solved:
    """One point of the grid by the published algorithm."""

    error: float  # mean over the splits
    iterations: float  # mean over the splits
    gap: float  # largest relative duality gap over the splits


def solved_as_published(key: str, Lambda: float, value: float, splits: list[Split]) -> Solved:
    """The point (Λ, ε or κ) of the grid, by block coordinate descent or projected gradient."""
    errors = []
    iterations = []
    gaps = []
    for split in splits:
        lam = split.n * Lambda
        K = np.asarray(RBF(GAMMA)(split.X))
        C, n_iter = _descend(key, K, split.Y, lam, value)
        errors.append(held_out_error(np.asarray(RBF(GAMMA)(split.X_test, split.X)) @ C, split.Y_test))
        iterations.append(n_iter)
        gaps.append(relative_gap(FAMILIES[key].loss(value), K, split.Y, lam, C))
    return Solved(float(np.mean(errors)), float(np.mean(iterations)), max(gaps))


def relative_gap(loss: Loss, K: Matrix, Y: Matrix, lam: float, C: Matrix) -> float:
    """(primal − dual)/P₀ at h = KC and the dual point λC."""
    H = K @ C
    energy = lam / 2 * float((C * H).sum())
    primal = float(np.sum(loss.value(H, Y))) + energy
    dual = float(np.sum(loss.dual(lam * C, Y, np.ones(len(Y))))) - energy
    return (primal - dual) / float(np.sum(loss.value(0 * Y, Y)))


def _descend(key: str, K: Matrix, Y: Matrix, lam: float, value: float) -> tuple[Matrix, int]:
    """C and the number of iterations, from C = 0."""
    change, max_iter = RULES[key]
    Q = K + (JITTER if key == "svr" else lam) * np.eye(len(K))
    epsilon = 0.0 if key == "huber" else value
    radius = {"krr": np.inf, "svr": 1 / lam, "huber": value / lam}[key]
    rate = 8 / (np.trace(K) + lam)  # the published step size
    C = np.zeros_like(Y)
    objectives = []
    for _ in range(max_iter):
        if key == "huber":
            C = _projected(C - rate * (Q @ C - Y), radius)
        else:
            _sweep(Q, Y, C, epsilon, radius)
        lengths = np.linalg.norm(C, axis=1)
        objectives.append(float(((Q @ C / 2 - Y) * C).sum() + epsilon * lengths.sum()))
        if len(objectives) > 1 and abs(objectives[-1] - objectives[-2]) < change * abs(objectives[0]):
            break
    return C, len(objectives)


def _projected(C: Matrix, radius: float) -> Matrix:
    """Rows projected to the ball of this radius."""
    lengths = np.linalg.norm(C, axis=1, keepdims=True)
    return np.asarray(C / np.maximum(1, lengths / radius))


def _sweep(Q: Matrix, Y: Matrix, C: Matrix, epsilon: float, radius: float) -> None:
    """One round of exact minimisation over each row in turn, in place: shrink by ε, then project."""
    for i, q in enumerate(np.diag(Q)):
        g = Y[i] - Q[i] @ C + q * C[i]
        length = float(np.sqrt(g @ g))
        if length == 0:
            C[i] = 0.0
            continue
        shrunk = max(length - epsilon, 0.0) / q
        C[i] = g * (min(shrunk, radius) / length)
