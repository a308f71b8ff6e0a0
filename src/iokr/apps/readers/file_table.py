"""Rows of a file before and after they are interpreted, each with its line in the file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Cells", "FileTable"]


@dataclass(frozen=True)
class Cells:
    """Rows of a file: columns of text (objects, stripped, "" where empty) or of numbers."""

    name: str  # of the file, as given
    frame: pd.DataFrame
    lines: NDArray[np.int64]  # (n,), the line of each row in the file, from 1
    unit: str = "row"  # "line" in text files
    header: list[str] | None = None
    may_have_header: bool = True  # whether the first row may be the header
    separator: str = "cells"
    comments: int = 0  # lines that begin with #, which were skipped
    numbered: bool = False  # ids are row numbers, or may be: whole numbers of an array
    notes: tuple[str, ...] = ()  # how the file was read, where that may be a surprise

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class FileTable:
    """Rows of a file: k columns of text, then p columns of numbers; the other fields are those of `Cells`."""

    name: str
    text: NDArray[np.str_]  # (n, k), cells of the leading columns
    values: NDArray[np.float64]  # (n, p), the other cells, NaN where there is no value
    columns: tuple[str, ...]  # names of the p columns; empty when the file has no header
    lines: NDArray[np.int64]
    unit: str = "line"
    comments: int = 0
    numbered: bool = False
    head: tuple[str, ...] = ()  # names of the leading columns
    notes: tuple[str, ...] = ()

    def at(self, i: int) -> str:
        """File and line of row i, for messages."""
        return f"{self.name}, {self.unit} {self.lines[i]}"

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
