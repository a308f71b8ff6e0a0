"""k(x, z) = Σ_f w_f c_f(x) c_f(z) for sparse counts c_f of the features of objects."""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from iokr._array import Array, matmul
from iokr._system.compile import compiled
from iokr.kernels.base import Kernel

__all__ = ["CountKernel", "Counts", "Vocabulary", "inner", "name_rows", "numbered", "sq_norms"]

_DENSE = 0.02  # columns are multiplied as dense ones if the product of their fractions of entries is above this
_TABLE = 1 << 16  # keys below this are named through a table, for any number of keys
_PACKED = 1 << 62  # the largest key


class Vocabulary:
    """The column of each feature.

    Every call of `represent` has a vocabulary of its own, so that a representation depends on the objects only; columns
    of two vocabularies are matched by their features when a block of both is computed.
    """

    _last: tuple[Any, np.ndarray] | None = None  # another vocabulary, and the columns found in it

    def __init__(self, columns: dict[Hashable, int]) -> None:
        self.columns = columns

    def _stored(self) -> dict[str, Any]:
        return {"columns": self.columns}

    @classmethod
    def of(cls, features: Iterable[Hashable]) -> Vocabulary:
        """Distinct features, a column each in their order."""
        return cls({feature: i for i, feature in enumerate(features)})

    def __len__(self) -> int:
        return len(self.columns)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_last"}

    def columns_of(self, other: Any) -> np.ndarray:
        """For each column that of the same feature in `other`, −1 if there is none."""
        last = self._last
        if last is not None and last[0]() is other:
            return last[1]
        columns = self._translated(other, grow=False)
        self._last = weakref.ref(other), columns
        return columns

    def merged(self, other: Any) -> tuple[Self, np.ndarray]:
        """A vocabulary of both, with the columns of this one first, and the columns of `other` in it."""
        both = self._copy()
        return both, other._translated(both, grow=True)

    def _copy(self) -> Self:
        return type(self)(dict(self.columns))

    def _translated(self, other: Any, *, grow: bool) -> np.ndarray:
        """For each column that of the same feature in `other`, which gets the missing ones if it may grow, else −1."""
        columns = other.columns
        if grow:
            return np.array([columns.setdefault(f, len(columns)) for f in self.columns], dtype=np.intp)
        return np.fromiter((columns.get(f, -1) for f in self.columns), dtype=np.intp, count=len(self))


class Counts:
    """c_f(x_i) as sparse rows over a vocabulary, which slices share."""

    def __init__(self, matrix: sp.csr_array, vocabulary: Vocabulary, weight: np.ndarray | None = None) -> None:
        self.matrix = matrix
        self.vocabulary = vocabulary
        self.weight = weight
        self.shape = (int(matrix.shape[0]),)

    def _stored(self) -> dict[str, Any]:
        return {"matrix": self.matrix, "vocabulary": self.vocabulary, "weight": self.weight, "shape": self.shape}

    @classmethod
    def of(
        cls,
        rows: np.ndarray,
        columns: np.ndarray,
        n: int,
        vocabulary: Vocabulary,
        weight: np.ndarray | None = None,
        values: np.ndarray | None = None,
    ) -> Counts:
        """From pairs of object and feature, each counted as 1 or as its value."""
        values = np.ones(len(rows)) if values is None else values
        return cls(sp.csr_array((values, (rows, columns)), shape=(n, len(vocabulary))), vocabulary, weight)

    @classmethod
    def sets(cls, columns: np.ndarray, sizes: Any, vocabulary: Vocabulary) -> Counts:
        """The features of one object after the other, `sizes` many for each, none twice for an object."""
        starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.intp)])
        matrix = sp.csr_array((np.ones(len(columns)), columns, starts), shape=(len(starts) - 1, len(vocabulary)))
        return cls(matrix, vocabulary)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> Counts:
        return Counts(self.matrix[rows], self.vocabulary, self.weight)

    def over(self, vocabulary: Vocabulary) -> sp.csr_array:
        """The rows over another vocabulary, without the features that it lacks."""
        if vocabulary is self.vocabulary:
            return self.matrix
        return _moved(self.matrix, self.vocabulary.columns_of(vocabulary), len(vocabulary))

    def concat(self, other: Counts) -> Counts:
        """These objects, then those of `other`."""
        vocabulary, target = self.vocabulary.merged(other.vocabulary)
        width = len(vocabulary)
        mine = _moved(self.matrix, np.arange(len(self.vocabulary)), width)
        both = sp.vstack([mine, _moved(other.matrix, target, width)], format="csr")
        weight = None
        if self.weight is not None and other.weight is not None:
            weight = np.empty(width)
            weight[target] = other.weight
            weight[: len(self.weight)] = self.weight
        return Counts(both, vocabulary, weight)


