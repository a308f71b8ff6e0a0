"""K = Φ Φᵀ with fewer features than objects: products and factorisations on Φ, never on K."""

from __future__ import annotations

from typing import Any

from iokr._array import Array, gemm, matmul, row_sq_norms, take_rows
from iokr.gram.scalar import ScalarGram

__all__ = ["FeatureGram"]


class FeatureGram(ScalarGram):
    """K_ij = ⟨φ_i, χ_j⟩ from the rows φ_i of R and χ_j of S, p numbers each.

    `factor` is Φ = R when the matrix is symmetric: solvers for which n × n is too much work on it.

    Parameters
    ----------
    R, S : arrays of shape (n, p) and (m, p); without S the matrix is symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.gram import FeatureGram
    >>> G = FeatureGram(np.array([[1.0], [2.0]]))
    >>> G.factor.shape, G @ np.array([[1.0], [1.0]])
    ((2, 1), array([[3.],
           [6.]]))
    """

    def __init__(self, R: Array, S: Array | None = None) -> None:
        super().__init__(gemm, R, S, row_sq_norms)
        self.factor = R if S is None else None

    def restrict(self, rows: Any) -> FeatureGram:
        """The Gram of some of the objects among themselves."""
        return FeatureGram(take_rows(self._R, rows))

    def __matmul__(self, C: Array) -> Array:
        S = self._R if self._S is None else self._S
        return matmul(self._R, matmul(S.T, C))
