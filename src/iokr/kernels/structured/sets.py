"""Kernels on sets, on sets of labels, and on counts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import sqrt
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, gemm, is_array, is_numpy, is_sparse, row_sq_norms, to_numpy
from iokr._component import component
from iokr._system.compile import compiled
from iokr._validation.arguments import check_computed, check_vectors
from iokr.data.bits import Bits
from iokr.data.frames import read
from iokr.data.objects import BadObject, BadObjectType, Parts, as_objects, is_numeric, is_sequence, n_objects
from iokr.kernels._data.counts import Counts, Vocabulary, inner, numbered
from iokr.kernels.base import FeatureKernel, UnitKernel

__all__ = ["Hamming", "Jaccard", "Tanimoto"]


_EXACT = 1 << 24  # single precision has all whole numbers up to this
_ELEMENTS = 1 << 13  # largest number of elements whose presence is stored as bits
_WIDE = 64  # length of a row from which packing into bits is faster
_WORDS = 8  # words of 64 bits that are compared in the time of counting one shared element

# shifts and masks that count the bits of a word: in pairs, in fours, in bytes, and all of them in the top byte
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_FOUR = np.uint64(4)
_TOP = np.uint64(56)
_PAIRS = np.uint64(0x5555555555555555)
_NIBBLES = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES = np.uint64(0x0101010101010101)


@component
class Tanimoto(UnitKernel):
    """k(x, z) = x·z / (x·x + z·z − x·z): |x ∩ z| / |x ∪ z| for binary rows; 0/0 is 1.

    Rows are binary fingerprints or counts of at least 0, dense or sparse, or `iokr.chem.Bits`. A block costs the
    product X Zᵀ; with the `fast` extra dense binary rows are packed, 64 bits to a word, and their bits counted.

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
        norms = check_computed(row_sq_norms(R), "Row", "x·x", room=4.0)
        if is_numpy(R) and _packs(R):
            return Parts(Bits.of(R), norms)
        return Parts(R, norms)

    def block(self, R: Parts, S: Parts) -> Array:
        X, x_norms = R
        Z, z_norms = S
        loop = compiled(_bits_shared)
        if loop is not None and isinstance(X, Bits) and isinstance(Z, Bits) and X.n_bits == Z.n_bits:
            return _by_words(loop, X, Z, x_norms, z_norms)
        left, right = (np.asarray(rows, dtype=np.float64) if isinstance(rows, Bits) else rows for rows in (X, Z))
        return _over_union(gemm(left, right), x_norms, z_norms)


@component
class Jaccard(UnitKernel):
    """k(x, z) = |x ∩ z| / |x ∪ z|; 1 for two empty sets.

    Objects are Python sets, or lists and tuples of hashable elements. A row of a matrix is the set of the columns where
    it is not zero, so that label matrices and sets of column numbers can be mixed. A block costs a product of sparse
    0/1 rows, or with the `fast` extra and few elements an `and` of bits. For rows of numbers `Tanimoto` is the same
    kernel, for arrays of any library.

    Examples
    --------
    >>> from iokr.kernels import Jaccard
    >>> Jaccard()([{"red", "blue"}], [{"red"}, {"red", "green"}, set()]).round(3)
    array([[0.5  , 0.333, 0.   ]])
    """

    domain = "sets"

    def represent(self, X: Any) -> Parts:
        """The elements of each set, and their number."""
        n_objects(X)
        X = read(X, matrix=True)
        is_matrix = is_numeric(X) and len(X.shape) == 2
        sizes, elements = _rows_as_sets(X) if is_matrix else _elements(X)
        columns, places = numbered(elements)
        return Parts(Counts.sets(places, sizes, Vocabulary(columns)), sizes.astype(np.float64))

    def block(self, R: Parts, S: Parts) -> Array:
        X, x_sizes = R
        Z, z_sizes = S
        loop = compiled(_bits_shared)
        if loop is not None and _as_bits(X, Z):
            return _by_words(loop, _bits(X.over(Z.vocabulary)), _bits(Z.matrix), x_sizes, z_sizes)
        return _over_union(inner(X, Z), x_sizes, z_sizes)


def _over_union(both: Array, x_sizes: Array, z_sizes: Array) -> Array:
    """|x ∩ z| / (|x| + |z| − |x ∩ z|); 1 for two empty sets. `both` is overwritten."""
    either = x_sizes[:, None] + z_sizes[None, :]
    either -= both
    xp = array_namespace(both)
    empty = either <= 0
    if bool(xp.any(empty)):
        return xp.where(empty, 1.0, both / xp.where(empty, 1.0, either))
    both /= either
    return both


