"""Evidence for a predicted link: the training nodes, or the known links, with the largest terms in its score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from iokr._array import blocks, to_numpy
from iokr.apps.links.data import Matrix, Numbers
from iokr.apps.links.nodes import ModelNodes, PairScores
from iokr.apps.report import Table
from iokr.estimators.bipartite import BipartitePredictor
from iokr.kernels.base import Kernel

__all__ = ["Terms", "evidence", "evidence_across", "shared_neighbours", "similarity"]

Details = list[tuple[Table, ...]]  # of each pair

_NEAR, _TERMS = 12, 3  # training nodes that are considered for either end; terms that are shown
_BLOCK = 500  # pairs at a time
_FLOPS = 3e10  # for the evidence of links between two kinds: some seconds
_EIGH = 10  # flops of an eigendecomposition, per n³
_TINY = 1e-300  # a product of squared norms that is 0


# ------------------------------------------------------------------------------------------------- the terms of a score


@dataclass(frozen=True, eq=False)
class Terms:
    """f(u, v) = Σ_ij S_ij (l_ui r_vj + r_ui l_vj)/2 over training nodes i and j, with l and r rows of kernels."""

    kernel: Kernel
    points: Numbers  # the nodes that have coefficients
    rows: Callable[[Numbers], tuple[Matrix, Matrix]]  # (l, r) of some nodes
    weight: Callable[[Numbers, Numbers], Matrix]  # S_ij of lists i, j of one shape

    @classmethod
    def of(cls, parts: Sequence[tuple[str, Any, float]], nodes: ModelNodes) -> Terms:
        """Of fitted models (method, model, slope) of one kind of nodes; their sum has the terms of all."""
        of_method = {"iokr": _of_link_predictor, "pairs": _of_pair_model}
        return reduce(_add, (of_method[method](nodes, model, slope) for method, model, slope in parts))


def _of_link_predictor(nodes: ModelNodes, fitted: Any, slope: float) -> Terms:
    """⟨h(u), h(v)⟩ = Σ_ij k(u, i) ⟨c_i, c_j⟩ k(v, j)."""
    model = fitted.model_
    labeled = fitted.labeled_
    C = to_numpy(model.solution_.C)
    points = labeled
    if len(C) > len(labeled):  # semi-supervised
        points = np.append(labeled, np.setdiff1d(np.arange(nodes.sides[0].n_fitted), labeled))

    def weight(i: Numbers, j: Numbers) -> Matrix:
        return np.asarray(slope * np.einsum("...k,...k->...", C[i], C[j]))

    return Terms(model.kernel_, points, _rows(nodes, model.kernel_, points), weight)


def _of_pair_model(nodes: ModelNodes, model: Any, slope: float) -> Terms:
    """Σ_ij S_ij (m_ui k_vj + k_ui m_vj)."""
    S = to_numpy(model.ridge_.S)

    def weight(i: Numbers, j: Numbers) -> Matrix:
        return np.asarray(slope * (2 * S[i, j]))

    rows = _rows(nodes, model.kernel_, model.labeled_, model.ridge_.mix)
    return Terms(model.kernel_, model.labeled_, rows, weight)


def _rows(
    nodes: ModelNodes, kernel: Kernel, points: Numbers, mix: float = 0.0
) -> Callable[[Numbers], tuple[Matrix, Matrix]]:
    """(m, k) of some nodes: k_ui, and m_ui = (1 − mix) k_ui + mix [u = i], over the points i."""
    [side] = nodes.sides

    def rows(some: Numbers) -> tuple[Matrix, Matrix]:
        K = to_numpy(kernel(side.X[some], side.X[points]))
        return (1 - mix) * K + mix * (some[:, None] == points[None, :]), K

    return rows


def _add(one: Terms, other: Terms) -> Terms:
    """The sum of two models: the training nodes of both, no term between them."""
    n = len(one.points)

    def rows(nodes: Numbers) -> tuple[Matrix, Matrix]:
        (L, R), (M, K) = one.rows(nodes), other.rows(nodes)
        return np.hstack([L, M]), np.hstack([R, K])

    def weight(i: Numbers, j: Numbers) -> Matrix:
        i, j = np.broadcast_arrays(i, j)
        S = np.zeros(i.shape)
        first = (i < n) & (j < n)
        second = (i >= n) & (j >= n)
        S[first] = one.weight(i[first], j[first])
        S[second] = other.weight(i[second] - n, j[second] - n)
        return S

    return Terms(one.kernel, np.concatenate([one.points, other.points]), rows, weight)


# ---------------------------------------------------------------------------------------------------- one kind of nodes


def similarity(nodes: ModelNodes, kernel: Kernel, pairs: Numbers) -> Matrix:
    """k(u, v)/√(k(u, u) k(v, v)) by the features."""
    [side] = nodes.sides
    X = side.X
    found = np.empty(len(pairs))
    for rows in blocks(len(pairs), _BLOCK):
        u, at = np.unique(pairs[rows, 0], return_inverse=True)
        v, to = np.unique(pairs[rows, 1], return_inverse=True)
        K = np.asarray(kernel(X[u], X[v]))[at, to]
        one, other = (np.asarray(kernel.diag(kernel.represent(X[ends]))) for ends in (u, v))
        found[rows] = K / np.sqrt(np.maximum(one[at] * other[to], _TINY))
    return found


def shared_neighbours(nodes: ModelNodes, pairs: Numbers) -> Numbers:
    """The number of known partners that both ends of each pair have."""
    known = nodes.adjacency.astype(bool).astype(np.int64)
    both = known[pairs[:, 0]].multiply(known[pairs[:, 1]])
    return np.asarray(both.sum(axis=1)).ravel().astype(np.int64)


def evidence(nodes: ModelNodes, scores: PairScores, terms: Terms, pairs: Numbers) -> Details:
    """For each pair, the largest terms S_ij (l_ui r_vj + r_ui l_vj)/2 of its score, i among the training nodes most
    like u and j among those most like v."""
    details: Details = []
    linked = nodes.adjacency.astype(bool)
    for block in blocks(len(pairs), _BLOCK):
        part = pairs[block]
        ends, at = np.unique(part, return_inverse=True)
        u, v = at.reshape(-1, 2).T
        L, R = terms.rows(ends)
        k = min(_NEAR, R.shape[1])
        near = np.argpartition(-np.maximum(np.abs(L), np.abs(R)), k - 1, axis=1)[:, :k]
        i = near[u][:, :, None]
        j = near[v][:, None, :]
        at_u = u[:, None, None]
        at_v = v[:, None, None]
        values = (terms.weight(i, j) * (L[at_u, i] * R[at_v, j] + R[at_u, i] * L[at_v, j]) / 2).reshape(len(part), -1)
        totals = scores.of_pairs(part)
        largest = np.argsort(-values, axis=1, kind="stable")[:, :_TERMS]
        for p, best in enumerate(largest):
            rows = []
            for t in best[values[p, best] > 0]:
                a = int(terms.points[near[u[p], t // k]])
                b = int(terms.points[near[v[p], t % k]])
                between = "linked" if linked[a, b] else "not linked"
                rows.append(
                    {
                        "similar to source": str(nodes.ids[a]),
                        "similar to target": str(nodes.ids[b]),
                        "pair": "same node" if a == b else between,
                        "share of score": _share(values[p, t] / totals[p] if totals[p] else np.nan),
                    }
                )
            details.append((Table("Evidence: training nodes that contribute most to the score", rows),) if rows else ())
    return details


def _share(part: float) -> str:
    """Of a score; where terms of both signs are far larger than their sum, the exact ratio is of no use."""
    return "> 100 %" if part > 1 else f"{100 * part:.1f} %"


# --------------------------------------------------------------------------------------------------- two kinds of nodes


def evidence_across(nodes: ModelNodes, model: BipartitePredictor, pairs: Numbers) -> Details:
    """For each pair of a row u and a column v, the known links (i, j) with the largest terms M_ij of its score.

    With K₁ = U diag(s) Uᵀ and K₂ = V diag(t) Vᵀ the score is a sum over the known links, Σ_ij Y_ij M_ij with
    M = U [(Uᵀk_u)(Vᵀl_v)ᵀ/(s tᵀ + λ)] Vᵀ. The product with U is made once a row; where that takes too long, for the
    first rows only, and for none where U and V would.
    """
    details: Details = [()] * len(pairs)
    row_side, column_side = nodes.sides
    n, m = model.links_.shape
    if _EIGH * (n**3 + m**3) > 10 * _FLOPS:
        return details
    K = to_numpy(model.kernel_(row_side.X, row_side.X[:n]))
    L = to_numpy(model.partner_kernel_(column_side.X, column_side.X[:m]))
    s, U = np.linalg.eigh(K[:n])
    t, V = np.linalg.eigh(L[:m])
    shrunk = 1 / (np.outer(np.clip(s, 0, None), np.clip(t, 0, None)) + model.alpha_)
    known_rows, known_columns = np.nonzero(model.links_ > 0)
    affordable = max(1, int(_FLOPS / (2 * n * n * m)))
    for u in list(dict.fromkeys(pairs[:, 0].tolist()))[:affordable]:
        G = ((U * (K[u] @ U)) @ shrunk)[known_rows]  # U diag(Uᵀk_u)/(s tᵀ + λ), at the rows of known links
        for p in np.flatnonzero(pairs[:, 0] == u):
            v = pairs[p, 1] - nodes.n_rows
            terms = np.einsum("lb,b,lb->l", G, L[v] @ V, V[known_columns])
            total = float(terms.sum())
            rows = [
                {
                    "source": str(row_side.ids[known_rows[k]]),
                    "target": str(column_side.ids[known_columns[k]]),
                    "share of score": _share(float(terms[k]) / total) if total > 0 else "–",
                }
                for k in np.argsort(-terms, kind="stable")[:_TERMS]
                if terms[k] > 0
            ]
            if rows:
                details[p] = (Table("Evidence: known links that contribute most to the score", rows),)
    return details
