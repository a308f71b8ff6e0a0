"""Sequences of arbitrary objects: count them, take some, compare them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import numpy as np

from iokr._array import array_namespace, blocks, is_array, is_numpy, is_sparse, take_rows, to_numpy

__all__ = [
    "BadObject",
    "BadObjectType",
    "Parts",
    "as_objects",
    "concat",
    "distinct",
    "error_context",
    "is_numeric",
    "key",
    "keys",
    "n_objects",
    "take",
]


_ENTRIES = 1 << 22  # densified at a time


def as_objects(items: Iterable[Any]) -> np.ndarray:
    """A 1-D object array of `items`, whatever they are (NumPy would turn equal-length lists into a matrix)."""
    items = list(items)
    return np.fromiter(items, dtype=object, count=len(items))


def is_numeric(Y: Any) -> bool:
    """Whether `Y` is an array (or data frame, or sparse matrix) of numbers."""
    if is_sparse(Y):
        return True
    if is_array(Y):
        return not is_numpy(Y) or np.asarray(Y).dtype.kind in "buif"
    if hasattr(Y, "__dataframe__") or hasattr(Y, "__array__"):
        return np.asarray(Y).dtype.kind in "buif"
    return False


def n_objects(X: Any, name: str = "X") -> int:
    """How many objects `X` holds."""
    if hasattr(X, "shape") and getattr(X, "shape", None):
        return int(X.shape[0])
    if hasattr(X, "__array__") and not hasattr(X, "__len__"):
        return n_objects(np.asarray(X), name)
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise TypeError(f"`{name}` must be a sequence of objects or an array, got {X!r:.60}.")
    return len(X)


class BadObject(ValueError):
    """An object that cannot be read: `argument`, where it is known, `kind` and `index` of the object, then `text`.

    The index is that in the sequence, or says where that stands: "3 of candidate set 2".

    Examples
    --------
    >>> from iokr._objects import BadObject, error_context
    >>> try:
    ...     with error_context("y", lambda i: i + 10):
    ...         raise BadObject("String", 3, " is empty.")
    ... except BadObject as error:
    ...     print(error)
    `y`: String 13 is empty.
    """

    def __init__(self, kind: str, index: int | str, text: str, argument: str | None = None) -> None:
        super().__init__(kind, index, text, argument)  # all of them, so that errors pickle
        self.kind, self.index, self.text, self.argument = kind, index, text, argument

    def __str__(self) -> str:
        where = "" if self.argument is None else f"`{self.argument}`: "
        return f"{where}{self.kind} {self.index}{self.text}"


class BadObjectType(BadObject, TypeError):
    """An object that cannot be read because of its type."""


@contextmanager
def error_context(name: str, number: Callable[[int], int | str] | None = None) -> Iterator[None]:
    """A `BadObject` says in which argument it is, and `number(i)` in place of its index i where some were taken."""
    try:
        yield
    except BadObject as error:
        index = error.index if number is None or isinstance(error.index, str) else number(error.index)
        raise type(error)(error.kind, index, error.text, error.argument or name) from None


def take(X: Any, rows: Any) -> Any:
    """The objects at `rows` (integers or a slice): an array for arrays, else a 1-D object array."""
    if isinstance(rows, slice):
        rows = np.arange(n_objects(X))[rows]
    rows = to_numpy(rows)
    if rows.dtype == bool:
        rows = np.flatnonzero(rows)
    if is_sparse(X):
        return X.tocsr()[rows]
    if is_array(X) or isinstance(X, Parts):
        return take_rows(X, rows)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "__dataframe__") or (hasattr(X, "__array__") and hasattr(X, "to_numpy")):
        return X[rows]
    if hasattr(X, "__array__"):
        return np.asarray(X)[rows]
    return as_objects(X[int(i)] for i in rows)


class Parts:
    """Several representations of the same objects, sliced together: what composite kernels represent to."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts
        self.shape = (parts[0].shape[0],)

    def __getitem__(self, rows: Any) -> Parts:
        return Parts(*(take_rows(part, rows) for part in self.parts))

    def __len__(self) -> int:
        return int(self.shape[0])

    def __iter__(self) -> Any:
        return iter(self.parts)


