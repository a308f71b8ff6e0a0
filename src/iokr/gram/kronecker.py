"""C ↦ K C A: decomposable kernels, multi-task regression, all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, eigh, eye_like, to_numpy
from iokr.gram.base import Gram
from iokr.gram.scalar import DenseGram

__all__ = ["KroneckerGram"]


class KroneckerGram(Gram):
    """C ↦ K C A, that is (K ⊗ A) vec C; row i is A Cᵀ k_x at x = x_i.

    Parameters
    ----------
    K : DenseGram
        The Gram of the scalar kernel.
    A : array of shape (q, q)
        Symmetric positive semi-definite operator on the outputs; A = aI only scales, whatever its size.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.gram import DenseGram, KroneckerGram
    >>> K = DenseGram(lambda R, S: R @ S.T, np.array([[1.0]]))
    >>> KroneckerGram(K, np.array([[2.0, 1.0], [1.0, 2.0]])) @ np.array([[1.0, 0.0]])
    array([[2., 1.]])
    """

    def __init__(self, K: DenseGram, A: Array) -> None:
        self._K, self.A, self.shape = K, A, K.shape
        a = float(A[0, 0])
        isotropic = bool(array_namespace(A).all(a * eye_like(A.shape[0], A) == A))
        self.scale = a if isotropic else None  # a of A = aI

    @property
    def K(self) -> DenseGram:
        """The Gram of the scalar kernel."""
        return self._K

    def restrict(self, rows: Any) -> KroneckerGram:
        """The Gram of some of the objects among themselves."""
        return KroneckerGram(self._K.restrict(rows), self.A)

    def spectrum(self) -> tuple[np.ndarray, Array | None, Array | None]:
        """(γ, E, Eᵀ) with A = E diag(γ) Eᵀ."""
        if self.scale is not None:
            return super().spectrum()
        gamma, E = eigh(self.A)
        return np.clip(to_numpy(gamma), 0.0, None), E, E.T

    def act(self, H: Array) -> Array:
        """H A."""
        return H @ self.A if self.scale is None else self.scale * H

    def __matmul__(self, C: Array) -> Array:
        return self.act(self._K @ C)
