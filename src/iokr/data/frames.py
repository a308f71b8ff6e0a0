"""Tables as arrays: rows are objects, one column is its values, several columns of numbers are vectors.

Tables are frames and columns of pandas, Polars and pyarrow, read through narwhals, and structured arrays of NumPy. A
missing value is NaN in a column of numbers, as long as these stay exact, and None in others.
"""

from __future__ import annotations

import array
import ctypes
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from iokr._array import is_array, is_sparse, to_numpy, unreadable
from iokr._validation.errors import BadObject, BadObjectType

__all__ = [
    "EXACT",
    "Frame",
    "as_frame",
    "check_aligned",
    "check_frame",
    "column_names",
    "exact_stack",
    "frame_of",
    "is_table",
    "object_array",
    "read",
    "select_columns",
    "take_table",
]

EXACT = 1 << 53  # whole numbers up to this are exact in float64
_NUMBERS = "buif"
_PLAIN = (int, float, np.integer, np.floating)
_NOT_NUMBERS = (bool, np.timedelta64)  # which are instances of integers in Python and NumPy
_SHOWN = 5  # names of columns in a message
_BUFFERS = (memoryview, ctypes.Array, array.array)


@dataclass(frozen=True, eq=False)
class Frame:
    """The library of a frame of outputs, and the names of its columns."""

    library: str  # "pandas" or "polars"
    names: tuple[Any, ...]

    def _stored(self) -> dict[str, Any]:
        return {"library": self.library, "names": self.names}


def frame_of(y: Any) -> Frame | None:
    """Library and names of a frame of pandas or Polars; None for columns, other tables, and everything else."""
    library = str(type(y).__module__).partition(".")[0]
    names = column_names(y) if library in ("pandas", "polars") else None
    return None if names is None else Frame(library, tuple(names))


def as_frame(values: Any, frame: Frame | None, X: Any) -> Any:
    """Rows of values as a frame of this library, with the index of X if it is pandas, too; others as they are."""
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

    index = X.index if isinstance(X, (pandas.DataFrame, pandas.Series)) else None
    return pandas.DataFrame(table, index=index, columns=list(frame.names))


def check_frame(frame: Frame | None, Y: Any, name: str, of: str = "y at fit") -> None:
    """ValueError for outputs in a frame with other columns than those of y at fit, or in another order."""
    names = None if frame is None else column_names(Y)
    if frame is None or names is None or not all(isinstance(n, str) for n in (*names, *frame.names)):
        return
    if tuple(names) != frame.names:
        raise ValueError(
            f"`{name}` must have the columns of {of}, in their order, {list(frame.names[:_SHOWN])}, got "
            f"{names[:_SHOWN]}; select them."
        )


def check_aligned(X: Any, Y: Any, x: str = "X", y: str = "y") -> None:
    """ValueError for tables of pandas that name the same rows in another order, as rows are paired by position."""
    left, right = _index(X), _index(Y)
    if left is None or right is None or len(left) != len(right) or left.equals(right):
        return
    if left.nlevels != right.nlevels or not (left.isin(right).all() and right.isin(left).all()):
        return
    row = int(np.flatnonzero(np.asarray(left != right))[0])
    own, other = (index.to_list()[row] for index in (left, right))
    raise ValueError(
        f"{x} and {y} have the same rows in another order: row {row} is {own!r} in {x}, but {other!r} in "
        f"{y}. Align them, `{y} = {y}.loc[{x}.index]`; if they pair up as they are, pass `{y}.to_numpy()`."
    )