def concat(R: Any, S: Any) -> Any:
    """The objects of `R`, then those of `S`."""
    if isinstance(R, Parts):
        return Parts(*(concat(a, b) for a, b in zip(R, S, strict=True)))
    if is_sparse(R) or is_sparse(S):
        from scipy.sparse import csr_array, vstack

        return vstack([csr_array(R), csr_array(S)], format="csr")
    if is_array(R):
        return array_namespace(R, S).concat([R, S], axis=0)
    if hasattr(R, "concat"):  # a representation that knows how
        return R.concat(S)
    return as_objects([*R, *S])


def key(item: Any) -> Hashable:
    """A hashable stand-in, equal for equal objects; what can be neither hashed nor read compares by identity."""
    if isinstance(item, np.generic):
        item = item.item()
    if is_array(item):
        values = to_numpy(item)
        return keys(values[None, ...])[0] if values.ndim else key(values[()])
    if isinstance(item, (list, tuple)):
        if item and all(isinstance(x, (int, float, np.number)) for x in item):
            return keys(np.asarray(item, dtype=np.float64)[None, :])[0]  # numbers compare as they do in a row
        return ("sequence", tuple(map(key, item)))
    if isinstance(item, (set, frozenset)):
        return ("set", frozenset(map(key, item)))
    if isinstance(item, dict):
        return ("dict", frozenset((key(k), key(v)) for k, v in item.items()))
    try:
        hash(item)
    except TypeError:
        return ("object", id(item))
    return item  # type: ignore[no-any-return]


def keys(Y: Any) -> list[Hashable]:
    """The key of every object; rows of arrays and sparse matrices are objects, equal when their numbers are."""
    if is_sparse(Y):
        Y = Y.tocsr()
        height = max(1, _ENTRIES // max(Y.shape[1], 1))
        return [k for rows in blocks(Y.shape[0], height) for k in keys(Y[rows].toarray())]
    if hasattr(Y, "iloc"):
        Y = Y.to_numpy()
    if is_array(Y):
        values = to_numpy(Y)
        if values.dtype.kind in "buif":
            if values.ndim == 1:
                return [float(v) for v in values]
            width = max(int(np.prod(values.shape[1:])), 1)
            head = f"{values.shape[1:]}".encode()
            height = max(1, _ENTRIES // width)
            return [head + k for rows in blocks(values.shape[0], height) for k in _row_keys(values[rows])]
        Y = values
    return [key(item) for item in Y]


def _row_keys(values: np.ndarray) -> Iterator[bytes]:
    """Few bytes for each row of numbers; rows of small counts, such as fingerprints, are read as such."""
    values = values.reshape(values.shape[0], -1)
    with np.errstate(invalid="ignore"):
        counts = values.astype(np.uint8)
    small = np.all(counts == values, axis=1)
    wide = values if np.all(small) else np.ascontiguousarray(values, dtype=np.float64) + 0.0  # −0 is 0
    for row, is_small in enumerate(small):
        raw = (counts if is_small else wide)[row].tobytes()
        yield raw if len(raw) <= 32 else blake2b(raw, digest_size=16).digest()


def distinct(Y: Sequence[Any] | Any) -> tuple[np.ndarray, np.ndarray]:
    """(first, inverse): the first index of each distinct object, in that order, and which of them each object is."""
    seen: dict[Hashable, int] = {}
    inverse = np.fromiter((seen.setdefault(k, len(seen)) for k in keys(Y)), dtype=np.intp)
    first = np.full(len(seen), len(inverse), dtype=np.intp)
    np.minimum.at(first, inverse, np.arange(len(inverse)))
    return first, inverse
