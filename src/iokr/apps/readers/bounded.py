"""Size limits for files that expand when they are read.

A compressed file may hold `MAX_RATIO` times its own size, and `ALWAYS_ALLOWED` bytes in any case; compressed text and
numbers hold 2 to 20 times their size. Larger files are rejected: before they are read where the file states its size,
else as soon as the limit is reached. What is read must also fit into memory.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from iokr._system.memory import check_memory, human_bytes

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = [
    "check_archive",
    "check_content",
    "check_parquet",
    "expecting",
    "gzip_errors",
    "open_arrays",
    "open_binary",
    "read_json",
    "read_text",
]

MAX_RATIO = 200
ALWAYS_ALLOWED = 32_000_000  # bytes
_CHECK_EVERY = 8_000_000  # bytes read between two checks of the available memory
_TEXT_TO_CELLS = 4  # memory of a table of text, in sizes of its text
_PARQUET_TO_TABLE = 3  # memory of a table, in sizes of its Parquet columns
_GZIP_OVERHEAD = 18  # bytes of header and trailer
_GZIP_MAX_RATIO = 1100  # of the format itself
_NUMBER = 8  # bytes of a float64
_ADVICE = "Give a smaller file."


def check_content(path: Path, size: float) -> None:
    """MemoryError unless `size` bytes fit into memory."""
    check_memory(size, f"Reading {path}", _ADVICE)


def _check_ratio(path: Path, packed: int, size: int, advice: str) -> None:
    if size > max(ALWAYS_ALLOWED, MAX_RATIO * packed):
        raise ValueError(
            f"{path} expands from {human_bytes(packed)} to {human_bytes(size)} or more; compressed files may hold at "
            f"most {MAX_RATIO} times their size (or {human_bytes(ALWAYS_ALLOWED)}). If this is intended, {advice}"
        )


@contextmanager
def expecting(name: Path | str, kind: str, *errors: type[Exception], end: str = "") -> Iterator[None]:
    """These errors as a ValueError, "name is not kind: error"; those that name the file already stay as they are."""
    try:
        yield
    except errors as error:
        if str(error).startswith(str(name)):
            raise
        raise ValueError(f"{name} is not {kind}: {error}{end}") from error


# ---------------------------------------------------------------------------------------------------------------- text


class _BoundedGzip(io.RawIOBase):
    """The content of a gzip file, up to the limit for its size."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = gzip.GzipFile(path)
        self._packed = path.stat().st_size
        self._size = 0
        self._checked = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        n = self._file.readinto(buffer)
        self._size += n
        _check_ratio(self._path, self._packed, self._size, "unpack it first (gzip -d).")
        if self._size - self._checked > _CHECK_EVERY:
            self._checked = self._size
            read = human_bytes(self._size)
            check_memory(_TEXT_TO_CELLS * _CHECK_EVERY, f"Reading {self._path}, after the first {read},", _ADVICE)
        return n

    def close(self) -> None:
        self._file.close()
        super().close()


def open_binary(path: Path) -> io.BufferedReader:
    """The bytes of a file, decompressed where its name ends in .gz; ValueError when they exceed the limit."""
    if not path.name.lower().endswith(".gz"):
        return path.open("rb")
    with path.open("rb") as file:
        packed = file.seek(0, io.SEEK_END)
        if packed > _GZIP_OVERHEAD:
            file.seek(-4, io.SEEK_END)  # the last four bytes state the size, modulo 2³²
            stated = int.from_bytes(file.read(4), "little")
            if stated < _GZIP_MAX_RATIO * packed:  # else the file is damaged, which reading reports
                _check_ratio(path, packed, stated, "unpack it first (gzip -d).")
    return io.BufferedReader(_BoundedGzip(path))


def gzip_errors(name: str) -> AbstractContextManager[None]:
    """Errors of decompression as a ValueError that names the file."""
    return expecting(name, "a gzip file, or is damaged", gzip.BadGzipFile, EOFError, zlib.error, end=".")


def read_text(path: Path) -> str:
    """The whole text of a file in UTF-8."""
    check_content(path, _TEXT_TO_CELLS * path.stat().st_size)
    not_text = expecting(path, "UTF-8 text", UnicodeDecodeError, end=".")
    with not_text, gzip_errors(str(path)), open_binary(path) as file:
        return file.read().decode("utf-8-sig")


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    with expecting(path, "JSON", ValueError, RecursionError, end="."):
        return json.loads(read_text(path))


# -------------------------------------------------------------------------------------------------------------- arrays


class _Archive(Mapping[str, NDArray[Any]]):
    """The arrays of an .npz file by name, each read on access if its size is within the limits."""

    def __init__(self, path: Path, file: Any) -> None:
        self._path = path
        self._file = file

    def __iter__(self) -> Iterator[str]:
        return iter(self._file.files)

    def __len__(self) -> int:
        return len(self._file.files)

    def __getitem__(self, name: str) -> NDArray[Any]:
        info = self._file.zip.getinfo(f"{name}.npy")
        packed = min(info.compress_size, self._path.stat().st_size)
        _check_ratio(self._path, packed, info.file_size, "save it uncompressed, with numpy.savez.")
        check_content(self._path, 2 * info.file_size)  # the array and its copy
        try:
            array = np.asarray(self._file[name])
        except MemoryError as error:  # its header states more than the file holds
            raise ValueError(f"{self._path} is not a valid array file: {error}") from error
        check_content(self._path, _copied(array))
        return array


def _copied(array: NDArray[Any]) -> int:
    """Bytes of a copy as float64, or as text."""
    return array.size * max(_NUMBER, array.itemsize)


@contextmanager
def open_arrays(path: Path) -> Iterator[Mapping[str, NDArray[Any]]]:
    """The arrays of an .npz file by name; the array of an .npy file has the name ""."""
    errors = (BadZipFile, EOFError, OverflowError, RuntimeError, SyntaxError, zlib.error)
    with expecting(path, "a valid array file", *errors):
        file = np.load(path, mmap_mode="r", allow_pickle=False)  # a map checks the shape against the size of the file
        if isinstance(file, np.ndarray):
            check_content(path, file.nbytes + _copied(file))
            yield {"": file}
            return
        with file:
            yield _Archive(path, file)


# -------------------------------------------------------------------------------------------------- Excel and Parquet


def check_archive(path: Path) -> None:
    """Check the size that a zip archive states, before it is unpacked."""
    with ZipFile(path) as archive:
        size = sum(info.file_size for info in archive.infolist())
    _check_ratio(path, path.stat().st_size, size, "save it as .tsv.")
    check_content(path, _TEXT_TO_CELLS * size)


def check_parquet(path: Path) -> None:
    """Check the size that a Parquet file states, before it is read."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        stated = file.metadata
        unpacked = sum(stated.row_group(i).total_byte_size for i in range(stated.num_row_groups))
        size = max(unpacked, _NUMBER * stated.num_rows * stated.num_columns)
    _check_ratio(path, path.stat().st_size, size, "save it as .tsv or .npy.")
    check_content(path, _PARQUET_TO_TABLE * size)