def _by_words(loop: Any, X: Bits, Z: Bits, x_sizes: np.ndarray, z_sizes: np.ndarray) -> np.ndarray:
    """The same from packed bits, by the compiled loop."""
    K = np.empty((len(X), len(Z)))
    loop(X.words(), np.ascontiguousarray(Z.words().T), x_sizes, z_sizes, K)
    return K


def _packs(X: np.ndarray) -> bool:
    """Whether rows are bits, and long enough for packing."""
    if X.shape[1] < _WIDE or compiled(_bits_shared) is None:
        return False
    values = X.data if is_sparse(X) else X
    return bool(np.all((values == 0) | (values == 1)))


def _as_bits(X: Counts, Z: Counts) -> bool:
    """Whether comparing words of bits takes less time than counting the shared elements of all pairs."""
    A = X.over(Z.vocabulary)
    B = Z.matrix
    width = B.shape[1]
    shared = np.bincount(A.indices, minlength=width) @ np.bincount(B.indices, minlength=width)
    return bool(width <= _ELEMENTS and width / 64 * len(X) * len(Z) <= _WORDS * shared)


def _bits(matrix: Any) -> Bits:
    """A bit for each element, one where a set has it."""
    present = np.zeros(matrix.shape, dtype=bool)
    present[np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices] = True
    return Bits(np.packbits(present, axis=1), matrix.shape[1])


def _bits_shared(x: Any, z: Any, x_sizes: Any, z_sizes: Any, K: Any) -> None:
    """K[i, j] = |x_i ∩ z_j| / |x_i ∪ z_j| from bits, those of z by words; Numba compiles it."""
    shared = np.empty(z.shape[1], dtype=np.uint64)
    for i in range(x.shape[0]):
        shared[:] = np.uint64(0)
        for w in range(x.shape[1]):
            here = x[i, w]
            for j in range(z.shape[1]):
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
    """(sizes, columns): the columns where a matrix is not zero, by rows."""
    if not is_sparse(X):
        X = to_numpy(X) if is_array(X) else np.asarray(X)
    rows, columns = X.nonzero()
    columns = columns[np.argsort(rows, kind="stable")]
    return np.bincount(rows, minlength=X.shape[0]), columns.tolist()


def _elements(X: Any) -> tuple[np.ndarray, list[Hashable]]:
    """(sizes, elements) of Python sets. Errors give the number of the object."""
    sizes: list[int] = []
    elements: list[Hashable] = []
    for i, x in enumerate(as_objects(X)):
        if isinstance(x, (str, bytes, dict)) or not isinstance(x, Iterable):
            raise BadObjectType("Object", i, f" must be a set, or a list or tuple of elements, got {x!r:.60}.")
        try:
            members = set(to_numpy(x).tolist() if is_array(x) else x)
        except TypeError as error:
            raise BadObjectType("Set", i, f" has an element that cannot be hashed ({error}).") from None
        sizes.append(len(members))
        elements.extend(members)
    return np.array(sizes, dtype=np.intp), elements


