"""softmax(−‖h(x) − ψ(y)‖²/T): probabilities over candidates, T by log loss on leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, to_numpy
from iokr.data.candidates import CandidateSets, shared_sequence
from iokr.data.objects import distinct, n_objects, take
from iokr.decoders.candidates import compare_sets
from iokr.embeddings.base import Embedding
from iokr.estimators.outputs import Targets

__all__ = ["candidate_probabilities", "log_loss", "softmax", "temperature"]


def candidate_probabilities(
    embedding: Embedding, targets: Targets, H: Array, candidates: Any, distances: Callable[[Any], Any]
) -> Any:
    """Probabilities of the candidates from `distances(candidates)`; H is h₋ᵢ(x_i), to find T on."""
    if targets.mask is not None:
        raise ValueError("`y` has missing entries, so its distance to h(x) is not known; drop these rows.")
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
    """Mean of −log p(y_i), over the candidates at `squares` (n, c) and y_i itself, at `own` (n,), counted once."""
    gaps = _with_own(own, squares) - own[:, None]
    return float(np.average(np.logaddexp.reduce(-gaps / T, axis=1), weights=weight))


def _with_own(own: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """(n, c + 1): the true output first, so that the candidate at its distance, which is itself, no longer counts."""
    others, gaps = np.array(squares), np.abs(squares - own[:, None])
    rows, nearest = np.arange(len(own)), gaps.argmin(axis=1)
    same = gaps[rows, nearest] <= 1e-9 * (1 + own)
    others[rows[same], nearest[same]] = np.inf
    return np.column_stack([own, others])


def temperature(own: np.ndarray, squares: np.ndarray, weight: np.ndarray | None = None) -> float:
    """argmin_T of `log_loss`, which is convex in 1/T.

    Where every truth is the nearest candidate the log loss falls to 0 as T does; T then stays where the mean log loss
    is log(1 + 1/n): n rows cannot tell more. Where distances mislead, all candidates are nearly alike.
    """
    gaps = _with_own(own, squares) - own[:, None]
    finite = np.isfinite(gaps)
    gaps = np.where(finite, gaps, 0.0)
    scale = float(np.max(np.abs(gaps)))
    if scale == 0:
        return 1.0

    def p(beta: float) -> np.ndarray:
        logits = np.where(finite, -beta * gaps, -np.inf)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def too_vague(beta: float) -> bool:
        """Whether the log loss still falls, and is not as small as n rows can tell."""
        chances = p(beta)
        falls = np.average((chances * gaps).sum(axis=1), weights=weight) > 0
        lost = np.average(-np.log(np.maximum(chances[:, 0], np.finfo(float).tiny)), weights=weight)
        return bool(falls and lost > np.log1p(1 / len(own)))

    low, high = 1e-6 / scale, 1 / scale
    if not too_vague(low):
        return 1 / low
    while too_vague(high) and high < 1e12 / scale:
        low, high = high, 2 * high
    for _ in range(100):
        beta = (low + high) / 2
        low, high = (beta, high) if too_vague(beta) else (low, beta)
    return float(2 / (low + high))
