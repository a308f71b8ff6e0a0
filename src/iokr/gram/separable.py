"""C ↦ K C A: separable kernels, multi-task regression, covariance operators."""

from __future__ import annotations

from typing import Any

from iokr._array import Array
from iokr.gram.base import Gram
from iokr.gram.operators import OutputOperator
from iokr.gram.scalar import ScalarGram

__all__ = ["SeparableGram"]


class SeparableGram(Gram):
    """C ↦ K C A, that is (K ⊗ A) vec C; row i is A Cᵀ k_x at x = x_i.

    Parameters
    ----------
    K : ScalarGram
        The Gram of the scalar kernel.
    operator : OutputOperator
        A, on the outputs; an oblique one is contained in the coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.gram import ScalarGram, SeparableGram
    >>> from iokr.gram.operators import Symmetric
    >>> K = ScalarGram(lambda R, S: R @ S.T, np.array([[1.0]]))
    >>> SeparableGram(K, Symmetric(np.array([[2.0, 1.0], [1.0, 2.0]]))) @ np.array([[1.0, 0.0]])
    array([[2., 1.]])
    """

    operator: OutputOperator

    def __init__(self, K: ScalarGram, operator: OutputOperator) -> None:
        self.K, self.operator = K, operator
        self.shape, self.size = K.shape, K.size
        self.factor, self.products_only = K.factor, K.products_only

    def diagonal(self) -> Array:
        """That of K."""
        return self.K.diagonal()

    def restrict(self, rows: Any) -> SeparableGram:
        """The Gram of some of the objects among themselves."""
        return SeparableGram(self.K.restrict(rows), self.operator)

    def __matmul__(self, C: Array) -> Array:
        return self.operator.act(self.K @ C)
