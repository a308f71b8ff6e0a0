"""The safetensors format: eight bytes of length, a JSON header, the arrays end to end. Checked before it is believed.

Written here and not by the package of that name: the arrays are hashed while they are written and read, are read where
they will stay, and are mapped without a copy; errors name the file and the defect.
"""

from __future__ import annotations

import errno
import json
import math
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import numpy as np

__all__ = ["DTYPES", "BadFile", "Container", "Tensor", "check_path", "open_container", "write_container"]

DTYPES = {
    **{"BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "F16": "<f2"},
    **{"U32": "<u4", "I32": "<i4", "F32": "<f4", "U64": "<u8", "I64": "<i8", "F64": "<f8"},
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_LARGEST_HEADER = 100_000_000  # what readers of the format accept
_MOST_AXES = 32
_CHUNK = 1 << 25  # bytes hashed while the next are written or read
_SMALL = 1 << 20  # bytes that are hashed sooner than another thread is asked to


class BadFile(ValueError):
    """A file that is damaged or not a model; the message names the file and the defect.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr.files import BadFile, load
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "model.safetensors").write_text("no model")
    ...     try:
    ...         load(Path(folder, "model.safetensors"))
    ...     except BadFile:
    ...         print("refused")
    refused
    """


@dataclass(frozen=True)
class Tensor:
    """An array in a file: its type, its shape, and where its bytes begin and end."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int

    @property
    def nbytes(self) -> int:
        """How many bytes."""
        return self.stop - self.start


def write_container(
    file: IO[bytes], arrays: Mapping[str, np.ndarray], metadata: Callable[[dict[str, str]], dict[str, str]]
) -> None:
    """Write C-contiguous arrays and their metadata, which `metadata` makes from the SHA-256 of every array.

    Wide types come first, so that every array is aligned. The header is written with hashes of zeros, then again.
    """
    order = sorted(arrays, key=lambda name: -arrays[name].itemsize)
    table, start = {}, 0
    for name in order:
        array = arrays[name]
        stop = start + array.nbytes
        table[name] = {"dtype": _NAMES[array.dtype.str], "shape": list(array.shape), "data_offsets": [start, stop]}
        start = stop
    draft = _header(table, metadata(dict.fromkeys(order, "0" * 64)))
    if len(draft) > _LARGEST_HEADER:
        raise ValueError(
            f"The description of this model takes {len(draft)} bytes, and readers of the format take at most "
            f"{_LARGEST_HEADER}: it has {len(order)} arrays, which is too many."
        )
    file.write(len(draft).to_bytes(8, "little") + draft)
    with ThreadPoolExecutor(1) as pool:
        digests = {name: _hashed(_bytes_of(arrays[name]), pool, file.write) for name in order}
    final = _header(table, metadata(digests))
    assert len(final) == len(draft), "hashes changed the length of the header"
    file.seek(8)
    file.write(final)


def _header(table: Mapping[str, Any], metadata: Mapping[str, str]) -> bytes:
    text = json.dumps({"__metadata__": metadata, **table}, separators=(",", ":"), ensure_ascii=False)
    raw = text.encode("utf-8", "surrogatepass")
    return raw + b" " * (-len(raw) % 8)


def _bytes_of(array: np.ndarray) -> memoryview:
    """The memory of a C-contiguous array; the format of memoryviews knows no empty shapes."""
    flat = array.reshape(-1).view(np.uint8) if array.size else np.empty(0, dtype=np.uint8)
    return flat.data


def _hashed(data: memoryview, pool: ThreadPoolExecutor, move: Callable[[memoryview], Any]) -> str:
    """The SHA-256 of `data`, part by part while `move` brings the next part to or from the disk."""
    if len(data) <= _SMALL:
        move(data)
        return sha256(data).hexdigest()
    digest = sha256()
    for start in range(0, len(data), _CHUNK):
        part = data[start : start + _CHUNK]
        move(part)
        pool.submit(digest.update, part)  # one thread, so that the parts are hashed in their order
    return pool.submit(digest.hexdigest).result()


class Container:
    """An open file whose header has been checked: `tensors`, `metadata`, and the arrays, which are read later."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file, self.path = file, path
        self.size = os.fstat(file.fileno()).st_size
        self.tensors, self.metadata, self._begin = self._read_header()
        self._map: Any = None

    def _read_header(self) -> tuple[dict[str, Tensor], dict[str, str], int]:
        if self.size < 10:
            raise self.bad(f"it has {self.size} bytes, fewer than any safetensors file")
        length = int.from_bytes(self._file.read(8), "little")
        if length > self.size - 8 or length > _LARGEST_HEADER:
            raise self.bad(
                f"its first eight bytes ask for a header of {length} bytes, but {self.size - 8} follow "
                f"and at most {_LARGEST_HEADER} are read: it is truncated, damaged or of another format"
            )
        raw = self._file.read(length)
        try:
            if raw[:1] != b"{":
                raise ValueError("it does not begin with {")
            header = json.loads(raw.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError) as error:
            raise self.bad(f"its header is not a JSON object ({error})") from None
        metadata = header.pop("__metadata__", {})
        if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
            raise self.bad("its metadata are not strings")
        tensors = {name: self._tensor(name, entry) for name, entry in header.items()}
        self._check_places(tensors, self.size - 8 - length)
        return tensors, metadata, 8 + length

    def _tensor(self, name: str, entry: Any) -> Tensor:
        try:
            dtype, shape, (start, stop) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
            known = dtype in DTYPES
        except (TypeError, KeyError, ValueError):
            raise self.bad(f"the entry of the array {name!r:.60} is malformed") from None
        if not known:
            raise self.bad(f"the array {name!r:.60} has the type {dtype!r:.20}, and {', '.join(DTYPES)} are read")
        whole = [type(value) is int and 0 <= value < 1 << 62 for value in (*shape, start, stop)]
        if not all(whole) or len(shape) > _MOST_AXES:
            raise self.bad(f"the array {name!r:.60} has the shape {shape!r:.60}")
        needed = math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize
        if stop - start != needed:
            raise self.bad(f"the array {name!r:.60} needs {needed} bytes and has {stop - start}")
        return Tensor(dtype, shape, start, stop)

    def _check_places(self, tensors: dict[str, Tensor], total: int) -> None:
        """One after the other, from the header to the end of the file."""
        end = 0
        for name, tensor in sorted(tensors.items(), key=lambda item: (item[1].start, item[1].stop)):
            if tensor.start != end:
                raise self.bad(f"the array {name!r:.60} begins at byte {tensor.start}, where {end} was expected")
            end = tensor.stop
        if end != total:
            raise self.bad(f"its arrays need {end} bytes and {total} follow the header: it is truncated or damaged")

    def bad(self, why: str) -> BadFile:
        """An error that names the file."""
        return BadFile(f"{self.path} cannot be read as a model: {why}.")

    def mapped(self, name: str) -> np.ndarray:
        """The array where it lies in the file, read-only, nothing read yet."""
        tensor = self.tensors[name]
        dtype = np.dtype(DTYPES[tensor.dtype])
        if not tensor.nbytes:
            return np.empty(tensor.shape, dtype=dtype)
        if self._map is None:
            self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        count = tensor.nbytes // dtype.itemsize
        return np.frombuffer(self._map, dtype, count, self._begin + tensor.start).reshape(tensor.shape)

    def read(self, digests: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Every array in memory of its own; one whose SHA-256 is not that in `digests` is refused."""
        arrays = {}
        with ThreadPoolExecutor(1) as pool:
            for name in self._in_order():
                tensor = self.tensors[name]
                arrays[name] = np.empty(tensor.shape, dtype=DTYPES[tensor.dtype])
                self._file.seek(self._begin + tensor.start)
                self._compare(name, _hashed(_bytes_of(arrays[name]), pool, self._fill), digests.get(name))
        return arrays

    def verify(self, digests: Mapping[str, Any]) -> None:
        """Compare every array with its SHA-256, in little memory."""
        for name in self._in_order():
            self._compare(name, sha256(_bytes_of(self.mapped(name))).hexdigest(), digests.get(name))

    def _in_order(self) -> list[str]:
        return sorted(self.tensors, key=lambda name: self.tensors[name].start)

    def _fill(self, part: memoryview) -> None:
        if self._file.readinto(part) != len(part):  # type: ignore[attr-defined]
            raise self.bad("it became shorter while it was read")

    def _compare(self, name: str, found: str, expected: Any) -> None:
        if found != expected:
            raise self.bad(f"the array {name!r:.60} is not what was saved (its hash differs)")


def check_path(path: Any) -> Path:
    """A path, whether or not there is a file."""
    if not isinstance(path, (str, os.PathLike)) or not str(path) or "\0" in str(path):
        raise TypeError(f"`path` must be the path of a file, got {path!r:.60}.")
    try:
        os.lstat(path)
    except (OSError, UnicodeEncodeError) as error:
        if isinstance(error, UnicodeEncodeError) or error.errno == errno.ENAMETOOLONG:
            raise ValueError(f"`path` must be a name that the file system accepts, got {path!r:.60}.") from None
    return Path(path)


@contextmanager
def open_container(path: str | os.PathLike[str]) -> Iterator[Container]:
    """The file at `path`, header checked. Maps outlive the block."""
    path = check_path(path)
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{str(path)!r:.200} does not exist or is not a file; `path` must be a file of `save`.")
    with path.open("rb", buffering=0) as file:
        yield Container(file, path)
