"""Cells of text files as programs write them: any separator, quotes, row names, UTF-16, gzip, standard input."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, TextIO

import numpy as np
import pandas as pd

from iokr.apps.readers.bounded import expecting, gzip_errors, open_binary
from iokr.apps.readers.file_table import Cells, is_number, with_point
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
    order mark. Lines that begin with # are comments. A header that is one cell short lacks the name of the row names
    (R's `write.table`); a comment as wide as the rows directly below it is the header (STRING, BioGRID).
    """
    name = "standard input" if str(path) == STDIN else str(path)
    comments: list[tuple[int, str]] = []
    advice = "; save it as UTF-8, in Excel as 'CSV UTF-8'."
    with expecting(name, "UTF-8 text", UnicodeDecodeError, end=advice), gzip_errors(name), _open_text(path) as file:
        lines = _without_comments(name, file, comments)
        head = list(islice(lines, _HEAD))
        separator, note = _separator_of(path, head, min_columns)
        if _states_separator(head):
            head[0] = "\n"
        numbered = [(number, row) for number, row in _numbered_rows(name, chain(head, lines), separator) if any(row)]
    numbers = [number for number, _ in numbered]
    rows = [row for _, row in numbered]
    header = None
    n_comments = len(comments)
    if rows:
        above = [line for number, line in comments if number < numbers[0]]
        if _lacks_a_name(rows):
            header = ["", *rows.pop(0)]
            numbers.pop(0)
        elif above and _is_header(_split(above[-1], separator), len(rows[0])):
            header = _split(above[-1].lstrip(" ").removeprefix("#"), separator)
            n_comments -= 1
    for number, row in zip(numbers, rows, strict=True):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"{name}, line {number}: expected {len(rows[0])} columns as in line {numbers[0]}, got {len(row)}."
            )
    return Cells(
        name=name,
        lines=np.array(numbers, dtype=np.int64),
        unit="line",
        comments=n_comments,
        notes=(f"{name}: {note}",) if note else (),
        frame=pd.DataFrame(rows, dtype=object),
        header=header,
        separator=_NAMES[separator],
    )


def _without_comments(name: str, lines: Iterable[str], comments: list[tuple[int, str]]) -> Iterator[str]:
    """The lines, with empty ones for comments, which are appended to `comments` with their numbers."""
    for number, line in enumerate(lines, start=1):
        if "\0" in line:  # NumPy's text arrays would cut cells off there
            raise ValueError(f"{name}, line {number}: NUL character; this is not a text file.")
        if line.lstrip(" ").startswith("#"):
            comments.append((number, line))
            yield "\n"
        else:
            yield line


def _lacks_a_name(rows: Sequence[list[str]]) -> bool:
    """Whether the first row is a header one cell short, as R writes it: the column of row names has no name."""
    first = rows[0]
    if {len(row) for row in rows[1:]} != {len(first) + 1}:
        return False
    is_row = len(first) > 1 and not is_number(first[0]) and all(map(is_number, first[1:]))
    return not is_row


def _is_header(comment: Sequence[str], width: int) -> bool:
    """Whether a comment names the columns: #name in the first of as many cells."""
    return len(comment) == width > 1 and comment[0][1:2].isalpha()


# ----------------------------------------------------------------------------------------------------------- separators


def _separator_of(path: Path, head: Sequence[str], min_columns: int) -> tuple[Separator, str]:
    """The separator, and a note where it is not the usual one of the suffix."""
    suffix = format_of(path)
    if suffix not in _SEPARATORS:
        suffix = ""
    candidates = _SEPARATORS[suffix]
    separator = candidates[0]
    if not suffix or min_columns > 1:
        lines = [line.rstrip("\r\n") for line in head if line.strip()]
        fits = {mark: _fit([_split(line, mark) for line in lines], mark, min_columns) for mark in candidates}
        separator = max(candidates, key=lambda mark: fits[mark])  # the likeliest of equal ones
    if _states_separator(head):
        mark = head[0].rstrip("\r\n")[4:].strip('"')
        separator = mark if mark in _NAMES else separator
    return separator, f"read with {_NAMES[separator]}" if suffix and separator != candidates[0] else ""


def _states_separator(head: Sequence[str]) -> bool:
    """Whether the first line is sep=; as Excel reads it."""
    return bool(head) and head[0].lower().startswith("sep=")


def _fit(rows: Sequence[list[str]], separator: Separator, min_columns: int) -> tuple[bool, bool, float, float]:
    """How well rows are separated: whether they have one width, the header too; whole cells; numbers."""
    body = rows[1:] or rows
    widths = {len(row) for row in body}
    if len(widths) != 1 or min(widths) < max(2, min_columns):
        return False, False, 0.0, 0.0
    cells = [cell for row in body for cell in row]
    words = [cell for cell in cells if not is_number(cell) and (separator == "," or not is_number(with_point(cell)))]
    torn = sum(any(mark in word for mark in ',;\t"') for word in words)  # words with another separator inside
    return True, len(rows[0]) in widths, -torn / len(cells), (len(cells) - len(words)) / len(cells)


def _split(line: str, separator: Separator) -> list[str]:
    """The cells of one line."""
    try:
        return [cell.strip() for cell in next(_reader([line], separator, strict=False), [])]
    except csv.Error:
        return [line]


def _numbered_rows(name: str, lines: Iterable[str], separator: Separator) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) of every row; a quoted cell may span several lines."""
    reader = _reader(lines, separator, strict=True)
    number = 0
    try:
        for cells in reader:
            number = reader.line_num
            yield number, [cell.strip() for cell in cells]
    except csv.Error as error:
        advice = 'a quote inside a cell is doubled, and the cell quoted: "5"" disk"'
        raise ValueError(f"{name}, line {number + 1}: {error}; {advice}.") from error


def _reader(lines: Iterable[str], separator: Separator, *, strict: bool) -> Any:
    if separator is not None:
        return csv.reader(lines, delimiter=separator, strict=strict)
    words = (line.replace("\t", " ").strip() for line in lines)
    return csv.reader(words, delimiter=" ", skipinitialspace=True, strict=strict)


# ------------------------------------------------------------------------------------------------------------- opening


@lru_cache(maxsize=1)
def _content(stream: TextIO) -> bytes:
    """The content of standard input, which can be read only once; the cache returns it again."""
    return stream.buffer.read()


def _open_text(path: Path) -> IO[str]:
    """The text of a file, or of standard input."""
    is_stdin = str(path) == STDIN
    file: io.BufferedReader[Any] = io.BufferedReader(io.BytesIO(_content(sys.stdin))) if is_stdin else open_binary(path)
    encoding = "utf-16" if file.peek(2)[:2] in _BYTE_ORDER_MARKS else "utf-8-sig"
    return io.TextIOWrapper(file, encoding=encoding, newline="")
