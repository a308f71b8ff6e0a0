"""Cells as numbers: missing values, decimal commas, one-hot encoded categories."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.readers.file_table import FileTable
from iokr.apps.readers.layouts import Layout, find_column

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["id_text", "is_number", "texts_of", "with_numbers", "with_point"]

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
"""Cells without a value, in lower case."""

TEXT = np.dtype(object)
"""Columns of text."""

_FEW_CATEGORIES = 20  # more of them must be at most half as many as the rows
_COMMA = re.compile(r"[+-]?(\d*),(\d+)(?:[eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?\d{1,3}([.,]\d{3})+([.,]\d+)?")

Rows = list[list[str]]


def is_number(cell: str) -> bool:
    """Whether a cell is a number or missing."""
    if cell.lower() in MISSING:
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_2 as 12


def with_point(cell: str) -> str:
    """A cell with its first comma replaced by a decimal point."""
    return cell.replace(",", ".", 1)


def id_text(cell: Any) -> str:
    """A cell as text: whole numbers without a decimal point, "" for a missing one."""
    if cell is None:
        return ""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "backslashreplace").strip()
    if isinstance(cell, float):
        if math.isnan(cell):
            return ""
        return str(int(cell)) if cell.is_integer() else str(cell)
    return str(cell).strip()


def texts_of(column: pd.Series[Any]) -> list[str]:
    """The cells of a column as text."""
    cells: list[Any] = column.tolist()
    return cells if column.dtype == TEXT else [id_text(cell) for cell in cells]


def with_numbers(table: FileTable, frame: pd.DataFrame, layout: Layout) -> FileTable:
    """The table with the cells of `frame` as its numbers."""
    names = table.columns or ("",) * frame.shape[1]
    categorical = _categorical(frame, names, layout, table.name)
    numeric = [j for j in range(frame.shape[1]) if j not in categorical]
    values, notes = _values(frame.iloc[:, numeric], numeric, layout.decimal, table)
    if not categorical:
        return replace(table, notes=(*table.notes, *notes)).with_values(values)

    blocks = [values]
    columns = [names[j] for j in numeric]
    for j in categorical:
        block, categories = _one_hot(texts_of(frame.iloc[:, j]), names[j] or str(j + 1 + table.text.shape[1]))
        blocks.append(block)
        columns += categories
    encoded = ", ".join(names[j] for j in categorical)
    notes = (*table.notes, *notes, f"{table.name}: {encoded} one-hot encoded")
    return replace(table, notes=notes).with_values(np.hstack(blocks), tuple(columns))


def _categorical(frame: pd.DataFrame, names: Sequence[str], layout: Layout, where: str) -> list[int]:
    """The columns to encode."""
    if "*" not in layout.one_hot:
        return sorted({find_column(name, names, where) for name in layout.one_hot})
    words = [j for j, kind in enumerate(frame.dtypes) if kind == TEXT]
    return [j for j in words if not all(is_number(cell) for cell in frame.iloc[:, j])]


def _values(
    frame: pd.DataFrame, columns: list[int], decimal: str, table: FileTable
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The cells as numbers, and notes on how they were read; `columns` are their positions in the table."""
    words = [k for k, kind in enumerate(frame.dtypes) if kind == TEXT]
    if not words:
        return frame.to_numpy(np.float64, na_value=np.nan), ()
    columns = [columns[k] for k in words]
    rows, notes = _with_decimal_points(frame.iloc[:, words].to_numpy().tolist(), columns, decimal, table)
    numbers = _numbers(rows, columns, table)
    if len(words) == frame.shape[1]:
        return numbers, notes
    values = np.empty(frame.shape)
    values[:, words] = numbers
    typed = [k for k in range(frame.shape[1]) if k not in words]
    values[:, typed] = frame.iloc[:, typed].to_numpy(np.float64, na_value=np.nan)
    return values, notes


