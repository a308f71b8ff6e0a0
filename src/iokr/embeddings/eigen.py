"""Euclidean coordinates of an output kernel by eigenvectors: of its Gram matrix, or of that about the mean."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, asarray_like, eigh, eigh_arrays, is_numpy, matmul, row_sq_norms, to_numpy
from iokr._component import Limits, component
from iokr._validation.arguments import COUNT, NOT_NEGATIVE, either
from iokr.data.objects import take
from iokr.embeddings.base import CoordinateEmbedding, as_vectors
from iokr.kernels.algebra import Centered
from iokr.kernels.base import Kernel
from iokr.kernels.vectors import Linear

__all__ = ["Eigen", "KernelPCA", "SpectralEmbedding"]


@component
class SpectralEmbedding(CoordinateEmbedding):
    """z(y) = diag(t)^{-½} Qᵀ k_Y(y) with K_Y = Q diag(t) Qᵀ: the base of `Eigen` and `KernelPCA`."""

    n_components: int | None = None
    tol: float | None = None

    limits: ClassVar[Limits] = {"n_components": either(None, COUNT), "tol": either(None, NOT_NEGATIVE)}

    def _stored(self) -> dict[str, Any]:
        return {"coordinates": self._Q, "full": self._full}

    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """Z (n, r) with Z Zᵀ = K_Y, up to the eigenvalues left out."""
        S = self._fit_kernel(Y, kernel, eigh_arrays(Y) + is_numpy(Y), host=2.0)
        n = S.shape[0]
        t, Q = eigh(self.kernel_.gram(S).detach(lower=True), overwrite=True)
        t = to_numpy(t)[::-1]
        Q = to_numpy(Q)[:, ::-1]
        tol = n * np.finfo(float).eps if self.tol is None else self.tol
        r = int(np.count_nonzero(t > min(tol, 1.0) * max(t[0], 0.0)))
        if self.n_components is not None:
            r = min(r, self.n_components)
        self.eigenvalues_ = np.array(t[:r])
        self._Q = np.ascontiguousarray(Q[:, :r])
        self._full = self.n_components is None and self.tol is None
        return self._Q * np.sqrt(self.eigenvalues_)

    def outside(self) -> np.ndarray | None:
        """√(k_Y(y_i, y_i) − ‖z_i‖²); None if no coordinate is left out."""
        if self._full:
            return None
        squares = to_numpy(self.sq_norms(self.S_fit_)) - (self._Q**2) @ self.eigenvalues_
        return np.asarray(np.sqrt(np.clip(squares, 0.0, None)))

    def transform(self, Y: Any) -> Array:
        """z(y), a row per output."""
        return self.coordinates(self.represent(Y), self._Q)

    def coordinates(self, S: Any, like: Array) -> Array:
        """z(y_j)."""
        return self._cross(S, like) @ asarray_like(self._Q / np.sqrt(self.eigenvalues_), like)

    def along(self, V: Array) -> SpectralEmbedding:
        """By the product of diag(t)^{-½} Qᵀ and V, so that an output costs n p; cached for the next call."""
        cached: tuple[Array, SpectralEmbedding] | None = self.__dict__.get("_along_kept")
        if cached is not None and cached[0] is V:
            return cached[1]
        reduced = copy(self)
        reduced.directions_ = matmul(asarray_like(self._Q / np.sqrt(self.eigenvalues_), V), V)
        self._along_kept = V, reduced
        return reduced

    def _along(self, S: Any, like: Array) -> Array:
        if self.directions_ is None:
            return self.coordinates(S, like)
        return matmul(self._cross(S, like), asarray_like(self.directions_, like))

    def weights(self, H: Array) -> Array:
        """H diag(t)^{-½} Qᵀ."""
        return H @ asarray_like((self._Q / np.sqrt(self.eigenvalues_)).T, H)

    def span(self, B: Array) -> Array:
        """Weights after the projection of the ψ(y_i) on the leading directions."""
        if self._full:
            return B
        Q = asarray_like(self._Q, B)
        return (B @ Q) @ Q.T

    def _combined(self, H: Array, Y: Array) -> Array:
        """H diag(t)^{-½} Qᵀ Y."""
        return H @ asarray_like((self._Q / np.sqrt(self.eigenvalues_)).T @ to_numpy(Y), H)


@component
class Eigen(SpectralEmbedding):
    """z(y) = diag(t)^{-½} Qᵀ k_Y(y) with K_Y = Q diag(t) Qᵀ: orthonormal coordinates of span{ψ(y_i)}.

    Losses other than the square and trees need coordinates. ‖ψ(y)‖² of a candidate is k_Y(y, y), also outside the span.

    Parameters
    ----------
    n_components : int, default=None
        The number of leading coordinates (kernel PCA of the outputs, uncentred); None takes all.
    tol : float, default=None
        Leave out eigenvalues up to tol · largest; None is n times the machine precision.

    Attributes
    ----------
    eigenvalues_ : array of shape (r,)
        t, descending.

    Examples
    --------
    >>> from iokr.embeddings import Eigen
    >>> from iokr.kernels import Delta
    >>> Eigen().fit_transform(["a", "b", "a"], Delta().fit(["a", "b", "a"])).shape
    (3, 2)
    """


@component
class KernelPCA(SpectralEmbedding):
    """z(y) = diag(w)^{-½} Qᵀ P (k_Y(y) − K_Y 1/n), P K_Y P = Q diag(w) Qᵀ, P = I − 11ᵀ/n: the leading components.

    Unlike `Eigen(n_components)` it centres, and ‖z(y)‖² is that along these components, as in kernel dependency
    estimation.

    Parameters
    ----------
    n_components : int, default=None
        The number of components; None takes all with a positive w.
    tol : float, default=None
        Leave out eigenvalues up to tol · largest; None is n times the machine precision.

    Attributes
    ----------
    eigenvalues_ : array of shape (p,)
        w, descending.

    Examples
    --------
    >>> from iokr.embeddings import KernelPCA
    >>> from iokr.kernels import Linear
    >>> Y = [[0.0, 0.0], [2.0, 0.1], [4.0, 0.0]]
    >>> KernelPCA(n_components=1).fit_transform(Y, Linear().fit(Y)).shape
    (3, 1)
    """

    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """Z (n, p) with Z Zᵀ = P K_Y P for all components."""
        kernel = Linear() if kernel is None else kernel
        known = Y if sample_weight is None else take(Y, np.flatnonzero(np.asarray(sample_weight) > 0))
        return super().fit_transform(Y, Centered(kernel).fit(as_vectors(known, kernel, "y")))

    def sq_norms(self, S: Any) -> Array:
        """‖z(y_j)‖²."""
        return row_sq_norms(self.coordinates(S, self._Q))

    def spread(self, S: Any, weight: np.ndarray) -> float:
        """Σ_i w_i ‖z(y_i) − mean‖²."""
        Z = to_numpy(self.coordinates(S, self._Q))
        return float(weight @ row_sq_norms(Z - weight @ Z / weight.sum()))
