"""Kernels on sets and counts."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, gemm, is_array, is_sparse, row_sq_norms, to_numpy
from iokr._component import component
from iokr._objects import Parts, as_objects, is_numeric, n_objects
from iokr._validation import check_vectors
from iokr.kernels.base import Kernel
from iokr.kernels.counts import Counts, Vocabulary, inner, numbered

__all__ = ["Jaccard", "Tanimoto"]


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


@component
class Jaccard(Kernel):
    """k(x, z) = |x ∩ z| / |x ∪ z|; 1 for two empty sets.

    Objects are Python sets, or lists and tuples of hashable elements; rows of a matrix are the sets of the columns
    where they are not zero, so that label matrices and sets of column numbers can be mixed. The price of a block is
    that of a product of sparse 0/1 rows. For rows that are all numbers, `Tanimoto` is the same and keeps arrays in
    their own library.

    Examples
    --------
    >>> from iokr.kernels import Jaccard
    >>> Jaccard()([{"red", "blue"}], [{"red"}, {"red", "green"}, set()]).round(3)
    array([[0.5  , 0.333, 0.   ]])
    """

    domain = "sets"

    def represent(self, X: Any) -> Parts:
        """Whose element is what, and how many each set has."""
        n_objects(X)
        rows, elements = _rows_as_sets(X) if _is_matrix(X) else _elements(X)
        columns, places = numbered(elements)
        counts = Counts.of(rows, places, n_objects(X), Vocabulary(columns))
        return Parts(counts, np.diff(counts.matrix.indptr).astype(np.float64))

    def block(self, R: Parts, S: Parts) -> Array:
        """The (n, m) array of k(x_i, z_j)."""
        (X, x_sizes), (Z, z_sizes) = R, S
        both = inner(X, Z)
        either = x_sizes[:, None] + z_sizes[None, :]
        either -= both
        if x_sizes.min(initial=1.0) == z_sizes.min(initial=1.0) == 0:  # two empty sets: k = 1
            both[either == 0], either[either == 0] = 1.0, 1.0
        both /= either
        return both

    def diag(self, R: Parts) -> Array:
        """Ones."""
        return np.ones(len(R))


def _is_matrix(X: Any) -> bool:
    return is_numeric(X) and len(X.shape) == 2


def _rows_as_sets(X: Any) -> tuple[np.ndarray, list[Hashable]]:
    """(rows, columns) where a matrix is not zero."""
    if not is_sparse(X):
        X = to_numpy(X) if is_array(X) else np.asarray(X)
    rows, columns = X.nonzero()
    return rows, columns.tolist()


def _elements(X: Any) -> tuple[np.ndarray, list[Hashable]]:
    """(rows, elements) of Python sets; what is none is refused by its number."""
    sizes: list[int] = []
    elements: list[Hashable] = []
    for i, x in enumerate(as_objects(X)):
        if isinstance(x, (str, bytes, dict)) or not hasattr(x, "__iter__"):
            raise TypeError(f"Object {i} must be a set, or a list or tuple of elements, got {x!r:.60}.")
        items = x.tolist() if hasattr(x, "tolist") else x
        try:
            members = set(items)
        except TypeError as error:
            raise TypeError(f"Set {i} has an element that cannot be hashed ({error}).") from None
        sizes.append(len(members))
        elements.extend(members)
    return np.repeat(np.arange(len(sizes)), sizes), elements
