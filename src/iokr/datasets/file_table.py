"""A table read from a file: text, numbers, and the line of every row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FileTable", "finite"]


@dataclass(frozen=True)
class FileTable:
    """Rows of a file: k columns of text, then p columns of numbers.

    Attributes
    ----------
    name : str
        Of the file, as it was asked for.
    text : ndarray of shape (n, k)
        Cells of the leading columns, without spaces around them.
    values : ndarray of shape (n, p)
        The other cells, NaN where there is no value.
    columns : tuple of str
        Names of the p columns; empty when the file has no header.
    lines : ndarray of shape (n,)
        The line of each row in the file, from 1.
    unit : str
        "line" of a text file, "row" of another.
    comments : int
        Lines that begin with # and were passed over.
    numbered : bool
        The leading columns were whole numbers of an array, which may be row numbers.
    head : tuple of str
        What the header says above the leading columns.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr.datasets.tables import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "nodes.csv")
    ...     _ = path.write_text("id,size\\na,1.5\\nb,\\n")
    ...     table = read_table(path)
    >>> table.text[:, 0].tolist(), table.values[:, 0].tolist(), table.columns, table.lines.tolist()
    (['a', 'b'], [1.5, nan], ('size',), [2, 3])
    """

    name: str
    text: NDArray[np.str_]
    values: NDArray[np.float64]
    columns: tuple[str, ...]
    lines: NDArray[np.int64]
    unit: str = "line"
    comments: int = 0
    numbered: bool = False
    head: tuple[str, ...] = ()

    def at(self, i: int) -> str:
        """File and line of row i, in words."""
        return f"{self.name}, {self.unit} {self.lines[i]}"

    def column(self, j: int) -> str:
        """The name of column j of the numbers, or its number in the file."""
        return repr(self.columns[j]) if self.columns else str(j + 1 + self.text.shape[1])


def finite(values: NDArray[np.float64], table: FileTable) -> NDArray[np.float64]:
    """The same values, none of them infinite."""
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        i, j = infinite[0]
        raise ValueError(f"{table.at(i)}, column {table.column(j)}: the value is infinite.")
    return values
