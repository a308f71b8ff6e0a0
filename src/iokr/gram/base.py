"""Gram: C ↦ (Σ_j 𝒦(x_i, z_j) c_j)_i, the map between coefficients and values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from iokr._array import Array
from iokr.gram.operators import OutputOperator

if TYPE_CHECKING:
    from iokr.gram.scalar import ScalarGram

__all__ = ["Gram"]


class Gram(ABC):
    """C ↦ G C: row i is Σ_j 𝒦(x_i, z_j) c_j.

    A kernel 𝒦 = k A that separates has a scalar part `K` and an `operator`. Others have no operator and no `K`, but
    `flat`, the whole (Nd, Nd) matrix. With `products_only` there is no matrix, only G @ C.

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
    K: ScalarGram  # that of the scalar kernel k
    size: int  # rows of the matrix that a dense solver factors: N, or Nd for a kernel that does not separate
    operator: OutputOperator | None  # A of 𝒦 = k A, None for a kernel that does not separate
    factor: Array | None = None  # Φ (n, p) with K = Φ Φᵀ, if the scalar kernel has such features
    products_only: bool = False  # whether only G @ C can be computed
    prefers_products: bool = False  # whether a few dozen products cost less than the matrix and its factor

    @property
    def flat(self) -> ScalarGram:
        """The (Nd, Md) matrix of a kernel without operator, a block 𝒦(x_i, z_j) at a time. May be overridden."""
        raise ValueError(f"{self!r} is not a matrix of blocks; its scalar part is `K`.")

    @abstractmethod
    def diagonal(self) -> Array:
        """The diagonal of the matrix with `size` rows."""

    @abstractmethod
    def __matmul__(self, C: Array) -> Array:
        """G C, a row per object x_i."""

    @abstractmethod
    def restrict(self, rows: Any) -> Gram:
        """The Gram of the objects at `rows` among themselves."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape})"
