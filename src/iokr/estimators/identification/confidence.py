"""How far a ranking can be trusted: p = softmax(f/T), sets that hold the truth, and how well both are calibrated."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

__all__ = [
    "calibration_error",
    "group_means",
    "log_loss",
    "mean_rank",
    "nonconformity",
    "probabilities",
    "quantile",
    "temperature",
]

_GRID = np.logspace(-3, 1, 41)
_GOLDEN = (math.sqrt(5) - 1) / 2


def probabilities(scores: np.ndarray, T: float) -> np.ndarray:
    """p(y) = exp(f(y)/T) / Σ exp(f/T) over one set of candidates; 0 for all where each is excluded, f = −∞."""
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
    """argmin_T −Σ_i log softmax(f_i/T)(truth_i): 41 values from 1e-3 to 10 times the spread, then golden section.

    The spread is the largest difference within a set. Sets whose candidates all have one score say nothing about T and
    do not count; T is 1 when there is no other.
    """
    pairs = [(np.asarray(f, dtype=float), int(t)) for f, t in zip(scores, truth, strict=True)]
    spreads = [float(np.ptp(f[np.isfinite(f)])) for f, _ in pairs]
    some, which = [f for f, _ in pairs], [t for _, t in pairs]
    if max(spreads, default=0.0) == 0:
        return 1.0
    grid = _GRID * max(spreads)
    losses = [log_loss(some, which, T) for T in grid]
    best = int(np.argmin(losses))
    low, high = math.log(grid[max(best - 1, 0)]), math.log(grid[min(best + 1, len(grid) - 1)])
    while high - low > 1e-4:
        a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if log_loss(some, which, math.exp(a)) <= log_loss(some, which, math.exp(b)):
            high = b
        else:
            low = a
    return math.exp((low + high) / 2)


def nonconformity(scores: Sequence[np.ndarray], truth: Sequence[int], T: float) -> np.ndarray:
    """a_i = 1 − p(truth_i)."""
    return np.array([1 - probabilities(f, T)[int(t)] for f, t in zip(scores, truth, strict=True)])


def group_means(values: np.ndarray, groups: Sequence[Hashable]) -> np.ndarray:
    """One value a group, the mean of its rows, sorted: repeated molecules are not exchangeable rows."""
    sums: dict[Hashable, list[float]] = {}
    for value, group in zip(values.tolist(), groups, strict=True):
        sums.setdefault(group, []).append(value)
    return np.sort([float(np.mean(some)) for some in sums.values()])


def quantile(values: np.ndarray, delta: float) -> float:
    """q, the ⌈(n + 1)(1 − δ)⌉-th smallest of n values; ∞ when there is none, and the set is then the whole one."""
    n = len(values)
    k = math.ceil((n + 1) * (1 - delta) - 1e-12)
    return math.inf if k > n else float(np.sort(values)[max(k, 1) - 1])


def mean_rank(scores: np.ndarray, truth: int) -> float:
    """1 + how many are above the truth + half of those that tie with it."""
    above, ties = int((scores > scores[truth]).sum()), int((scores == scores[truth]).sum())
    return above + (ties + 1) / 2


def calibration_error(p: np.ndarray, right: np.ndarray, bins: int = 10) -> float:
    """Σ_b (n_b/n) |mean of p − share that is right| over `bins` bins of equal width: the expected calibration error."""
    if not len(p):
        return math.nan
    number = np.minimum((p * bins).astype(int), bins - 1)
    total = np.bincount(number, minlength=bins)
    gaps = np.abs(np.bincount(number, p, bins) - np.bincount(number, right.astype(float), bins))
    return float(gaps[total > 0].sum() / len(p))
