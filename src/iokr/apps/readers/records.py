"""Files of records: numbered lines of text, and tables whose columns have names."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from iokr.apps.readers.bounded import check_parquet, gzip_errors, open_binary
from iokr.apps.readers.formats import check_file, format_of, unknown_format
from iokr.apps.readers.typed_tables import PARQUET, as_pandas
from iokr.data.frames import is_table

__all__ = ["Rejected", "TextFile", "first_of", "name_of", "named_rows"]

_MAX_LINE = 64_000_000  # bytes
_BATCH = 10_000  # rows of a Parquet file at a time
_LISTED = 10  # columns in a message
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SEPARATORS = {".tsv": "\t", ".tab": "\t", ".txt": "\t", ".csv": ","}


@dataclass(frozen=True)
class Rejected:
    """A record of a file that was rejected or changed.

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


class TextFile:
    """The lines of a text file in UTF-8; lines in another encoding are read as Latin-1, which `notes` reports."""

    def __init__(self, path: Path, *, strip: bool = True) -> None:
        self.path = path
        self.strip = strip
        self.first = ""  # line that is not empty
        self._latin_1 = False

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """(number from 1, line), without spaces around it or, if they matter, with its line end."""
        name = self.path.name
        check_file(self.path)
        with gzip_errors(name), open_binary(self.path) as file:
            number = 0
            while raw := file.readline(_MAX_LINE + 1):
                number += 1
                if len(raw) > _MAX_LINE:
                    raise ValueError(f"{name} line {number}: the line has more than {_MAX_LINE} bytes.")
                if b"\0" in raw:
                    raise ValueError(f"{name} line {number}: NUL character; this is not a text file.")
                if number == 1:
                    raw = raw.removeprefix(_BYTE_ORDER_MARK)
                line = self._decoded(raw)
                self.first = self.first or line.strip()
                yield number, line.strip() if self.strip else line

    def _decoded(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self._latin_1 = True
            return raw.decode("latin-1")

    def notes(self) -> list[Rejected]:
        """A note if some lines were read as Latin-1."""
        if not self._latin_1:
            return []
        return [Rejected(self.path.name, None, "", "file", "not UTF-8", "read as Latin-1", "accents may be wrong")]


def name_of(source: Any) -> str:
    """The name of a file, for messages; of a table or a list in memory, "the data"."""
    return source.name if isinstance(source, Path) else "the data"


def named_rows(source: Any, *needed: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, {column in lower case: cell}) of a .tsv, .csv, .txt or .parquet file or a data frame, without empty cells.

    Rows of Parquet files and data frames are numbered from 1. ValueError unless there is a column of each of the
    sequences of names in `needed`.
    """
    rows: Iterator[tuple[int, Sequence[Any]]]
    if is_table(source):
        frame = as_pandas(source, "source")
        rows = chain([(0, list(frame.columns))], enumerate(frame.itertuples(index=False, name=None), start=1))
    elif format_of(source) in PARQUET:
        rows = _parquet_rows(source)
    elif format_of(source) in _SEPARATORS:
        rows = _text_rows(source, _SEPARATORS[format_of(source)])
    else:
        raise unknown_format(source, (".tsv", ".csv", ".txt", ".parquet"))
    _, header = next(rows, (0, ()))
    columns = [str(name).strip().lower() for name in header]
    for names in needed:
        if not set(names).intersection(columns):
            available = ", ".join(sorted(columns)[:_LISTED]) or "none"
            listed = " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
            raise ValueError(f"{name_of(source)}: needs a column {listed}; it has {available}.")
    line = 0
    for line, cells in rows:
        yield line, {name: cell for name, cell in zip(columns, cells, strict=False) if not _is_empty(cell)}
    if not line:
        raise ValueError(f"{name_of(source)}: the table has no rows.")


def first_of(row: Mapping[str, Any], names: Iterable[str], default: Any = None) -> Any:
    """The first of these entries that the row has."""
    return next((row[name] for name in names if name in row), default)


def _text_rows(path: Path, separator: str) -> Iterator[tuple[int, Sequence[Any]]]:
    limit = csv.field_size_limit(_MAX_LINE)
    reader = csv.reader((line for _, line in TextFile(path, strip=False)), delimiter=separator)
    width = 0
    try:
        for cells in reader:
            if not any(cells):
                continue
            width = width or len(cells)
            if len(cells) > width:
                raise ValueError(f"{path.name} line {reader.line_num}: {len(cells)} cells, but the header has {width}.")
            yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise ValueError(f"{path.name} line {reader.line_num}: {error}.") from error
    finally:
        csv.field_size_limit(limit)
    if not width:
        raise ValueError(f"{path.name}: the file is empty.")


def _parquet_rows(path: Path) -> Iterator[tuple[int, Sequence[Any]]]:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError as error:
        raise ImportError(f"{path.name}: reading Parquet needs pyarrow: pip install 'iokr[parquet]'") from error
    check_file(path)
    try:
        check_parquet(path)
        with parquet.ParquetFile(path) as file:
            yield 0, file.schema_arrow.names
            batches = (zip(*batch.to_pydict().values(), strict=True) for batch in file.iter_batches(_BATCH))
            yield from enumerate(chain.from_iterable(batches), start=1)
    except ArrowInvalid as error:
        raise ValueError(f"{path.name} is not a Parquet file, or is damaged: {str(error).splitlines()[0]}") from error


def _is_empty(cell: Any) -> bool:
    """Whether a cell is None, NaN or ""."""
    is_nan = isinstance(cell, float) and math.isnan(cell)
    return cell is None or is_nan or (isinstance(cell, str) and not cell)
