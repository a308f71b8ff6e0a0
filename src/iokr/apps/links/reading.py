"""Networks from files, or from frames, arrays and graphs in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse, triu

from iokr.apps.links.data import LinkData, Matrix, files_of
from iokr.apps.links.settings import check_arguments, each
from iokr.apps.readers import Nodes, Rejection, read_network, read_views
from iokr.apps.readers.edge_files import read_edges
from iokr.apps.readers.file_table import Cells, FileTable
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.network_files import links_between
from iokr.apps.readers.typed_tables import as_edges, as_ids, as_table

__all__ = ["as_tables", "read"]

_MAX_EDGE_COLUMNS = 3  # source, target, weight; wider arrays are adjacency matrices

Tables = list[Path | str | Cells]


def read(
    nodes: Any = None,
    edges: Any = None,
    *,
    partners: Any = None,
    bipartite: bool = False,
    kernels: Any = None,
    ids: Any = None,
    labeled: Any = "edges",
    missing: str = "reject",
    columns: Sequence[str] | None = None,
    id_column: str | None = None,
    one_hot: Sequence[str] | None = None,
    transpose: bool = False,
    decimal: str = "auto",
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
) -> LinkData:
    """Read nodes and known links, and list everything that does not fit.

    Parameters
    ----------
    nodes : path, DataFrame or array, or a list of them
        Features of the nodes, with ids in the first column (for a frame, in an index of names). Several tables are
        views of the same nodes.
    edges : path, DataFrame, NetworkX graph, array of pairs, or adjacency matrix
        Known links: source, target, and optionally weight.
    partners : like `nodes`, optional
        Features of nodes of a second kind; only pairs of one node of each kind are scored.
    bipartite : bool, default=False
        Two kinds of nodes in one table; the column of `edges` determines their kind.
    kernels : like `nodes`, optional
        Kernel matrices with ids, in place of features.
    ids : path or sequence of str, optional
        Ids of the rows of arrays and of .npy and .npz files; default: row numbers.
    labeled : {"edges", "all"}, path or sequence of ids, default="edges"
        Nodes between which all links are known, so that an absent link counts as a true negative: those in the edge
        list, all, or a list.
    missing : {"reject", "mean", "zero"}, default="reject"
        Nodes with missing features: reject them, or impute the column mean or zero.
    columns, id_column, one_hot, transpose, decimal :
        Feature columns (* and ? match any characters), the column of the ids, categorical columns to be one-hot
        encoded, whether rows are features, and the decimal separator ("auto", "point", "comma").
    source, target, weight : str, optional
        Columns of `edges`; `weight="none"` ignores weights.

    Returns
    -------
    LinkData

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.apps import links
    >>> X = np.array([[0.0], [0.1], [3.0], [3.2]])
    >>> network = links.read(nodes=X, edges=np.array([[0, 1], [2, 3], [1, 0]]))
    >>> network.n_links, [one.reason for one in network.rejections]
    (2, ['duplicate, the other way round'])
    """
    check_arguments(locals())
    if edges is None:
        raise TypeError("`edges` is missing: give the known links.")
    layout = Layout(
        () if id_column is None else (id_column,),
        None if columns is None else tuple(columns),
        tuple(one_hot or ()),
        transpose,
        decimal,
    )
    ends = {"source": source, "target": target, "weight": weight, "decimal": decimal}
    own_ids = None if ids is None else as_ids(ids, "ids")
    listed = not (isinstance(labeled, str) and labeled in ("edges", "all"))
    if partners is not None or bipartite:
        rows = read_views(as_tables(nodes, "nodes", layout), ids=own_ids, missing=missing, layout=layout)
        if partners is None:
            network = _read_bipartite(rows, edges, ends)
        else:
            others = read_views(as_tables(partners, "partners", layout), missing=missing, layout=layout)
            network = _read_across(rows, others, edges, ends)
    else:
        matrix = _matrix(edges)
        found = read_network(
            as_edges(edges if matrix is None else _numbered_links(matrix)),
            nodes=as_tables(nodes, "nodes", layout) or None,
            kernels=as_tables(kernels, "kernels", Layout()),
            ids=own_ids,
            labeled=as_ids(labeled, "labeled") if listed else labeled,
            missing=missing,
            layout=layout,
            columns=ends,
        )
        network = LinkData(
            found.nodes,
            found.nodes,
            ("node", "node"),
            found.adjacency,
            found.labeled,
            found.rejections,
            found.notes,
            found.comments,
            by_position=found.by_position,
        )
    files = files_of([nodes, partners, kernels, edges], [ids, labeled if listed else None])
    labeled_by = "list" if listed else labeled
    return replace(network, layout=layout, missing=missing, labeled_by=labeled_by, files=files)


def as_tables(given: Any, name: str, layout: Layout) -> list[Path | str | Cells]:
    """One table or several, in a list or by name, as the readers take them."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        named = [(str(view), table) for view, table in given.items()]
    else:
        tables = each(given)
        named = [(f"{name} {k}" if len(tables) > 1 else name, table) for k, table in enumerate(tables, start=1)]
    return [as_table(table, view, with_index=not layout.id) for view, table in named]


def _matrix(edges: Any) -> csr_array | None:
    """Links given as a matrix: sparse, or square and dense."""
    wide = isinstance(edges, np.ndarray) and edges.ndim == 2 and edges.shape[1] > _MAX_EDGE_COLUMNS
    return csr_array(edges) if issparse(edges) or wide else None


