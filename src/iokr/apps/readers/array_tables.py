"""Tables in NumPy's files: columns have types, rows are numbered from 1."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.readers.bounded import Arrays, open_arrays
from iokr.apps.readers.file_table import FileTable

__all__ = ["id_text", "numbered_rows", "read_array"]


def numbered_rows(
    name: str,
    text: NDArray[np.str_],
    columns: tuple[str, ...] = (),
    *,
    numbered: bool = False,
    notes: tuple[str, ...] = (),
) -> FileTable:
    """Rows of text, numbered from 1, as yet without numbers."""
    n = len(text)
    return FileTable(name, text, np.empty((n, 0)), columns, np.arange(1, n + 1), "row", numbered=numbered, notes=notes)


def id_text(cell: Any) -> str:
    """A cell as an id: whole numbers without a point, nothing for a missing one."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "backslashreplace").strip()
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))
    return str(cell).strip()


def read_array(path: Path, name: str | None, n_text: int) -> FileTable:
    """The rows of an .npy file, or of the array `name` of an .npz file."""
    array, ids = _load(path, name)
    where = str(path) if name is None else f"{path}:{name}"
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or not len(array) or array.dtype.kind not in "iufbUS":
        raise ValueError(f"{where}: expected a table of numbers or of text, got {array.dtype} of shape {array.shape}.")
    if array.dtype.kind in "US":
        if array.shape[1] != n_text:
            raise ValueError(f"{where}: expected {n_text} columns of text, got {array.shape[1]}.")
        return numbered_rows(where, np.char.strip(array.astype(str)))
    values = array.astype(np.float64)
    if n_text == 1 and array.shape[1] > 1:  # features or a kernel: ids are beside them, or are the row numbers
        numbered = ids is None
        ids = np.arange(len(array)) if ids is None else ids
        if ids.shape != (len(array),):
            raise ValueError(f"{where} has {len(array)} rows, but the array ids of {path} has shape {ids.shape}.")
        text = np.array([[id_text(cell)] for cell in ids.tolist()], dtype=str)
        return numbered_rows(where, text, numbered=numbered).with_values(values)
    if array.shape[1] < n_text:
        raise ValueError(f"{where}: expected at least {n_text} columns, got {array.shape[1]}.")
    head = values[:, :n_text]
    if not np.isfinite(head).all() or not np.array_equal(head, np.floor(head)):
        first = "first column" if n_text == 1 else f"first {n_text} columns"
        raise ValueError(f"{where}: the {first} must be whole numbers, which name the nodes.")
    text = np.array([[str(int(cell)) for cell in row] for row in head], dtype=str)
    return numbered_rows(where, text, numbered=True).with_values(values[:, n_text:])


def _load(path: Path, name: str | None) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """The array called `name`, or the only one that can be meant, and the ids beside it."""
    try:
        with open_arrays(path) as arrays:
            chosen = _choose(path, arrays, name)
            return arrays[chosen], arrays["ids"] if "ids" in arrays and chosen != "ids" else None
    except (ValueError, OSError, EOFError, zlib.error, SyntaxError, RecursionError) as error:
        if str(error).startswith(str(path)):
            raise
        raise ValueError(f"{path} is not a file of arrays: {error}") from error


def _choose(path: Path, arrays: Arrays, name: str | None) -> str:
    """The name of the array that is meant."""
    if name is not None:
        if name not in arrays:
            raise ValueError(f"{path} has no array {name!r}; it has {', '.join(arrays)}.")
        return name
    if list(arrays) == [""]:
        return ""
    tables = [key for key in arrays if len(arrays) == 1 or arrays.ndim(key) == 2]
    if len(tables) != 1:
        raise ValueError(f"{path} holds {', '.join(arrays) or 'no arrays'}; name one of them: {path}:NAME.")
    return tables[0]
