"""A kernel on indices that reads a stored Gram matrix."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from iokr._component import component
from iokr.kernels.base import Kernel

__all__ = ["Lookup"]


@component
class Lookup(Kernel):
    """k(i, j) = matrix[i, j], for a Gram matrix computed once; it is neither checked again nor copied by `clone`."""

    matrix: Any

    domain = "indices"

    def __sklearn_clone__(self) -> Self:
        return self

    def represent(self, X: Any) -> NDArray[np.intp]:
        """Row indices."""
        return np.asarray(X, dtype=np.intp)

    def block(self, R: Any, S: Any) -> NDArray[np.float64]:
        """The (n, m) array of k(x_i, z_j)."""
        return np.asarray(self.matrix[np.ix_(R, S)])

    def diag(self, R: Any) -> NDArray[np.float64]:
        """The (n,) array of k(x_i, x_i)."""
        return np.asarray(self.matrix[R, R])
