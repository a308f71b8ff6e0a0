"""The algorithms of Laforgue et al. 2020 with their rule to stop: what is left between their errors and ours.

In the scale of h(x) = Σ cᵢ k(x, xᵢ) the dual problem is min ½⟨C, QC⟩ − ⟨C, Y⟩ + ε Σ‖cᵢ‖ with ‖cᵢ‖ ≤ ρ, where Q = K + λI
(ε-SVR: K) and ρ = κ/λ (Huber), 1/λ (ε-SVR). They stop when the objective changes by less than a fraction of its first
value: cheap, and no bound on the distance from the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from iokr.kernels.vectors import RBF
from iokr.losses.base import Loss
from iokr_lab.losses.duality_protocol import FAMILIES, GAMMA, Matrix, Split, held_out_error

__all__ = ["RULES", "Stopped", "as_they_stop"]

JITTER = 1e-8  # added to K for ε-SVR
RULES = {"krr": (1e-4, 60), "svr": (1e-5, 500), "huber": (1e-4, 500)}  # change of the objective, rounds at most


@dataclass(frozen=True)
class Stopped:
    """One point of the grid by their algorithm, means over the splits."""

    error: float
    rounds: float
    gap: float  # relative duality gap where it stopped, the largest


def as_they_stop(key: str, Lambda: float, value: float, splits: list[Split]) -> Stopped:
    """The point (Λ, ε or κ) of the grid, by block coordinate descent or projected gradient."""
    errors = []
    rounds = []
    gaps = []
    for split in splits:
        lam = split.n * Lambda
        K = np.asarray(RBF(GAMMA)(split.X))
        C, n_rounds = _descend(key, K, split.Y, lam, value)
        errors.append(held_out_error(np.asarray(RBF(GAMMA)(split.X_test, split.X)) @ C, split.Y_test))
        rounds.append(n_rounds)
        gaps.append(relative_gap(FAMILIES[key].loss(value), K, split.Y, lam, C))
    return Stopped(float(np.mean(errors)), float(np.mean(rounds)), max(gaps))


def relative_gap(loss: Loss, K: Matrix, Y: Matrix, lam: float, C: Matrix) -> float:
    """(primal − dual)/P₀ at h = KC and the dual point λC."""
    H = K @ C
    energy = lam / 2 * float((C * H).sum())
    primal = float(np.sum(loss.value(H, Y))) + energy
    dual = float(np.sum(loss.dual(lam * C, Y, np.ones(len(Y))))) - energy
    return (primal - dual) / float(np.sum(loss.value(0 * Y, Y)))


def _descend(key: str, K: Matrix, Y: Matrix, lam: float, value: float) -> tuple[Matrix, int]:
    """C and the number of rounds, from C = 0."""
    change, most = RULES[key]
    Q = K + (JITTER if key == "svr" else lam) * np.eye(len(K))
    epsilon = 0.0 if key == "huber" else value
    radius = {"krr": np.inf, "svr": 1 / lam, "huber": value / lam}[key]
    rate = 8 / (np.trace(K) + lam)  # of the gradient step, theirs
    C = np.zeros_like(Y)
    objectives = []
    for _ in range(most):
        if key == "huber":
            C = _cut(C - rate * (Q @ C - Y), radius)
        else:
            _sweep(Q, Y, C, epsilon, radius)
        lengths = np.linalg.norm(C, axis=1)
        objectives.append(float(((Q @ C / 2 - Y) * C).sum() + epsilon * lengths.sum()))
        if len(objectives) > 1 and abs(objectives[-1] - objectives[-2]) < change * abs(objectives[0]):
            break
    return C, len(objectives)


def _cut(C: Matrix, radius: float) -> Matrix:
    """Rows no longer than `radius`."""
    lengths = np.linalg.norm(C, axis=1, keepdims=True)
    return np.asarray(C / np.maximum(1, lengths / radius))


def _sweep(Q: Matrix, Y: Matrix, C: Matrix, epsilon: float, radius: float) -> None:
    """The exact minimum over each row in turn, in place: shrink by ε, then cut."""
    for i, q in enumerate(np.diag(Q)):
        g = Y[i] - Q[i] @ C + q * C[i]
        length = float(np.sqrt(g @ g))
        C[i] = g * (min(max(length - epsilon, 0.0) / q, radius) / length) if length > 0 else 0.0
