"""Tables in memory as the readers of files take them: pandas frames, arrays, lists of ids, NetworkX graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from iokr.apps.readers.array_tables import cells_of_array
from iokr.apps.readers.file_table import Cells
from iokr.apps.readers.frame_tables import cells_of_frame

__all__ = ["as_edges", "as_ids", "as_table"]


def as_table(table: Any, name: str, *, with_index: bool = True) -> Path | str | Cells:
    """Nodes with features, or a kernel matrix: a path as it is, a frame or an array as cells.

    Ids are the index of a frame, unless it counts rows and the first column is text; rows of an array are numbered.

    Examples
    --------
    >>> import pandas as pd
    >>> from iokr.apps.readers import read_nodes
    >>> from iokr.apps.readers.in_memory import as_table
    >>> nodes = read_nodes(as_table(pd.DataFrame({"size": [1.0, 2.0]}, index=["a", "b"]), "nodes"))
    >>> nodes.ids.tolist(), nodes.columns
    (['a', 'b'], ('size',))
    """
    import pandas as pd

    if isinstance(table, (str, Path, Cells)):
        return table
    table = _from_other_library(table)
    if not isinstance(table, pd.DataFrame):
        return _numbered_rows(_array(table, name), name)
    counts_rows = isinstance(table.index, pd.RangeIndex)
    if not with_index or (counts_rows and not pd.api.types.is_numeric_dtype(table.dtypes.iloc[0])):
        return cells_of_frame(table, name)
    return cells_of_frame(table.reset_index(allow_duplicates=True), name, numbered=counts_rows)


def as_edges(edges: Any) -> Path | str | Cells:
    """Links: a path as it is; a frame, an array of pairs or a graph as cells.

    Examples
    --------
    >>> import networkx as nx
    >>> from iokr.apps.readers.edge_files import read_edges
    >>> from iokr.apps.readers.in_memory import as_edges
    >>> read_edges(as_edges(nx.path_graph(3))).text.tolist()
    [['0', '1'], ['1', '2']]
    """
    import pandas as pd

    if isinstance(edges, (str, Path, Cells)):
        return edges
    if hasattr(edges, "number_of_edges"):
        return _graph(edges)
    edges = _from_other_library(edges)
    if isinstance(edges, pd.DataFrame):
        return cells_of_frame(edges, "edges")
    return cells_of_array(_array(edges, "edges"), "edges", 2)


def as_ids(ids: Any, name: str) -> Path | str | Cells:
    """A list of ids: a path as it is, a sequence as cells."""
    if isinstance(ids, (str, Path, Cells)):
        return ids
    return cells_of_array(np.array([str(one) for one in ids], dtype=str), name, 1)


def _numbered_rows(array: np.ndarray[Any, Any], name: str) -> Cells:
    """The rows of an array of numbers, whose ids are the row numbers."""
    import pandas as pd

    if array.ndim != 2 or array.dtype.kind not in "iufb":
        raise ValueError(f"`{name}` must be a matrix of numbers, got {array.dtype} of shape {array.shape}.")
    frame = pd.DataFrame(array.astype(np.float64))
    frame.insert(0, "id", [str(i) for i in range(len(array))])
    return Cells(name, frame, np.arange(1, len(array) + 1), may_have_header=False, numbered=True)


def _graph(graph: Any) -> Cells:
    """The links of a NetworkX graph, with their weights where every link has one."""
    import pandas as pd

    if graph.is_directed():
        raise ValueError("`edges` is a directed graph; links have no direction here: give `graph.to_undirected()`.")
    rows = [(str(a), str(b), weight) for a, b, weight in graph.edges(data="weight")]
    frame = pd.DataFrame(rows, columns=["source", "target", "weight"])
    if frame.weight.isna().any() or not len(frame):
        frame = frame[["source", "target"]]
    return cells_of_frame(frame, "edges")


def _array(table: Any, name: str) -> np.ndarray[Any, Any]:
    if not isinstance(table, np.ndarray):
        raise TypeError(f"`{name}` must be a path, a data frame, or an array, got {type(table).__name__}.")
    return table


def _from_other_library(table: Any) -> Any:
    """Frames of Polars and pyarrow as pandas frames."""
    return table.to_pandas() if hasattr(table, "to_pandas") else table
