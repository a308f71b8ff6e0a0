"""Tables in the files that people have: leading columns of text, then numbers, every row with the line it stands on."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

__all__ = ["MISSING", "FileTable", "read_table", "split_name"]

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
"""What a cell without a value may say, in any case."""

_SEPARATORS = {".tsv": "\t", ".tab": "\t", ".csv": ","}
_SPACES = (".txt", ".edges", ".edgelist", ".ids")
_HEADINGS = frozenset({"", "id", "ids", "index", "name", "node", "nodes"})
_KINDS = ".tsv, .csv, .txt (spaces), .parquet, .npy or .npz"


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
        Where each row stands in the file, from 1.
    unit : str
        "line" of a text file, "row" of another.
    comments : int
        Lines that begin with # and were passed over.
    numbered : bool
        The leading columns were whole numbers of an array, which may be row numbers.

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

    def at(self, i: int) -> str:
        """Where row i stands, in words."""
        return f"{self.name}, {self.unit} {self.lines[i]}"

    def column(self, j: int) -> str:
        """The name of column j of the numbers, or its number in the file."""
        return repr(self.columns[j]) if self.columns else str(j + 1 + self.text.shape[1])


def read_table(path: Path | str, n_text: int = 1, *, names: frozenset[str] = frozenset()) -> FileTable:
    """Read a table whose first `n_text` columns are text and whose other columns are numbers.

    The kind of file follows from its name: .tsv, .csv, .txt (spaces), each also with .gz; .parquet; .npy; .npz, with
    ``file.npz:array`` to name one of its arrays. In text files a first row is a header if one of its cells that should
    be a number is none; if those cells count from 0 or from 1 and the first is empty or a word like "id"; or if all its
    words are in `names`.

    Raises
    ------
    ValueError
        With file and line, when a row has too few or too many cells, or a cell is no number.
    """
    path, array = split_name(path)
    suffix = _suffix(path)
    if array is not None and suffix != ".npz":
        raise ValueError(f"{path}:{array}: only .npz files have arrays with names.")
    if not path.is_file():
        raise FileNotFoundError(f"{path} is {'a folder' if path.is_dir() else 'not there'}.")
    if suffix in _SEPARATORS or suffix in _SPACES:
        return _read_text(path, suffix, n_text, names)
    if suffix in (".parquet", ".pq"):
        return _read_parquet(path, n_text)
    if suffix in (".npy", ".npz"):
        return _read_array(path, array, n_text)
    raise ValueError(f"{path}: cannot tell what kind of file this is; its name must end in {_KINDS}.")


def split_name(path: Path | str) -> tuple[Path, str | None]:
    """``file.npz:array`` in its two parts; the second is None for other names.

    Examples
    --------
    >>> from iokr.datasets.tables import split_name
    >>> split_name("a/b.npz:edges")[1], split_name("a/b.tsv")[1]
    ('edges', None)
    """
    text = str(path)
    head, colon, tail = text.rpartition(":")
    if colon and head.lower().endswith(".npz"):
        return Path(head), tail
    return Path(text), None


def _suffix(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


# ---------------------------------------------------------------------------------------------------------- text files


def _read_text(path: Path, suffix: str, n_text: int, names: frozenset[str]) -> FileTable:
    lines, rows, comments = [], [], 0
    for line, cells in _rows(path, suffix):
        if cells and cells[0].startswith("#"):
            comments += 1
        elif any(cells):
            lines.append(line)
            rows.append(cells)
    if not rows:
        raise ValueError(f"{path} holds no rows.")
    _check_widths(path, lines, rows, n_text, suffix)
    header = _is_header(rows[0], n_text, names)
    columns = tuple(rows[0][n_text:]) if header else ()
    lines, rows = lines[header:], rows[header:]
    if not rows:
        raise ValueError(f"{path} holds a header and no rows.")
    text = np.array([row[:n_text] for row in rows], dtype=str)
    table = FileTable(str(path), text, np.empty((len(rows), 0)), columns, np.array(lines), comments=comments)
    values = _numbers([row[n_text:] for row in rows], table)
    return FileTable(table.name, text, values, columns, table.lines, comments=comments)


def _rows(path: Path, suffix: str) -> Iterator[tuple[int, list[str]]]:
    """(line, cells without spaces around them) of every line."""
    try:
        with _open(path) as file:
            if suffix in _SPACES:
                for line, content in enumerate(file, start=1):
                    yield line, content.split()
                return
            reader = csv.reader(file, delimiter=_SEPARATORS[suffix], strict=True)
            try:
                for cells in reader:
                    yield reader.line_num, [cell.strip() for cell in cells]
            except csv.Error as error:
                raise ValueError(f"{path}, line {reader.line_num}: {error}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text in UTF-8: {error}.") from error
    except (gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"{path} is not a gzip file: {error}.") from error


def _open(path: Path) -> IO[str]:
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _check_widths(path: Path, lines: list[int], rows: list[list[str]], n_text: int, suffix: str) -> None:
    """All rows as wide as the first, and wide enough."""
    width = len(rows[0])
    if width < n_text:
        between = {"\t": "tabs", ",": "commas"}.get(_SEPARATORS.get(suffix, ""), "spaces")
        raise ValueError(
            f"{path}, line {lines[0]}: expected at least {n_text} columns separated by {between}, got {width}: "
            f"{' '.join(rows[0])!r:.60}."
        )
    for line, cells in zip(lines, rows, strict=True):
        if len(cells) != width:
            raise ValueError(f"{path}, line {line}: expected {width} columns as in line {lines[0]}, got {len(cells)}.")


def _is_header(cells: list[str], n_text: int, names: frozenset[str]) -> bool:
    """Whether the first row names the columns."""
    if cells and names and {cell.lower() for cell in cells[:n_text]} <= names:
        return True
    rest = cells[n_text:]
    if any(not _is_number(cell) for cell in rest):
        return True
    counts = [str(j) for j in range(len(rest) + 1)]
    return {cell.lower() for cell in cells[:n_text]} <= _HEADINGS and rest in (counts[:-1], counts[1:])


def _is_number(cell: str) -> bool:
    if cell.lower() in MISSING:
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbers(rows: list[list[str]], table: FileTable) -> NDArray[np.float64]:
    """The cells as numbers, NaN where there is no value; what is neither is named with its line and column."""
    try:
        values = np.array(rows, dtype=np.float64)
    except ValueError:
        values = np.array([[_number(cell, i, j, table) for j, cell in enumerate(row)] for i, row in enumerate(rows)])
    return _finite(values.reshape(len(rows), -1), table)


def _number(cell: str, i: int, j: int, table: FileTable) -> float:
    if cell.lower() in MISSING:
        return np.nan
    try:
        return float(cell)
    except ValueError:
        raise ValueError(f"{table.at(i)}, column {table.column(j)}: {cell!r:.40} is not a number.") from None


def _finite(values: NDArray[np.float64], table: FileTable) -> NDArray[np.float64]:
    """The same values, none of them infinite."""
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        i, j = infinite[0]
        raise ValueError(f"{table.at(i)}, column {table.column(j)}: the value is infinite.")
    return values


# --------------------------------------------------------------------------------------------------------- other files


def _read_parquet(path: Path, n_text: int) -> FileTable:
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except ImportError as error:
        raise ImportError(f"{path}: reading Parquet needs pyarrow: pip install 'iokr[parquet]'") from error
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} is not a Parquet file: {error}") from error
    if frame.index.name is not None:  # `frame.set_index("id").to_parquet(path)`: the ids are the index
        frame = frame.reset_index()
    if frame.shape[1] < n_text or not len(frame):
        raise ValueError(f"{path}: expected rows of at least {n_text} columns, got shape {frame.shape}.")
    columns = tuple(str(name) for name in frame.columns[n_text:])
    text = np.array([[_text(cell) for cell in row] for row in frame.iloc[:, :n_text].itertuples(index=False)], str)
    table = FileTable(
        str(path),
        text.reshape(len(frame), n_text),
        np.empty((len(frame), 0)),
        columns,
        np.arange(1, len(frame) + 1),
        "row",
    )
    values = np.empty((len(frame), len(columns)))
    for j, name in enumerate(frame.columns[n_text:]):
        column = pd.to_numeric(frame[name], errors="coerce")
        bad = np.flatnonzero(column.isna().to_numpy() & frame[name].notna().to_numpy())
        if len(bad):
            cell = frame[name].iloc[int(bad[0])]
            raise ValueError(f"{table.at(int(bad[0]))}, column {table.column(j)}: {cell!r:.40} is not a number.")
        values[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return FileTable(table.name, table.text, _finite(values, table), columns, table.lines, "row")


def _text(cell: Any) -> str:
    """A cell as an id: whole numbers without a point, nothing for a missing one."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))
    return str(cell).strip()


