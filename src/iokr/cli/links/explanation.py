"""What speaks for a predicted link: the training nodes and links with the largest terms in its score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iokr.report import Table

if TYPE_CHECKING:
    from iokr.cli.links.placed import Placed
    from iokr.cli.links.scores import Scored

__all__ = ["explain", "shared_neighbours", "similarity"]

_NEAR, _TERMS = 12, 3  # training nodes that are looked at for either end; terms that are told
_BLOCK = 500  # pairs at a time


def similarity(placed: Placed, scored: Scored, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """k(u, v)/√(k(u, u) k(v, v)) by the features."""
    kernel, X = scored.kernel, placed.X
    found = np.empty(len(pairs))
    for start in range(0, len(pairs), _BLOCK):
        part = pairs[start : start + _BLOCK]
        u, at = np.unique(part[:, 0], return_inverse=True)
        v, to = np.unique(part[:, 1], return_inverse=True)
        K = np.asarray(kernel(X[u], X[v]))[at, to]
        sizes = [np.asarray(kernel.diag(kernel.represent(X[ends]))) for ends in (u, v)]
        found[start : start + len(part)] = K / np.sqrt(np.maximum(sizes[0][at] * sizes[1][to], 1e-300))
    return found


def shared_neighbours(placed: Placed, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Known partners of both ends of each pair."""
    known = placed.adjacency.astype(bool).astype(np.int64)
    return np.asarray(known[pairs[:, 0]].multiply(known[pairs[:, 1]]).sum(axis=1)).ravel().astype(np.int64)


def explain(placed: Placed, scored: Scored, pairs: NDArray[np.int64]) -> list[tuple[Table | str, ...]]:
    """For each pair, the largest terms S_ij (l_ui r_vj + r_ui l_vj)/2 of its score, i among the training nodes most
    like u and j among those most like v."""
    details: list[tuple[Table | str, ...]] = []
    ids, linked = placed.ids, placed.adjacency.astype(bool)
    for start in range(0, len(pairs), _BLOCK):
        part = pairs[start : start + _BLOCK]
        nodes, ends = np.unique(part, return_inverse=True)
        u, v = ends.reshape(-1, 2).T
        L, R = scored.sides(nodes)
        k = min(_NEAR, R.shape[1])
        near = np.argpartition(-np.maximum(np.abs(L), np.abs(R)), k - 1, axis=1)[:, :k]
        i, j = near[u][:, :, None], near[v][:, None, :]
        at_u, at_v = u[:, None, None], v[:, None, None]
        terms = scored.weight(i, j) * (L[at_u, i] * R[at_v, j] + R[at_u, i] * L[at_v, j]) / 2
        scores = scored.scores(part)
        flat = terms.reshape(len(part), -1)
        largest = np.argsort(-flat, axis=1, kind="stable")[:, :_TERMS]
        for p, best in enumerate(largest):
            rows = []
            for t in best:
                if not flat[p, t] > 0:
                    continue
                a, b = int(scored.points[near[u[p], t // k]]), int(scored.points[near[v[p], t % k]])
                rows.append(_row(ids, linked, a, b, flat[p, t] / scores[p] if scores[p] else np.nan))
            details.append((Table("Training nodes that speak most for it", rows),) if rows else ())
    return details


def _row(ids: Any, linked: Any, a: int, b: int, share: float) -> dict[str, Any]:
    between = "one node" if a == b else "linked" if linked[a, b] else "not linked"
    return {
        "like the one": str(ids[a]),
        "like the other": str(ids[b]),
        "they are": between,
        "share": f"{100 * share:.1f} %",
    }
