"""Files of records: lines with their numbers, and tables whose columns have names."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from iokr.apps.readers.bounded import check_parquet, open_gzip
from iokr.data.frames import is_table

__all__ = ["Rejected", "TextFile", "as_path", "check_there", "kind_of", "name_of", "named_rows", "open_file"]

_LONGEST = 64_000_000  # bytes of a line
_SEPARATORS = {".tsv": "\t", ".tab": "\t", ".txt": "\t", ".csv": ","}
_BATCH = 10_000  # rows of a Parquet file at a time


@dataclass(frozen=True)
class Rejected:
    """A record of a file that was not taken, or not as it is.

    Examples
    --------
    >>> from iokr.apps.readers import Rejected
    >>> Rejected("lib.mgf", 12, "F1", "spectrum", "no precursor", "left out").reason
    'no precursor'
    """

    file: str
    line: int | None
    id: str
    what: str
    reason: str
    action: str
    detail: str = ""


def as_path(path: Any, name: str = "path") -> Path:
    """A path from a text or a path."""
    if not isinstance(path, (str, Path)):
        raise TypeError(f"`{name}` must be the path of a file, got {path!r:.60}.")
    return Path(path)


def check_there(path: Path) -> None:
    """Refuse a path at which there is no file."""
    try:
        if path.is_file():
            return
        what = "a folder, not a file" if path.is_dir() else "not there"
    except (OSError, ValueError) as error:
        raise FileNotFoundError(f"{path!s:.200} is no path of a file: {error!s:.80}.") from None
    raise FileNotFoundError(f"{path!s:.200} is {what}.")


def kind_of(path: Path) -> str:
    """The suffix that says what a file is, without .gz."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def open_file(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked where its name ends in .gz."""
    check_there(path)
    return open_gzip(path) if path.name.lower().endswith(".gz") else path.open("rb")


class TextFile:
    """Lines of a text in UTF-8, or, where it is none, in Latin-1: `latin` says so after the reading."""

    def __init__(self, path: Path, *, strip: bool = True) -> None:
        self.path, self.strip, self.latin, self.first = path, strip, False, ""

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """(number from 1, line); without spaces around it unless they count."""
        number = 0
        try:
            with open_file(self.path) as file:
                while raw := file.readline(_LONGEST + 1):
                    number += 1
                    if len(raw) > _LONGEST:
                        raise ValueError(f"{self.path.name} line {number}: the line has more than {_LONGEST} bytes.")
                    if b"\0" in raw:
                        raise ValueError(f"{self.path.name} line {number}: a NUL character; this is not a text file.")
                    text = self._decoded(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw)
                    self.first = self.first or text.strip()
                    yield number, text.strip() if self.strip else text.rstrip("\r\n")
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{self.path.name} is not a gzip file, or a damaged one: {error}.") from error

    def _decoded(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self.latin = True
            return raw.decode("latin-1")

    def notes(self) -> list[Rejected]:
        """That it was read as Latin-1, if so."""
        if not self.latin:
            return []
        return [Rejected(self.path.name, None, "", "file", "not UTF-8", "read as Latin-1", "accents may be wrong")]


def name_of(source: Any) -> str:
    """The name of a file, for messages; of a table or a list in memory, "the data"."""
    return source.name if isinstance(source, Path) else "the data"


def named_rows(source: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, {column in small letters: cell}) of a .tsv, .csv or .parquet file, or of a data frame.

    Empty cells are left out. Rows of Parquet and of frames are numbered from 1.
    """
    if is_table(source):
        frame = source.to_pandas() if hasattr(source, "to_pandas") else source
        yield from _numbered(frame.to_dict("records"))
        return
    path = source
    kind = kind_of(path)
    if kind in (".parquet", ".pq"):
        yield from _parquet_rows(path)
        return
    if kind not in _SEPARATORS:
        raise ValueError(
            f"{path.name}: cannot tell what kind of file this is; the name of a table ends in .tsv, .csv, .txt or "
            ".parquet."
        )
    before = csv.field_size_limit(min(_LONGEST, sys.maxsize))
    try:
        with open_file(path) as file, _text(file, path) as text:
            reader = csv.reader(text, delimiter=_SEPARATORS[kind])
            names: list[str] = []
            for cells in reader:
                if not any(cells):
                    continue
                if not names:
                    names = [cell.strip().lower() for cell in cells]
                    continue
                if len(cells) > len(names):
                    raise ValueError(
                        f"{path.name} line {reader.line_num}: {len(cells)} cells, but the header has {len(names)}."
                    )
                pairs = zip(names, (cell.strip() for cell in cells), strict=False)
                yield reader.line_num, {name: cell for name, cell in pairs if cell}
            if not names:
                raise ValueError(f"{path.name}: the file is empty.")
    except csv.Error as error:
        raise ValueError(f"{path.name} line {reader.line_num}: {error}.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} is not a gzip file, or a damaged one: {error}.") from error
    finally:
        csv.field_size_limit(before)


def _text(file: BinaryIO, path: Path) -> io.TextIOWrapper:
    """As UTF-8, or as Latin-1 where its beginning is none."""
    with open_file(path) as probe:
        start = probe.read(1 << 20)
    cut = start[: max(start.rfind(b"\n"), 0)] or start
    try:
        cut.decode("utf-8")
        encoding = "utf-8-sig"
    except UnicodeDecodeError:
        encoding = "latin-1"
    if b"\0" in start:
        raise ValueError(f"{path.name}: there is a NUL character; this is not a text file.")
    return io.TextIOWrapper(file, encoding=encoding, errors="replace", newline="")


def _parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError as error:
        raise ImportError(
            f"{path.name}: Parquet files need the extra `parquet`: pip install 'iokr[parquet]'"
        ) from error
    check_there(path)
    try:
        check_parquet(path)
        with parquet.ParquetFile(path) as file:
            yield from _numbered(row for batch in file.iter_batches(_BATCH) for row in batch.to_pylist())
    except ArrowInvalid as error:
        raise ValueError(f"{path.name} is no Parquet file, or a damaged one: {str(error).splitlines()[0]}") from error


def _numbered(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows counted from 1, their names in small letters; cells that are None, NaN or "" are left out."""
    for number, row in enumerate(rows, start=1):
        yield number, {str(name).strip().lower(): cell for name, cell in row.items() if not _is_empty(cell)}


def _is_empty(cell: Any) -> bool:
    if isinstance(cell, float):
        return cell != cell
    return cell is None or (isinstance(cell, str) and cell == "")
