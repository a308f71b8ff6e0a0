"""Exact Euclidean coordinates of an output kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, eigh, gemm, row_sq_norms, to_numpy
from iokr._component import component
from iokr._memory import check_memory
from iokr._validation import check_integer, check_number
from iokr.embeddings.base import WAYS_OUT, KernelEmbedding
from iokr.kernels.base import Kernel

__all__ = ["Eigen"]


@component
class Eigen(KernelEmbedding):
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

    rank: int | None = None
    tol: float | None = None

    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """Z (n, r) with Z Zᵀ = K_Y."""
        S = self._fit_kernel(Y, kernel)
        n = S.shape[0]
        check_memory(32.0 * n * n, f"The eigenbasis of an output kernel on {n} points", WAYS_OUT)
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

    def weights(self, H: Array) -> Array:
        """H diag(t)^{-½} Qᵀ."""
        return H @ asarray_like((self._Q / np.sqrt(self.eigenvalues_)).T, H)

    def inner(self, H: Array, S: Any) -> Array:
        """⟨h_i, z(y_j)⟩."""
        return gemm(H, self.coordinates(S, H))

    def coordinates(self, S: Any, like: Array) -> Array:
        """z(y_j)."""
        return self._cross(S, like) @ asarray_like(self._Q / np.sqrt(self.eigenvalues_), like)

    def sq_norms_of(self, H: Array) -> Array:
        """‖h_i‖²."""
        return row_sq_norms(H)

    def _paired(self, H: Array, S: Any) -> Array:
        return array_namespace(H).sum(H * self.coordinates(S, H), axis=1)

    def span(self, B: Array) -> Array:
        """Weights after projecting the ψ(y_i) on the kept directions."""
        if self._full:
            return B
        Q = asarray_like(self._Q, B)
        return (B @ Q) @ Q.T

    def vectors(self, H: Array) -> Array:
        """Y⁺-coordinates back to vectors, under a linear output kernel."""
        from iokr.kernels.vectors import Linear

        if not isinstance(self.kernel_, Linear):
            return super().vectors(H)
        Y = self.S_fit_
        Y = Y.toarray() if hasattr(Y, "toarray") else to_numpy(Y)
        return H @ asarray_like((self._Q / np.sqrt(self.eigenvalues_)).T @ Y, H)
