"""Kernels on sets and counts."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, gemm, is_array, is_numpy, is_sparse, row_sizes, row_sq_norms, to_numpy
from iokr._component import component
from iokr._system.compile import compiled
from iokr._validation.arguments import check_computed, check_vectors
from iokr.data.bits import Bits
from iokr.data.frames import read
from iokr.data.objects import BadObject, BadObjectType, Parts, as_objects, is_numeric, n_objects
from iokr.kernels._data.counts import Counts, Vocabulary, inner, numbered
from iokr.kernels.base import Kernel

__all__ = ["Jaccard", "Tanimoto"]

_SMALLEST = 1e-290  # x·x of a row that is not empty
_ELEMENTS = 1 << 13  # whose presence is kept as bits, at most
_WIDE = 64  # bits of a row from which packing pays
_WORDS = 8  # of 64 bits are compared in the time in which a shared element is counted

_ONE, _TWO, _FOUR, _TOP = (np.uint64(shift) for shift in (1, 2, 4, 56))
_PAIRS, _NIBBLES, _BYTES, _ONES = (np.uint64(int(byte * 8, 16)) for byte in ("55", "33", "0f", "01"))


@component
class Tanimoto(Kernel):
    """k(x, z) = x·z / (x·x + z·z − x·z): |x ∩ z| / |x ∪ z| for binary rows; 0/0 is 1.

    Rows are binary fingerprints or counts (nothing negative), dense or sparse, or `iokr.chem.Bits`. The price of a
    block is that of the product X Zᵀ; with the `fast` extra dense binary rows are packed, 64 bits to a word, and their
    bits counted.

    Examples
    --------
    >>> from iokr.kernels import Tanimoto
    >>> Tanimoto()([[1, 1, 0]], [[1, 0, 1], [0, 0, 0]]).round(4)
    array([[0.3333, 0.    ]])
    """

    domain = "fingerprints"

    def represent(self, X: Any) -> Parts:
        """The rows and their squared norms."""
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "bu" and _packs(X):
            X = Bits.of(X)
        if isinstance(X, Bits):
            return Parts(X, X.counts)
        R = check_vectors(X, "fingerprints")
        values = R.data if is_sparse(R) else R
        if values.shape[0] and bool(array_namespace(values).any(values < 0)):
            raise ValueError(
                "`Tanimoto` needs binary or count rows, but some entries are negative; use `Cosine` or `RBF`."
            )
        norms = row_sq_norms(R)
        check_computed(norms, "Row", "x·x", room=4.0)
        xp = array_namespace(norms)
        lost = (norms < _SMALLEST) & (row_sizes(R) > 0) if bool(xp.any(norms < _SMALLEST)) else norms < 0
        if bool(xp.any(lost)):
            row = int(xp.argmax(xp.astype(lost, xp.int8)))
            raise BadObject("Row", row, " has numbers too small: x·x vanishes; multiply the data by a constant.")
        if is_numpy(R) and _packs(R):
            return Parts(Bits.of(R), norms)
        return Parts(R, norms)

    def block(self, R: Parts, S: Parts) -> Array:
        (X, x_norms), (Z, z_norms) = R, S
        loop = compiled(_bits_shared)
        if loop is not None and isinstance(X, Bits) and isinstance(Z, Bits) and X.n_bits == Z.n_bits:
            K = np.empty((len(X), len(Z)))
            loop(X.words(), np.ascontiguousarray(Z.words().T), x_norms, z_norms, K)
            return K
        both = gemm(*(np.asarray(rows, dtype=np.float64) if isinstance(rows, Bits) else rows for rows in (X, Z)))
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
    that of a product of sparse 0/1 rows, or with the `fast` extra of an `and` of bits where elements are few. For rows
    that are all numbers, `Tanimoto` is the same and keeps arrays in their own library.

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
        X = read(X, matrix=True)
        sizes, elements = _rows_as_sets(X) if is_numeric(X) and len(X.shape) == 2 else _elements(X)
        columns, places = numbered(elements)
        return Parts(Counts.sets(places, sizes, Vocabulary(columns)), sizes.astype(np.float64))

    def block(self, R: Parts, S: Parts) -> Array:
        (X, x_sizes), (Z, z_sizes) = R, S
        loop = compiled(_bits_shared)
        if loop is not None and _as_bits(X, Z):
            K = np.empty((len(X), len(Z)))
            loop(_bits(X.over(Z.vocabulary)), np.ascontiguousarray(_bits(Z.matrix).T), x_sizes, z_sizes, K)
            return K
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


def _packs(X: np.ndarray) -> bool:
    """Whether rows are bits, and many enough for a word."""
    values = X.data if is_sparse(X) else X
    return X.shape[1] >= _WIDE and compiled(_bits_shared) is not None and bool(np.all((values == 0) | (values == 1)))


def _as_bits(X: Counts, Z: Counts) -> bool:
    """Whether elements are few, for the shared ones that pairs have on average."""
    A, B = X.over(Z.vocabulary), Z.matrix
    width = B.shape[1]
    shared = np.bincount(A.indices, minlength=width) @ np.bincount(B.indices, minlength=width)
    return bool(width <= _ELEMENTS and width / 64 * len(X) * len(Z) <= _WORDS * shared)


def _bits(matrix: Any) -> np.ndarray:
    """(n, words of 64): one bit for each element that a set has."""
    there = np.zeros((matrix.shape[0], -(-matrix.shape[1] // 64) * 64), dtype=bool)
    there[np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices] = True
    return np.packbits(there, axis=1).view(np.uint64)


def _bits_shared(x: Any, z: Any, x_sizes: Any, z_sizes: Any, K: Any) -> None:
    """K[i, j] = |x_i ∩ z_j| / |x_i ∪ z_j| from bits, those of z by words; Numba compiles it."""
    shared = np.empty(z.shape[1], dtype=np.uint64)
    for i in range(x.shape[0]):
        shared[:] = np.uint64(0)
        for w in range(x.shape[1]):
            here = x[i, w]
            for j in range(z.shape[1]):  # bits in a word: of pairs, of four, of eight, and their sum in the top byte
                both = here & z[w, j]
                both -= (both >> _ONE) & _PAIRS
                both = (both & _NIBBLES) + ((both >> _TWO) & _NIBBLES)
                both = (both + (both >> _FOUR)) & _BYTES
                shared[j] += (both * _ONES) >> _TOP
        for j in range(z.shape[1]):
            count = float(shared[j])
            either = x_sizes[i] + z_sizes[j] - count
            K[i, j] = count / either if either > 0.0 else 1.0


def _rows_as_sets(X: Any) -> tuple[np.ndarray, list[Hashable]]:
    """(sizes, columns) where a matrix is not zero, row by row."""
    if not is_sparse(X):
        X = to_numpy(X) if is_array(X) else np.asarray(X)
    rows, columns = X.nonzero()
    columns = columns[np.argsort(rows, kind="stable")]
    return np.bincount(rows, minlength=X.shape[0]), columns.tolist()


def _elements(X: Any) -> tuple[np.ndarray, list[Hashable]]:
    """(sizes, elements) of Python sets; what is none is refused by its number."""
    sizes: list[int] = []
    elements: list[Hashable] = []
    for i, x in enumerate(as_objects(X)):
        if isinstance(x, (str, bytes, dict)) or not hasattr(x, "__iter__"):
            raise BadObjectType("Object", i, f" must be a set, or a list or tuple of elements, got {x!r:.60}.")
        try:
            members = x if isinstance(x, (set, frozenset)) else set(x.tolist() if hasattr(x, "tolist") else x)
        except TypeError as error:
            raise BadObjectType("Set", i, f" has an element that cannot be hashed ({error}).") from None
        sizes.append(len(members))
        elements.extend(members)
    return np.array(sizes, dtype=np.intp), elements
