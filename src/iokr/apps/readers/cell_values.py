"""Cells of text to numbers: values that are missing, decimal commas, categories as columns of zeros and ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from iokr.apps.readers.file_table import FileTable
from iokr.apps.readers.layouts import Layout, find_column
from iokr.apps.readers.text_tables import MISSING, is_number

__all__ = ["categories", "with_cells"]

_COMMA = re.compile(r"[+-]?(\d*),(\d+)(?:[eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?\d{1,3}([.,]\d{3})+([.,]\d+)?")


def with_cells(table: FileTable, rows: Sequence[Sequence[str]], layout: Layout) -> FileTable:
    """The table with these cells as its numbers."""
    columns = table.columns or ("",) * (len(rows[0]) if rows else 0)
    chosen = _categorical(rows, columns, layout, table.name)
    numeric = [j for j in range(len(columns)) if j not in chosen]
    cells = rows if not chosen else [[row[j] for j in numeric] for row in rows]
    some = replace(table, columns=tuple(columns[j] for j in numeric)) if chosen and table.columns else table
    cells, notes = _decimals(cells, layout.decimal, some)
    values = _numbers(cells, some)
    table = replace(table, notes=(*table.notes, *notes))
    if not chosen:
        return table.with_values(values)
    blocks, names = [values], [str(columns[j]) for j in numeric]
    for j in sorted(chosen):
        block, more = categories([row[j] for row in rows], columns[j] or str(j + 1 + table.text.shape[1]))
        blocks.append(block)
        names += more
    said = f"{table.name}: {', '.join(str(columns[j]) for j in sorted(chosen))} as categories, one-hot"
    table = replace(table, columns=tuple(names), notes=(*table.notes, said))
    return table.with_values(np.hstack(blocks))


def _categorical(rows: Sequence[Sequence[str]], columns: Sequence[str], layout: Layout, where: str) -> set[int]:
    """Which columns of numbers are categories."""
    if "*" in layout.one_hot:
        return {j for j in range(len(columns)) if not all(is_number(row[j]) for row in rows)}
    return {find_column(name, columns, where) for name in layout.one_hot}


def categories(cells: Sequence[str], name: str) -> tuple[NDArray[np.float64], list[str]]:
    """A column of zeros and ones for each category, NaN where there is none, and their names."""
    there = sorted({cell for cell in cells if cell.lower() not in MISSING})
    if len(there) > max(20, len(cells) // 2):
        raise ValueError(
            f"column {name!r}: {len(there)} categories among {len(cells)} rows are ids rather than categories."
        )
    block = np.array([[np.nan if cell.lower() in MISSING else float(cell == one) for one in there] for cell in cells])
    return block.reshape(len(cells), len(there)), [f"{name}={one}" for one in there]


def _decimals(
    rows: Sequence[Sequence[str]], decimal: str, table: FileTable
) -> tuple[Sequence[Sequence[str]], tuple[str, ...]]:
    """The cells with decimal points, and a note where they had commas."""
    if decimal == "comma":
        return [[_plain(cell, ".", ",") for cell in row] for row in rows], ()
    if decimal == "point":
        return [[_plain(cell, ",", ".") for cell in row] for row in rows], ()
    odd = [(i, j, cell) for i, row in enumerate(rows) for j, cell in enumerate(row) if "," in cell]
    if not odd or not all(_COMMA.fullmatch(cell) or _GROUPED.fullmatch(cell) for _, _, cell in odd):
        return rows, ()
    i, j, first = odd[0]
    points = any(_POINT.fullmatch(cell) for row in rows for cell in row)
    groups = any(_GROUPED.fullmatch(cell) and not _COMMA.fullmatch(cell) for _, _, cell in odd)
    sure = any((m := _COMMA.fullmatch(cell)) and (len(m[2]) != 3 or m[1] in ("", "0")) for _, _, cell in odd)
    if points or groups or not sure:
        raise ValueError(
            f"{table.at(i)}, column {table.column(j)}: {first!r:.40} is not a number, unless its comma is that of "
            "decimals (--decimal comma) or of thousands (--decimal point)."
        )
    return [[cell.replace(",", ".") for cell in row] for row in rows], (f"{table.name}: read with decimal commas",)


def _plain(cell: str, group: str, mark: str) -> str:
    """A number as Python writes it, of one with marks between thousands and before decimals."""
    return cell.replace(group, "").replace(mark, ".") if _GROUPED.fullmatch(cell) or mark in cell else cell


def _numbers(rows: Sequence[Sequence[str]], table: FileTable) -> NDArray[np.float64]:
    """The cells as numbers, NaN where there is no value; what is neither is named with its line and column."""
    try:
        if any("_" in cell for row in rows for cell in row):
            raise ValueError
        values = np.array(rows, dtype=np.float64)
    except ValueError:
        values = np.array(
            [[_number(cell, i, j, table, rows) for j, cell in enumerate(row)] for i, row in enumerate(rows)]
        )
    return values.reshape(len(rows), -1)


def _number(cell: str, i: int, j: int, table: FileTable, rows: Sequence[Sequence[str]]) -> float:
    if cell.lower() in MISSING:
        return np.nan
    if not is_number(cell):
        words = sum(not is_number(row[j]) for row in rows)
        raise ValueError(
            f"{table.at(i)}, column {table.column(j)}: {cell!r:.40} is not a number{table.advice(j, words)}."
        )
    return float(cell)
