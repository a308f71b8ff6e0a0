"""One door for tables of every kind: rows are objects, one column is its values, columns of numbers are vectors.

Tables are pandas, Polars and pyarrow frames and columns, structured arrays, and whatever speaks the protocols of Arrow
(`__arrow_c_stream__`) or of data frames (`__dataframe__`). What a null is depends on the column: NaN among numbers, as
long as these stay exact, else None.
"""

from __future__ import annotations

import array
import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr._array import is_array, is_sparse, to_numpy, unreadable
from iokr._validation.errors import BadObject, BadObjectType

__all__ = [
    "EXACT",
    "Frame",
    "as_frame",
    "check_frame",
    "column_names",
    "exact_stack",
    "frame_of",
    "is_table",
    "read",
    "select_columns",
    "take_table",
]

EXACT = 1 << 53  # whole numbers up to this are exact in float64
_NUMBERS = "buif"
_PLAIN = (int, float, np.integer, np.floating)
_NO_NUMBERS = (bool, np.timedelta64)  # which Python and NumPy call integers
_SHOWN = 5
_BUFFERS = (memoryview, ctypes.Array, array.array)


@dataclass(frozen=True, eq=False)
class Frame:
    """The form of a frame of outputs: its library and the names of its columns."""

    library: str  # "pandas" or "polars"
    names: tuple[Any, ...]


def frame_of(y: Any) -> Frame | None:
    """The form of a frame of pandas or Polars; None for columns of one, other tables, and everything else."""
    library = str(type(y).__module__).partition(".")[0]
    if library not in ("pandas", "polars") or not _is_frame(y):
        return None
    return Frame(library, tuple(column_names(y) or ()))


def as_frame(values: Any, frame: Frame | None, X: Any) -> Any:
    """Rows of values as a frame of that form, with the index of X where that is of pandas too; else as they are."""
    if frame is None or not is_array(values):
        return values
    table = to_numpy(values)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or table.shape[1] != len(frame.names):
        return values
    if frame.library == "polars":
        import polars

        return polars.DataFrame(table, schema=[str(name) for name in frame.names], orient="row")
    import pandas

    index = X.index if type(X).__module__.partition(".")[0] == "pandas" else None
    return pandas.DataFrame(table, index=index, columns=list(frame.names))


def check_frame(frame: Frame | None, Y: Any, name: str, of: str = "y at fit") -> None:
    """Refuse outputs in a frame whose columns have other names than those of y at fit, or another order."""
    names = None if frame is None else column_names(Y)
    if frame is None or names is None or not all(isinstance(n, str) for n in (*names, *frame.names)):
        return
    if tuple(names) != frame.names:
        raise ValueError(
            f"`{name}` must have the columns of {of}, in their order, {list(frame.names[:_SHOWN])}, got "
            f"{names[:_SHOWN]}; select them."
        )


def is_table(X: Any) -> bool:
    """Whether `X` is a data frame, or a column of one."""
    return _is_frame(X) or _is_column(X)


def _is_frame(X: Any) -> bool:
    if isinstance(X, np.ndarray):
        return X.dtype.names is not None and X.ndim == 1
    if isinstance(X, (list, tuple, str, bytes, dict)) or is_sparse(X):
        return False
    kind = type(X)
    if hasattr(kind, "collect") and hasattr(kind, "collect_schema"):  # a Polars frame that waits to be evaluated
        return True
    if hasattr(kind, "__dataframe__") or (hasattr(kind, "columns") and hasattr(kind, "iloc")):
        return True
    return hasattr(kind, "__arrow_c_stream__") and not _is_column(X)


def _is_column(X: Any) -> bool:
    """Has the values of a column: `to_numpy` and no columns of its own."""
    if isinstance(X, (np.ndarray, list, tuple, str, bytes, dict)) or is_array(X) or is_sparse(X):
        return False
    kind = type(X)
    return hasattr(kind, "to_numpy") and not hasattr(kind, "columns") and not hasattr(kind, "dims")


def read(X: Any, *, matrix: bool = False, missing: bool = False, rows: bool = False) -> Any:
    """`X` itself where it is no table; else its values: numbers as (n,) or (n, p), other objects as an object array.

    A frame of one column is that column, and with `matrix`, if it holds numbers, a matrix of one column. Hidden entries
    of masked arrays are refused, or with `missing` are NaN. Arrays are plain ones afterwards. Several columns that are
    not all numbers are refused, unless a row of any entries is an object of its own, `rows`.
    """
    if isinstance(X, np.ma.MaskedArray):
        return _unmasked(X, missing)
    if isinstance(X, _BUFFERS):
        return np.asarray(X)
    if (why := unreadable(X)) is not None:
        raise BadObjectType("Tensor", f"of shape {tuple(X.shape)}", f" {why}.")
    if isinstance(X, np.ndarray) and X.dtype.names is None:
        return X if type(X) is np.ndarray or isinstance(X, np.memmap) else np.asarray(X)
    if _is_frame(X):
        return _frame_values(_evaluated(X), matrix, rows)
    if _is_column(X):
        return _column(X) if len(getattr(X, "shape", (0,))) <= 1 else np.asarray(X.to_numpy())
    if hasattr(X, "__array__") and hasattr(X, "shape") and not is_array(X) and not is_sparse(X):
        return np.asarray(X)
    return X


