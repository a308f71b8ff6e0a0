"""The best pairs that are not known to be linked, and what is told of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.links.comparison import Evaluated
from iokr.apps.links.explanation import shared_neighbours, similarity
from iokr.apps.links.placed import Placed
from iokr.apps.links.scores import Scored
from iokr.estimators.links.ranking import best_pairs, f1_threshold

__all__ = ["ranked", "rows_of", "threshold_of"]

Numbers = NDArray[np.int64]


def ranked(
    placed: Placed, scored: Scored, lists: tuple[Numbers, Numbers] | None, top: int
) -> tuple[Numbers, NDArray[np.float64]]:
    """The best pairs that are not known to be linked, and their scores; the smaller number, or a later node, first.

    Pairs between two lists that share nodes are those of what one has alone and all of the other, of what they share
    and the rest of the other, and of two shared nodes.
    """
    everyone = np.arange(len(placed.ids))
    one, other = (everyone, everyone) if lists is None else lists
    both = np.intersect1d(one, other)
    alone, rest = np.setdiff1d(one, both), np.setdiff1d(other, both)
    parts = [
        _between(placed, scored, alone, np.union1d(rest, both), top),
        _between(placed, scored, both, rest, top),
        _between(placed, scored, both, None, top),
    ]
    ends, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
    if not len(ends):
        raise ValueError("Every pair that was asked for is known to be linked, or is a node and itself.")
    order = np.lexsort((ends[:, 1], ends[:, 0], -scores))[:top]
    ends, scores = ends[order], scores[order]
    later = ends >= placed.n_fitted
    return np.where((later[:, 1] & ~later[:, 0])[:, None], ends[:, ::-1], ends), scores


def _between(
    placed: Placed, scored: Scored, one: Numbers, other: Numbers | None, top: int
) -> tuple[Numbers, NDArray[np.float64]]:
    """The best pairs of a node of one list and one of another, which shares none, or of two nodes of one list."""
    to = one if other is None else other
    if not len(one) or not len(to):
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    links = np.column_stack(placed.adjacency.tocsr()[one][:, to].nonzero())
    pairs, scores = best_pairs(scored.A[one], scored.B[to], top=top, known=links, one_list=other is None)
    return np.sort(np.column_stack([one[pairs[:, 0]], to[pairs[:, 1]]]), axis=1).astype(np.int64), scores


def threshold_of(placed: Placed, scored: Scored, evaluated: Sequence[Evaluated]) -> float:
    """That of the largest F1 on the pairs of the folds, or, without folds, on those that were learned from."""
    known = placed.labeled
    if evaluated:
        return scored.size(known) * evaluated[0].threshold
    a, b = np.triu_indices(len(known), k=1)
    linked = placed.adjacency[known][:, known].toarray()[a, b] != 0
    return f1_threshold(linked, scored.scores(np.column_stack([known[a], known[b]])))


def rows_of(
    placed: Placed,
    scored: Scored,
    evaluated: Sequence[Evaluated],
    threshold: float,
    pairs: Numbers,
    scores: NDArray[np.float64],
) -> list[dict[str, Any]]:
    """Rows of the list of predicted links."""
    labeled = np.isin(np.arange(len(placed.ids)), placed.labeled)
    kinds = np.array(["new–new", "labelled–new", "labelled–labelled"])[labeled[pairs].sum(axis=1)]
    columns: dict[str, Any] = {}
    if evaluated:
        relative = scores / scored.size(placed.labeled)
        columns["probability"] = evaluated[0].probability(relative)
        columns["expected precision"] = evaluated[0].precision(relative)
    alike, shared = similarity(placed, scored, pairs), shared_neighbours(placed, pairs)
    return [
        {
            "rank": r + 1,
            "source": str(placed.ids[i]),
            "target": str(placed.ids[j]),
            "score": float(scores[r]),
            **{name: float(values[r]) for name, values in columns.items()},
            "pair": str(kinds[r]),
            "shared partners": int(shared[r]),
            "similarity": float(alike[r]),
            "above threshold": bool(scores[r] > threshold),
        }
        for r, (i, j) in enumerate(pairs)
    ]
