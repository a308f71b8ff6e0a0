"""Cells of Parquet and Feather files and of AnnData's .h5ad; rows are numbered from 1."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iokr.apps.readers.bounded import check_content, check_parquet
from iokr.apps.readers.cell_values import id_text
from iokr.apps.readers.file_table import Cells

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FRAMES", "cells_of_frame", "read_frame", "with_text"]

_PARQUET = (".parquet", ".pq")
_FEATHER = (".feather", ".arrow", ".ipc")
_FEATHER_TO_TABLE = 4  # memory of a table, in sizes of its file
_DENSE = 16  # bytes of memory for an entry of a matrix
FRAMES = (*_PARQUET, *_FEATHER, ".h5ad")


def read_frame(path: Path, part: str | None) -> Cells:
    """The rows of a frame; an index of names, or with a name, is the first column."""
    suffix = path.suffix.lower()
    frame = _read_h5ad(path, part) if suffix == ".h5ad" else _read_arrow(path, suffix)
    if frame.index.name is not None or frame.index.inferred_type in ("string", "bytes"):
        frame = frame.reset_index(allow_duplicates=True)
    return cells_of_frame(frame, str(path))


def cells_of_frame(frame: pd.DataFrame, name: str, *, numbered: bool = False) -> Cells:
    """The rows of a frame in memory, whose index is not read."""
    header = [str(column) for column in frame.columns]
    return Cells(name, frame, np.arange(1, len(frame) + 1), header=header, raw=True, numbered=numbered)


def with_text(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with columns of numbers as they are and all others as text."""
    import pandas as pd

    columns: dict[int, Any] = {}
    for j, kind in enumerate(frame.dtypes):
        column = frame.iloc[:, j]
        if not pd.api.types.is_numeric_dtype(kind):
            cells = column.astype(object).where(column.notna(), None)
            column = pd.Series([id_text(cell) for cell in cells], index=frame.index, dtype=object)
        columns[j] = column
    return pd.DataFrame(columns)


def _read_arrow(path: Path, suffix: str) -> pd.DataFrame:
    import pandas as pd

    kind = "a Parquet" if suffix in _PARQUET else "a Feather"
    try:
        if suffix in _PARQUET:
            check_parquet(path)
            return pd.read_parquet(path)
        check_content(path, _FEATHER_TO_TABLE * path.stat().st_size)
        return pd.read_feather(path)
    except ImportError as error:
        raise ImportError(f"{path}: reading {kind[2:]} needs pyarrow: pip install 'iokr[parquet]'") from error
    except (OSError, ValueError) as error:
        if str(error).startswith(str(path)):
            raise
        raise ValueError(f"{path} is not {kind} file: {error}") from error


# --------------------------------------------------------------------------------------------------------------- .h5ad


def _read_h5ad(path: Path, name: str | None) -> pd.DataFrame:
    """X of an .h5ad file, or one of its layers or `obsm`: a row per observation, a column per variable."""
    import pandas as pd

    try:
        import h5py
    except ImportError as error:
        raise ImportError(f"{path}: reading .h5ad needs h5py: pip install 'iokr[h5ad]'") from error
    try:
        with h5py.File(path, "r") as file:
            places = {"X": "X"} if "X" in file else {}
            for group in ("layers", "obsm"):
                places |= {entry: f"{group}/{entry}" for entry in file.get(group, ())}
            matrix = name or "X"
            if matrix not in places:
                available = ", ".join(places) or "no matrix"
                raise ValueError(f"{path} has no {matrix}; it has {available}: select one of them, as {path}:NAME.")
            X = _dense(path, file[places[matrix]])
            if places[matrix].startswith("obsm"):
                columns = [f"{matrix}{j + 1}" for j in range(X.shape[1])]
            else:
                columns = _index(file["var"])
            return pd.DataFrame(X, index=pd.Index(_index(file["obs"]), name="id"), columns=columns)
    except (OSError, KeyError, RuntimeError, TypeError) as error:
        raise ValueError(f"{path} is not an .h5ad file of AnnData: {error}") from error


def _dense(path: Path, stored: Any) -> Any:
    """A matrix of an .h5ad file; sparse ones are expanded if there is memory."""
    sparse = "indptr" in stored if hasattr(stored, "keys") else False
    shape = stored.attrs["shape"] if sparse else stored.shape
    n, p = (int(size) for size in shape)
    check_content(path, _DENSE * n * p)
    if not sparse:
        return np.asarray(stored[...], dtype=np.float64)
    from scipy.sparse import csc_array, csr_array

    kind = csc_array if "csc" in str(stored.attrs["encoding-type"]) else csr_array
    parts = tuple(stored[name][...] for name in ("data", "indices", "indptr"))
    return kind(parts, shape=(n, p)).toarray().astype(np.float64)


def _index(group: Any) -> list[str]:
    """The index of `obs` or `var`."""
    index = group[group.attrs["_index"]]
    if not hasattr(index, "asstr"):  # a group: nullable strings
        index = index["values"]
    return [str(name) for name in index.asstr()[...]]
