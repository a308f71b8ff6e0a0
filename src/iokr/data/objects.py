"""Sequences of arbitrary objects: count, select, join and compare them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, blocks, is_array, is_numpy, is_sparse, take_rows, to_numpy, unreadable
from iokr._validation.errors import BadObject, BadObjectType, error_context
from iokr.data.frames import EXACT, exact_stack, is_table, object_array, read, take_table

__all__ = [
    "BadObject",
    "BadObjectType",
    "Parts",
    "as_array",
    "as_objects",
    "concat",
    "distinct",
    "equal_entries",
    "error_context",
    "is_networkx",
    "is_numeric",
    "is_sequence",
    "joined",
    "key",
    "keys",
    "n_objects",
    "rows_by_name",
    "take",
]


_ENTRIES = 1 << 22  # entries of sparse rows that are made dense at a time
_RAW = 32  # bytes of a row that are compared as they are; longer ones by a digest of
_DIGEST = 16  # bytes
_NAN = ("NaN",)  # keys that are equal to themselves, unlike NaN and NaT
_NAT = ("NaT",)
_SECOND: dict[str, int | Fraction] = {"W": 604800, "D": 86400, "h": 3600, "m": 60, "s": 1}
_SECOND |= {unit: Fraction(1, 1000**k) for k, unit in enumerate(("ms", "us", "ns", "ps", "fs", "as"), start=1)}


def as_objects(items: Iterable[Any]) -> np.ndarray:
    """A 1-D object array of `items`, of any kind."""
    found: Any = read(items)
    if is_sparse(found):
        found = found.tocsr()
    elif hasattr(found, "__array__") and not hasattr(found, "__iter__"):
        found = np.asarray(found)
    return object_array(list(found))


def as_array(items: Any) -> np.ndarray:
    """`items` as NumPy reads them, as objects where it would round whole numbers; ragged lists raise `ValueError`."""
    items = read(items)
    if is_array(items):
        return to_numpy(items)
    found = np.asarray(items)
    if found.dtype.kind != "f" or not found.size or np.abs(found).max() < EXACT:
        return found
    exact = np.asarray(items, dtype=object)
    pairs = zip(exact.ravel().tolist(), found.ravel().tolist(), strict=True)  # Python compares them exactly
    return exact if any(v != w and v == v for v, w in pairs) else found


def is_numeric(Y: Any) -> bool:
    """Whether `Y` is an array (or data frame, or sparse matrix) of real numbers."""
    if is_array(Y) and not is_numpy(Y):
        return not array_namespace(Y).isdtype(Y.dtype, "complex floating")
    if not (is_sparse(Y) or is_array(Y)):
        if not (is_table(Y) or hasattr(Y, "__array__")):
            return False
        Y = np.asarray(read(Y))
    return bool(Y.dtype.kind in "buif")


def n_objects(X: Any, name: str = "X") -> int:
    """The number of objects in `X`."""
    if hasattr(type(X), "collect") and is_table(X):  # a lazy frame
        X = X.collect()
    if is_sparse(X) and X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: `{name}` must be real.")
    shape = getattr(X, "shape", None)
    if shape:
        return int(shape[0])
    counted = hasattr(X, "__len__")
    if hasattr(X, "__array__") and not counted:
        return n_objects(np.asarray(X), name)
    if isinstance(X, Mapping) or (counted and not hasattr(X, "__getitem__")):
        raise TypeError(
            f"`{name}` must be a sequence of objects or an array, got a {type(X).__name__}, whose entries have no "
            "order; pass a list or a data frame."
        )
    if isinstance(X, (str, bytes, type)) or not counted or shape == ():
        raise TypeError(f"`{name}` must be a sequence of objects or an array, got {X!r:.60}.")
    return len(X)


def is_sequence(x: Any) -> bool:
    """Whether an object is a list, a tuple, an array or a text: entries in an order."""
    return hasattr(x, "__len__") and not isinstance(x, (dict, set, frozenset)) and getattr(x, "shape", None) != ()


def is_networkx(x: Any) -> bool:
    """Whether it is a graph or a tree of NetworkX, or one with the same interface."""
    return hasattr(x, "adj")


def take(X: Any, rows: Any) -> Any:
    """The objects at `rows` (integers or a slice): an array of arrays, a table of tables, else a 1-D object array."""
    if isinstance(rows, slice):
        rows = np.arange(n_objects(X))[rows]
    rows = to_numpy(rows)
    if rows.dtype == bool:
        rows = np.flatnonzero(rows)
    if is_sparse(X):
        return X.tocsr()[rows]
    if is_array(X) or isinstance(X, Parts):
        reason = unreadable(X)
        if reason is not None:
            raise BadObjectType("Tensor", f"of shape {tuple(X.shape)}", f" {reason}.")
        return take_rows(X, rows)
    if is_table(X):
        return take_table(X, rows)
    if hasattr(type(X), "concat"):  # a container of objects that is sliced by rows
        return X[rows]
    if hasattr(X, "__array__"):
        return np.asarray(X)[rows]
    return as_objects(X[int(i)] for i in rows)


class Parts:
    """Several representations of the same objects, sliced together: those of composite kernels."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts
        self.shape = (parts[0].shape[0],)

    def _stored(self) -> dict[str, Any]:
        return {"parts": self.parts, "shape": self.shape}

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
    if hasattr(R, "concat"):  # a container of objects
        return R.concat(S)
    return as_objects([*R, *S])


