"""Cells of Excel workbooks, read with openpyxl: pandas, which uses it too, takes 40 % longer for the same cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from iokr.apps.readers.bounded import check_archive
from iokr.apps.readers.cell_values import id_text
from iokr.apps.readers.file_table import Cells

__all__ = ["read_sheet"]


def read_sheet(path: Path, sheet: str | None) -> Cells:
    """The cells of a sheet; by default of the first sheet that is not empty."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise ImportError(
            f"{path}: reading .xlsx needs openpyxl: pip install 'iokr[excel]', or save it as .csv"
        ) from error
    try:
        check_archive(path)
        book = load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, KeyError, OSError) as error:
        raise ValueError(f"{path} is not an .xlsx file: {error}") from error
    try:
        if sheet is not None and sheet not in book.sheetnames:
            raise ValueError(f"{path} has no sheet {sheet!r}; it has {', '.join(book.sheetnames)}.")
        for name in [sheet] if sheet else book.sheetnames:
            cells = _cells(f"{path}:{sheet}" if sheet else str(path), book[name])
            if len(cells.frame):
                break
        others = [repr(other) for other in book.sheetnames if other != name]
    finally:
        book.close()
    if sheet or not others or not len(cells.frame):
        return cells
    note = f"{path}: read the sheet {name!r}, not {', '.join(others)}"
    return Cells(cells.name, cells.frame, cells.lines, notes=(note,))


def _cells(name: str, sheet: Any) -> Cells:
    """The filled rectangle of a sheet as text, from its first row and column."""
    import pandas as pd

    rows = list(sheet.iter_rows(values_only=True))
    # TRUE is a word in a column that has words, else the number 1
    with_words = {j for row in rows[1:] for j, cell in enumerate(row) if isinstance(cell, str)}
    texts = [[_text(cell, j in with_words) for j, cell in enumerate(row)] for row in rows]
    frame = pd.DataFrame(texts, dtype=object).fillna("")
    filled = np.asarray(frame != "")
    used = filled.any(axis=1)
    width = np.flatnonzero(filled.any(axis=0)).max(initial=-1) + 1
    return Cells(name, frame.iloc[used, :width], np.flatnonzero(used) + 1)


def _text(cell: Any, is_word: bool) -> str:
    if isinstance(cell, bool):
        return str(cell).upper() if is_word else str(int(cell))
    return id_text(cell)