def _moved(matrix: sp.csr_array, target: np.ndarray, width: int) -> sp.csr_array:
    """Column c becomes column target[c]; columns without a target are dropped."""
    columns = target[matrix.indices]
    kept = columns >= 0
    starts = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    return sp.csr_array((matrix.data[kept], columns[kept], starts), shape=(matrix.shape[0], width))


def inner(R: Counts, S: Counts) -> np.ndarray:
    """Σ_f w_f c_f(x_i) c_f(z_j): columns that many objects have by a dense product, the others by a sparse one."""
    A = R.over(S.vocabulary)
    B = S.matrix
    width = B.shape[1]
    fill = np.bincount(A.indices, minlength=width) / max(len(R), 1)
    fill *= np.bincount(B.indices, minlength=width) / max(len(S), 1)
    if S.weight is not None:
        A = sp.csr_array((A.data * S.weight[A.indices], A.indices, A.indptr), shape=A.shape)
    full = fill >= _DENSE
    K: np.ndarray = np.zeros((len(R), len(S)))
    if not full.any():
        _add_product(A, B, K)
        return K
    target = np.where(full, np.cumsum(full) - 1, -1)
    n_full = int(full.sum())
    np.matmul(_moved(A, target, n_full).toarray(), _moved(B, target, n_full).toarray().T, out=K)
    rest = np.where((fill > 0) & ~full, np.cumsum(~full) - 1, -1)
    if (rest >= 0).any():
        n_rest = int((~full).sum())
        _add_product(_moved(A, rest, n_rest), _moved(B, rest, n_rest), K)
    return K


def _add_product(A: sp.csr_array, B: sp.csr_array, K: np.ndarray) -> None:
    """K += A Bᵀ for sparse factors."""
    loop = compiled(_add_rows)
    if loop is None:
        K += matmul(A, B.T)
        return
    columns = B.tocsc()
    loop(A.data, A.indices, A.indptr, columns.data, columns.indices, columns.indptr, K)


def _add_rows(data: Any, indices: Any, starts: Any, values: Any, rows: Any, ends: Any, K: Any) -> None:
    """K[i, j] += a_ic b_jc for each entry of A and each entry of B in the same column; Numba compiles it."""
    for i in range(len(starts) - 1):
        for k in range(starts[i], starts[i + 1]):
            for entry in range(ends[indices[k]], ends[indices[k] + 1]):
                K[i, rows[entry]] += data[k] * values[entry]


def sq_norms(R: Counts) -> np.ndarray:
    """Σ_f w_f c_f(x_i)²."""
    squares = R.matrix.data**2
    if R.weight is not None:
        squares *= R.weight[R.matrix.indices]
    rows = np.repeat(np.arange(len(R)), np.diff(R.matrix.indptr))
    return np.bincount(rows, squares, minlength=len(R)).astype(np.float64)  # bincount of nothing has integers


class CountKernel(Kernel):
    """k(x, z) = Σ_f w_f c_f(x) c_f(z): a subclass writes `represent(X)`, the counts."""

    def block(self, R: Counts, S: Counts) -> Array:
        return inner(R, S)

    def diag(self, R: Counts) -> Array:
        return sq_norms(R)


def name_rows(codes: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(names, first): equal rows of integers in [0, size) get equal names 0, 1, …; first[a] is a row of name a."""
    n, width = codes.shape
    names = np.zeros(n, dtype=np.int64)
    used = 1  # names are below
    for column in range(width):
        if used > _PACKED // max(size, 1):  # the key would overflow: rename the rows so far
            first, names = _named(names, used)
            used = len(first)
        names = names * size + codes[:, column]
        used *= size
    first, names = _named(names, used)
    return names, first


def numbered(items: list[Any]) -> tuple[dict[Hashable, int], np.ndarray]:
    """(numbers, codes): a number for each distinct item, in order of appearance, and that of every item."""
    numbers: dict[Hashable, int] = {item: i for i, item in enumerate(dict.fromkeys(items))}
    return numbers, np.fromiter(map(numbers.__getitem__, items), dtype=np.intp, count=len(items))


def _named(keys: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(first, names) of keys in [0, size), in the order of the keys."""
    if size <= max(_TABLE, 4 * len(keys)):
        table = np.full(size, -1, dtype=np.int64)
        table[keys[::-1]] = np.arange(len(keys))[::-1]
        seen = np.flatnonzero(table >= 0)
        first = table[seen]
        table[seen] = np.arange(len(seen))
        return first, table[keys]
    _, first, names = np.unique(keys, return_index=True, return_inverse=True)
    return first, names
