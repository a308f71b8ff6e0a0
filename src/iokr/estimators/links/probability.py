"""p = σ(a s + b): probabilities of links from their scores."""

from __future__ import annotations

import numpy as np

__all__ = ["fit_logistic", "root_mean_square"]


_STEPS = 100  # of Newton's method, at most
_SMALLEST_STEP = 1e-10  # of the line search
_TOL = 1e-9  # of the gradient, per pair


def root_mean_square(S: np.ndarray) -> float:
    """√ of the mean of S_uv² over pairs u ≠ v; one if all are zero."""
    others = S[~np.eye(len(S), dtype=bool)]
    if not len(others):
        return 1.0
    return float(np.sqrt(np.mean(others**2))) or 1.0


def fit_logistic(linked: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """(a, b) with the smallest log loss of σ(a s + b), by Newton's method.

    One link and one unlinked pair are added at the mean score, and half of each one deviation away, so that a and b
    are finite if scores separate links perfectly, or if there is no link.
    """
    mean = float(scores.mean())
    deviation = float(scores.std()) or 1.0
    z = np.concatenate([(scores - mean) / deviation, [0.0, 0.0, 1.0, -1.0]])
    y = np.concatenate([linked.astype(float), [1.0, 0.0, 0.5, 0.5]])
    Z = np.column_stack([z, np.ones_like(z)])

    def loss(w: np.ndarray) -> float:
        t = Z @ w
        return float(np.sum(np.logaddexp(0.0, t) - y * t))

    w = np.zeros(2)
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-np.clip(Z @ w, -500, 500)))
        gradient = Z.T @ (p - y)
        step = np.linalg.solve((Z * (p * (1 - p))[:, None]).T @ Z + 1e-12 * np.eye(2), gradient)
        size = 1.0
        while loss(w - size * step) > loss(w) and size > _SMALLEST_STEP:
            size /= 2
        w = w - size * step
        if np.max(np.abs(gradient)) < _TOL * len(y):
            break
    return float(w[0] / deviation), float(w[1] - w[0] * mean / deviation)
