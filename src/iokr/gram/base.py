"""Gram: C ↦ (Σ_j 𝒦(x_i, z_j) c_j)_i, the map between coefficients and values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from iokr._array import Array

if TYPE_CHECKING:
    from iokr.gram.scalar import DenseGram

__all__ = ["Gram"]


class Gram(ABC):
    """C ↦ G C: row i is Σ_j 𝒦(x_i, z_j) c_j.

    Solvers ask for the scalar part `K` and the operator `A` of a decomposable kernel; `A` is None for k·I. A kernel
    without a scalar part has `dim`, the number of outputs d, and `flat`, all of it as an (Nd, Nd) matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.gram import Gram
    >>> from iokr.kernels import Linear
    >>> G = Linear().gram(np.array([[1.0], [2.0]]))
    >>> isinstance(G, Gram), G @ np.array([[1.0], [1.0]])
    (True, array([[3.],
           [6.]]))
    """

    shape: tuple[int, int]
    A: Array | None = None
    scale: float | None = 1.0  # a of A = aI, None for any other A
    oblique: bool = False  # A is given by eigenvectors that are not orthogonal, and coefficients contain it
    dim: int | None = None  # d, for kernels that are no product of a scalar kernel and an operator

    @property
    @abstractmethod
    def K(self) -> DenseGram:
        """The Gram of the scalar kernel k."""

    @property
    def flat(self) -> DenseGram:
        """The (Nd, Md) matrix of a kernel with `dim`, a block 𝒦(x_i, z_j) at a time. May be overridden."""
        raise ValueError(f"{self!r} is no matrix of blocks; its scalar part is `K`.")

    @property
    def size(self) -> int:
        """Rows of the matrix that a dense solver factors."""
        return self.shape[0] * (self.dim or 1)

    def diagonal(self) -> Array:
        """The diagonal of that matrix. May be overridden."""
        return self.K.diagonal()

    def spectrum(self) -> tuple[np.ndarray, Array | None, Array | None]:
        """(γ, E, L), γ ≥ 0 ascending: Ψ E decouples the outputs, L brings coefficients back. May be overridden.

        A = E diag(γ) L with L = Eᵀ; or, for an `oblique` Gram, A = E L with L E = diag(γ). A = aI: (a,), None, None.
        """
        return np.array([self.scale]), None, None

    @abstractmethod
    def __matmul__(self, C: Array) -> Array:
        """G C, a row per object x_i."""

    def act(self, H: Array) -> Array:
        """H A: the operator on the outputs alone. May be overridden."""
        return H

    @abstractmethod
    def restrict(self, rows: Any) -> Gram:
        """The Gram of the objects at `rows` among themselves."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape})"
