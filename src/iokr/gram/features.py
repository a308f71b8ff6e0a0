"""K = Φ Φᵀ with fewer features than objects: products and factorisations by Φ, without K."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from iokr._array import Array, array_namespace, gemm, is_array, matmul, row_sq_norms, take_rows
from iokr.gram.scalar import ScalarGram

__all__ = ["FeatureGram", "is_thin"]


def is_thin(R: Any, S: Any = None) -> bool:
    """Whether features are dense and fewer than the objects of a fit, which are those of S if there are two sets."""
    if S is None:
        return is_thin(R, R)
    return is_array(R) and is_array(S) and R.ndim == 2 and bool(R.shape[1] < S.shape[0])


class FeatureGram(ScalarGram):
    """K_ij = ⟨φ_i, χ_j⟩ from the rows φ_i of R and χ_j of S, p numbers each.

    `factor` is Φ = R if the matrix is symmetric, for solvers without an n × n matrix.

    Parameters
    ----------
    R, S : arrays of shape (n, p) and (m, p); without S the matrix is symmetric.
    diag : callable, default=row_sq_norms
        `diag(R)`, the ‖φ_i‖².

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.gram import FeatureGram
    >>> G = FeatureGram(np.array([[1.0], [2.0]]))
    >>> G.factor.shape, G @ np.array([[1.0], [1.0]])
    ((2, 1), array([[3.],
           [6.]]))
    """

    def __init__(self, R: Array, S: Array | None = None, diag: Callable[[Any], Array] = row_sq_norms) -> None:
        super().__init__(gemm, R, S, diag)
        if S is None:
            self.factor = R

    def restrict(self, rows: Any) -> FeatureGram:
        """The Gram of some of the objects among themselves."""
        return FeatureGram(take_rows(self._R, rows), diag=self._diag or row_sq_norms)

    def scaled(self, c: float) -> FeatureGram:
        """cK."""
        left = c**0.5 * self._R
        if self.symmetric:
            return FeatureGram(left)
        return FeatureGram(left, c**0.5 * self._S)

    def joined(self, other: ScalarGram) -> FeatureGram | None:
        """K + K′, from the features of both."""
        if not isinstance(other, FeatureGram):
            return None
        xp = array_namespace(self._R)
        left = xp.concat([self._R, other._R], axis=1)
        if self.symmetric:
            return FeatureGram(left)
        return FeatureGram(left, xp.concat([self._S, other._S], axis=1))

    def __matmul__(self, C: Array) -> Array:
        return matmul(self._R, matmul(self._S.T, C))