def _numbered_links(matrix: csr_array) -> Matrix:
    """(row, column, weight) of a symmetric matrix, each link once."""
    if matrix.shape[0] != matrix.shape[1] or abs(matrix - matrix.T).max() > 0:
        raise ValueError(f"`edges` must be a symmetric matrix with a row per node, got shape {matrix.shape}.")
    above = triu(matrix, k=1).tocoo()
    return np.column_stack([above.row, above.col, above.data]).astype(np.float64)


def _read_across(rows: Nodes, columns: Nodes, edges: Any, ends: dict[str, Any]) -> LinkData:
    """Two tables of nodes and the links between them."""
    matrix = _matrix(edges)
    table = read_edges(
        as_edges(edges if matrix is None else _named_links(matrix, rows, columns)),
        known=[*rows.ids.tolist(), *columns.ids.tolist()],
        **ends,
    )
    return _across(table, rows, columns, (rows.views[0][0], columns.views[0][0]), [rows, columns])


def _read_bipartite(nodes: Nodes, edges: Any, ends: dict[str, Any]) -> LinkData:
    """One table of nodes, whose kind is the column of the edge list that they are in."""
    table = read_edges(as_edges(edges), known=nodes.ids.tolist(), **ends)
    rows, columns, lost = _by_column(table, nodes)
    return _across(table, rows, columns, ("rows", "columns"), [nodes], lost)


def _across(
    table: FileTable,
    rows: Nodes,
    columns: Nodes,
    names: tuple[str, str],
    tables: Sequence[Nodes],
    lost: Sequence[Rejection] = (),
) -> LinkData:
    """Two kinds of nodes, called as the columns of the edge list or, where these have no names, by `names`.

    `tables` are the nodes as read, and `lost` those of them that are of neither kind.
    """
    titled = len(set(table.head)) == 2 and all(table.head)
    kinds = (table.head[0], table.head[1]) if titled else names
    known, more = _links_across(table, rows, columns)
    return LinkData(
        rows,
        columns,
        kinds,
        known,
        np.arange(len(rows.ids)),
        (*(one for nodes in tables for one in nodes.rejections), *lost, *more),
        (*(note for nodes in tables for note in nodes.notes), *table.notes),
        sum(nodes.comments for nodes in tables) + table.comments,
    )


def _named_links(matrix: csr_array, rows: Nodes, columns: Nodes) -> Any:
    """The entries of a matrix over all rows of two tables, by their ids."""
    origins = [nodes.ids if nodes.origin is None else nodes.origin for nodes in (rows, columns)]
    if matrix.shape != (len(origins[0]), len(origins[1])):
        n, m = (len(ids) for ids in origins)
        raise ValueError(f"`edges` has shape {matrix.shape}, but `nodes` has {n} rows and `partners` has {m}.")
    ends = matrix.tocoo()
    links = zip(origins[0][ends.row], origins[1][ends.col], ends.data, strict=True)
    return pd.DataFrame(links, columns=[rows.views[0][0], columns.views[0][0], "weight"])


def _by_column(table: FileTable, nodes: Nodes) -> tuple[Nodes, Nodes, list[Rejection]]:
    """The nodes of the first column of an edge list, those of the second, and those of neither."""
    ids = nodes.ids.tolist()
    first, second = (set(table.text[:, side].tolist()) for side in (0, 1))
    both = sorted(first & second & set(ids))
    if both:
        raise ValueError(
            f"{table.name}: {both[0]!r} is in both columns, so its kind is ambiguous ({len(both)} such nodes); give "
            "two tables, `nodes` and `partners`, or leave `bipartite` out."
        )
    where = {"first": np.array([one in first for one in ids]), "second": np.array([one in second for one in ids])}
    for side, there in where.items():
        if not there.any():
            raise ValueError(
                f"{table.name}: no node of its {side} column has features; it begins with "
                f"{' '.join(table.text[0])!r:.60}, and ids of nodes look like {ids[0]!r}."
            )
    neither = nodes.ids[~(where["first"] | where["second"])].tolist()
    why = ("in neither column", "left out", "its kind is not known")
    lost = [Rejection(table.name, None, "node", one, "", *why) for one in neither]
    rows, columns = (replace(nodes, ids=nodes.ids[at], X=np.asarray(nodes.X)[at]) for at in where.values())
    return rows, columns, lost


def _links_across(table: FileTable, rows: Nodes, columns: Nodes) -> tuple[csr_array, list[Rejection]]:
    """Links between rows and columns, in either order of the two ends, and the rejected rows."""
    names = [*rows.ids.tolist(), *columns.ids.tolist()]
    n = len(rows.ids)
    at = {name: i for i, name in enumerate(names)}
    if len(at) < len(names):
        both = next(name for name in names[n:] if name in names[:n])
        raise ValueError(f"{both!r} is a node and a partner; ids of two kinds of nodes must differ.")
    links, rejections = links_between(table, table.text, at, (*rows.rejections, *columns.rejections), n)
    if not links:
        raise ValueError(
            f"{table.name}: no link between a node such as {names[0]!r} and a partner such as {names[n]!r} "
            f"in its {len(table.text)} rows; it begins with {' '.join(table.text[0])!r:.60}."
        )
    shape = (n, len(columns.ids))
    if len(links) == n * shape[1]:
        raise ValueError(f"{table.name}: every node is linked with every partner; there is nothing to predict.")
    i, j = np.array(list(links)).T
    return csr_array((np.ones(len(links)), (i, j - n)), shape=shape), rejections
