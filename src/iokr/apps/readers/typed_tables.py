"""Tables whose cells have types: arrays, frames and workbooks, in files and in memory; rows are numbered from 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from iokr.apps.readers.bounded import check_archive, check_content, check_parquet, expecting, open_arrays
from iokr.apps.readers.file_table import Cells, id_text

__all__ = [
    "ARRAYS",
    "FRAMES",
    "PARQUET",
    "as_edges",
    "as_ids",
    "as_pandas",
    "as_table",
    "read_array",
    "read_frame",
    "read_sheet",
]

PARQUET = (".parquet", ".pq")
_FEATHER = (".feather", ".arrow", ".ipc")
_FEATHER_TO_TABLE = 4  # memory of a table, in sizes of its file
_DENSE = 16  # bytes of memory for an entry of a matrix
FRAMES = (*PARQUET, *_FEATHER, ".h5ad")
ARRAYS = (".npy", ".npz")


# ----------------------------------------------------------------------------------------------------------- in memory


def as_table(table: Any, name: str, *, with_index: bool = True) -> Path | str | Cells:
    """Nodes with features, or a kernel matrix: a path as it is, a frame or an array as cells.

    Ids are the index of a frame, unless it counts rows and the first column is text; rows of an array are numbered.

    Examples
    --------
    >>> import pandas as pd
    >>> from iokr.apps.readers import read_nodes
    >>> from iokr.apps.readers.typed_tables import as_table
    >>> nodes = read_nodes(as_table(pd.DataFrame({"size": [1.0, 2.0]}, index=["a", "b"]), "nodes"))
    >>> nodes.ids.tolist(), nodes.columns
    (['a', 'b'], ('size',))
    """
    if isinstance(table, (str, Path, Cells)):
        return table
    if isinstance(table, np.ndarray):
        if table.ndim != 2 or table.dtype.kind not in "iufb":
            raise ValueError(f"`{name}` must be a matrix of numbers, got {table.dtype} of shape {table.shape}.")
        return _numbered_rows(table, name)
    table = as_pandas(table, name)
    counts_rows = isinstance(table.index, pd.RangeIndex)
    if not with_index or (counts_rows and not pd.api.types.is_numeric_dtype(table.dtypes.iloc[0])):
        return _cells_of_frame(table, name)
    return _cells_of_frame(table.reset_index(allow_duplicates=True), name, numbered=counts_rows)


def as_edges(edges: Any) -> Path | str | Cells:
    """Links: a path as it is; a frame, an array of pairs or a NetworkX graph as cells.

    Examples
    --------
    >>> import networkx as nx
    >>> from iokr.apps.readers.edge_files import read_edges
    >>> from iokr.apps.readers.typed_tables import as_edges
    >>> read_edges(as_edges(nx.path_graph(3))).text.tolist()
    [['0', '1'], ['1', '2']]
    """
    if isinstance(edges, (str, Path, Cells)):
        return edges
    if isinstance(edges, np.ndarray):
        return _cells_of_array(edges, "edges", 2)
    if hasattr(edges, "number_of_edges"):
        return _cells_of_frame(_links_of_graph(edges), "edges")
    return _cells_of_frame(as_pandas(edges, "edges"), "edges")


def as_ids(ids: Any, name: str) -> Path | str | Cells:
    """A list of ids: a path as it is, a sequence as cells."""
    if isinstance(ids, (str, Path, Cells)):
        return ids
    return _cells_of_array(np.array([str(one) for one in ids], dtype=str), name, 1)


def as_pandas(table: Any, name: str) -> pd.DataFrame:
    """A frame of pandas, Polars or pyarrow as a pandas frame."""
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(f"`{name}` must be a path, a data frame, or an array, got {type(table).__name__}.")
    return frame.to_pandas()


def _links_of_graph(graph: Any) -> pd.DataFrame:
    """The links of a graph, with their weights where every link has one."""
    if graph.is_directed():
        raise ValueError("`edges` is a directed graph; links have no direction here: give `graph.to_undirected()`.")
    rows = [(str(a), str(b), weight) for a, b, weight in graph.edges(data="weight")]
    frame = pd.DataFrame(rows, columns=["source", "target", "weight"])
    if frame.weight.isna().any() or not len(frame):
        return frame[["source", "target"]]
    return frame


# -------------------------------------------------------------------------------------------------------------- arrays


def read_array(path: Path, name: str | None, n_text: int) -> Cells:
    """The rows of an .npy file, or of the array `name` of an .npz file, after `n_text` columns of ids."""
    where = str(path) if name is None else f"{path}:{name}"
    with expecting(path, "a valid array file", ValueError, OSError), open_arrays(path) as arrays:
        chosen = _array_name(path, arrays, name)
        ids = arrays["ids"] if "ids" in arrays and chosen != "ids" else None
        array = arrays[chosen]
    return _cells_of_array(array, where, n_text, ids)


def _array_name(path: Path, arrays: Any, name: str | None) -> str:
    """The name of the array to read: the given one, or that of the only array or matrix."""
    if name is not None:
        if name not in arrays:
            raise ValueError(f"{path} has no array {name!r}; it has {', '.join(arrays)}.")
        return name
    names: list[str] = list(arrays)
    if len(names) > 1:
        names = [key for key in names if arrays[key].ndim == 2]
    if len(names) != 1:
        listed = ", ".join(arrays) or "no arrays"
        raise ValueError(f"{path} contains {listed}; select one of them, as {path}:NAME.")
    return names[0]


def _cells_of_array(array: NDArray[Any], where: str, n_text: int, ids: NDArray[Any] | None = None) -> Cells:
    """The rows of an array, after `n_text` columns of ids."""
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or not len(array) or array.dtype.kind not in "iufbUS":
        raise ValueError(f"{where}: expected a table of numbers or of text, got {array.dtype} of shape {array.shape}.")
    n, width = array.shape
    if array.dtype.kind in "US":
        if width != n_text:
            raise ValueError(f"{where}: expected {n_text} columns of text, got {width}.")
        text = np.char.strip(array.astype(str)).astype(object)
        return Cells(name=where, lines=np.arange(1, n + 1), frame=pd.DataFrame(text), may_have_header=False)
    if width < n_text:
        raise ValueError(f"{where}: expected at least {n_text} columns, got {width}.")
    if n_text == 1 and width > 1:  # features or a kernel: their ids are in another array, or are the row numbers
        if ids is not None and ids.shape != (n,):
            raise ValueError(f"{where} has {n} rows, but the array ids of its file has shape {ids.shape}.")
        return _numbered_rows(array, where, ids)
    values = array.astype(np.float64)
    ends = values[:, :n_text]
    if not np.isfinite(ends).all() or not np.array_equal(ends, np.floor(ends)):
        columns = "first column" if width == 1 else f"first {n_text} columns"
        raise ValueError(f"{where}: the {columns} must be whole numbers, the ids of nodes.")
    frame = pd.DataFrame(values).astype({j: object for j in range(n_text)})
    frame.iloc[:, :n_text] = [[str(int(cell)) for cell in row] for row in ends.tolist()]
    return Cells(name=where, lines=np.arange(1, n + 1), numbered=True, frame=frame, may_have_header=False)


def _numbered_rows(array: NDArray[Any], where: str, ids: NDArray[Any] | None = None) -> Cells:
    """The rows of a matrix after their ids, without which they are numbered from 0."""
    names = np.arange(len(array)) if ids is None else ids
    frame = pd.DataFrame(array.astype(np.float64))
    frame.insert(0, "id", pd.Series([id_text(name) for name in names.tolist()], dtype=object))
    lines = np.arange(1, len(array) + 1)
    return Cells(name=where, lines=lines, numbered=ids is None, frame=frame, may_have_header=False)


# -------------------------------------------------------------------------------------------------------------- frames


def read_frame(path: Path, part: str | None) -> Cells:
    """The rows of a Parquet, Feather or .h5ad file; an index of names, or with a name, is the first column."""
    frame = _read_h5ad(path, part) if path.suffix.lower() == ".h5ad" else _read_arrow(path)
    if frame.index.name is not None or frame.index.inferred_type in ("string", "bytes"):
        frame = frame.reset_index(allow_duplicates=True)
    return _cells_of_frame(frame, str(path))


def _cells_of_frame(frame: pd.DataFrame, name: str, *, numbered: bool = False) -> Cells:
    """The rows of a frame: columns of numbers as they are, all others as text; the index is not read."""
    columns = {j: _numbers_or_text(frame.iloc[:, j]) for j in range(frame.shape[1])}
    header = [str(column) for column in frame.columns]
    typed = pd.DataFrame(columns, index=frame.index)
    return Cells(name=name, lines=np.arange(1, len(frame) + 1), numbered=numbered, frame=typed, header=header)


def _numbers_or_text(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column of numbers as it is, any other as text."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column
    cells = column.astype(object).where(column.notna(), None)
    return pd.Series([id_text(cell) for cell in cells], index=column.index, dtype=object)


def _read_arrow(path: Path) -> pd.DataFrame:
    kind = "Parquet" if path.suffix.lower() in PARQUET else "Feather"
    try:
        with expecting(path, f"a {kind} file", OSError, ValueError):
            if kind == "Parquet":
                check_parquet(path)
                return pd.read_parquet(path)
            check_content(path, _FEATHER_TO_TABLE * path.stat().st_size)
            return pd.read_feather(path)
    except ImportError as error:
        raise ImportError(f"{path}: reading {kind} needs pyarrow: pip install 'iokr[parquet]'") from error


def _read_h5ad(path: Path, name: str | None) -> pd.DataFrame:
    """X of an .h5ad file, or one of its layers or `obsm`: a row per observation, a column per variable."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError(f"{path}: reading .h5ad needs h5py: pip install 'iokr[h5ad]'") from error
    damaged = expecting(path, "an .h5ad file of AnnData", OSError, KeyError, RuntimeError, TypeError)
    with damaged, h5py.File(path, "r") as file:
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


