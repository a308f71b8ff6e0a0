"""Scores ⟨a_u, b_v⟩ of pairs of nodes, and the best pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._array import matmul, to_numpy
from iokr.apps.links.nodes import ModelNodes
from iokr.estimators.bipartite import BipartitePredictor
from iokr.estimators.links.ranking import best_pairs, root_mean_square

__all__ = ["PairScores", "rank"]

_SAMPLE = 1000  # labelled nodes between which the size of scores is measured

Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PairScores:
    """Factors of the scores f(u, v) = ⟨a_u, b_v⟩: of all nodes, or of rows and of columns."""

    A: Matrix
    B: Matrix
    first: int = 0  # the number of the node of the first row of B

    @classmethod
    def of(cls, parts: Sequence[tuple[str, Any, float]], nodes: ModelNodes) -> PairScores:
        """Σ_m slope_m f_m(u, v), of fitted models (method, model, slope)."""
        if nodes.across:
            [(_, model, _)] = parts
            return cls(*_bipartite_factors(nodes, model), first=nodes.n_rows)
        factors = [_scaled_factors(nodes, model, slope) for _, model, slope in parts]
        left, right = zip(*factors, strict=True)
        return cls(np.hstack(left), np.hstack(right))

    def between(self, one: Numbers, other: Numbers) -> Matrix:
        """f(u, v) for every u of one list and every v of another."""
        return np.asarray(self.A[one] @ self.B[other - self.first].T)

    def of_pairs(self, pairs: Numbers) -> Matrix:
        """f(u, v) for each pair."""
        return np.asarray(np.einsum("ij,ij->i", self.A[pairs[:, 0]], self.B[pairs[:, 1] - self.first]))

    def size(self, labeled: Numbers) -> float:
        """The root mean square of scores between labelled nodes, at most a thousand of them."""
        some = labeled[np.linspace(0, len(labeled) - 1, min(_SAMPLE, len(labeled))).astype(int)]
        return root_mean_square(self.between(some, some))


def _scaled_factors(nodes: ModelNodes, model: Any, slope: float) -> tuple[Matrix, Matrix]:
    """The factors of slope · f(u, v), for nodes of training and then for later ones."""
    [side] = nodes.sides
    A, B = (to_numpy(part) for part in model.factors())
    if side.n_later:
        later = (to_numpy(part) for part in model.factors(side.X[side.n_fitted :]))
        A, B = (np.vstack(both) for both in zip((A, B), later, strict=True))
    return A if slope == 1.0 else slope * A, B


def _bipartite_factors(nodes: ModelNodes, model: BipartitePredictor) -> tuple[Matrix, Matrix]:
    """k₁(x, ·)ᵀ C and k₂(z, ·)."""
    rows, columns = nodes.sides
    K = to_numpy(model.kernel_(rows.X, rows.X[: rows.n_fitted]))
    L = to_numpy(model.partner_kernel_(columns.X, columns.X[: columns.n_fitted]))
    return np.asarray(matmul(K, to_numpy(model.row_model_.solution_.C))), L


def rank(
    nodes: ModelNodes, scores: PairScores, blocks: Sequence[tuple[Numbers, Numbers | None]], top: int
) -> tuple[Numbers, Matrix]:
    """The best pairs of nodes that are not known to be linked, and their scores.

    Of the ends of a pair the smaller number comes first, but a later node before one of training.
    """
    found = [_best(nodes, scores, one, other, top) for one, other in blocks]
    ends, values = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((ends[:, 1], ends[:, 0], -values))[:top]
    ends = ends[order]
    values = values[order]
    later = nodes.is_later[ends]
    swapped = later[:, 1] & ~later[:, 0] & (not nodes.across)
    return np.where(swapped[:, None], ends[:, ::-1], ends), values


def _best(
    nodes: ModelNodes, scores: PairScores, one: Numbers, other: Numbers | None, top: int
) -> tuple[Numbers, Matrix]:
    """The best pairs of a node of one list and one of another, which shares none, or of two nodes of one list."""
    to = one if other is None else other
    known = np.column_stack(nodes.adjacency[one][:, to].nonzero())
    B = scores.B[to - scores.first]
    pairs, values = best_pairs(scores.A[one], B, top=top, known=known, one_list=other is None)
    ends = np.column_stack([one[pairs[:, 0]], to[pairs[:, 1]]])
    return np.sort(ends, axis=1).astype(np.int64), values
