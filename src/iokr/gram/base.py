"""Gram: C ↦ (Σ_j 𝒦(x_i, z_j) c_j)_i, the map between coefficients and values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from iokr._array import Array

if TYPE_CHECKING:
    from iokr.gram.dense import DenseGram

__all__ = ["Gram"]


class Gram(ABC):
    """C ↦ G C: row i is Σ_j 𝒦(x_i, z_j) c_j.

    Solvers ask for the scalar part `K` and the operator `A` of a decomposable kernel; `A` is None for k·I.

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

    @property
    @abstractmethod
    def K(self) -> DenseGram:
        """The Gram of the scalar kernel k."""

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
