"""softmax(−‖h(x) − ψ(y)‖²/T): probabilities over candidates, T by log loss on leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from iokr._array import Array, array_namespace, asarray_like, to_numpy
from iokr.data.candidates import CandidateSets, shared_sequence
from iokr.data.objects import distinct, n_objects, take
from iokr.decoders.candidates import compare_sets
from iokr.embeddings.base import Embedding
from iokr.estimators.outputs import Targets

_SAME = 1e-9  # relative difference of squared distances below which two outputs are the same
_SMALLEST_BETA, _LARGEST_BETA = 1e-6, 1e12  # of 1/T, in units of the largest difference of squared distances
_BISECTIONS = 100

__all__ = ["candidate_probabilities", "log_loss", "softmax", "temperature"]


def candidate_probabilities(
    embedding: Embedding, targets: Targets, H: Array, candidates: Any, distances: Callable[[Any], Any]
) -> Any:
    """Probabilities of the candidates from `distances(candidates)`; T is chosen on H = h₋ᵢ(x_i)."""
    if targets.mask is not None:
        raise ValueError("Probabilities need complete outputs, but `y` has missing entries; drop these rows.")
    squares = distances(candidates)
    outputs = targets.Psi if embedding.S_fit_ is None else embedding.S_fit_
    own = to_numpy(embedding.sq_residuals(H, outputs))
    if isinstance(candidates, CandidateSets):
        sets = CandidateSets([_once(candidates[i % len(candidates)]) for i in range(targets.n)])
        rows = [to_numpy(row) for row in compare_sets(H, embedding, sets, by="distance")]
        others = np.full((len(rows), max(map(len, rows))), np.inf)
        for i, row in enumerate(rows):
            others[i, : len(row)] = row
        T = temperature(own, others, targets.weight)
        return [softmax(row[None, :], T)[0, :] for row in squares]
    S = embedding.represent(_once(shared_sequence(candidates, embedding)), "candidates")
    norms = embedding.sq_norms_of(H)[:, None] + asarray_like(embedding.sq_norms(S), H)[None, :]
    T = temperature(own, np.clip(to_numpy(norms - 2 * embedding.inner(H, S)), 0.0, None), targets.weight)
    return softmax(squares, T)


def _once(candidates: Any) -> Any:
    """Equal candidates once."""
    first, _ = distinct(candidates)
    return candidates if len(first) == n_objects(candidates) else take(candidates, first)


def softmax(squares: Array, T: float) -> Array:
    """exp(−d/T)/Σ exp(−d/T) by rows."""
    xp = array_namespace(squares)
    p = xp.exp((xp.min(squares, axis=1)[:, None] - squares) / T)
    return p / xp.sum(p, axis=1)[:, None]


def log_loss(own: np.ndarray, squares: np.ndarray, T: float, weight: np.ndarray | None = None) -> float:
    """Mean of −log p(y_i), over y_i at squared distance `own` (n,), once, and candidates at `squares` (n, c)."""
    gaps = _with_own(own, squares) - own[:, None]
    return float(np.average(np.logaddexp.reduce(-gaps / T, axis=1), weights=weight))


def _with_own(own: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """(n, c + 1): the true output first; the candidate at its distance, which is the same output, is left out."""
    others = np.array(squares)
    gaps = np.abs(squares - own[:, None])
    rows = np.arange(len(own))
    nearest = gaps.argmin(axis=1)
    same = gaps[rows, nearest] <= _SAME * (1 + own)
    others[rows[same], nearest[same]] = np.inf
    return np.column_stack([own, others])


def temperature(own: np.ndarray, squares: np.ndarray, weight: np.ndarray | None = None) -> float:
    """argmin_T of `log_loss`, which is convex in 1/T.

    If every true output is the nearest candidate the log loss falls to 0 with T; T is then bounded by a mean log loss
    of log(1 + 1/n), as n rows do not support a smaller one. If distances mislead, T is large and all candidates are
    about equally probable.
    """
    gaps = _with_own(own, squares) - own[:, None]
    finite = np.isfinite(gaps)
    gaps = np.where(finite, gaps, 0.0)
    scale = float(np.max(np.abs(gaps)))
    if scale == 0:
        return 1.0

    def too_vague(beta: float) -> bool:
        """Whether the log loss still falls with T, and is above its bound."""
        chances = special.softmax(np.where(finite, -beta * gaps, -np.inf), axis=1)
        falls = np.average((chances * gaps).sum(axis=1), weights=weight) > 0
        lost = np.average(-np.log(np.maximum(chances[:, 0], np.finfo(float).tiny)), weights=weight)
        return bool(falls and lost > np.log1p(1 / len(own)))

    # bisection in β = 1/T
    low, high = _SMALLEST_BETA / scale, 1 / scale
    if not too_vague(low):
        return 1 / low
    while too_vague(high) and high < _LARGEST_BETA / scale:
        low, high = high, 2 * high
    for _ in range(_BISECTIONS):
        beta = (low + high) / 2
        if too_vague(beta):
            low = beta
        else:
            high = beta
    return float(2 / (low + high))