def _one_hot(cells: Sequence[str], name: str) -> tuple[NDArray[np.float64], list[str]]:
    """A column of zeros and ones for each category, NaN where it is missing, and their names."""
    categories = sorted({cell for cell in cells if cell.lower() not in MISSING})
    if len(categories) > max(_FEW_CATEGORIES, len(cells) // 2):
        raise ValueError(
            f"column {name!r}: {len(categories)} categories among {len(cells)} rows look like ids; encode columns with "
            "fewer categories."
        )
    block = np.array(cells)[:, None] == np.array(categories, dtype=str)
    missing = [cell.lower() in MISSING for cell in cells]
    return np.where(np.array(missing)[:, None], np.nan, block), [f"{name}={one}" for one in categories]


def _with_decimal_points(
    rows: Rows, columns: list[int], decimal: str, table: FileTable
) -> tuple[Rows, tuple[str, ...]]:
    """The cells with decimal points, and a note where commas were taken for them."""
    if decimal == "comma":
        return [[_ungrouped(cell, ".", ",") for cell in row] for row in rows], ()
    if decimal == "point":
        return [[_ungrouped(cell, ",", ".") for cell in row] for row in rows], ()
    commas = [(i, k) for i, row in enumerate(rows) for k, cell in enumerate(row) if "," in cell]
    cells = [rows[i][k] for i, k in commas]
    if not cells or not all(_COMMA.fullmatch(cell) or _GROUPED.fullmatch(cell) for cell in cells):
        return rows, ()
    if not _are_decimals(cells) or any(_POINT.fullmatch(cell) for row in rows for cell in row):
        i, k = commas[0]
        raise ValueError(
            f"{table.at(i)}, column {table.column(columns[k])}: {cells[0]!r:.40} is ambiguous; "
            '`decimal="comma"` reads the comma as a decimal mark, `decimal="point"` as a separator of thousands.'
        )
    return [[with_point(cell) for cell in row] for row in rows], (f"{table.name}: read with decimal commas",)


def _are_decimals(cells: Sequence[str]) -> bool:
    """Whether the commas in all of these cells certainly separate decimals: one could not separate thousands."""
    matches = [_COMMA.fullmatch(cell) for cell in cells]
    if not all(matches):
        return False
    return any(match and (len(match[2]) != 3 or match[1] in ("", "0")) for match in matches)


def _ungrouped(cell: str, group: str, mark: str) -> str:
    """A number as Python writes it, without marks between thousands."""
    if not _GROUPED.fullmatch(cell) and mark not in cell:
        return cell
    return cell.replace(group, "").replace(mark, ".")


def _numbers(rows: Rows, columns: list[int], table: FileTable) -> NDArray[np.float64]:
    """Text as numbers, NaN where a value is missing; other cells are errors, with line and column."""
    shape = (len(rows), len(columns))
    if not any("_" in cell for row in rows for cell in row):
        try:
            return np.array(rows, dtype=np.float64).reshape(shape)
        except ValueError:  # missing values, or words
            pass
    values = [
        np.nan if cell.lower() in MISSING else _number(cell, i, k, rows, columns, table)
        for i, row in enumerate(rows)
        for k, cell in enumerate(row)
    ]
    return np.array(values).reshape(shape)


def _number(cell: str, i: int, k: int, rows: Rows, columns: list[int], table: FileTable) -> float:
    if is_number(cell):
        return float(cell)
    words = sum(not is_number(row[k]) for row in rows)
    raise ValueError(
        f"{table.at(i)}, column {table.column(columns[k])}: {cell!r:.40} is not a number{_advice(table, words)}."
    )


def _advice(table: FileTable, words: int) -> str:
    """What to do about a column of numbers in which `words` cells are words."""
    if 2 * words <= len(table.text):  # a typing error rather than a column of words
        return ""
    if table.text.shape[1] > 1:
        return '; select the columns with `source`, `target` and `weight` ("none" for unweighted links)'
    return "; `one_hot` encodes categories, `columns` selects the features, `id` the column of ids"
