"""Reading tables: leading columns of text, then numbers, every row with its line in the file."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from iokr._memory import check_memory
from iokr.datasets.array_tables import read_array, read_parquet
from iokr.datasets.bounded import open_gzip
from iokr.datasets.file_table import FileTable

__all__ = ["MISSING", "read_table", "split_name"]

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
"""What a cell without a value may say, in any case."""

_SEPARATORS = {".tsv": "\t", ".tab": "\t", ".csv": ","}
_SPACES = (".txt", ".edges", ".edgelist", ".ids")
_HEADINGS = frozenset({"", "id", "ids", "index", "name", "node", "nodes", "gene", "protein", "orf"})
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_KINDS = ".tsv, .csv, .txt (spaces), .parquet, .npy or .npz"


def read_table(path: Path | str, n_text: int = 1, *, names: frozenset[str] = frozenset()) -> FileTable:
    """Read a table whose first `n_text` columns are text and whose other columns are numbers.

    The kind of file follows from its name: .tsv, .csv, .txt (spaces), each also with .gz; .parquet; .npy; .npz, with
    ``file.npz:array`` to name one of its arrays. In text files a first row is a header if one of its cells that should
    be a number is none, and most are none (else it is a row with a fault); if it begins with a word like "id"; if it
    begins with nothing and those cells count from 0 or from 1; if they repeat the first column, as in a kernel; or if
    all its words are in `names`.

    Raises
    ------
    ValueError
        With file and line, when a row has too few or too many cells, or a cell is no number.
    """
    path, array = split_name(path)
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if array is not None and suffix != ".npz":
        raise ValueError(f"{path}:{array}: only .npz files have arrays with names.")
    try:
        is_file = path.is_file()
    except OSError as error:  # no name of a file
        raise ValueError(f"{path!s:.60} cannot be the name of a file: {error.strerror}.") from None
    if not is_file:
        raise FileNotFoundError(f"{path!s:.200} is {'a folder, not a file' if path.is_dir() else 'not there'}.")
    if suffix in _SEPARATORS or suffix in _SPACES:
        return _printable(_read_text(path, suffix, n_text, names))
    if suffix in (".parquet", ".pq"):
        return _printable(read_parquet(path, n_text))
    if suffix in (".npy", ".npz"):
        return _printable(read_array(path, array, n_text))
    raise ValueError(f"{path}: cannot tell what kind of file this is; its name must end in {_KINDS}.")


def split_name(path: Path | str) -> tuple[Path, str | None]:
    """``file.npz:array`` in its two parts; the second is None for other names."""
    head, _, tail = str(path).rpartition(":")
    return (Path(head), tail) if head.lower().endswith(".npz") else (Path(path), None)


def _printable(table: FileTable) -> FileTable:
    """The same table, whose text has no control characters: neither GraphML nor people could read them."""
    for i, row in enumerate(table.text.tolist()):
        odd = next((cell for cell in row if not cell.isprintable() and _CONTROL.search(cell)), None)
        if odd is not None:
            tabs = "tabs; if columns are separated by them, the name must end in .tsv" if "\t" in odd else ""
            raise ValueError(f"{table.at(i)}: {odd!r:.60} holds {tabs or 'a character that cannot be printed'}.")
    return table


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
    again = n_text == 1 and len(rows) > 2 and rows[0][1:] == [row[0] for row in rows[1:]]
    header = again or _is_header(rows[0], n_text, names)
    head, columns = (tuple(rows[0][:n_text]), tuple(rows[0][n_text:])) if header else ((), ())
    lines, rows = lines[header:], rows[header:]
    if not rows:
        passed = f"; {comments} lines begin with # and were taken for comments" if comments else ""
        raise ValueError(f"{path} holds a header and no rows{passed}.")
    longest = max(len(cell) for row in rows for cell in row[:n_text])
    room = 4 * longest * n_text * len(rows) + 8 * len(rows) * len(rows[0])
    check_memory(room, f"{path}, {len(rows)} rows with ids of up to {longest} characters,", "Give a smaller file.")
    text = np.array([row[:n_text] for row in rows], dtype=str)
    table = FileTable(str(path), text, np.empty((len(rows), 0)), columns, np.array(lines), comments=comments, head=head)
    return table.with_values(_numbers([row[n_text:] for row in rows], table))


def _rows(path: Path, suffix: str) -> Iterator[tuple[int, list[str]]]:
    """(line, cells without spaces around them) of every line."""
    try:
        with _open(path) as file:
            if suffix in _SPACES:
                for line, content in enumerate(file, start=1):
                    yield line, _without_nul(path, line, content.split())
                return
            reader = csv.reader(file, delimiter=_SEPARATORS[suffix], strict=True)
            try:
                for cells in reader:
                    yield reader.line_num, _without_nul(path, reader.line_num, [cell.strip() for cell in cells])
            except csv.Error as error:
                raise ValueError(f"{path}, line {reader.line_num}: {error}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text in UTF-8: {error}.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not a gzip file, or a damaged one: {error}.") from error


def _without_nul(path: Path, line: int, cells: list[str]) -> list[str]:
    """The same cells; a NUL, which arrays of text would cut off, says that the file is none of text."""
    if any("\0" in cell for cell in cells):
        raise ValueError(f"{path}, line {line}: there is a NUL character; this is not a text file.")
    return cells


def _open(path: Path) -> IO[str]:
    if path.name.lower().endswith(".gz"):
        return io.TextIOWrapper(open_gzip(path), encoding="utf-8-sig", newline="")
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
    words = [cell for cell in rest if not _is_number(cell)]
    titled = {cell.lower() for cell in cells[:n_text]} <= _HEADINGS
    if words:
        return titled or 2 * len(words) > len(rest)
    counts = [str(j) for j in range(len(rest) + 1)]
    return titled and (any(cells[:n_text]) or rest in (counts[:-1], counts[1:]))


def _is_number(cell: str) -> bool:
    if cell.lower() in MISSING:
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_2 as 12


def _numbers(rows: list[list[str]], table: FileTable) -> NDArray[np.float64]:
    """The cells as numbers, NaN where there is no value; what is neither is named with its line and column."""
    try:
        if any("_" in cell for row in rows for cell in row):
            raise ValueError
        values = np.array(rows, dtype=np.float64)
    except ValueError:
        values = np.array([[_number(cell, i, j, table) for j, cell in enumerate(row)] for i, row in enumerate(rows)])
    return values.reshape(len(rows), -1)


def _number(cell: str, i: int, j: int, table: FileTable) -> float:
    if cell.lower() in MISSING:
        return np.nan
    if not _is_number(cell):
        raise ValueError(f"{table.at(i)}, column {table.column(j)}: {cell!r:.40} is not a number.")
    return float(cell)
