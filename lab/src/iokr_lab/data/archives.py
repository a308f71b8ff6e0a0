"""Functions that loaders share: finding a file, reading its arrays, checking them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from iokr.apps.readers.bounded import open_arrays
from iokr.datasets.home import DataNotFound, data_files, find_data

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["check_edges", "check_rows", "find_set", "read_arrays", "reading", "set_names", "sparse_rows"]


def set_names(folder: str, suffix: str) -> tuple[str, ...]:
    """The sorted names of the data sets of a folder, which has a file for each."""
    return tuple(path.name.removesuffix(suffix) for path in data_files(folder) if path.name.endswith(suffix))


def find_set(folder: str, name: str, suffix: str) -> Path:
    """The file of a data set; if it is missing in an existing folder, the error lists the available sets."""
    home = find_data(folder)
    path = home / f"{name}{suffix}"
    if path.is_file() and path.parent == home:
        return path
    available = ", ".join(set_names(folder, suffix)) or "none"
    raise DataNotFound(f"{folder}/{name}{suffix} is not in {home.parent}; available sets: {available}.")


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn errors of a reader into a `ValueError` that names the file and its expected kind."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OSError, EOFError, BadZipFile) as error:
        raise ValueError(f"{path} is not {kind} file: {error}") from error


def read_arrays(path: Path, kind: str, names: tuple[str, ...] | None = None) -> dict[str, NDArray[Any]]:
    """The arrays `names` of an .npz file (None: all), each within the size limits of users' files."""
    with reading(path, kind), open_arrays(path) as file:
        return {name: file[name] for name in names or file}


def check_rows(path: Path, n: int, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise `ValueError` unless each array has n rows."""
    for name, array in arrays.items():
        if array.ndim == 0 or array.shape[0] != n:
            raise ValueError(f"{path}: `{name}` must have {n} rows, got shape {array.shape}.")


def check_edges(path: Path, edges: NDArray[Any], n: int, name: str = "edges") -> NDArray[np.int64]:
    """(m, 2) indices of nodes below n, without self-loops and duplicates; otherwise `ValueError`."""
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(f"{path}: `{name}` must be pairs of row indices, got {edges.dtype} of shape {edges.shape}.")
    edges = edges.astype(np.int64)
    if len(edges) and (edges.min() < 0 or edges.max() >= n):
        raise ValueError(f"{path}: `{name}` must be indices from 0 to {n - 1}, got {edges.min()} to {edges.max()}.")
    pairs = np.sort(edges, axis=1)
    if np.any(pairs[:, 0] == pairs[:, 1]) or len(np.unique(pairs, axis=0)) != len(pairs):
        raise ValueError(f"{path}: `{name}` must not have self-loops or duplicate pairs.")
    return edges


def sparse_rows(
    path: Path, indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any] | None, shape: tuple[int, int]
) -> csr_array:
    """A sparse matrix from its stored rows, checked; without `data` all values are 1."""
    from scipy.sparse import csr_array

    values = np.ones(len(indices)) if data is None else data.astype(np.float64)
    try:
        matrix = csr_array((values, indices.astype(np.int32), indptr.astype(np.int32)), shape=shape)
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"{path} must have a sparse matrix of shape {shape}: {error}") from error
    return matrix
