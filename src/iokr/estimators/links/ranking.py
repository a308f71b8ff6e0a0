"""The best pairs without the matrix of all pairs, thresholds, and probabilities p = σ(a s + b) from scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, blocks, gemm, to_numpy
from iokr._validation.arguments import COUNT, FLAG, check_number, either

__all__ = ["best_pairs", "f1_threshold", "fit_logistic", "lower_bound", "root_mean_square"]

_PANEL = 1 << 22  # scores held at a time
_STEPS = 100  # of Newton's method, at most
_SMALLEST_STEP = 1e-10  # of the line search
_TOL = 1e-9  # of the gradient, per pair


def lower_bound(threshold: Any, top: Any, known: Any, default: Callable[[], float]) -> float:
    """The score that listed pairs exceed: `threshold`; without one none with `top`, else `default()`.

    The other arguments of `predict_links` are checked: `top` is None or a number of pairs, `known` True or False.
    """
    FLAG(known, "known")
    either(None, COUNT)(top, "top")
    if threshold is not None:
        return check_number(threshold, "threshold")
    return -np.inf if top is not None else default()


def best_pairs(
    A: Array,
    B: Array,
    *,
    top: int | None = None,
    above: float = -np.inf,
    known: Array | None = None,
    one_list: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs (i, j) with ⟨a_i, b_j⟩ > above, best first, at most `top`; equal scores in the order of (i, j).

    With `one_list` both are factors of the same nodes, and pairs have i < j; `known` pairs (k, 2) are left out. Scores
    are computed a panel of rows at a time, and only what can still be among the best is kept: memory is that of a panel
    and of `top` pairs, never that of the m1 × m2 matrix.
    """
    xp = array_namespace(A)
    m = int(B.shape[0])
    left_out = np.empty(0, dtype=np.intp) if known is None else np.unique(known[:, 0] * m + known[:, 1])
    parts = [(np.empty((0, 2), dtype=np.intp), np.empty(0))]
    cut = above
    for rows in blocks(A.shape[0], max(1, _PANEL // max(m, 1))):
        start = rows.start if one_list else 0  # with one list, columns before `start` have i > j
        S = gemm(A[rows, :], B[start:, :])
        flat = xp.reshape(S, (-1,))
        hits = xp.nonzero(flat > cut)[0]
        flat_index = to_numpy(hits)
        scores = to_numpy(xp.take(flat, hits, axis=0))
        i = flat_index // (m - start) + rows.start
        j = flat_index % (m - start) + start
        keep = ~np.isin(i * m + j, left_out)
        if one_list:
            keep &= j > i
        parts.append((np.column_stack([i[keep], j[keep]]), scores[keep]))
        if top is not None:
            best, best_scores = _best(parts, top)
            parts = [(best, best_scores)]
            if len(best) == top:
                cut = max(above, float(best_scores[-1]))  # later pairs with this score come after those found
    return _best(parts, top)


def _best(parts: list[tuple[np.ndarray, np.ndarray]], top: int | None) -> tuple[np.ndarray, np.ndarray]:
    """All parts in one list, best first, at most `top` pairs; of equal scores the earlier pair first."""
    pairs = np.concatenate([p for p, _ in parts])
    scores = np.concatenate([s for _, s in parts])
    candidates = np.arange(len(scores))
    if top is not None and len(scores) > top:  # only these need to be sorted
        place = len(scores) - top
        candidates = np.flatnonzero(scores >= np.partition(scores, place)[place])
    order = candidates[np.argsort(-scores[candidates], kind="stable")[:top]]
    return pairs[order], scores[order]


def f1_threshold(truth: Array, scores: Array) -> float:
    """The θ at which 1{score > θ} has the largest F1 = 2tp/(2tp + fp + fn); between two scores, the largest such θ."""
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(truth[order])
    s = scores[order]
    last = np.append(s[1:] < s[:-1], True)  # equal scores are accepted together
    f1 = np.where(last, 2 * hits / (np.arange(1, len(s) + 1) + hits[-1]), -1.0)
    best = int(np.argmax(f1))
    if best + 1 == len(s):
        return float(np.nextafter(s[-1], -np.inf))
    between = float((s[best] + s[best + 1]) / 2)
    if between < s[best]:
        return between
    return float(s[best + 1])  # the mean of neighbouring floats can be the larger one


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