# ------------------------------------------------------------------------------------------------------- equality


def key(item: Any) -> Hashable:
    """A hashable stand-in, equal for equal objects; other objects that cannot be hashed compare by identity.

    Numbers are equal when their values are, of any types, and no digit is lost: 1 is 1.0, 2⁶⁰ is not 2⁶⁰ + 1.
    Lists, tuples and arrays are equal when their entries are, NaN to NaN and 0 to −0.
    """
    if isinstance(item, (np.datetime64, np.timedelta64)):
        return _instant(item)
    if isinstance(item, np.generic):
        item = item.item()
    if isinstance(item, (str, int, float, complex)):
        return item if item == item else _NAN
    if is_array(item):
        return _array_key(item)
    if isinstance(item, (list, tuple)):
        if item and all(isinstance(x, (Real, np.bool_)) and not isinstance(x, np.timedelta64) for x in item):
            return _numbers_key(item)
        return ("sequence", tuple(map(key, item)))
    if isinstance(item, (set, frozenset)):
        return ("set", frozenset(map(key, item)))
    if isinstance(item, dict):
        return ("dict", frozenset((key(k), key(v)) for k, v in item.items()))
    if isinstance(item, date):
        return _date_key(item)
    try:
        hash(item)
    except TypeError:
        return ("object", id(item))
    return item  # type: ignore[no-any-return]


def _array_key(item: Array) -> Hashable:
    """That of the list of its entries, whose numbers are read at once."""
    values = to_numpy(read(item))
    if values.ndim == 0:
        return key(values[()])
    if values.dtype.kind in "buif":
        return keys(values[None, ...])[0]
    return key(list(values))


def _date_key(item: date) -> Hashable:
    """By the instant; a date with a time zone compares as Python compares it."""
    if item != item:  # pandas' NaT
        return _NAT
    if isinstance(item, datetime) and item.tzinfo is not None:
        return item
    if hasattr(item, "to_datetime64"):  # pandas' nanoseconds
        return _instant(item.to_datetime64())
    return _instant(np.datetime64(item))


def keys(Y: Any) -> list[Hashable]:
    """The key of every object; rows of arrays and sparse matrices are objects, equal when their numbers are."""
    if is_sparse(Y) and Y.ndim == 1:
        Y = Y.toarray()
    if is_sparse(Y):
        Y = Y.tocsr()
        return [k for rows in _panels(*Y.shape) for k in keys(Y[rows].toarray())]
    Y = read(Y)
    if hasattr(Y, "__array__") and not hasattr(Y, "__iter__"):
        Y = np.asarray(Y)
    if is_array(Y):
        Y = to_numpy(Y)
        if Y.dtype.kind in "buif" and Y.ndim == 1:
            return [value if value == value else _NAN for value in Y.tolist()]
        if Y.dtype.kind in "buif":
            return [k for rows in _panels(len(Y), math.prod(Y.shape[1:])) for k in _row_keys(Y[rows])]
        if Y.dtype.kind not in "OmM" and Y.ndim == 1:  # texts
            Y = Y.tolist()
    found: list[Hashable] = []
    for i, item in enumerate(Y):
        try:
            found.append(key(item))
        except RecursionError:
            raise BadObject("Object", i, " contains itself, or is nested too deeply to be compared.") from None
    return found


