"""Files that expand when they are read, bounded before and while they are.

A packed file may hold `RATIO` times its own size, and `ALWAYS` bytes in any case; data that people pack stay far below
(text and numbers 2 to 20 times). What is more is refused by name, with the way out: to unpack it. What is read must
also fit into the memory that there is.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from zipfile import BadZipFile, ZipFile, is_zipfile

import numpy as np
from numpy.typing import NDArray

from iokr._system.memory import check_memory, human_bytes

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["ALWAYS", "RATIO", "Arrays", "check_archive", "check_parquet", "open_arrays", "open_gzip"]

RATIO = 200
ALWAYS = 32_000_000
_STEP = 8_000_000  # bytes between two looks at the memory
_WAYS_OUT = "Give a smaller file."


def _check_ratio(path: Path, packed: int, size: int, way_out: str) -> None:
    if size > max(ALWAYS, RATIO * packed):
        raise ValueError(
            f"{path} expands from {human_bytes(packed)} to {human_bytes(size)} or more; at most {RATIO} times its size "
            f"is read from a packed file (and {human_bytes(ALWAYS)} always). If it is meant, {way_out}"
        )


# ---------------------------------------------------------------------------------------------------------------- text


class _Counted(io.RawIOBase):
    """The bytes of a gzip file, no more of them than a file of its size may hold."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, gzip.GzipFile(path)
        self._packed, self._size, self._looked = path.stat().st_size, 0, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        n = self._file.readinto(buffer)
        self._size += n
        _check_ratio(self._path, self._packed, self._size, "unpack it first (gzip -d).")
        if self._size - self._looked > _STEP:
            self._looked = self._size
            check_memory(4 * _STEP, f"Reading {self._path}, of which {human_bytes(self._size)} are read,", _WAYS_OUT)
        return n

    def close(self) -> None:
        self._file.close()
        super().close()


def open_gzip(path: Path) -> BinaryIO:
    """The content of a gzip file; ValueError as soon as it is too large for its packed size."""
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        if size > 18:
            file.seek(-4, io.SEEK_END)
            announced = int.from_bytes(file.read(4), "little")
            if announced < 1100 * size:  # no gzip file can hold more: what says so is damaged
                _check_ratio(path, size, announced, "unpack it first (gzip -d).")
    return io.BufferedReader(_Counted(path))


# -------------------------------------------------------------------------------------------------------------- arrays


class Arrays:
    """The arrays of an .npz file by name, each read when it is asked for; of an .npy file the one called ""."""

    def __init__(self, path: Path, archive: ZipFile | None) -> None:
        self._path, self._archive = path, archive
        names = [""] if archive is None else archive.namelist()
        self._names = {name.removesuffix(".npy"): name for name in names if archive is None or name.endswith(".npy")}

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def __len__(self) -> int:
        return len(self._names)

    def ndim(self, name: str) -> int:
        """How many axes an array has, from its header."""
        with self._open(name) as file:
            return len(_header(file)[0])

    def __getitem__(self, name: str) -> NDArray[Any]:
        """An array, read when what its header says fits the file and the memory."""
        where = str(self._path) if self._archive is None else f"{self._path}:{name}"
        with self._open(name) as file:
            shape, dtype = _header(file)
            count = 1
            for n in shape:
                count *= int(n)
            needed, room = count * dtype.itemsize, self._size(name) - file.tell()
            if needed > room:
                raise ValueError(
                    f"{where} is damaged: shape {shape} of {dtype} is {human_bytes(needed)}, of which there are "
                    f"{human_bytes(room)}."
                )
            # the array, and the same as numbers or as text
            check_memory(
                needed + count * max(8, dtype.itemsize), f"Reading {where}, {dtype} of shape {shape},", _WAYS_OUT
            )
        with self._open(name) as file:
            return np.asarray(np.lib.format.read_array(file, allow_pickle=False))

    def _size(self, name: str) -> int:
        """Bytes that are stored under a name, unpacked."""
        return (
            self._path.stat().st_size if self._archive is None else self._archive.getinfo(self._names[name]).file_size
        )

    @contextmanager
    def _open(self, name: str) -> Iterator[Any]:
        if self._archive is None:
            with self._path.open("rb") as file:
                yield file
            return
        info = self._archive.getinfo(self._names[name])
        packed = min(info.compress_size, self._path.stat().st_size)
        _check_ratio(self._path, packed, info.file_size, "save it with numpy.savez, which does not pack.")
        with self._archive.open(info) as part:
            yield part


def _header(file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type from the beginning of a file in NumPy's format."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are not read.")
    return shape, dtype


@contextmanager
def open_arrays(path: Path) -> Iterator[Arrays]:
    """The arrays of an .npy or .npz file."""
    if not is_zipfile(path):
        yield Arrays(path, None)
        return
    try:
        with ZipFile(path) as archive:
            yield Arrays(path, archive)
    except (BadZipFile, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"{path} is not a file of arrays: {error}") from error


def check_archive(path: Path, archive: ZipFile) -> None:
    """What a packed archive announces, before it is read."""
    size = sum(info.file_size for info in archive.infolist())
    _check_ratio(path, path.stat().st_size, size, "write it as .tsv.")
    check_memory(4 * size, f"Reading {path}", _WAYS_OUT)


# ------------------------------------------------------------------------------------------------------------- Parquet


def check_parquet(path: Path) -> None:
    """Rows, columns and bytes as a Parquet file announces them, before it is read."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        announced = file.metadata
        unpacked = sum(announced.row_group(i).total_byte_size for i in range(announced.num_row_groups))
        size = max(unpacked, 8 * announced.num_rows * announced.num_columns)
    _check_ratio(path, path.stat().st_size, size, "write it as .tsv or .npy.")
    check_memory(3 * size, f"Reading {path}", _WAYS_OUT)
