"""What speaks for a predicted link: the training nodes and links with the largest terms in its score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iokr._array import to_numpy
from iokr.apps.report import Table

if TYPE_CHECKING:
    from iokr.apps.links.placed import Placed
    from iokr.apps.links.scores import Scored
    from iokr.estimators.bipartite import BipartitePredictor

__all__ = ["explain", "explain_across", "shared_neighbours", "similarity"]

Matrix = NDArray[np.float64]

_NEAR, _TERMS = 12, 3  # training nodes that are looked at for either end; terms that are told
_BLOCK = 500  # pairs at a time
_FLOPS = 3e10  # that what speaks for links across may cost: some seconds


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
        "share": _share(share),
    }


def explain_across(
    ids: tuple[Any, Any], model: BipartitePredictor, features: tuple[Matrix, Matrix], pairs: NDArray[np.int64]
) -> list[tuple[Table | str, ...]]:
    """For each pair of a row u and a column v, the known links (i, j) with the largest terms M_ij of its score.

    With K₁ = U diag(s) Uᵀ and K₂ = V diag(t) Vᵀ the score is a sum over the known links, Σ_ij Y_ij M_ij with
    M = U [(Uᵀk_u)(Vᵀl_v)ᵀ/(s tᵀ + λ)] Vᵀ. The product with U is made once a row; where that takes too long, for the
    first rows only, and for none where U and V would.
    """
    (X, Z), (n, m) = features, model.links_.shape
    if 10 * (n**3 + m**3) > 10 * _FLOPS:  # of the eigenvectors
        return [()] * len(pairs)
    sides = (model.kernel_, X, n), (model.partner_kernel_, Z, m)
    K, L = (to_numpy(kernel(part, part[:size])) for kernel, part, size in sides)
    (s, U), (t, V) = (np.linalg.eigh(part[:size]) for part, size in ((K, n), (L, m)))
    shrunk = 1 / (np.outer(np.clip(s, 0, None), np.clip(t, 0, None)) + model.alpha_)
    rows, columns = np.nonzero(model.links_ > 0)
    details: list[tuple[Table | str, ...]] = [()] * len(pairs)
    affordable = max(1, int(_FLOPS / (2 * n * n * m)))
    for u in list(dict.fromkeys(pairs[:, 0].tolist()))[:affordable]:
        G = ((U * (K[u] @ U)) @ shrunk)[rows]  # U diag(Uᵀk_u)/(s tᵀ + λ), at the rows of known links
        for p in np.flatnonzero(pairs[:, 0] == u):
            terms = np.einsum("lb,b,lb->l", G, L[pairs[p, 1]] @ V, V[columns])
            best = [k for k in np.argsort(-terms, kind="stable")[:_TERMS] if terms[k] > 0]
            ends = [(str(ids[0][rows[k]]), str(ids[1][columns[k]]), _percent(terms[k], terms)) for k in best]
            told = [{"known link of": one, "and": other, "share": share} for one, other, share in ends]
            details[p] = (Table("Known links that speak most for it", told),) if told else ()
    return details


def _percent(term: float, terms: Matrix) -> str:
    """Of the sum of all terms."""
    total = float(terms.sum())
    return _share(float(term) / total) if total > 0 else "–"


def _share(part: float) -> str:
    """Of a score; where terms of both signs are far larger than their sum, how much larger says nothing."""
    return "> 100 %" if part > 1 else f"{100 * part:.1f} %"