def _read_array(path: Path, name: str | None, n_text: int) -> FileTable:
    arrays = _load(path)
    array = _choose(path, arrays, name, n_text)
    where = str(path) if name is None else f"{path}:{name}"
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or not len(array) or array.dtype.kind not in "iufbUS":
        raise ValueError(f"{where}: expected a table of numbers or of text, got {array.dtype} of shape {array.shape}.")
    lines = np.arange(1, len(array) + 1)
    if array.dtype.kind in "US":
        if array.shape[1] != n_text:
            raise ValueError(f"{where}: expected {n_text} columns of text, got {array.shape[1]}.")
        text = np.char.strip(array.astype(str))
        return FileTable(where, text, np.empty((len(array), 0)), (), lines, "row")
    values = array.astype(np.float64)
    if n_text == 1 and array.shape[1] > 1:  # features or a kernel: ids are beside them, or are the row numbers
        ids = arrays.get("ids", np.arange(len(array)))
        if ids.shape != (len(array),):
            raise ValueError(f"{where} has {len(array)} rows, but the array ids of {path} has shape {ids.shape}.")
        text = np.array([[_text(cell)] for cell in ids.tolist()], dtype=str)
        table = FileTable(where, text, np.empty((len(array), 0)), (), lines, "row", numbered="ids" not in arrays)
        return FileTable(where, text, _finite(values, table), (), lines, "row", numbered=table.numbered)
    if array.shape[1] < n_text:
        raise ValueError(f"{where}: expected at least {n_text} columns, got {array.shape[1]}.")
    head = values[:, :n_text]
    if not np.array_equal(head, np.floor(head)):
        raise ValueError(f"{where}: the first {n_text} columns must be whole numbers, which name the nodes.")
    text = np.array([[str(int(cell)) for cell in row] for row in head], dtype=str)
    table = FileTable(where, text, np.empty((len(array), 0)), (), lines, "row")
    return FileTable(where, text, _finite(values[:, n_text:], table), (), lines, "row", numbered=True)


def _load(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file; the array of an .npy file under the empty name."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"": loaded}
        with loaded as file:
            return {name: file[name] for name in file.files}
    except (ValueError, OSError, EOFError, BadZipFile) as error:
        raise ValueError(f"{path} is not a file of arrays: {error}") from error


def _choose(path: Path, arrays: dict[str, NDArray[Any]], name: str | None, n_text: int) -> NDArray[Any]:
    """The array called `name`, or the only one that can be meant."""
    if name is not None:
        if name not in arrays:
            raise ValueError(f"{path} has no array {name!r}; it has {', '.join(arrays)}.")
        return arrays[name]
    if list(arrays) == [""]:
        return arrays[""]
    tables = {key: array for key, array in arrays.items() if array.ndim == 2 or len(arrays) == 1}
    if len(tables) != 1:
        raise ValueError(f"{path} holds {', '.join(arrays) or 'no arrays'}; name one of them: {path}:NAME.")
    return next(iter(tables.values()))