def _index(X: Any) -> Any:
    """The names of the rows of a frame or column of pandas; None for everything else."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, (pandas.DataFrame, pandas.Series)):
        return None
    return X.index


# -------------------------------------------------------------------------------------------------------------- tables


def is_table(X: Any) -> bool:
    """Whether `X` is a data frame, or a column of one."""
    return _is_structured(X) or _table(X) is not None


def column_names(X: Any) -> list[Any] | None:
    """The names of the columns of a frame; None for everything else."""
    if _is_structured(X):
        return list(X.dtype.names)
    table = _table(X)
    return None if table is None or isinstance(table, nw.Series) else list(table.columns)


def take_table(X: Any, rows: np.ndarray) -> Any:
    """The rows of a table at integer positions, as a table."""
    table = _table(X)  # None for a structured array
    return X[rows] if table is None else table[rows].to_native()


def select_columns(X: Any, columns: Sequence[Any]) -> Any:
    """Some columns of a frame, by name or by position, as a frame of them."""
    names = column_names(X)
    assert names is not None
    chosen = [names[c] if isinstance(c, (int, np.integer)) and c not in names else c for c in columns]
    return X[chosen] if _is_structured(X) else _table(X).select(chosen).to_native()


def _is_structured(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype.names is not None and X.ndim == 1


def _table(X: Any) -> Any:
    """A frame or column of narwhals for one of another library; None for everything else."""
    if isinstance(X, (np.ndarray, list, tuple, str, bytes, dict)) or is_array(X) or is_sparse(X):
        return None
    import pandas as pd

    if isinstance(X, (pd.Index, pd.api.extensions.ExtensionArray)):
        X = pd.Series(X)
    elif hasattr(X, "__arrow_c_array__") and not hasattr(X, "__arrow_c_stream__"):  # an array of pyarrow
        import pyarrow as pa

        X = pa.chunked_array([X])
    table = nw.from_native(X, allow_series=True, pass_through=True)
    if isinstance(table, nw.LazyFrame):
        return table.collect()
    if isinstance(table, (nw.DataFrame, nw.Series)):
        return table
    return nw.from_arrow(X, backend="pyarrow") if hasattr(type(X), "__arrow_c_stream__") else None


# -------------------------------------------------------------------------------------------------------------- values


def read(X: Any, *, matrix: bool = False, missing: bool = False, rows: bool = False) -> Any:
    """The values of a table: numbers as (n,) or (n, p), others as an array of objects; everything else as it is.

    A frame with one column is read as that column or, with `matrix` and if it contains numbers, as a matrix. Several
    columns must contain numbers, unless each row is an object of its own, `rows`. Masked entries are errors or, with
    `missing`, NaN. Subclasses of arrays become plain arrays.
    """
    if isinstance(X, np.ma.MaskedArray):
        return _unmasked(X, missing)
    if isinstance(X, _BUFFERS):
        return np.asarray(X)
    if (why := unreadable(X)) is not None:
        raise BadObjectType("Tensor", f"of shape {tuple(X.shape)}", f" {why}.")
    if isinstance(X, np.ndarray) and X.dtype.names is None:
        return X if type(X) is np.ndarray or isinstance(X, np.memmap) else np.asarray(X)
    if _is_structured(X):
        return _several([_plain(X[name]) for name in X.dtype.names], list(X.dtype.names), matrix, rows)
    table = _table(X)
    if table is not None:
        return _values(table, matrix, rows)
    if hasattr(X, "__array__") and hasattr(X, "shape") and not is_array(X) and not is_sparse(X):
        return np.asarray(X)
    return X


def _values(table: Any, matrix: bool, rows: bool) -> np.ndarray:
    """The values of a frame or column of narwhals."""
    if isinstance(table, nw.Series):
        return _column(table)
    # all columns at once if they have one type; pyarrow has no `dtypes`, and the schema of narwhals is slow to make
    if len(set(getattr(table.to_native(), "dtypes", ()))) == 1 and _is_complete(table):
        values = np.asarray(table.to_numpy())
        return values if matrix or values.shape[1] != 1 else values[:, 0]
    columns = [_column(table[:, j]) for j in range(len(table.columns))]
    if not columns:
        raise BadObject("Table", f"of {len(table)} rows", " has no columns; at least one is needed.")
    return _several(columns, list(table.columns), matrix, rows)


def _is_complete(table: nw.DataFrame[Any]) -> bool:
    """Whether columns of one type are numbers without missing values, except NaN."""
    kind = table[:, 0].dtype
    return kind.is_float() or (kind.is_integer() and not any(table.null_count().row(0)))


def _several(columns: list[np.ndarray], names: list[Any], matrix: bool, rows: bool) -> np.ndarray:
    """Columns as one array."""
    if len(columns) == 1:
        one = columns[0]
        return one[:, None] if matrix and one.dtype.kind in _NUMBERS else one
    others = [j for j, c in enumerate(columns) if c.dtype.kind not in _NUMBERS and not _all_numbers(c)]
    if others and rows:
        return np.stack([c.astype(object) for c in columns], axis=1)
    if others:
        listed = ", ".join(repr(names[j]) for j in others[:_SHOWN]) + (", …" if len(others) > _SHOWN else "")
        of_all = "" if len(others) == len(columns) else f" of {len(columns)}"
        verb = "hold" if len(others) > 1 else "holds"
        first = columns[others[0]]
        example = f"such as {first[0]!r:.40}" if len(first) and first.dtype == object else str(first.dtype)
        advice = "encode categories, for example by `sklearn.preprocessing.OneHotEncoder`"
        if first.dtype.kind in "mM":
            advice = "convert dates to numbers"
        raise BadObject(
            "Columns" if len(others) > 1 else "Column",
            f"{listed}{of_all}",
            f" {verb} no numbers ({example}), and several columns are read as vectors of numbers; {advice}, or leave "
            "such columns out.",
        )
    return exact_stack([c if c.dtype.kind in _NUMBERS else _promoted(c) for c in columns])


def _column(column: nw.Series[Any]) -> np.ndarray:
    """The values of a column: numbers, truth values and dates as such, everything else as objects."""
    kind = column.dtype
    whole = kind.is_integer() or kind == nw.Boolean
    if kind.is_float() or kind.is_temporal() or (whole and not column.null_count()):
        return _plain(np.asarray(column.to_numpy()))
    return _promoted(object_array(column.to_list()))


def _plain(values: np.ndarray) -> np.ndarray:
    """Text, and numbers among objects, as the types that `_column` gives."""
    if values.ndim > 1:
        return object_array(list(values))
    if values.dtype.kind in "SUT":
        return object_array(values.tolist())
    return _promoted(values) if values.dtype == object else values


def exact_stack(columns: Sequence[np.ndarray], *, axis: int = 1) -> np.ndarray:
    """Numbers stacked as columns, or concatenated: as objects where float64 would round whole numbers."""
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


def object_array(items: list[Any]) -> np.ndarray:
    """A 1-D array of these objects; NumPy would turn lists of equal length into a matrix."""
    return np.fromiter(items, dtype=object, count=len(items))


def _absent(item: Any) -> bool:
    return item is None or type(item).__name__ == "NAType"


def _all_numbers(values: np.ndarray) -> bool:
    """Whether an object column contains only numbers and missing values."""
    return all((isinstance(v, _PLAIN) and not isinstance(v, _NOT_NUMBERS)) or _absent(v) for v in values)


def _promoted(values: np.ndarray) -> np.ndarray:
    """Objects that are numbers as an array of numbers, unless that would round one."""
    items = values.tolist()
    if not _all_numbers(values) or all(map(_absent, items)):
        return values
    whole = [v for v in items if isinstance(v, (int, np.integer))]
    if len(whole) < len(items):
        if all(-EXACT <= v <= EXACT for v in whole):
            return np.array([np.nan if _absent(v) else v for v in items], dtype=np.float64)
        return object_array([None if _absent(v) else v for v in items])
    found = np.asarray(items)
    return found if found.dtype.kind in "iu" else values
