"""Confidence of a ranking: p = softmax(f/T), conformal prediction sets, and the calibration of both."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from iokr._validation.arguments import check_numbers
from iokr.data.objects import as_objects

__all__ = [
    "calibration_error",
    "check_scores",
    "group_means",
    "in_set",
    "log_loss",
    "mean_rank",
    "nonconformity",
    "probabilities",
    "quantile",
    "temperature",
]

_GRID = np.logspace(-3, 1, 41)  # temperatures, in units of the largest spread of scores within a set
_GOLDEN = (math.sqrt(5) - 1) / 2
_LARGEST = 1e300  # of a score: differences of scores stay finite
_LOG_TOLERANCE = 1e-4  # of the golden-section search for log T


def check_scores(scores: Any) -> list[np.ndarray]:
    """Scores of the candidates of each query as arrays, checked: numbers, or −∞ for an excluded candidate."""
    found = []
    for i, part in enumerate(as_objects(scores)):
        f = check_numbers(part, f"scores (query {i})")
        if f.ndim != 1 or not len(f):
            raise ValueError(f"`scores` of query {i} must have one number per candidate, got shape {f.shape}.")
        if np.any(np.isnan(f) | (f > _LARGEST)) or np.any(f[np.isfinite(f)] < -_LARGEST):
            raise ValueError(f"`scores` of query {i} contain NaN, infinity or numbers beyond {_LARGEST:g}.")
        found.append(f)
    return found


def probabilities(scores: np.ndarray, T: float) -> np.ndarray:
    """p(y) = exp(f(y)/T) / Σ exp(f/T) over one set of candidates; all 0 if every candidate is excluded (f = −∞)."""
    if np.all(np.isneginf(scores)):
        return np.zeros(len(scores))
    z = (scores - scores.max()) / T
    p = np.exp(z)
    return np.asarray(p / p.sum())


def log_loss(scores: Sequence[np.ndarray], truth: Sequence[int], T: float) -> float:
    """−Σ_i log p(truth_i)."""
    total = 0.0
    for f, t in zip(scores, truth, strict=True):
        z = (f - f.max()) / T
        total += float(np.log(np.exp(z).sum()) - z[t])
    return total


def temperature(scores: Sequence[np.ndarray], truth: Sequence[int]) -> float:
    """argmin_T −Σ_i log softmax(f_i/T)(truth_i): the best of 41 temperatures, refined by golden section.

    The grid goes from 1e-3 to 10 times the spread, which is the largest difference of scores within a set. Sets whose
    scores are all equal have the same likelihood at every T; T is 1 if there is no other set.
    """
    spread = max((float(np.ptp(f[np.isfinite(f)])) for f in scores), default=0.0)
    if spread == 0:
        return 1.0
    grid = _GRID * spread
    best = int(np.argmin([log_loss(scores, truth, T) for T in grid]))
    low = math.log(grid[max(best - 1, 0)])
    high = math.log(grid[min(best + 1, len(grid) - 1)])
    while high - low > _LOG_TOLERANCE:
        a = high - _GOLDEN * (high - low)
        b = low + _GOLDEN * (high - low)
        if log_loss(scores, truth, math.exp(a)) <= log_loss(scores, truth, math.exp(b)):
            high = b
        else:
            low = a
    return math.exp((low + high) / 2)


def nonconformity(scores: Sequence[np.ndarray], truth: Sequence[int], T: float) -> np.ndarray:
    """a_i = 1 − p(truth_i)."""
    return np.array([1 - probabilities(f, T)[t] for f, t in zip(scores, truth, strict=True)])


def group_means(values: np.ndarray, groups: Sequence[Hashable]) -> np.ndarray:
    """The mean of the rows of each group, sorted: spectra of one molecule are not exchangeable, molecules are."""
    members: dict[Hashable, list[float]] = {}
    for value, group in zip(values.tolist(), groups, strict=True):
        members.setdefault(group, []).append(value)
    return np.sort([float(np.mean(group)) for group in members.values()])


def quantile(values: np.ndarray, delta: float) -> float:
    """The ⌈(n + 1)(1 − δ)⌉-th smallest of n values; ∞ if n is too small, so that a set contains all candidates."""
    n = len(values)
    k = math.ceil((n + 1) * (1 - delta) - 1e-12)
    if k > n:
        return math.inf
    return float(np.sort(values)[max(k, 1) - 1])


def in_set(p: np.ndarray, level: float) -> np.ndarray:
    """Which candidates are in the prediction set of level q: those with 1 − p ≤ q, and always the best."""
    return np.asarray((1 - p <= level) | (p == p.max()))


def mean_rank(scores: np.ndarray, truth: int) -> float:
    """The rank of the truth, from 1; tied candidates share the mean of their ranks."""
    above = int((scores > scores[truth]).sum())
    ties = int((scores == scores[truth]).sum())
    return above + (ties + 1) / 2


def calibration_error(p: np.ndarray, right: np.ndarray, bins: int = 10) -> float:
    """The expected calibration error: Σ_b (n_b/n) |mean of p − accuracy| over `bins` bins of equal width."""
    if not len(p):
        return math.nan
    which = np.minimum((p * bins).astype(int), bins - 1)
    # n_b times the gap between mean p and accuracy is the difference of their sums; empty bins add 0
    gaps = np.abs(np.bincount(which, p, bins) - np.bincount(which, right.astype(float), bins))
    return float(gaps.sum() / len(p))
