"""Cells of Excel workbooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from iokr.apps.readers.bounded import check_archive
from iokr.apps.readers.text_tables import Cells

__all__ = ["read_sheet"]


def read_sheet(path: Path, sheet: str | None) -> Cells:
    """The cells of one sheet, of the first one that is not empty where none is named; numbers as Python writes them."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise ImportError(
            f"{path}: reading .xlsx needs openpyxl: pip install 'iokr[excel]', or save it as .csv"
        ) from error
    try:
        with ZipFile(path) as archive:
            check_archive(path, archive)
        book = load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, KeyError, OSError) as error:
        raise ValueError(f"{path} is not an .xlsx file: {error}") from error
    try:
        if sheet is not None and sheet not in book.sheetnames:
            raise ValueError(f"{path} has no sheet {sheet!r}; it has {', '.join(book.sheetnames)}.")
        for name in book.sheetnames if sheet is None else [sheet]:
            found = _cells(f"{path}:{name}" if sheet else str(path), book[name])
            if found.rows:
                others = [other for other in book.sheetnames if other != name]
                said = f"{path}: read the sheet {name!r}, not {', '.join(map(repr, others))}"
                notes = (said,) if sheet is None and others else ()
                return Cells(found.name, found.rows, found.lines, unit="row", separator="cells", notes=notes)
        return found
    finally:
        book.close()


def _cells(name: str, sheet: Any) -> Cells:
    """The rectangle that is filled, from its first row and column."""
    found = list(enumerate(sheet.iter_rows(values_only=True), start=1))
    words = {
        j for _, row in found[1:] for j, cell in enumerate(row) if isinstance(cell, str)
    }  # columns of text, or ids
    rows, lines = [], []
    for line, row in found:
        cells = [_text(cell, truth=j in words) for j, cell in enumerate(row)]
        if any(cells):
            rows.append(cells)
            lines.append(line)
    width = max((max(j + 1 for j, cell in enumerate(row) if cell) for row in rows), default=0)
    return Cells(name, [row[:width] for row in rows], lines, unit="row", separator="cells")


def _text(cell: Any, *, truth: bool) -> str:
    """A cell in words; TRUE is a word among words, and 1 among numbers."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper() if truth else str(int(cell))
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()
