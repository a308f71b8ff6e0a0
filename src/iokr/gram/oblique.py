"""C ↦ K C A for an operator in coordinates that are not orthonormal: weights on outputs known through their kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array
from iokr.gram.base import Gram
from iokr.gram.scalar import DenseGram

__all__ = ["ObliqueGram"]


class ObliqueGram(Gram):
    """B ↦ K B, where h = K B and B = C A contains the operator A = E L, L E = diag(γ).

    On weights β of implicit outputs, h = Σ_i β_i ψ(y_i), an operator on F is no symmetric matrix. Its eigenvectors
    E (columns) and L (rows) are then two sets; with B in place of C nothing has to be divided by γ.

    Parameters
    ----------
    K : DenseGram
        The Gram of the scalar kernel.
    gamma : NumPy array of shape (r,)
        Eigenvalues, ascending, positive.
    E, L : arrays of shape (n, r) and (r, n)
    sq_norms : array of shape (n,)
        ‖ψ(y_i)‖².

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.gram import DenseGram, ObliqueGram
    >>> K = DenseGram(lambda R, S: R @ S.T, np.array([[2.0]]))
    >>> gram = ObliqueGram(K, np.array([3.0]), np.array([[3.0]]), np.array([[1.0]]), np.array([1.0]))
    >>> gram @ np.array([[0.5]])
    array([[2.]])
    """

    scale = None
    oblique = True

    def __init__(self, K: DenseGram, gamma: np.ndarray, E: Array, L: Array, sq_norms: Array) -> None:
        self._K, self.shape = K, K.shape
        self._gamma, self._E, self._L, self.sq_norms = gamma, E, L, sq_norms

    @property
    def K(self) -> DenseGram:
        """The Gram of the scalar kernel."""
        return self._K

    def spectrum(self) -> tuple[np.ndarray, Array | None, Array | None]:
        """(γ, E, L)."""
        return self._gamma, self._E, self._L

    def restrict(self, rows: Any) -> ObliqueGram:
        """The Gram of some of the objects among themselves."""
        return ObliqueGram(self._K.restrict(rows), self._gamma, self._E, self._L, self.sq_norms)

    def __matmul__(self, B: Array) -> Array:
        return self._K @ B