def column_names(X: Any) -> list[Any] | None:
    """The names of the columns of a frame; None where `X` is none."""
    if not _is_frame(X):
        return None
    X = _evaluated(X)
    if isinstance(X, np.ndarray):
        return list(X.dtype.names or ())
    return list(X.column_names if hasattr(X, "column_names") else X.columns)


def take_table(X: Any, rows: np.ndarray) -> Any:
    """The rows of a table at integer positions, as a table."""
    X = _evaluated(X) if _is_frame(X) else X
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if type(X).__module__.startswith("pyarrow"):
        return X.take(rows) if hasattr(X, "take") else X.to_numpy()[rows]  # its tensors have no rows of their own
    return X[rows]


def select_columns(X: Any, columns: Sequence[Any]) -> Any:
    """Some columns of a frame, by name or by position, as a frame of them."""
    X = _evaluated(X)
    names = column_names(X)
    assert names is not None
    chosen = [names[c] if isinstance(c, (int, np.integer)) and c not in names else c for c in columns]
    if isinstance(X, np.ndarray) or hasattr(X, "iloc"):
        return X[chosen]
    return X.select(chosen)


def exact_stack(columns: Sequence[np.ndarray], *, axis: int = 1) -> np.ndarray:
    """Numbers side by side (or end to end) in one array: of objects where float64 would round whole numbers."""
    kind = np.result_type(*columns)
    rounded = kind.kind == "f" and any(c.dtype.kind in "iu" and not _fits(c) for c in columns)
    dtype = object if rounded else kind
    parts = [np.asarray(c, dtype=dtype) for c in columns]
    return np.stack(parts, axis=1) if axis == 1 else np.concatenate(parts)


def _fits(values: np.ndarray) -> bool:
    """Whether whole numbers are exact in float64."""
    return not values.size or bool(int(values.min()) >= -EXACT and int(values.max()) <= EXACT)


def _unmasked(X: np.ma.MaskedArray, missing: bool) -> np.ndarray:
    if not np.ma.is_masked(X):
        return np.asarray(X.data)
    if not missing:
        where = tuple(int(i) for i in np.argwhere(np.ma.getmaskarray(X))[0])
        place = where[0] if len(where) == 1 else where
        raise BadObject("Entry", str(place), " of a masked array is hidden; fill it, or leave its row out.")
    if X.dtype.kind not in _NUMBERS or (X.dtype.kind in "iu" and not _fits(np.asarray(X.compressed()))):
        raise BadObject("Entries", "of a masked array", f" of {X.dtype} are hidden, and have no NaN; leave them out.")
    return np.asarray(np.ma.filled(X.astype(np.float64), np.nan))


def _evaluated(X: Any) -> Any:
    """A frame of pandas, Polars or pyarrow, or a structured array."""
    if isinstance(X, np.ndarray) or hasattr(type(X), "get_columns") or hasattr(type(X), "column_names"):
        return X
    if hasattr(X, "collect_schema"):
        return X.collect()
    if hasattr(X, "compute") and hasattr(X, "dask"):
        return X.compute()
    if hasattr(type(X), "iloc"):
        return X
    try:
        import pyarrow

        return pyarrow.table(X) if hasattr(X, "__arrow_c_stream__") else pyarrow.interchange.from_dataframe(X)
    except (ImportError, TypeError, ValueError, AttributeError):
        from pandas.api.interchange import from_dataframe

        return from_dataframe(X)


