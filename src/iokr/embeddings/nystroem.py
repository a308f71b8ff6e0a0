"""Coordinates of an output kernel on the span of a few training outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, asarray_like, to_numpy
from iokr._component import component
from iokr._validation import check_integer
from iokr.embeddings.base import CoordinateEmbedding
from iokr.kernels.base import Kernel
from iokr.kernels.nystroem import Landmarks

__all__ = ["Nystroem"]


@component
class Nystroem(CoordinateEmbedding):
    """z(y) = L⁻¹ k_Y(P, y), L Lᵀ = k_Y(P, P): ψ(y) projected on the span of `rank` training outputs P.

    P is found by Cholesky with pivoting, so K_Y is never formed. Made for covariance operators and losses with many
    training outputs: every problem has rank columns. ‖ψ(y)‖² of a candidate stays k_Y(y, y).

    Parameters
    ----------
    rank : int, default=100
        How many outputs at most; fewer when they represent all.

    Attributes
    ----------
    pivots_ : ndarray of shape (r,)
        Indices of P among the training outputs.
    error_ : float
        tr(K_Y − Z Zᵀ) / tr K_Y on the training outputs: the fraction of their squared norms that is left out.

    Examples
    --------
    >>> from iokr.embeddings import Nystroem
    >>> from iokr.kernels import Delta
    >>> embedding = Nystroem(rank=5)
    >>> embedding.fit_transform(["a", "b", "a"], Delta().fit(["a", "b", "a"])).shape, embedding.error_
    ((3, 2), 0.0)
    """

    rank: int = 100

    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """Z (n, r), Z Zᵀ ≈ K_Y."""
        rank = check_integer(self.rank, "rank", minimum=1)
        S = self._fit_kernel(Y, kernel)
        self._landmarks = Landmarks(self.kernel_, S, rank)
        self.pivots_, self.error_ = self._landmarks.pivots, self._landmarks.error
        self._Z = self._landmarks.features(S)
        return self._Z

    def transform(self, Y: Any) -> Array:
        """z(y), a row per output."""
        return self._landmarks.features(self.represent(Y))

    def coordinates(self, S: Any, like: Array) -> Array:
        """z(y_j)."""
        return asarray_like(self._landmarks.features(S), like)

    def span(self, B: Array) -> Array:
        """Weights on P of the ψ(y_i), projected; zero on the other outputs."""
        on_pivots = to_numpy(self._landmarks.weights(B @ asarray_like(self._Z, B)))
        weights = np.zeros((on_pivots.shape[0], self._Z.shape[0]))
        weights[:, self.pivots_] = on_pivots
        return asarray_like(weights, B)

    def _combined(self, H: Array, Y: Array) -> Array:
        """h as a combination of the vectors P."""
        return self._landmarks.weights(H) @ asarray_like(to_numpy(Y)[self.pivots_], H)
