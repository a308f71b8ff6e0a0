"""Scores of the candidates of some queries; where they are many, the forward model says which are worth the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.data.candidates import CandidateSets
from iokr.estimators.identification.model import Identification

__all__ = ["BEST", "MANY", "all_scores"]

MANY = 20_000  # candidates of a run, beyond which only the best by the forward model are scored by the reverse one
BEST = 100  # of each query


def all_scores(
    model: Identification,
    X: Any,
    candidates: CandidateSets,
    names: Sequence[Sequence[Any]],
    *,
    best: int | None = None,
    own: str | None = None,
) -> dict[str, list[NDArray[Any]]]:
    """Scores by method; with `best` those of the reverse model and of both are −∞ but for that many of each query.

    A score of the forward model is cheap, one of the reverse model costs 2n² for its norm.
    """
    forward = model.scores(X, candidates, names, method="forward", own=own)
    methods = [method for method in dict.fromkeys((model.method, "reverse")) if method != "forward"]
    if best is None or all(len(f) <= best for f in forward):
        return {"forward": forward} | {m: model.scores(X, candidates, names, method=m, own=own) for m in methods}
    chosen = [np.sort(np.argsort(-f, kind="stable")[:best]) for f in forward]
    some = CandidateSets([rows[kept] for rows, kept in zip(candidates.sets, chosen, strict=True)])
    theirs = [[listed[k] for k in kept] for listed, kept in zip(names, chosen, strict=True)]
    found = {"forward": forward}
    for method in methods:
        found[method] = [np.full(len(f), -np.inf) for f in forward]
        for f, kept, values in zip(
            found[method], chosen, model.scores(X, some, theirs, method=method, own=own), strict=True
        ):
            f[kept] = values
    return found