def _frame_values(X: Any, matrix: bool, rows: bool) -> np.ndarray:
    names = column_names(X)
    assert names is not None
    whole = _uniform(X)
    if whole is not None:
        return whole if matrix or whole.shape[1] != 1 else whole[:, 0]
    columns = [_column(_nth(X, j)) for j in range(len(names))]
    if len(columns) == 1:
        one = columns[0]
        return one[:, None] if matrix and one.dtype.kind in _NUMBERS else one
    others = [j for j, c in enumerate(columns) if c.dtype.kind not in _NUMBERS and not _all_numbers(c)]
    if others and rows:
        return np.stack([c.astype(object) for c in columns], axis=1)
    if others:
        shown = ", ".join(repr(names[j]) for j in others[:_SHOWN]) + (", …" if len(others) > _SHOWN else "")
        of = "" if len(others) == len(columns) else f" of {len(columns)}"
        first = columns[others[0]]
        raise BadObject(
            "Columns" if len(others) > 1 else "Column",
            f"{shown}{of}",
            f" {'hold' if len(others) > 1 else 'holds'} no numbers ({_example(first)}), and several columns are read "
            f"as vectors of numbers; select columns, for a kernel on X by `Columns(kernel, {names[others[0]]!r})`.",
        )
    if not columns:
        raise BadObject("Table", f"of {_length(X)} rows", " has no columns; at least one is needed.")
    return exact_stack([c if c.dtype.kind in _NUMBERS else _promoted(c) for c in columns])


def _example(values: np.ndarray) -> str:
    return f"such as {values[0]!r:.40}" if len(values) and values.dtype == object else str(values.dtype)


def _length(X: Any) -> int:
    return int(X.shape[0])


def _uniform(X: Any) -> np.ndarray | None:
    """All columns at once, where they are of one kind of numbers without nulls."""
    if isinstance(X, np.ndarray):
        return None
    if hasattr(X, "iloc"):
        kinds = set(X.dtypes)
        plain = len(kinds) == 1 and isinstance(next(iter(kinds)), np.dtype) and next(iter(kinds)).kind in _NUMBERS
        return np.asarray(X.to_numpy()) if plain else None
    if not hasattr(X, "get_columns") or len(set(X.dtypes)) != 1 or not X.dtypes[0].is_numeric():
        return None
    if not X.dtypes[0].is_float() and sum(X.null_count().row(0)):
        return None
    values = np.asarray(X.to_numpy())
    return values if values.dtype.kind in _NUMBERS else None


def _nth(X: Any, j: int) -> Any:
    """Column j of a frame."""
    if isinstance(X, np.ndarray):
        return X[(X.dtype.names or ())[j]]
    if hasattr(X, "iloc"):
        return X.iloc[:, j]
    return X.get_columns()[j] if hasattr(X, "get_columns") else X.column(j)


def _column(column: Any) -> np.ndarray:
    """The values of one column; numbers as such, everything else as objects or dates."""
    if isinstance(column, np.ndarray):
        values = column if column.ndim == 1 else _objects(list(column))
    elif type(column).__module__.startswith("pyarrow"):
        nulls = column.null_count
        if nulls and not str(column.type).startswith(("float", "double", "half", "timestamp", "date", "duration")):
            return _from_items(column.to_pylist())
        plain = str(column.type).startswith(("int", "uint", "bool", "float", "double", "half", "timestamp", "date32"))
        values = np.asarray(column) if plain else _objects(column.to_pylist())
    elif hasattr(column, "to_list") and hasattr(column, "null_count"):  # Polars
        kind = column.dtype
        plain = kind.is_float() or (not column.null_count() and (kind.is_integer() or str(kind) == "Boolean"))
        if not plain and not str(kind).startswith(("Date", "Duration")):
            return _from_items(column.to_list())
        values = np.asarray(column.to_numpy())
    else:
        kind = getattr(column, "dtype", None)
        if not isinstance(kind, np.dtype) and str(kind).lower().startswith(("int", "uint")) and column.isna().any():
            return _from_items(column.tolist())
        values = np.asarray(column.to_numpy())
    if values.dtype.kind in "SUT":
        return _objects(values.tolist())
    return _promoted(values) if values.dtype == object and values.ndim == 1 else values


def _objects(items: list[Any]) -> np.ndarray:
    return np.fromiter(items, dtype=object, count=len(items))


def _from_items(items: list[Any]) -> np.ndarray:
    """Objects, numbers with nulls as floats where these are exact."""
    return _promoted(_objects(items))


def _absent(item: Any) -> bool:
    return item is None or type(item).__name__ == "NAType"


def _all_numbers(values: np.ndarray) -> bool:
    """Whether an object column holds numbers and nulls alone."""
    return all((isinstance(v, _PLAIN) and not isinstance(v, _NO_NUMBERS)) or _absent(v) for v in values)


def _promoted(values: np.ndarray) -> np.ndarray:
    """Objects that are all numbers as an array of numbers, unless that rounds one."""
    items = values.tolist()
    if not items or not _all_numbers(values) or all(map(_absent, items)):
        return values
    whole = [v for v in items if isinstance(v, (int, np.integer))]
    if len(whole) < len(items):
        if all(-EXACT <= v <= EXACT for v in whole):
            return np.array([np.nan if _absent(v) else v for v in items], dtype=np.float64)
        return _objects([None if _absent(v) else v for v in items])
    found = np.asarray(items)
    return found if found.dtype.kind in "iu" else values
