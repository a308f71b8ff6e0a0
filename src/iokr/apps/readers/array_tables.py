"""Cells of NumPy's files; rows are numbered from 1."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.readers.bounded import Arrays, open_arrays
from iokr.apps.readers.cell_values import id_text
from iokr.apps.readers.file_table import Cells

__all__ = ["cells_of_array", "read_array"]


def read_array(path: Path, name: str | None, n_text: int) -> Cells:
    """The rows of an .npy file, or of the array `name` of an .npz file, after `n_text` columns of ids."""
    array, ids = _load(path, name)
    where = str(path) if name is None else f"{path}:{name}"
    return cells_of_array(array, where, n_text, ids)


def cells_of_array(array: NDArray[Any], where: str, n_text: int, ids: NDArray[Any] | None = None) -> Cells:
    """The rows of an array, after `n_text` columns of ids."""
    import pandas as pd

    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or not len(array) or array.dtype.kind not in "iufbUS":
        raise ValueError(f"{where}: expected a table of numbers or of text, got {array.dtype} of shape {array.shape}.")
    lines = np.arange(1, len(array) + 1)
    if array.dtype.kind in "US":
        if array.shape[1] != n_text:
            raise ValueError(f"{where}: expected {n_text} columns of text, got {array.shape[1]}.")
        text = np.char.strip(array.astype(str)).astype(object)
        return Cells(where, pd.DataFrame(text), lines, may_have_header=False)
    if array.shape[1] < n_text:
        raise ValueError(f"{where}: expected at least {n_text} columns, got {array.shape[1]}.")

    # features or a kernel have their ids in another array, or are identified by row number
    if n_text == 1 and array.shape[1] > 1:
        rows = np.arange(len(array)) if ids is None else ids
        if rows.shape != (len(array),):
            raise ValueError(f"{where} has {len(array)} rows, but the array ids of its file has shape {rows.shape}.")
        names = np.array([[id_text(cell)] for cell in rows.tolist()], dtype=object)
        numbered = ids is None
        values = array
    else:
        names = _whole_numbers(where, array[:, :n_text])
        numbered = True
        values = array[:, n_text:]
    frame = pd.DataFrame(values.astype(np.float64))
    for j in range(n_text):
        frame.insert(j, f"id{j}", pd.Series(names[:, j], dtype=object))
    return Cells(where, frame, lines, may_have_header=False, numbered=numbered)


def _whole_numbers(where: str, array: NDArray[Any]) -> NDArray[np.object_]:
    """Columns of whole numbers as ids."""
    values = array.astype(np.float64)
    if not np.isfinite(values).all() or not np.array_equal(values, np.floor(values)):
        columns = "first column" if array.shape[1] == 1 else f"first {array.shape[1]} columns"
        raise ValueError(f"{where}: the {columns} must be whole numbers, the ids of nodes.")
    return np.array([[str(int(cell)) for cell in row] for row in values.tolist()], dtype=object)


def _load(path: Path, name: str | None) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """The array called `name`, or the only table in the file, and the array `ids` next to it."""
    try:
        with open_arrays(path) as arrays:
            chosen = _choose(path, arrays, name)
            ids = arrays["ids"] if "ids" in arrays and chosen != "ids" else None
            return arrays[chosen], ids
    except (ValueError, OSError, EOFError, zlib.error, SyntaxError, RecursionError) as error:
        if str(error).startswith(str(path)):
            raise
        raise ValueError(f"{path} is not a valid array file: {error}") from error


def _choose(path: Path, arrays: Arrays, name: str | None) -> str:
    """The name of the array to read."""
    if name is not None:
        if name not in arrays:
            raise ValueError(f"{path} has no array {name!r}; it has {', '.join(arrays)}.")
        return name
    if len(arrays) == 1:
        return next(iter(arrays))
    tables = [key for key in arrays if arrays.ndim(key) == 2]
    if len(tables) != 1:
        listed = ", ".join(arrays) or "no arrays"
        raise ValueError(f"{path} contains {listed}; select one of them, as {path}:NAME.")
    return tables[0]
