"""Kernels on sets and counts."""

from __future__ import annotations

from typing import Any

from iokr._array import Array, array_namespace, gemm, is_sparse, row_sq_norms
from iokr._component import component
from iokr._objects import Parts
from iokr._validation import check_vectors
from iokr.kernels.base import Kernel

__all__ = ["Tanimoto"]


@component
class Tanimoto(Kernel):
    """k(x, z) = x·z / (x·x + z·z − x·z): |x ∩ z| / |x ∪ z| for binary rows; 0/0 is 1.

    Rows are binary fingerprints or counts (nothing negative), dense or sparse. The price of a block is that of
    the product X Zᵀ.

    Examples
    --------
    >>> from iokr.kernels import Tanimoto
    >>> Tanimoto()([[1, 1, 0]], [[1, 0, 1], [0, 0, 0]]).round(4)
    array([[0.3333, 0.    ]])
    """

    domain = "fingerprints"

    def represent(self, X: Any) -> Parts:
        """The rows and their squared norms."""
        R = check_vectors(X, "fingerprints")
        values = R.data if is_sparse(R) else R
        if values.shape[0] and bool(array_namespace(values).any(values < 0)):
            raise ValueError(
                "`Tanimoto` needs binary or count rows, but some entries are negative; use `Cosine` or `RBF`."
            )
        return Parts(R, row_sq_norms(R))

    def block(self, R: Parts, S: Parts) -> Array:
        """The (n, m) array of k(x_i, z_j)."""
        (X, x_norms), (Z, z_norms) = R, S
        both = gemm(X, Z)
        either = x_norms[:, None] + z_norms[None, :]
        either -= both
        xp = array_namespace(both)
        empty = either <= 0  # two empty sets: k = 1
        if bool(xp.any(empty)):
            return xp.where(empty, 1.0, both / xp.where(empty, 1.0, either))
        both /= either
        return both

    def diag(self, R: Parts) -> Array:
        """Ones."""
        return array_namespace(R.parts[1]).ones_like(R.parts[1])
