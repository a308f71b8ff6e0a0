"""Arrays of any layout and library, each stored once: what they share in memory they share in the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from iokr._array import home_of, put_home, to_numpy
from iokr.files.container import DTYPES

__all__ = ["ArrayReader", "ArrayWriter", "check_dtype"]

_PLAIN = frozenset(DTYPES.values())
_CHARACTERS: dict[str, np.dtype[Any]] = {"U": np.dtype("<u4"), "S": np.dtype("|u1")}  # a text is a row of these
_DTYPE = re.compile(r"[<|]([biu][1248]|f[248]|c8|c16|[US]\d{1,6}|[mM]8(\[\d{0,6}[a-zA-Zμ]{1,2}\])?)")


def check_dtype(text: Any) -> np.dtype[Any]:
    """A type of numbers, texts or dates; nothing that holds Python objects."""
    if not isinstance(text, str) or not _DTYPE.fullmatch(text):
        raise ValueError(f"{text!r:.40} is not a type of array")
    return np.dtype(text)


class ArrayWriter:
    """Collects arrays; `finish` says how each is found in the tensors of the file."""

    def __init__(self) -> None:
        self._kept: list[tuple[np.ndarray, str, dict[str, str]]] = []  # with their names, library and device
        self._known: dict[Any, int] = {}
        self._alive: list[Any] = []  # so that no address is given twice
        self._used: dict[str, int] = {}

    def add(self, array: Any, name: str) -> int:
        """The number of an array."""
        if id(array) in self._known:
            return self._known[id(array)]
        home, host = home_of(array), to_numpy(array)
        dtype = host.dtype.newbyteorder("<")
        if not _DTYPE.fullmatch(dtype.str):
            raise TypeError(f"`{name}` is an array of {host.dtype}, which a file cannot hold; convert it.")
        if host.dtype != dtype or not host.dtype.isnative:
            host = host.astype(dtype)
        address = host.__array_interface__["data"][0] if host.size else 0
        key = (address, host.shape, host.strides, host.dtype.str, home)
        self._alive.append((array, host))
        number = self._known.setdefault(key, len(self._kept))
        if number == len(self._kept):
            where = {} if home is None else {"library": home[0], "device": home[1]}
            self._kept.append((host, self._unique(name), where))
        self._known[id(array)] = number
        return number

    def _unique(self, name: str) -> str:
        count = self._used[name] = self._used.get(name, -1) + 1
        return name if not count else self._unique(f"{name}~{count}")

    def finish(self) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
        """(entries, tensors): an entry for every number, and C-contiguous arrays by name."""
        tensors: dict[str, np.ndarray] = {}
        entries = []
        for (array, name, where), base in zip(self._kept, self._bases(), strict=True):
            entry = _store(array, name, tensors) if base is None else self._view(array, base)
            entries.append({**entry, **where})
        return entries, tensors

    def _bases(self) -> list[int | None]:
        """For every array the one in whose memory it lies, None where it is stored itself."""
        hosts = [host for host, _, _ in self._kept]
        base: list[int | None] = [None] * len(hosts)
        spans = {i: byte_bounds(a) for i, a in enumerate(hosts) if a.size and a.dtype.str in _PLAIN}
        outer, end = None, -1
        for i in sorted(spans, key=lambda i: (spans[i][0], -spans[i][1], not _is_block(hosts[i]))):
            if outer is not None and spans[i][1] <= end:
                base[i] = outer
            elif _is_block(hosts[i]):
                outer, end = i, spans[i][1]
        return base

    def _view(self, array: np.ndarray, base: int) -> dict[str, Any]:
        return {
            "view": base,
            "offset": array.__array_interface__["data"][0] - byte_bounds(self._kept[base][0])[0],
            "shape": list(array.shape),
            "strides": list(array.strides),
            "dtype": array.dtype.str,
        }


def _store(array: np.ndarray, name: str, tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    """The entry of an array that is put into `tensors`."""
    order = _order(array)
    ordered = array.transpose(order)
    stored = np.ascontiguousarray(ordered).reshape(ordered.shape)  # a number stays one
    kind = array.dtype.kind
    entry: dict[str, Any] = {}
    if order != tuple(range(array.ndim)):
        entry["order"] = list(order)
    if ordered.ndim and ordered.shape[-1] > 1 and ordered.strides[-1] != array.itemsize:
        entry["gap"] = True
    if array.dtype.str not in _PLAIN:
        entry["dtype"] = array.dtype.str
    if kind == "c":
        for part in ("real", "imag"):
            tensors[f"{name}.{part}"] = np.ascontiguousarray(getattr(stored, part)).reshape(stored.shape)
        return {"real": f"{name}.real", "imag": f"{name}.imag", **entry}
    if kind in _CHARACTERS:
        width = array.dtype.itemsize // _CHARACTERS[kind].itemsize
        stored = np.frombuffer(stored.tobytes(), _CHARACTERS[kind]).reshape(*ordered.shape, width)
    elif kind in "mM":
        stored = stored.view("<i8")
    tensors[name] = stored
    return {"tensor": name, **entry}


def _order(array: np.ndarray) -> tuple[int, ...]:
    """Axes from the widest step to the narrowest."""
    if array.flags.c_contiguous:
        return tuple(range(array.ndim))
    return tuple(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))


def _is_block(array: np.ndarray) -> bool:
    """Whether the array fills its memory without gaps, its axes in any order."""
    return bool(array.transpose(_order(array)).flags.c_contiguous)


class ArrayReader:
    """The arrays of a file by their number; `tensors` are those of the container, whose memory they share."""

    def __init__(
        self, entries: list[Any], tensors: Callable[[str], np.ndarray], *, mapped: bool, device: str | None
    ) -> None:
        self._entries, self._tensors, self._mapped, self._device = entries, tensors, mapped, device
        self._made: dict[int, Any] = {}

    def get(self, number: Any) -> Any:
        """The array of that number, the same object every time."""
        if type(number) is not int or not 0 <= number < len(self._entries):
            raise ValueError(f"there is no array {number!r:.40}")
        if number not in self._made:
            entry = self._entries[number]
            array = self._host(entry)
            library = entry.get("library")
            self._made[number] = array if library is None else put_home(array, library, self._device)
        return self._made[number]

    def numbers(self, number: Any, dtype: str, ndim: int = 1) -> np.ndarray:
        """A NumPy array of that type and number of axes."""
        array = self._host(self._entries[number]) if type(number) is int and number >= 0 else None
        if array is None or array.dtype.str != dtype or array.ndim != ndim:
            raise ValueError(f"array {number!r:.40} must be of type {dtype} with {ndim} axes")
        return array

    def _host(self, entry: Mapping[str, Any]) -> np.ndarray:
        if "view" in entry:
            return self._viewed(entry)
        stored = self._stored(entry)
        order = entry.get("order")
        if order is not None and sorted(order) != list(range(stored.ndim)):
            raise ValueError(f"{order!r:.40} is not an order of {stored.ndim} axes")
        if entry.get("gap") and not self._mapped and stored.ndim:  # sums over columns with steps round otherwise
            spread = np.empty((*stored.shape, 2), dtype=stored.dtype)[..., 0]
            spread[...] = stored
            stored = spread
        return stored if order is None else stored.transpose(np.argsort(order))

    def _viewed(self, entry: Mapping[str, Any]) -> np.ndarray:
        base = entry["view"]
        if type(base) is not int or base < 0 or "tensor" not in self._entries[base]:
            raise ValueError("a view refers to an array that does not exist")
        dtype = check_dtype(entry["dtype"])
        memory = self._tensors(self._entries[base]["tensor"]).reshape(-1).view(np.uint8)
        shape, strides, offset = tuple(entry["shape"]), tuple(entry["strides"]), entry["offset"]
        if dtype.str not in _PLAIN or len(strides) != len(shape) or not all(type(n) is int for n in (*shape, *strides)):
            raise ValueError("a view is malformed")
        steps = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
        low, high = offset + sum(min(s, 0) for s in steps), offset + sum(max(s, 0) for s in steps) + dtype.itemsize
        if min(shape, default=1) < 1 or low < 0 or high > memory.size:
            raise ValueError("a view reaches outside of its array")
        start = np.ndarray((), dtype, memory, offset)
        return np.lib.stride_tricks.as_strided(start, shape, strides, writeable=memory.flags.writeable)

    def _stored(self, entry: Mapping[str, Any]) -> np.ndarray:
        if "dtype" not in entry:
            return self._tensors(entry["tensor"])
        dtype = check_dtype(entry["dtype"])
        if dtype.kind == "c":
            real, imag = (self._tensors(entry[part]) for part in ("real", "imag"))
            if real.shape != imag.shape or real.dtype.itemsize * 2 != dtype.itemsize:
                raise ValueError("the parts of a complex array differ")
            whole = np.empty(real.shape, dtype=dtype)
            whole.real, whole.imag = real, imag
            return whole
        stored = self._tensors(entry["tensor"])
        if dtype == stored.dtype:
            return stored
        if dtype.kind in _CHARACTERS:
            character = _CHARACTERS[dtype.kind]
            if stored.dtype != character or stored.shape[-1:] != (dtype.itemsize // character.itemsize,):
                raise ValueError("an array of texts is malformed")
            if int(stored.max(initial=0)) > 0x10FFFF:
                raise ValueError("an array of texts has characters that do not exist")
            return np.frombuffer(stored.tobytes(), dtype).reshape(stored.shape[:-1]).copy()
        if dtype.kind in "mM" and stored.dtype.str == "<i8":
            return stored.view(dtype)
        raise ValueError(f"an array of {stored.dtype} cannot be one of {dtype}")
