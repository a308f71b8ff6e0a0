"""Cells of text files as programs write them: separators found out, quotes, row names, other encodings, gzip, stdin."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

from iokr.apps.readers.bounded import open_gzip

__all__ = ["MISSING", "STDIN", "Cells", "is_number", "pointed", "read_cells", "text_suffix"]

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
"""What a cell without a value may say, in any case."""

STDIN = "-"
_CANDIDATES: dict[str, tuple[str | None, ...]] = {".tsv": ("\t", ",", ";"), ".tab": ("\t", ",", ";")}
_CANDIDATES |= {".csv": (",", ";", "\t"), ".txt": (None, "\t", ",", ";"), "": ("\t", ",", ";", None)}
_CANDIDATES |= dict.fromkeys((".edges", ".edgelist", ".ids", ".adjlist", ".links"), (None, "\t", ",", ";"))
_WORDS = {"\t": "tabs", ",": "commas", ";": "semicolons", None: "spaces"}
_LOOK = 50  # lines by which a separator is judged


@dataclass(frozen=True)
class Cells:
    """The rows of a text file, cell by cell, without comments and empty lines."""

    name: str
    rows: list[list[str]]
    lines: list[int]
    comments: int = 0
    header: list[str] | None = None  # where the file says that it is one
    separator: str = "tabs"
    unit: str = "line"
    notes: tuple[str, ...] = field(default=())  # how it was read, where that may surprise


def text_suffix(path: Path) -> str | None:
    """The kind of text file that a name promises; "" where it promises nothing, None for other files."""
    if str(path) == STDIN:
        return ""
    name = path.name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    if name.endswith(".gz") and suffix not in _CANDIDATES:
        return ""
    return suffix if suffix in _CANDIDATES else None


def read_cells(path: Path, least: int = 1) -> Cells:
    """The cells of a text file, `least` columns or more where any separator gives them.

    The separator is that of the file's name unless another one fits better: the same number of columns in every row,
    and more cells that are numbers. A first line ``sep=;`` is obeyed. The text may be UTF-8 or, with its mark, UTF-16.
    A line that begins with # is a comment, one that begins with a quote and # is a row.
    A header that is one cell short has no name for the row names (R's `write.table`), and one that begins with # and
    is as wide as the rows is a header nevertheless (STRING, BioGRID).
    """
    suffix = text_suffix(path)
    name = "standard input" if str(path) == STDIN else str(path)
    opener = _opener(path)
    try:
        with opener() as file:
            head = [line.rstrip("\r\n") for line in islice(file, _LOOK)]
        told = head[0][4:].strip('"') if head and head[0].lower().startswith("sep=") else None
        first = _CANDIDATES[suffix or ""][0]
        found = first if suffix and least < 2 else _separator(head, _CANDIDATES[suffix or ""], least)
        separator = told if told is not None and told in _WORDS else found
        notes = () if separator == first or not suffix else (f"{name}: read with {_WORDS[separator]}",)
        cells = Cells(name, [], [], separator=_WORDS[separator], notes=notes)
        comments, above = 0, None
        for line, row, quoted in _rows(name, opener, separator, skip=told is not None):
            if row and row[0].startswith("#") and not quoted:
                above = row if not cells.rows else above
                comments += 1
            elif any(row):
                cells.lines.append(line)
                cells.rows.append(row)
    except UnicodeDecodeError as error:
        hint = "save it as UTF-8, in Excel as 'CSV UTF-8'"
        raise ValueError(f"{name} is not text in UTF-8: {error}; {hint}.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{name} is not a gzip file, or a damaged one: {error}.") from error
    return _headed(replace(cells, comments=comments), above)


def _headed(cells: Cells, above: Sequence[str] | None) -> Cells:
    """With the header that the widths tell of, if they do."""
    if not cells.rows:
        return cells
    widths = {len(row) for row in cells.rows[1:]}
    first = cells.rows[0]
    row = len(first) > 1 and all(map(is_number, first[1:])) and not is_number(first[0])
    if len(widths) == 1 and len(first) + 1 == next(iter(widths)) > 1 and not row:  # row names without a name
        return replace(cells, header=["", *first], rows=cells.rows[1:], lines=cells.lines[1:])
    titled = above is not None and len(above) == len(first) > 1 and above[0][1:2].isalpha()
    if titled and above is not None:
        return replace(cells, header=[above[0][1:], *above[1:]], comments=cells.comments - 1)
    return cells


def _separator(head: Sequence[str], candidates: Sequence[str | None], least: int) -> str | None:
    """That of the candidates, the likeliest first, by which rows are even, cells whole and most of them numbers."""
    lines = [line for line in head if line.strip() and not line.startswith("#")]
    best: tuple[bool, bool, float, float] | None = None
    found = candidates[0]
    for candidate in candidates:
        rows = [_split(line, candidate) for line in lines]
        widths = {len(row) for row in rows[1:]} or {len(row) for row in rows}
        if len(widths) != 1 or min(widths) < max(2, least):
            continue
        cells = [cell for row in rows[1:] or rows for cell in row]
        numbers = [is_number(cell) or (candidate != "," and is_number(pointed(cell))) for cell in cells]
        torn = sum(not number and any(c in cell for c in ',;\t"') for cell, number in zip(cells, numbers, strict=True))
        score = True, len(rows[0]) in widths, -torn / len(cells), sum(numbers) / len(cells)
        if best is None or score > best:
            best, found = score, candidate
    return found


def pointed(cell: str) -> str:
    """With a decimal point for the first comma."""
    return cell.replace(",", ".", 1)


def _split(line: str, separator: str | None) -> list[str]:
    if separator is None and '"' not in line:
        return line.split()
    if separator is None:
        line, separator = line.replace("\t", " "), " "
        return [cell for cell in next(csv.reader([line.strip()], delimiter=separator, skipinitialspace=True), [])]
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]
    except csv.Error:
        return [line]


def _rows(
    name: str, opener: Callable[[], IO[str]], separator: str | None, *, skip: bool
) -> Iterator[tuple[int, list[str], bool]]:
    """(line, cells without spaces around them, whether it begins with a quote) of every line."""
    with opener() as file:
        if skip:
            next(file)
        if separator is None:
            for line, content in enumerate(file, start=1 + skip):
                yield line, _without_nul(name, line, _split(content, None)), content.startswith('"')
            return
        read: list[str] = []
        reader = csv.reader(_noted(file, read), delimiter=separator, strict=True)
        try:
            for cells in reader:
                line, quoted = reader.line_num + skip, read[0].startswith('"')
                read.clear()
                yield line, _without_nul(name, line, [cell.strip() for cell in cells]), quoted
        except csv.Error as error:
            first = reader.line_num + skip - max(len(read) - 1, 0)
            raise ValueError(f"{name}, line {first}: {_quotes_in_words(str(error))}.") from error


def _quotes_in_words(error: str) -> str:
    """What is wrong with the quotes of a line."""
    doubled = 'a quote that belongs to a cell is doubled, within quotes: "5"" disk"'
    if error == "unexpected end of data":
        return f"a quote begins a cell here, and none ends it; {doubled}"
    return f"after the quote that ends a cell something follows; {doubled}" if "expected after" in error else error


def _noted(lines: Iterable[str], read: list[str]) -> Iterator[str]:
    """The lines, each also in a list: a cell between quotes may take several."""
    for line in lines:
        read.append(line)
        yield line


def _without_nul(name: str, line: int, cells: list[str]) -> list[str]:
    """The same cells; a NUL, which arrays of text would cut off, says that the file is none of text."""
    if any("\0" in cell for cell in cells):
        raise ValueError(f"{name}, line {line}: there is a NUL character; this is not a text file.")
    return cells


def _opener(path: Path) -> Callable[[], IO[str]]:
    """A function that opens the text anew; standard input is read once."""
    if str(path) == STDIN:
        content = _standard_input()
        return lambda: _decoded(io.BytesIO(content), content[:2])
    if path.name.lower().endswith(".gz"):
        return lambda: io.TextIOWrapper(open_gzip(path), encoding="utf-8-sig", newline="")
    try:
        with path.open("rb") as file:
            mark = file.read(2)
    except OSError as error:
        raise type(error)(error.errno, f"cannot be read ({error.strerror}); give a file of text", str(path)) from None
    return lambda: _decoded(path.open("rb"), mark)


_kept: list[
    tuple[Any, bytes]
] = []  # standard input and what was in it: it can be read once, and may be asked for twice


def _standard_input() -> bytes:
    if not _kept or _kept[-1][0] is not sys.stdin:
        content = sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode()
        _kept[:] = [(sys.stdin, gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)]
    return _kept[-1][1]


def _decoded(file: Any, mark: bytes) -> IO[str]:
    encoding = "utf-16" if mark in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return io.TextIOWrapper(file, encoding=encoding, newline="")


def is_number(cell: str) -> bool:
    """Whether a cell is a number, or says that it has no value."""
    if cell.lower() in MISSING:
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_2 as 12