def _panels(n: int, width: int) -> Iterator[slice]:
    """Rows of a matrix, as many at a time as have `_ENTRIES` entries."""
    return blocks(n, max(1, _ENTRIES // max(width, 1)))


def _row_keys(values: np.ndarray) -> Iterator[Hashable]:
    """Few bytes for each row of numbers; rows of small counts, such as fingerprints, take a byte per entry."""
    head = f"{values.shape[1:]}".encode()
    values = values.reshape(values.shape[0], -1)
    with np.errstate(invalid="ignore"):
        counts = values.astype(np.uint8)
    small = np.all(counts == values, axis=1)
    wide = values if np.all(small) else _floats(values)
    exact = _exact_rows(values, wide, small)
    for row, is_small in enumerate(small):
        if not exact[row]:
            yield head, tuple(values[row].tolist())
            continue
        raw = counts[row].tobytes() if is_small else wide[row].tobytes()
        if len(raw) > _RAW:
            raw = blake2b(raw, digest_size=_DIGEST).digest()
        yield head + raw


def _floats(values: np.ndarray) -> np.ndarray:
    """As float64 with one zero and one NaN."""
    wide = np.ascontiguousarray(values, dtype=np.float64) + 0.0  # −0 is 0
    if values.dtype.kind == "f":
        wide[np.isnan(wide)] = np.nan
    return wide


def _exact_rows(values: np.ndarray, wide: np.ndarray, small: np.ndarray) -> np.ndarray:
    """Which rows float64 represents exactly."""
    exact = np.ones(len(values), dtype=bool)
    fits = values.dtype.itemsize < 8 or values.dtype == np.float64
    if fits or np.all(small):
        return exact
    for row in np.flatnonzero((np.abs(wide) >= EXACT).any(axis=1)):
        pairs = zip(values[row].tolist(), wide[row].tolist(), strict=True)
        exact[row] = all(v == w or v != v for v, w in pairs)  # Python compares whole numbers with floats exactly
    return exact


def _numbers_key(items: Sequence[Any]) -> Hashable:
    """That of the row of an array with these numbers."""
    plain = [x.item() if isinstance(x, np.generic) else x for x in items]
    try:
        wide = np.array(plain, dtype=np.float64)
        exact = all(v == w or v != v for v, w in zip(plain, wide.tolist(), strict=True))
    except OverflowError:
        exact = False
    if exact:
        return next(_row_keys(wide[None, :]))
    return f"{(len(items),)}".encode(), tuple(map(key, plain))  # as for rows that float64 would round


def _instant(item: Any) -> Hashable:
    """Dates and durations by their length, in any unit."""
    if np.isnat(item):
        return _NAT
    kind = item.dtype.kind
    unit, count = np.datetime_data(item.dtype)
    if unit in ("Y", "M") and kind == "m":
        months = 12 if unit == "Y" else 1
        return ("months", int(item.astype(np.int64)) * count * months)
    if unit in ("Y", "M"):
        return _instant(item.astype("M8[D]"))
    if unit == "generic":
        return (kind, int(item.astype(np.int64)))
    return (kind, int(item.astype(np.int64)) * count * _SECOND[unit])


def equal_entries(Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Where two arrays of one shape have equal entries: numbers by value, no digit lost."""
    same: np.ndarray = np.asarray(Y == Z, dtype=bool)
    kinds = {Y.dtype.kind, Z.dtype.kind}
    if "f" in kinds and kinds & set("iu"):
        whole = Y if Y.dtype.kind in "iu" else Z
        for place in np.argwhere(same & ((whole >= EXACT) | (whole <= -EXACT))):
            at = tuple(place)
            same[at] = Y[at].item() == Z[at].item()
    return same


def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays end to end, none of their whole numbers rounded."""
    if all(part.dtype.kind in "buif" for part in parts):
        return exact_stack(parts, axis=0)
    if len({part.dtype.kind for part in parts}) == 1:
        return np.concatenate(parts)
    return np.concatenate([part.astype(object) for part in parts])


def distinct(Y: Sequence[Any] | Any) -> tuple[np.ndarray, np.ndarray]:
    """(first, inverse): the first index of each distinct object, in that order, and which of them each object is."""
    seen: dict[Hashable, int] = {}
    inverse = np.fromiter((seen.setdefault(k, len(seen)) for k in keys(Y)), dtype=np.intp)
    return np.unique(inverse, return_index=True)[1], inverse


def rows_by_name(named: Iterable[tuple[int, Hashable]]) -> dict[Hashable, np.ndarray]:
    """The rows of each name, in the order in which names appear first."""
    found: dict[Hashable, list[int]] = {}
    for row, name in named:
        found.setdefault(name, []).append(row)
    return {name: np.array(rows) for name, rows in found.items()}