def _dense(path: Path, stored: Any) -> Any:
    """A matrix of an .h5ad file; sparse ones, which are groups, are expanded if there is memory."""
    from scipy.sparse import csc_array, csr_array

    kinds = {"csr_matrix": csr_array, "csc_matrix": csc_array}
    kind = kinds.get(str(stored.attrs.get("encoding-type")))
    shape = stored.shape if kind is None else tuple(stored.attrs["shape"])
    check_content(path, _DENSE * float(np.prod(shape, dtype=float)))
    if kind is None:
        return np.asarray(stored[...], dtype=np.float64)
    parts = tuple(stored[name][...] for name in ("data", "indices", "indptr"))
    return kind(parts, shape=shape).toarray().astype(np.float64)


def _index(group: Any) -> list[str]:
    """The index of `obs` or `var`."""
    index = group[group.attrs["_index"]]
    if not hasattr(index, "asstr"):  # a group: nullable strings
        index = index["values"]
    return [str(name) for name in index.asstr()[...]]


# ----------------------------------------------------------------------------------------------------------- workbooks


def read_sheet(path: Path, sheet: str | None) -> Cells:
    """The cells of a sheet of an Excel workbook as text; by default of the first sheet that is not empty."""
    try:
        with expecting(path, "an .xlsx file", BadZipFile, KeyError, OSError):
            check_archive(path)
            book = pd.ExcelFile(path, engine="openpyxl")
    except ImportError as error:
        raise ImportError(
            f"{path}: reading .xlsx needs openpyxl: pip install 'iokr[excel]', or save it as .csv"
        ) from error
    with book:
        if sheet is not None and sheet not in book.sheet_names:
            raise ValueError(f"{path} has no sheet {sheet!r}; it has {', '.join(map(str, book.sheet_names))}.")
        for name in [sheet] if sheet else book.sheet_names:
            frame = pd.read_excel(book, name, header=None, dtype=object, na_filter=False)
            if len(frame):
                break
    for j in range(frame.shape[1]):
        # TRUE is a word in a column that has words, else the number 1
        with_words = any(isinstance(cell, str) and cell for cell in frame.iloc[1:, j])
        frame.isetitem(j, pd.Series([_sheet_text(cell, with_words) for cell in frame.iloc[:, j]], dtype=object))
    filled = np.asarray(frame != "")
    used = filled.any(axis=1)
    width = np.flatnonzero(filled.any(axis=0)).max(initial=-1) + 1
    others = [repr(other) for other in book.sheet_names if other != name]
    notes: tuple[str, ...] = ()
    if not sheet and others and used.any():
        notes = (f"{path}: read the sheet {name!r}, not {', '.join(others)}",)
    where = f"{path}:{sheet}" if sheet else str(path)
    return Cells(name=where, lines=np.flatnonzero(used) + 1, notes=notes, frame=frame.iloc[used, :width])


def _sheet_text(cell: Any, is_word: bool) -> str:
    if isinstance(cell, bool):
        return str(cell).upper() if is_word else str(int(cell))
    return id_text(cell)
