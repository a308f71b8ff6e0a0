"""Sequences of arbitrary objects: count them, take some, compare them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np

from iokr._array import array_namespace, blocks, is_array, is_numpy, is_sparse, take_rows, to_numpy, unreadable
from iokr._validation.errors import BadObject, BadObjectType, error_context
from iokr.data.frames import EXACT, exact_stack, is_table, read, take_table

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
    "is_numeric",
    "joined",
    "key",
    "keys",
    "n_objects",
    "take",
]


_ENTRIES = 1 << 22  # densified at a time
_NAN, _NAT = ("NaN",), ("NaT",)  # equal to themselves, unlike what they stand for
_SECOND: dict[str, int | Fraction] = {"W": 604800, "D": 86400, "h": 3600, "m": 60, "s": 1}
_SECOND |= {unit: Fraction(1, 1000**k) for k, unit in enumerate(("ms", "us", "ns", "ps", "fs", "as"), start=1)}


def as_objects(items: Iterable[Any]) -> np.ndarray:
    """A 1-D object array of `items`, whatever they are (NumPy would turn equal-length lists into a matrix)."""
    found: Any = read(items)
    if is_sparse(found):
        found = found.tocsr()
    elif hasattr(found, "__array__") and not hasattr(found, "__iter__"):
        found = np.asarray(found)
    found = list(found)
    return np.fromiter(found, dtype=object, count=len(found))


def as_array(items: Any) -> np.ndarray:
    """`items` as NumPy reads them, but objects where it would round whole numbers; ragged ones are a ValueError."""
    items = read(items)
    if is_array(items):
        return to_numpy(items)
    found = np.asarray(items)
    if found.dtype.kind != "f" or not found.size or np.abs(found).max() < EXACT:
        return found
    exact = np.asarray(items, dtype=object)
    pairs = zip(exact.ravel().tolist(), found.ravel().tolist(), strict=True)  # Python compares them exactly
    rounded = any(v != w and v == v for v, w in pairs)
    return exact if rounded else found


def is_numeric(Y: Any) -> bool:
    """Whether `Y` is an array (or data frame, or sparse matrix) of real numbers."""
    if is_sparse(Y):
        return bool(Y.dtype.kind in "buif")
    if is_array(Y):
        if not is_numpy(Y):
            return not array_namespace(Y).isdtype(Y.dtype, "complex floating")
        return bool(Y.dtype.kind in "buif")
    if is_table(Y) or hasattr(Y, "__array__"):
        values = read(Y)
        return bool((values if isinstance(values, np.ndarray) else np.asarray(values)).dtype.kind in "buif")
    return False


def n_objects(X: Any, name: str = "X") -> int:
    """How many objects `X` holds."""
    if hasattr(type(X), "collect") and is_table(X):  # a frame that waits to be evaluated
        X = X.collect()
    if is_sparse(X) and X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: `{name}` must be real.")
    if hasattr(X, "shape") and getattr(X, "shape", None):
        return int(X.shape[0])
    if hasattr(X, "__array__") and not hasattr(X, "__len__"):
        return n_objects(np.asarray(X), name)
    if isinstance(X, Mapping) or (hasattr(X, "__len__") and not hasattr(X, "__getitem__")):
        raise TypeError(
            f"`{name}` must be a sequence of objects or an array, got a {type(X).__name__}, whose entries have no "
            "number; pass a list, or a data frame."
        )
    if isinstance(X, (str, bytes, type)) or not hasattr(X, "__len__") or getattr(X, "shape", None) == ():
        raise TypeError(f"`{name}` must be a sequence of objects or an array, got {X!r:.60}.")
    return len(X)


def take(X: Any, rows: Any) -> Any:
    """The objects at `rows` (integers or a slice): an array for arrays, a table for tables, else a 1-D object array."""
    if isinstance(rows, slice):
        rows = np.arange(n_objects(X))[rows]
    rows = to_numpy(rows)
    if rows.dtype == bool:
        rows = np.flatnonzero(rows)
    if is_sparse(X):
        return X.tocsr()[rows]
    if is_array(X) or isinstance(X, Parts):
        if (why := unreadable(X)) is not None:
            raise BadObjectType("Tensor", f"of shape {tuple(X.shape)}", f" {why}.")
        return take_rows(X, rows)
    if is_table(X):
        return take_table(X, rows)
    if hasattr(type(X), "concat"):  # a block of objects that knows how
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


# ------------------------------------------------------------------------------------------------------- equality


def key(item: Any) -> Hashable:
    """A hashable stand-in, equal for equal objects; what can be neither hashed nor read compares by identity.

    Numbers are equal when their values are, whatever their types, and no digit is lost: 1 is 1.0, 2⁶⁰ is not 2⁶⁰ + 1.
    Lists, tuples and arrays are equal when their entries are, NaN to NaN and 0 to −0.
    """
    if isinstance(item, (np.datetime64, np.timedelta64)):
        return _instant(item)
    if isinstance(item, np.generic):
        item = item.item()
    if isinstance(item, (float, complex)):
        return item if item == item else _NAN
    if isinstance(item, (str, int)):
        return item
    if is_array(item):
        values = to_numpy(read(item))
        if values.ndim == 0:
            return key(values[()])
        return keys(values[None, ...])[0] if values.dtype.kind in "buif" else key(list(values))
    if isinstance(item, (list, tuple)):
        if item and all(isinstance(x, (Real, np.bool_)) and not isinstance(x, np.timedelta64) for x in item):
            return _numbers_key(item)
        return ("sequence", tuple(map(key, item)))
    if isinstance(item, (set, frozenset)):
        return ("set", frozenset(map(key, item)))
    if isinstance(item, dict):
        return ("dict", frozenset((key(k), key(v)) for k, v in item.items()))
    if isinstance(item, date):
        if item != item:  # pandas' NaT
            return _NAT
        if not isinstance(item, datetime) or item.tzinfo is None:
            return _instant(item.to_datetime64() if hasattr(item, "to_datetime64") else np.datetime64(item))
    try:
        hash(item)
    except TypeError:
        return ("object", id(item))
    return item  # type: ignore[no-any-return]


def _checked_key(item: Any, i: int) -> Hashable:
    try:
        return key(item)
    except RecursionError:
        raise BadObject("Object", i, " holds itself, or is nested too deep to be compared.") from None


def keys(Y: Any) -> list[Hashable]:
    """The key of every object; rows of arrays and sparse matrices are objects, equal when their numbers are."""
    if is_sparse(Y) and Y.ndim == 1:
        Y = Y.toarray()
    if is_sparse(Y):
        Y = Y.tocsr()
        height = max(1, _ENTRIES // max(Y.shape[1], 1))
        return [k for rows in blocks(Y.shape[0], height) for k in keys(Y[rows].toarray())]
    Y = read(Y)
    if hasattr(Y, "__array__") and not hasattr(Y, "__iter__"):
        Y = np.asarray(Y)
    if is_array(Y):
        values = to_numpy(Y)
        if values.dtype.kind in "buif":
            if values.ndim == 1:
                names: list[Hashable] = values.tolist()
                if values.dtype.kind == "f" and np.isnan(values).any():
                    return [k if k == k else _NAN for k in names]
                return names
            width = max(int(np.prod(values.shape[1:])), 1)
            height = max(1, _ENTRIES // width)
            return [k for rows in blocks(values.shape[0], height) for k in _row_keys(values[rows])]
        Y = values if values.dtype.kind in "OmM" or values.ndim > 1 else values.tolist()
    return [_checked_key(item, i) for i, item in enumerate(Y)]


def _row_keys(values: np.ndarray) -> Iterator[Hashable]:
    """Few bytes for each row of numbers; rows of small counts, such as fingerprints, are read as such."""
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
        raw = (counts if is_small else wide)[row].tobytes()
        yield head + (raw if len(raw) <= 32 else blake2b(raw, digest_size=16).digest())


def _floats(values: np.ndarray) -> np.ndarray:
    """As float64 with one zero and one NaN."""
    wide = np.ascontiguousarray(values, dtype=np.float64) + 0.0  # −0 is 0
    if values.dtype.kind == "f":
        wide[np.isnan(wide)] = np.nan
    return wide


def _exact_rows(values: np.ndarray, wide: np.ndarray, small: np.ndarray) -> np.ndarray:
    """Which rows float64 holds to the last digit."""
    exact = np.ones(len(values), dtype=bool)
    if values.dtype.itemsize < 8 or (values.dtype.kind == "f" and values.dtype.itemsize == 8) or np.all(small):
        return exact
    for row in np.flatnonzero((np.abs(wide) >= EXACT).any(axis=1)):
        pairs = zip(values[row].tolist(), wide[row].tolist(), strict=True)
        exact[row] = all(v == w or v != v for v, w in pairs)  # Python compares whole numbers with floats exactly
    return exact


def _numbers_key(items: Sequence[Any]) -> Hashable:
    """That of the row of an array with these numbers."""
    kinds = set(map(type, items))
    plain = items if kinds <= {int, bool, float} else [x.item() if isinstance(x, np.generic) else x for x in items]
    try:
        wide = np.array(plain, dtype=np.float64)
    except OverflowError:
        wide = None
    if wide is None or (
        kinds != {float} and not all(v == w or v != v for v, w in zip(plain, wide.tolist(), strict=True))
    ):
        return f"{(len(items),)}".encode(), tuple(key(v) for v in plain)
    return next(_row_keys(wide[None, :]))


def _instant(item: Any) -> Hashable:
    """Dates and durations by what they last, whatever their unit."""
    if np.isnat(item):
        return _NAT
    kind = item.dtype.kind
    unit, count = np.datetime_data(item.dtype)
    if unit in ("Y", "M"):
        if kind == "m":
            return ("months", int(item.astype(np.int64)) * count * (12 if unit == "Y" else 1))
        item, unit, count = item.astype("M8[D]"), "D", 1
    if unit == "generic":
        return (kind, int(item.astype(np.int64)))
    return (kind, int(item.astype(np.int64)) * count * _SECOND[unit])


def equal_entries(Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Where two arrays of one shape hold the same: numbers by value, no digit lost."""
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
    first = np.full(len(seen), len(inverse), dtype=np.intp)
    np.minimum.at(first, inverse, np.arange(len(inverse)))
    return first, inverse
