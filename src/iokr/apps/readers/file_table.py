"""A table read from a file: text, numbers, and the line of every row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["FileTable"]


@dataclass(frozen=True)
class FileTable:
    """Rows of a file: k columns of text, then p columns of numbers."""

    name: str  # of the file, as it was asked for
    text: NDArray[np.str_]  # (n, k), cells of the leading columns, without spaces around them
    values: NDArray[np.float64]  # (n, p), the other cells, NaN where there is no value
    columns: tuple[str, ...]  # names of the p columns; empty when the file has no header
    lines: NDArray[np.int64]  # (n,), the line of each row in the file, from 1
    unit: str = "line"  # of a text file, "row" of another
    comments: int = 0  # lines that begin with # and were passed over
    numbered: bool = False  # the leading columns were whole numbers of an array, which may be row numbers
    head: tuple[str, ...] = ()  # what the header says above the leading columns
    notes: tuple[str, ...] = ()  # how the file was read, where that may surprise

    def at(self, i: int) -> str:
        """File and line of row i, in words."""
        return f"{self.name}, {self.unit} {self.lines[i]}"

    def column(self, j: int) -> str:
        """The name of column j of the numbers, or its number in the file."""
        return repr(self.columns[j]) if self.columns else str(j + 1 + self.text.shape[1])

    def advice(self, j: int, words: int) -> str:
        """What may be done about a column of numbers of whose cells so many are words, in brackets."""
        if 2 * words <= len(self.text):
            return ""
        name = self.columns[j] if self.columns else str(j + 1 + self.text.shape[1])
        if self.text.shape[1] > 1:
            return "; --source, --target and --weight (or --weight none) say which columns are meant"
        told = "--columns says which columns are features, --id which one has the ids"
        return f" (--one-hot {name} takes its words for categories, {told})"

    def transposed(self) -> FileTable:
        """Columns for rows: what were features are nodes."""
        if not self.columns:
            raise ValueError(f"{self.name}: to be transposed it needs a header with the ids of the nodes.")
        names, n = np.array(self.columns, dtype=str)[:, None], len(self.columns)
        features = tuple(self.text[:, 0].tolist())
        places = np.arange(2, n + 2)
        return replace(self, text=names, values=self.values.T.copy(), columns=features, lines=places, unit="column")

    def with_values(self, values: NDArray[np.float64]) -> FileTable:
        """The same rows with these numbers, none of them infinite."""
        infinite = np.argwhere(np.isinf(values))
        if len(infinite):
            i, j = infinite[0]
            raise ValueError(f"{self.at(i)}, column {self.column(j)}: the value is infinite.")
        return replace(self, values=values)
