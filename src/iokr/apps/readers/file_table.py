"""Tables from files before and after their cells become numbers; each row has its line in the file.

Cells may be missing, have decimal commas, or be categories, which are one-hot encoded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from iokr.apps.readers.layouts import Layout, find_column

__all__ = ["Cells", "FileTable", "id_text", "is_number", "texts_of", "with_numbers", "with_point"]

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})  # cells without a value, in lower case
TEXT = np.dtype(object)  # of columns of text

_FEW_CATEGORIES = 20  # more of them must be at most half as many as the rows
_COMMA = re.compile(r"[+-]?(\d*),(\d+)(?:[eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?\d{1,3}([.,]\d{3})+([.,]\d+)?")

Texts = dict[int, list[str]]  # the cells of columns of text, by column


@dataclass(frozen=True, kw_only=True)
class Rows:
    """n rows of a file, and how it was read."""

    name: str  # of the file, as given
    lines: NDArray[np.int64]  # (n,), the line of each row in the file, from 1
    unit: str = "row"  # "line" in text files
    comments: int = 0  # lines that begin with #, which were skipped
    numbered: bool = False  # ids are row numbers, or may be: whole numbers of an array
    notes: tuple[str, ...] = ()  # how the file was read, where that may be a surprise

    def at(self, i: int) -> str:
        """File and line of row i, for messages."""
        return f"{self.name}, {self.unit} {self.lines[i]}"


@dataclass(frozen=True, kw_only=True)
class Cells(Rows):
    """Columns of text (objects, stripped, "" where empty) or of numbers."""

    frame: pd.DataFrame
    header: list[str] | None = None
    may_have_header: bool = True  # whether the first row may be the header
    separator: str = "cells"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, kw_only=True)
class FileTable(Rows):
    """k columns of text, then p columns of numbers."""

    text: NDArray[np.str_]  # (n, k), cells of the leading columns
    values: NDArray[np.float64]  # (n, p), the other cells, NaN where there is no value
    columns: tuple[str, ...] = ()  # names of the p columns; empty when the file has no header
    head: tuple[str, ...] = ()  # names of the leading columns

    def column(self, j: int) -> str:
        """The name of column j of the numbers, or its number in the file."""
        if self.columns:
            return repr(self.columns[j])
        return str(j + 1 + self.text.shape[1])

    def transposed(self) -> FileTable:
        """Columns for rows: the columns of the file are the nodes."""
        if not self.columns:
            raise ValueError(f"{self.name}: a transposed table needs a header with the ids of the nodes.")
        n = len(self.columns)
        return replace(
            self,
            text=np.array(self.columns, dtype=str)[:, None],
            values=self.values.T.copy(),
            columns=tuple(self.text[:, 0].tolist()),
            lines=np.arange(2, n + 2),
            unit="column",
        )

    def with_values(self, values: NDArray[np.float64], columns: tuple[str, ...] | None = None) -> FileTable:
        """The same rows with these numbers, which must not be infinite."""
        table = replace(self, values=values, columns=self.columns if columns is None else columns)
        infinite = np.argwhere(np.isinf(values))
        if len(infinite):
            i, j = infinite[0]
            raise ValueError(f"{table.at(i)}, column {table.column(j)}: the value is infinite.")
        return table


# -------------------------------------------------------------------------------------------------------------- cells


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
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "backslashreplace").strip()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def texts_of(column: pd.Series[Any]) -> list[str]:
    """The cells of a column as text."""
    cells: list[Any] = column.tolist()
    return cells if column.dtype == TEXT else [id_text(cell) for cell in cells]


def with_numbers(table: FileTable, frame: pd.DataFrame, layout: Layout) -> FileTable:
    """The table with the cells of `frame` as its numbers: columns of numbers first, then one-hot encoded categories."""
    names = table.columns or ("",) * frame.shape[1]
    texts = {j: frame.iloc[:, j].tolist() for j, kind in enumerate(frame.dtypes) if kind == TEXT}
    categorical = _categorical(texts, names, layout, table.name)
    numeric = [j for j in range(frame.shape[1]) if j not in categorical]
    words = {j: cells for j, cells in texts.items() if j not in categorical}
    words, notes = _with_decimal_points(words, layout.decimal, table)
    if words:
        values = np.empty((len(frame), len(numeric)))
        for k, j in enumerate(numeric):
            values[:, k] = _numbers(words[j], j, table) if j in words else frame.iloc[:, j].to_numpy(na_value=np.nan)
    else:
        values = frame.iloc[:, numeric].to_numpy(np.float64, na_value=np.nan)
    table = replace(table, notes=(*table.notes, *notes))
    if not categorical:
        return table.with_values(values)

    blocks = [values]
    columns = [names[j] for j in numeric]
    for j in categorical:
        block, categories = _one_hot(texts_of(frame.iloc[:, j]), names[j] or str(j + 1 + table.text.shape[1]))
        blocks.append(block)
        columns += categories
    encoded = ", ".join(names[j] for j in categorical)
    table = replace(table, notes=(*table.notes, f"{table.name}: {encoded} one-hot encoded"))
    return table.with_values(np.hstack(blocks), tuple(columns))


def _categorical(texts: Texts, names: Sequence[str], layout: Layout, where: str) -> list[int]:
    """The columns to encode."""
    if "*" not in layout.one_hot:
        return sorted({find_column(name, names, where) for name in layout.one_hot})
    return [j for j, cells in texts.items() if not all(map(is_number, cells))]


def _one_hot(cells: Sequence[str], name: str) -> tuple[NDArray[np.float64], list[str]]:
    """A column of zeros and ones for each category, NaN where it is missing, and their names."""
    known = pd.Series(cells, dtype=object)
    known = known.where(~known.str.lower().isin(MISSING))
    dummies = pd.get_dummies(known, prefix=name, prefix_sep="=", dtype=float)
    if dummies.shape[1] > max(_FEW_CATEGORIES, len(cells) // 2):
        raise ValueError(
            f"column {name!r}: {dummies.shape[1]} categories among {len(cells)} rows look like ids; encode columns "
            "with fewer categories."
        )
    dummies[known.isna()] = np.nan
    return dummies.to_numpy(), list(dummies.columns)


def _with_decimal_points(texts: Texts, decimal: str, table: FileTable) -> tuple[Texts, tuple[str, ...]]:
    """The cells of each column with decimal points, and a note where commas were taken for them."""
    if decimal != "auto":
        group, mark = (".", ",") if decimal == "comma" else (",", ".")
        return {j: [_ungrouped(cell, group, mark) for cell in cells] for j, cells in texts.items()}, ()
    places = [(i, j) for j, cells in texts.items() for i, cell in enumerate(cells) if "," in cell]
    commas = [texts[j][i] for i, j in places]
    if not commas or not all(_COMMA.fullmatch(cell) or _GROUPED.fullmatch(cell) for cell in commas):
        return texts, ()
    if not _are_decimals(commas) or any(_POINT.fullmatch(cell) for cells in texts.values() for cell in cells):
        i, j = min(places)
        raise ValueError(
            f"{table.at(i)}, column {table.column(j)}: {texts[j][i]!r:.40} is ambiguous; "
            '`decimal="comma"` reads the comma as a decimal mark, `decimal="point"` as a separator of thousands.'
        )
    pointed = {j: [with_point(cell) for cell in cells] for j, cells in texts.items()}
    return pointed, (f"{table.name}: read with decimal commas",)


def _are_decimals(cells: Sequence[str]) -> bool:
    """Whether the commas in all of these cells certainly separate decimals: one could not separate thousands."""
    matches = [_COMMA.fullmatch(cell) for cell in cells]
    return all(matches) and any(match and (len(match[2]) != 3 or match[1] in ("", "0")) for match in matches)


def _ungrouped(cell: str, group: str, mark: str) -> str:
    """A number as Python writes it, without marks between thousands."""
    if not _GROUPED.fullmatch(cell) and mark not in cell:
        return cell
    return cell.replace(group, "").replace(mark, ".")


def _numbers(cells: Sequence[str], j: int, table: FileTable) -> NDArray[np.float64]:
    """Text as numbers, NaN where a value is missing; other cells are errors, with line and column."""
    words = [i for i, cell in enumerate(cells) if not is_number(cell)]
    if words:
        i = words[0]
        advice = ""
        if 2 * len(words) > len(cells):  # a column of words, rather than a typing error
            advice = "; `one_hot` encodes categories, `columns` selects the features, `id` the column of ids"
            if table.text.shape[1] > 1:
                advice = '; select the columns with `source`, `target` and `weight` ("none" for unweighted links)'
        raise ValueError(f"{table.at(i)}, column {table.column(j)}: {cells[i]!r:.40} is not a number{advice}.")
    return np.array([math.nan if cell.lower() in MISSING else float(cell) for cell in cells])
