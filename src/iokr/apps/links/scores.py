"""Scores ⟨a_u, b_v⟩ of nodes by what was learned, and the terms that they are sums of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._array import to_numpy
from iokr.apps.links.methods import Learned
from iokr.apps.links.placed import Placed
from iokr.estimators.links.probability import root_mean_square
from iokr.estimators.pairs.network import AllPairsCV
from iokr.kernels.base import Kernel

__all__ = ["Scored"]

_MEASURED = 1000  # labelled nodes between which the size of scores is measured

Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Scored:
    """Factors of the scores of nodes, and the coefficients that explain them.

    f(u, v) = Σ_ij S_ij (l_ui r_vj + r_ui l_vj)/2 over training points i and j, with l and r rows of kernels.
    """

    A: Matrix
    B: Matrix
    points: Numbers  # the nodes that have coefficients
    kernel: Kernel
    sides: Callable[[Numbers], tuple[Matrix, Matrix]]  # (l, r) of some nodes
    weight: Callable[[Numbers, Numbers], Matrix]  # S_ij of lists i, j of one shape

    @classmethod
    def of(cls, learned: Learned, placed: Placed) -> Scored:
        """Of the nodes that were learned with and of later ones; a stack is the sum of its models."""
        parts = [
            (_of_links if name == "iokr" else _of_pairs)(placed, model).times(slope)
            for name, (model, slope) in learned.parts.items()
        ]
        return reduce(_together, parts)

    def times(self, c: float) -> Scored:
        """c f(u, v)."""
        if c == 1.0:
            return self
        weight = self.weight
        return Scored(c * self.A, self.B, self.points, self.kernel, self.sides, lambda i, j: c * weight(i, j))

    def size(self, labeled: Numbers) -> float:
        """The root mean square of scores between labelled nodes, at most a thousand of them."""
        some = labeled[np.linspace(0, len(labeled) - 1, min(_MEASURED, len(labeled))).astype(int)]
        return root_mean_square(np.asarray(self.A[some] @ self.B[some].T))

    def scores(self, pairs: Numbers) -> Matrix:
        """Of given pairs."""
        return np.asarray(np.einsum("ij,ij->i", self.A[pairs[:, 0]], self.B[pairs[:, 1]]))


def _together(one: Scored, other: Scored) -> Scored:
    """The sum of two models as one: factors and points of both, no term between them."""
    n = len(one.points)

    def sides(nodes: Numbers) -> tuple[Matrix, Matrix]:
        (L, R), (M, K) = one.sides(nodes), other.sides(nodes)
        return np.hstack([L, M]), np.hstack([R, K])

    def weight(i: Numbers, j: Numbers) -> Matrix:
        i, j = np.broadcast_arrays(i, j)
        first, second = (i < n) & (j < n), (i >= n) & (j >= n)
        S = np.zeros(i.shape)
        S[first] = one.weight(i[first], j[first])
        S[second] = other.weight(i[second] - n, j[second] - n)
        return S

    A, B = np.hstack([one.A, other.A]), np.hstack([one.B, other.B])
    return Scored(A, B, np.concatenate([one.points, other.points]), one.kernel, sides, weight)


def _of_links(placed: Placed, fitted: Any) -> Scored:
    """⟨h(u), h(v)⟩ = Σ_ij k(u, i) ⟨c_i, c_j⟩ k(v, j)."""
    model, labeled = fitted.model_, fitted.labeled_
    H, C = to_numpy(model.decision_function(placed.X)), to_numpy(model.solution_.C)
    others = np.setdiff1d(np.arange(placed.n_fitted), labeled)
    points = labeled if len(C) == len(labeled) else np.append(labeled, others)

    def sides(nodes: Numbers) -> tuple[Matrix, Matrix]:
        K = to_numpy(model.kernel_(placed.X[nodes], placed.X[points]))
        return K, K

    def weight(i: Numbers, j: Numbers) -> Matrix:
        return np.asarray(np.einsum("...k,...k->...", C[i], C[j]))

    return Scored(H, H, points, model.kernel_, sides, weight)


def _of_pairs(placed: Placed, model: AllPairsCV) -> Scored:
    """Σ_ij S_ij (m_ui k_vj + k_ui m_vj)."""
    A, B = model.factors()
    if placed.n_later:
        A, B = (np.vstack(both) for both in zip((A, B), model.factors(placed.X[placed.later]), strict=True))
    labeled, S, mix = model.labeled_, model.pairs_.S, model.pairs_.mix

    def sides(nodes: Numbers) -> tuple[Matrix, Matrix]:
        K = to_numpy(model.kernel_(placed.X[nodes], placed.X[labeled]))
        M = (1 - mix) * K + mix * (nodes[:, None] == labeled[None, :])
        return M, K

    def weight(i: Numbers, j: Numbers) -> Matrix:
        return np.asarray(2 * S[i, j])

    return Scored(A, B, labeled, model.kernel_, sides, weight)
