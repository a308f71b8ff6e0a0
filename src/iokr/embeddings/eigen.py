"""Exact Euclidean coordinates of an output kernel, by the eigenvectors of its Gram matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, asarray_like, eigh, to_numpy
from iokr._component import component
from iokr._memory import check_memory
from iokr._validation import check_integer, check_number
from iokr.embeddings.base import TO_REDUCE_MEMORY, CoordinateEmbedding
from iokr.kernels.base import Kernel

__all__ = ["Eigen", "SpectralEmbedding"]


@component
class SpectralEmbedding(CoordinateEmbedding):
    """z(y) = diag(t)^{-½} Qᵀ k_Y(y) with K_Y = Q diag(t) Qᵀ: what `Eigen` and `KernelPCA` share."""

    rank: int | None = None
    tol: float | None = None

    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """Z (n, r) with Z Zᵀ = K_Y, up to the eigenvalues left out."""
        S = self._fit_kernel(Y, kernel)
        n = S.shape[0]
        check_memory(32.0 * n * n, f"The eigenbasis of an output kernel on {n} points", TO_REDUCE_MEMORY)
        t, Q = eigh(self.kernel_.gram(S).detach(lower=True), overwrite=True)
        t, Q = to_numpy(t)[::-1], to_numpy(Q)[:, ::-1]
        tol = n * np.finfo(float).eps if self.tol is None else check_number(self.tol, "tol", minimum=0.0)
        r = int(np.count_nonzero(t > tol * max(t[0], 0.0)))
        if self.rank is not None:
            r = min(r, check_integer(self.rank, "rank", minimum=1))
        self.eigenvalues_, self._Q = np.array(t[:r]), np.ascontiguousarray(Q[:, :r])
        self._full = self.rank is None and self.tol is None
        return self._Q * np.sqrt(self.eigenvalues_)

    def transform(self, Y: Any) -> Array:
        """z(y), a row per output."""
        return self.coordinates(self.represent(Y), self._Q)

    def coordinates(self, S: Any, like: Array) -> Array:
        """z(y_j)."""
        return self._cross(S, like) @ asarray_like(self._Q / np.sqrt(self.eigenvalues_), like)

    def weights(self, H: Array) -> Array:
        """H diag(t)^{-½} Qᵀ."""
        return H @ asarray_like((self._Q / np.sqrt(self.eigenvalues_)).T, H)

    def span(self, B: Array) -> Array:
        """Weights after projecting the ψ(y_i) on the kept directions."""
        if self._full:
            return B
        Q = asarray_like(self._Q, B)
        return (B @ Q) @ Q.T

    def vectors(self, H: Array) -> Array:
        """H diag(t)^{-½} Qᵀ Y, under a linear output kernel."""
        Y = self._training_vectors()
        if Y is None:
            return super().vectors(H)
        return H @ asarray_like((self._Q / np.sqrt(self.eigenvalues_)).T @ to_numpy(Y), H)


@component
class Eigen(SpectralEmbedding):
    """z(y) = diag(t)^{-½} Qᵀ k_Y(y) with K_Y = Q diag(t) Qᵀ: orthonormal coordinates of span{ψ(y_i)}.

    Losses other than the square and trees need it. ‖ψ(y)‖² of a candidate stays k_Y(y, y), which is exact also
    outside the span.

    Parameters
    ----------
    rank : int, default=None
        Keep the leading coordinates only (kernel PCA of the outputs, uncentred); None keeps all.
    tol : float, default=None
        Drop eigenvalues up to tol · largest; None is n times the machine precision.

    Attributes
    ----------
    eigenvalues_ : array of shape (r,)
        The t kept, descending.

    Examples
    --------
    >>> from iokr.embeddings import Eigen
    >>> from iokr.kernels import Delta
    >>> Eigen().fit_transform(["a", "b", "a"], Delta().fit(["a", "b", "a"])).shape
    (3, 2)
    """
