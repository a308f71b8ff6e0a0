"""K = Φ Φᵀ with fewer features than objects: products and factorisations by Φ, without K."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from iokr._array import Array, array_namespace, gemm, is_array, matmul, row_sq_norms, take_rows
from iokr.gram.scalar import ScalarGram

__all__ = ["FeatureGram", "is_thin"]


def is_thin(R: Any, S: Any = None, width: int | None = None) -> bool:
    """Whether features are dense and fewer than the objects of a fit, which are those of S if there are two sets."""
    other = R if S is None else S
    if not is_array(R) or not is_array(other) or R.ndim != 2:
        return False
    return bool((R.shape[1] if width is None else width) < other.shape[0])


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
        self.left, self.right = R, R if S is None else S
        self.factor = R if S is None else None

    @property
    def factors(self) -> tuple[Array, Array]:
        """Φ of the rows and that of the columns."""
        return self.left, self.right

    def restrict(self, rows: Any) -> FeatureGram:
        """The Gram of some of the objects among themselves."""
        return FeatureGram(take_rows(self.left, rows), diag=self._diag or row_sq_norms)

    def scaled(self, c: float) -> FeatureGram:
        """cK."""
        return FeatureGram(c**0.5 * self.left, None if self.symmetric else c**0.5 * self.right)

    def joined(self, other: ScalarGram) -> FeatureGram | None:
        """K + K′, from the features of both."""
        if other.factors is None:
            return None
        left, right = other.factors
        xp = array_namespace(self.left)
        S = None if self.symmetric else xp.concat([self.right, right], axis=1)
        return FeatureGram(xp.concat([self.left, left], axis=1), S)

    def __matmul__(self, C: Array) -> Array:
        return matmul(self.left, matmul(self.right.T, C))
