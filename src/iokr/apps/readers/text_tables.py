"""Cells of text files as programs write them: any separator, quotes, row names, UTF-16, gzip, standard input."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from iokr.apps.readers.bounded import gzip_errors, open_binary
from iokr.apps.readers.cell_values import is_number, with_point
from iokr.apps.readers.file_table import Cells
from iokr.apps.readers.formats import format_of

__all__ = ["STDIN", "is_text", "read_cells"]

STDIN = "-"

Separator = str | None  # None is any number of spaces or tabs

_SEPARATORS: dict[str, tuple[Separator, ...]] = {  # by suffix, the likeliest first
    "": ("\t", ",", ";", None),
    ".tsv": ("\t", ",", ";"),
    ".tab": ("\t", ",", ";"),
    ".csv": (",", ";", "\t"),
    **dict.fromkeys((".txt", ".edges", ".edgelist", ".ids", ".adjlist", ".links"), (None, "\t", ",", ";")),
}
_NAMES = {"\t": "tabs", ",": "commas", ";": "semicolons", None: "spaces"}
_HEAD = 50  # lines from which the separator is inferred
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16


def is_text(path: Path) -> bool:
    """Whether the name is that of a text table, as one without a suffix is."""
    return str(path) == STDIN or path.name.lower().endswith(".gz") or format_of(path) in _SEPARATORS


def read_cells(path: Path, min_columns: int = 1) -> Cells:
    """The cells of a text file.

    The separator is the usual one of the suffix, unless another one fits better: rows of equal width (`min_columns` or
    more), and more cells that are numbers. A first line ``sep=;`` is obeyed. The text is UTF-8, or UTF-16 with a byte
    order mark. Lines that begin with # are comments, unless the # is in quotes. A header that is one cell short lacks
    the name of the row names (R's `write.table`); a comment as wide as the rows directly above them is the header
    (STRING, BioGRID).
    """
    name = "standard input" if str(path) == STDIN else str(path)
    found = _Rows([], [])
    try:
        with gzip_errors(name), _open_text(path) as file:
            head = list(islice(file, _HEAD))
            separator, stated, note = _separator_of(path, head, min_columns)
            lines = chain(head[stated:], file)
            for line, row, quoted in _split_rows(name, lines, separator, start=1 + stated):
                found.add(line, row, comment=bool(row) and row[0].startswith("#") and not quoted)
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 text: {error}; save it as UTF-8, in Excel as 'CSV UTF-8'.") from error
    header = found.take_header()
    _check_widths(name, found)
    return Cells(
        name,
        _frame(found.rows),
        np.array(found.lines, dtype=np.int64),
        "line",
        header,
        separator=_NAMES[separator],
        comments=found.comments,
        notes=(f"{name}: {note}",) if note else (),
    )


@dataclass
class _Rows:
    """The rows of a file while it is read."""

    rows: list[list[str]]
    lines: list[int]
    comments: int = 0
    last_comment: Sequence[str] = ()  # above the first row

    def add(self, line: int, row: list[str], *, comment: bool) -> None:
        """Append a row; count a comment; skip an empty line."""
        if comment:
            self.comments += 1
            if not self.rows:
                self.last_comment = row
        elif any(row):
            self.lines.append(line)
            self.rows.append(row)

    def take_header(self) -> list[str] | None:
        """The header, where the widths of the rows show that there is one; it is removed from the rows."""
        if not self.rows:
            return None
        first = self.rows[0]
        widths = {len(row) for row in self.rows[1:]}
        is_row = len(first) > 1 and not is_number(first[0]) and all(map(is_number, first[1:]))
        if widths == {len(first) + 1} and not is_row:  # R: the column of row names has no name
            del self.rows[0], self.lines[0]
            return ["", *first]
        above = self.last_comment
        if len(above) == len(first) > 1 and above[0][1:2].isalpha():
            self.comments -= 1
            return [above[0][1:], *above[1:]]
        return None


def _frame(rows: list[list[str]]) -> Any:
    import pandas as pd

    return pd.DataFrame(rows, dtype=object)


def _check_widths(name: str, found: _Rows) -> None:
    """Raise unless all rows have the width of the first."""
    if not found.rows:
        return
    width = len(found.rows[0])
    for line, row in zip(found.lines, found.rows, strict=True):
        if len(row) != width:
            raise ValueError(
                f"{name}, line {line}: expected {width} columns as in line {found.lines[0]}, got {len(row)}."
            )


# ----------------------------------------------------------------------------------------------------------- separators


def _separator_of(path: Path, head: Sequence[str], min_columns: int) -> tuple[Separator, bool, str]:
    """The separator, whether the first line states it, and a note where it is not the usual one of the suffix."""
    suffix = format_of(path)
    if suffix not in _SEPARATORS:
        suffix = ""
    candidates = _SEPARATORS[suffix]
    usual = candidates[0]
    separator = usual
    if not suffix or min_columns > 1:
        separator = _best_separator([line.rstrip("\r\n") for line in head], candidates, min_columns)
    stated = bool(head) and head[0].lower().startswith("sep=")
    if stated:
        mark = head[0].rstrip("\r\n")[4:].strip('"')
        separator = mark if mark in _NAMES else separator
    note = f"read with {_NAMES[separator]}" if suffix and separator != usual else ""
    return separator, stated, note


def _best_separator(lines: Sequence[str], candidates: Sequence[Separator], min_columns: int) -> Separator:
    """The candidate that fits the lines best, the likeliest of equal ones."""
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    best = None
    found = candidates[0]
    for candidate in candidates:
        fit = _fit([_split(line, candidate) for line in lines], candidate, min_columns)
        if fit is not None and (best is None or fit > best):
            best = fit
            found = candidate
    return found


def _fit(rows: Sequence[list[str]], separator: Separator, min_columns: int) -> tuple[bool, float, float] | None:
    """How well rows are separated: whether the header is as wide as they are, whole cells, numbers; None if not at all.

    All rows but the first must have the same width.
    """
    body = rows[1:] or rows
    widths = {len(row) for row in body}
    if len(widths) != 1 or min(widths) < max(2, min_columns):
        return None
    numbers = 0
    torn = 0  # words with another separator inside
    cells = [cell for row in body for cell in row]
    for cell in cells:
        if is_number(cell) or (separator != "," and is_number(with_point(cell))):
            numbers += 1
        elif any(mark in cell for mark in ',;\t"'):
            torn += 1
    return len(rows[0]) in widths, -torn / len(cells), numbers / len(cells)


def _split(line: str, separator: Separator) -> list[str]:
    """The cells of one line."""
    if separator is None and '"' not in line:
        return line.split()
    if separator is None:
        reader = csv.reader([line.replace("\t", " ").strip()], delimiter=" ", skipinitialspace=True)
    else:
        reader = csv.reader([line], delimiter=separator)
    try:
        return [cell.strip() for cell in next(reader, [])]
    except csv.Error:
        return [line]


def _split_rows(
    name: str, lines: Iterable[str], separator: Separator, start: int
) -> Iterator[tuple[int, list[str], bool]]:
    """(line, cells, whether it begins with a quote) of every row; a quoted cell may span several lines."""
    if separator is None:
        for line, content in enumerate(lines, start):
            yield line, _checked(name, line, _split(content, None)), content.startswith('"')
        return
    pending: list[str] = []  # lines of the current row
    reader = csv.reader(_recorded(lines, pending), delimiter=separator, strict=True)
    try:
        for cells in reader:
            line = reader.line_num + start - 1
            quoted = pending[0].startswith('"')
            pending.clear()
            yield line, _checked(name, line, [cell.strip() for cell in cells]), quoted
    except csv.Error as error:
        first = reader.line_num + start - 1 - max(len(pending) - 1, 0)
        raise ValueError(f"{name}, line {first}: {_quote_error(str(error))}.") from error


def _recorded(lines: Iterable[str], pending: list[str]) -> Iterator[str]:
    """The lines, each also appended to `pending`."""
    for line in lines:
        pending.append(line)
        yield line


def _quote_error(error: str) -> str:
    """A message of the csv module in plain words."""
    advice = 'a quote inside a cell is doubled, and the cell quoted: "5"" disk"'
    if error == "unexpected end of data":
        return f"unclosed quote; {advice}"
    if "expected after" in error:
        return f"text after a closing quote; {advice}"
    return error


def _checked(name: str, line: int, cells: list[str]) -> list[str]:
    """The cells, without NUL characters: NumPy's text arrays would cut cells off there."""
    if any("\0" in cell for cell in cells):
        raise ValueError(f"{name}, line {line}: NUL character; this is not a text file.")
    return cells


# ------------------------------------------------------------------------------------------------------------- opening


_stdin_content: list[tuple[Any, bytes]] = []  # standard input can be read once, but callers may read it again


def _open_text(path: Path) -> IO[str]:
    """The text of a file, or of standard input."""
    file: io.BufferedReader[Any]
    if str(path) == STDIN:
        if not _stdin_content or _stdin_content[0][0] is not sys.stdin:
            _stdin_content[:] = [(sys.stdin, sys.stdin.buffer.read())]
        file = io.BufferedReader(io.BytesIO(_stdin_content[0][1]))
    else:
        file = open_binary(path)
    encoding = "utf-16" if file.peek(2)[:2] in _BYTE_ORDER_MARKS else "utf-8-sig"
    return io.TextIOWrapper(file, encoding=encoding, newline="")
