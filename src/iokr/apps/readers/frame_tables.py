"""Tables of columns with types: Parquet, Feather, AnnData's .h5ad; rows are numbered from 1."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iokr._system.memory import check_memory
from iokr.apps.readers.array_tables import id_text, numbered_rows
from iokr.apps.readers.bounded import check_parquet
from iokr.apps.readers.cell_values import categories
from iokr.apps.readers.file_table import FileTable
from iokr.apps.readers.layouts import Layout, find_column

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FRAMES", "read_frame"]

FRAMES = (".parquet", ".pq", ".feather", ".arrow", ".ipc", ".h5ad")


def read_frame(path: Path, part: str | None, n_text: int, layout: Layout) -> FileTable:
    """The rows of a frame; an index with a name, or of names, is its first column."""
    suffix = path.suffix.lower()
    frame = _cells(path, part) if suffix == ".h5ad" else _columns(path, suffix)
    if frame.index.name is not None or frame.index.inferred_type in ("string", "bytes"):  # the ids are the index
        frame = frame.reset_index(allow_duplicates=True)
    order = layout.order([str(name) for name in frame.columns], n_text, str(path))
    if order is not None:
        frame = frame.iloc[:, order]
    if frame.shape[1] < n_text or not len(frame):
        raise ValueError(f"{path}: expected rows of at least {n_text} columns, got shape {frame.shape}.")
    columns = tuple(str(name) for name in frame.columns[n_text:])
    text = np.array([[id_text(cell) for cell in row] for row in frame.iloc[:, :n_text].itertuples(index=False)], str)
    table = numbered_rows(str(path), text.reshape(len(frame), n_text), columns)
    chosen = _categorical(frame.iloc[:, n_text:], columns, layout, str(path))
    blocks: list[Any] = [
        _numbers(frame.iloc[:, n_text + j], j, table)[:, None] for j in range(len(columns)) if j not in chosen
    ]
    names = [name for j, name in enumerate(columns) if j not in chosen]
    for j in sorted(chosen):
        block, more = categories([id_text(cell) for cell in frame.iloc[:, n_text + j]], columns[j])
        blocks.append(block)
        names += more
    said = f"{path}: {', '.join(columns[j] for j in sorted(chosen))} as categories, one-hot"
    table = numbered_rows(str(path), table.text, tuple(names), notes=(said,) if chosen else ())
    return table.with_values(np.hstack(blocks) if blocks else np.empty((len(frame), 0)))


def _columns(path: Path, suffix: str) -> pd.DataFrame:
    import pandas as pd

    words = "a Parquet" if suffix in (".parquet", ".pq") else "an Arrow"
    try:
        if words == "a Parquet":
            check_parquet(path)
            return pd.read_parquet(path)
        from pyarrow import ipc

        check_memory(4.0 * path.stat().st_size, f"Reading {path}", "Give a smaller file.")
        with path.open("rb") as file:
            return ipc.open_file(file).read_all().to_pandas()
    except ImportError as error:
        raise ImportError(f"{path}: reading {words[2:].strip()} needs pyarrow: pip install 'iokr[parquet]'") from error
    except (OSError, ValueError) as error:
        if str(error).startswith(str(path)):
            raise
        raise ValueError(f"{path} is not {words} file: {error}") from error


def _categorical(frame: pd.DataFrame, columns: tuple[str, ...], layout: Layout, where: str) -> set[int]:
    import pandas as pd

    if "*" in layout.one_hot:
        return {j for j in range(len(columns)) if not pd.api.types.is_numeric_dtype(frame.iloc[:, j])}
    return {find_column(name, columns, where) for name in layout.one_hot}


def _numbers(cells: pd.Series[Any], j: int, table: FileTable) -> Any:
    """A column as numbers, NaN where there is no value."""
    import pandas as pd

    dated = pd.api.types.is_datetime64_any_dtype(cells) or pd.api.types.is_timedelta64_dtype(cells)
    column = pd.to_numeric(cells.astype(str) if dated or cells.dtype == "category" else cells, errors="coerce")
    bad = np.flatnonzero(column.isna().to_numpy() & cells.notna().to_numpy())
    if len(bad):
        cell = cells.iloc[int(bad[0])]
        raise ValueError(
            f"{table.at(int(bad[0]))}, column {table.column(j)}: {cell!r:.40} is not a number"
            f"{table.advice(j, len(bad))}."
        )
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _cells(path: Path, layer: str | None) -> pd.DataFrame:
    """X of an .h5ad file, or one of its layers or `obsm`, a row per observation (--transpose: per variable)."""
    import pandas as pd

    try:
        import h5py
    except ImportError as error:
        raise ImportError(f"{path}: reading .h5ad needs h5py: pip install 'iokr[h5ad]'") from error
    try:
        with h5py.File(path, "r") as file:
            places = {"X": "X"} if "X" in file else {}
            places |= {name: f"{group}/{name}" for group in ("layers", "obsm") for name in file.get(group, ())}
            if (layer or "X") not in places:
                have = ", ".join(places) or "no matrix"
                raise ValueError(f"{path} has no {layer or 'X'}; it has {have}: {path}:NAME reads one of them.")
            place = places[layer or "X"]
            X = _matrix(path, file[place])
            names = (
                _names(file["var"]) if not place.startswith("obsm") else [f"{layer}{j + 1}" for j in range(X.shape[1])]
            )
            return pd.DataFrame(X, index=pd.Index(_names(file["obs"]), name="id"), columns=names)
    except (OSError, KeyError, RuntimeError, TypeError) as error:
        raise ValueError(f"{path} is not an .h5ad file of AnnData: {error}") from error


def _matrix(path: Path, stored: Any) -> Any:
    """Dense; a compressed sparse one is expanded where there is memory for it."""
    if hasattr(stored, "shape"):
        check_memory(16.0 * float(np.prod(stored.shape)), f"Reading {path}", "Give fewer columns.")
        return np.asarray(stored[...], dtype=np.float64)
    from scipy.sparse import csc_array, csr_array

    n, p = (int(size) for size in stored.attrs["shape"])
    check_memory(16.0 * n * p, f"Reading {path}", "Give fewer columns.")
    kind = csc_array if "csc" in str(stored.attrs["encoding-type"]) else csr_array
    return (
        kind(tuple(stored[name][...] for name in ("data", "indices", "indptr")), shape=(n, p)).toarray().astype(float)
    )


def _names(group: Any) -> list[str]:
    """The index of `obs` or `var`."""
    index = group[group.attrs["_index"]]
    if hasattr(index, "asstr"):
        return [str(name) for name in index.asstr()[...]]
    return [str(name) for name in index["values"].asstr()[...]]
