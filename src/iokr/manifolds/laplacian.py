"""Penalties by the graph Laplacian; the graph is the input kernel, full or restricted to nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import (
    Array,
    array_namespace,
    asarray_like,
    blocks,
    eigh,
    eye_like,
    is_numpy,
    set_diagonal,
    top_k_columns,
)
from iokr._component import component
from iokr._validation.arguments import check_choice, check_integer, check_number
from iokr.gram.base import Gram
from iokr.manifolds.base import Manifold

__all__ = ["Heat", "IteratedLaplacian", "Laplacian", "graph_laplacian"]


_PANEL = 64  # rows that are sorted at a time, which stay in the cache


@component
class Laplacian(Manifold):
    """L = diag(W1) − W, W the input kernel between points: Σ_ij L_ij ⟨h_i, h_j⟩ = ½ Σ_ij W_ij ‖h_i − h_j‖².

    Parameters
    ----------
    weight : float, default=1.0
        μ ≥ 0 of the objective; λ₂ of Brouard et al. (2016) is μ/2.
    n_neighbors : int, default=None
        Use the largest off-diagonal entries of each row only, symmetrised by the mean; None uses the full graph.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.manifolds import Laplacian
    >>> model = IOKR(alpha=0.1, manifold=Laplacian(0.5, n_neighbors=1))
    >>> model.fit([[0.0], [4.0]], [0.0, 1.0], X_unlabeled=[[1.0], [3.0]]).predict([[0.5]]).shape
    (1,)
    """

    weight: float = 1.0
    n_neighbors: int | None = None

    def penalty(self, R: Any, gram: Gram) -> Array:
        """L, shape (N, N)."""
        return graph_laplacian(gram, self.n_neighbors)


@component
class IteratedLaplacian(Manifold):
    """Lᵖ, L the graph Laplacian: penalises higher derivatives along the graph (Brouard et al., 2016, use p = 5).

    Parameters
    ----------
    weight : float, default=1.0
        μ ≥ 0. Its scale depends on p: Lᵖ grows like the p-th power of the degrees.
    power : int, default=2
    n_neighbors : int, default=None
        As in `Laplacian`.

    Examples
    --------
    >>> from iokr.manifolds import IteratedLaplacian
    >>> IteratedLaplacian(0.1, power=3, n_neighbors=10)
    IteratedLaplacian(n_neighbors=10, power=3, weight=0.1)
    """

    weight: float = 1.0
    power: int = 2
    n_neighbors: int | None = None

    def penalty(self, R: Any, gram: Gram) -> Array:
        """Lᵖ, shape (N, N)."""
        L = graph_laplacian(gram, self.n_neighbors)
        power = check_integer(self.power, "power", minimum=1)
        result = L
        for _ in range(power - 1):
            result = result @ L
        return (result + result.T) / 2


def graph_laplacian(gram: Gram, n_neighbors: int | None = None) -> Array:
    """diag(W1) − W for W the Gram of the scalar kernel, full or with each row's largest off-diagonal entries."""
    K = gram.K.dense()
    xp = array_namespace(K)
    N = K.shape[0]
    if n_neighbors is None:
        W = K
    else:
        k = min(check_integer(n_neighbors, "n_neighbors", minimum=1), N - 1)
        W = _nearest(K, k) if k else K * 0.0
    if float(xp.min(W)) < 0:
        raise ValueError(
            "The input kernel has negative values, but the weights of a graph must be at least 0. Use a non-negative "
            "kernel (`RBF`, `Laplacian`, `Tanimoto`), or a given penalty, `Given(weight, matrix)`."
        )
    L = set_diagonal(-W, asarray_like(np.zeros(N), K))
    return set_diagonal(L, -xp.sum(L, axis=1))


def _nearest(K: Array, k: int) -> Array:
    """Each row's k largest off-diagonal entries, symmetrised by the mean."""
    xp = array_namespace(K)
    N = K.shape[0]
    if is_numpy(K):
        W = np.zeros((N, N))
        for rows in blocks(N, _PANEL):
            panel = K[rows].copy()
            panel[np.arange(len(panel)), np.arange(rows.start, rows.stop)] = -np.inf
            columns = top_k_columns(panel, k)
            np.put_along_axis(W[rows], columns, np.take_along_axis(panel, columns, axis=1), axis=1)
    else:
        masked = xp.where(eye_like(N, K) > 0, -xp.inf, K)
        rank = xp.argsort(xp.argsort(-masked, axis=1, stable=True), axis=1, stable=True)
        W = xp.where(rank < k, K, 0.0)
    return (W + W.T) / 2


@component
class Heat(Manifold):
    """I − exp(−βL), L the graph Laplacian: no penalty on constant functions, up to 1 on rough ones.

    Parameters
    ----------
    weight : float, default=1.0
        μ ≥ 0.
    beta : float, default=1.0
        Diffusion time: a larger β also penalises coarser structure.
    literal : bool, default=False
        Use exp(−βL), as printed in Brouard et al. (2011, 2016). It penalises the smoothest functions most, so that
        predictions are rougher than without a penalty; only for reproducing these papers.
    n_neighbors : int, default=None
        As in `Laplacian`.

    Examples
    --------
    >>> from iokr.manifolds import Heat
    >>> Heat(0.1, beta=2.0)
    Heat(beta=2.0, weight=0.1)
    """

    weight: float = 1.0
    beta: float = 1.0
    literal: bool = False
    n_neighbors: int | None = None

    def penalty(self, R: Any, gram: Gram) -> Array:
        """I − exp(−βL), or exp(−βL), shape (N, N)."""
        beta = check_number(self.beta, "beta", minimum=0.0, strict=True)
        values, U = eigh(graph_laplacian(gram, self.n_neighbors), overwrite=True)
        xp = array_namespace(values)
        values = xp.clip(values, min=0.0)  # L = U diag(values) Uᵀ
        literal = check_choice(self.literal, "literal", (True, False))
        heat = xp.exp(-beta * values) if literal else -xp.expm1(-beta * values)
        return (U * heat[None, :]) @ U.T