@component
class Hamming(FeatureKernel):
    """k(x, z) = 1 − |x Δ z| / d for sets x, z of labels out of d: the fraction of labels on which the two agree.

    ψ(x) has a sign for each label, so that ‖ψ(x) − ψ(z)‖² is twice the Hamming loss, and a label that neither set has
    counts as much as one that both have (`Jaccard` leaves it out). Objects are Python sets, or rows of zeros and ones.
    Labels that are not known at `fit` raise an error. A block costs 2nmd flops, one product. For rows of categories use
    `Positional(Delta())`, which counts the entries that agree.

    Parameters
    ----------
    labels : sequence, default=None
        All labels; None takes those of the sets at `fit`, or the columns of rows.

    Attributes
    ----------
    labels_ : list
        The labels; column numbers for rows.

    Examples
    --------
    >>> from iokr.kernels import Hamming
    >>> Hamming(["jazz", "folk", "rock", "pop"])([{"jazz", "folk"}], [{"jazz"}, {"rock"}, set()])
    array([[0.75, 0.25, 0.5 ]])
    >>> Hamming()([[1, 1, 0, 0]], [[1, 0, 0, 0]])
    array([[0.75]])
    """

    labels: Sequence[Any] | None = None

    domain = "sets"

    def fit(self, X: Any) -> Hamming:
        """The labels."""
        n_objects(X)
        X = read(X, matrix=True)
        if self.labels is not None:
            if isinstance(self.labels, str) or not isinstance(self.labels, Iterable):
                raise TypeError(f"`labels` must be a sequence of all labels, got {self.labels!r:.60}.")
            self.labels_ = as_objects(self.labels).tolist()
        elif is_numeric(X) and len(X.shape) == 2:
            self.labels_ = list(range(X.shape[1]))
        else:
            found: dict[Hashable, None] = {}  # in order of appearance
            for x in as_objects(X):
                labels = sorted(x, key=str) if isinstance(x, (set, frozenset)) else range(_length(x))
                found.update(dict.fromkeys(labels))
            self.labels_ = list(found)
        if len(set(self.labels_)) != len(self.labels_):
            raise ValueError("`labels` names a label twice; each counts once.")
        if not self.labels_:
            raise ValueError("The sets at `fit` have no labels; give all labels as `labels`.")
        return self

    def features(self, X: Any) -> Array:
        """(±1/√(2d) for each label, 1/√2)."""
        rows = self._rows(X)
        xp = array_namespace(rows)
        signs = (2.0 * rows - 1.0) / sqrt(2.0 * len(self.labels_))
        return xp.concat([signs, xp.full_like(signs[:, :1], sqrt(0.5))], axis=1)

    def block(self, R: Array, S: Array) -> Array:
        """The (n, m) array of k(x_i, z_j), in single precision where sums of signs are exact."""
        d = len(self.labels_)
        if not is_numpy(R) or not is_numpy(S) or d >= _EXACT:
            return super().block(R, S)
        left = np.sign(R[:, :-1]).astype(np.float32)
        right = np.sign(S[:, :-1]).astype(np.float32)
        K = (left @ right.T).astype(np.float64)
        K /= 2.0 * d
        K += 0.5
        return K

    def _rows(self, X: Any) -> Array:
        """Zeros and ones, a column for each label. Errors give the number of the object."""
        n_objects(X)
        X = read(X, matrix=True)
        if not is_numeric(X):
            return self._indicators(as_objects(X))
        X = X.toarray() if is_sparse(X) else X
        if X.ndim != 2 or X.shape[1] != len(self.labels_):
            known = len(self.labels_)
            raise BadObject("Rows", f"of shape {tuple(X.shape)}", f" do not match the {known} labels at fit.")
        xp = array_namespace(X)
        bad = xp.any((X != 0) & (X != 1), axis=1)
        if bool(xp.any(bad)):
            i = int(xp.argmax(xp.astype(bad, xp.int64)))
            raise BadObject("Row", i, " has entries other than 0 and 1; for categories use `Positional(Delta())`.")
        return xp.astype(X, xp.float64) if not is_numpy(X) else X.astype(np.float64)

    def _indicators(self, X: np.ndarray) -> np.ndarray:
        columns = {label: j for j, label in enumerate(self.labels_)}
        found = [_columns_of(x, columns, i) for i, x in enumerate(X)]
        rows = np.zeros((len(X), len(columns)))
        owners = np.repeat(np.arange(len(X)), [len(ones) for ones in found])
        rows[owners, np.array([j for ones in found for j in ones], dtype=np.intp)] = 1.0
        return rows


def _columns_of(x: Any, columns: dict[Hashable, int], i: int) -> list[int] | np.ndarray:
    """The columns of the labels of a set, or of the ones of a row."""
    if isinstance(x, (set, frozenset)):
        try:
            return [columns[label] for label in x]
        except KeyError as error:
            raise BadObject(
                "Set", i, f" has the label {error.args[0]!r:.60}, which is unknown; give all labels as `labels`."
            ) from None
    if _length(x) == len(columns) and all(value in (0, 1) for value in np.asarray(x).tolist()):
        return np.flatnonzero(np.asarray(x))
    raise BadObjectType(
        "Object", i, f" must be a set of labels, or a row of {len(columns)} zeros and ones, got {x!r:.60}."
    )


def _length(x: Any) -> int:
    """The number of entries of a row; 0 for other objects."""
    if isinstance(x, (str, bytes)) or not is_sequence(x):
        return 0
    try:
        return len(x) if np.ndim(x) == 1 else 0
    except ValueError:  # entries of different lengths
        return 0
