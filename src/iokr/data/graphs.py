"""Graphs with labelled nodes and edges, from NetworkX or from arrays.

A graph is a NetworkX graph, whose labels are an attribute of nodes and one of edges, or a tuple (adjacency, labels) or
(adjacency, labels, edge labels): a square array or sparse matrix, a label per node or None, and a square array that is
read where there are edges, or None. Edges have no direction and no weight. Nodes without labels all have the same
label, and so have edges.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr._array import is_array, is_sparse, to_numpy
from iokr.data.objects import BadObject, BadObjectType, as_objects, is_networkx, key, n_objects

__all__ = ["Graph", "edge_label_matrix", "edge_values", "graphs", "networkx_neighbors"]


@dataclass(frozen=True)
class Graph:
    """Neighbours of node i: indices[starts[i] : starts[i + 1]]; `edges` has the labels of the edges in that order.

    `edges` is None where edges have no labels.
    """

    starts: np.ndarray
    indices: np.ndarray
    labels: list[Hashable]
    edges: list[Hashable] | None = None

    def _stored(self) -> dict[str, Any]:
        return {"starts": self.starts, "indices": self.indices, "labels": self.labels, "edges": self.edges}

    def __len__(self) -> int:
        return len(self.labels)


def graphs(X: Any, label: str, edge_label: str | None = None) -> list[Graph]:
    """Graphs, parsed; `edge_label` is `label` by default. Errors give the number of the object."""
    n_objects(X)
    name = label if edge_label is None else edge_label
    return [
        _from_networkx(x, label, name, i) if is_networkx(x) else _from_tuple(x, i) for i, x in enumerate(as_objects(X))
    ]


def _from_networkx(G: Any, label: str, edge_label: str, i: int) -> Graph:
    neighbors = networkx_neighbors(G, i)
    starts = np.cumsum([0, *map(len, neighbors)])
    flat = np.array([v for row in neighbors for v in row], dtype=np.intp)
    return Graph(starts, flat, _node_values(G, label, i), edge_values(G, edge_label, i))


def networkx_neighbors(G: Any, i: int) -> list[list[int]]:
    """The numbers of the neighbours of each node of an undirected graph, in the order of `G.adj`."""
    if G.is_directed() or G.is_multigraph():
        raise BadObject("Graph", i, " is directed or has parallel edges; pass `nx.Graph(G)` for its undirected edges.")
    if len(G) == 0:
        raise BadObject("Graph", i, _EMPTY)
    number = {node: j for j, node in enumerate(G.nodes)}
    return [[number[v] for v in G.adj[node]] for node in G.nodes]


def _node_values(G: Any, label: str, i: int) -> list[Hashable]:
    """The labels of the nodes of a NetworkX graph, None for each without any."""
    values = dict(G.nodes(data=label))
    missing = [node for node, value in values.items() if value is None]
    if 0 < len(missing) < len(values):
        raise BadObject(
            "Graph", i, f": node {missing[0]!r:.40} has no {label!r}, but others do; label all nodes or none."
        )
    return [key(value) for value in values.values()]


def edge_values(G: Any, name: str, i: int) -> list[Hashable] | None:
    """The labels of the edges of a NetworkX graph, node by node in the order of `G.adj`; None without."""
    links = [(u, v, data.get(name)) for u in G.nodes for v, data in G.adj[u].items()]
    missing = [(u, v) for u, v, value in links if value is None]
    if len(missing) == len(links):
        return None
    if missing:
        raise BadObject("Graph", i, f": edge {missing[0]!r:.40} has no {name!r}, but others do; {_ALL_OR_NONE}")
    return [key(value) for _, _, value in links]


_ALL_OR_NONE = "label all edges or none."
_EMPTY = " has no nodes; at least one is needed."


def _from_tuple(x: Any, i: int) -> Graph:
    """Of (adjacency, labels) or (adjacency, labels, edge labels)."""
    if not isinstance(x, (tuple, list)) or len(x) not in (2, 3):
        raise BadObjectType("Object", i, f" must be a NetworkX graph or a pair (adjacency, labels), got {x!r:.60}.")
    rows, columns, n = _edges(x[0], i)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    edges = None
    if len(x) == 3 and x[2] is not None:
        found = edge_label_matrix(x[2], rows, columns, n, i)
        edges = [found[a, b] for a, b in zip(rows.tolist(), columns.tolist(), strict=True)]
    return Graph(starts, columns, _labels(x[1], n, i), edges)


def _edges(adjacency: Any, i: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(rows, columns, n): the edges in both directions, by rows, of a symmetric adjacency matrix."""
    try:
        A = adjacency.tocsr() if is_sparse(adjacency) else np.atleast_2d(to_numpy(adjacency))
        present = A != 0
    except (TypeError, ValueError, OverflowError):
        raise BadObjectType("Graph", i, f": the adjacency must be a square matrix, got {adjacency!r:.60}.") from None
    if min(A.shape) == 0:
        raise BadObject("Graph", i, _EMPTY)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise BadObject("Graph", i, f": the adjacency must be a square matrix, got shape {A.shape}.")
    values = np.asarray(A.data if is_sparse(A) else A)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise BadObject(
            "Graph", i, ": the adjacency contains NaN or infinity; entries are zero where there is no edge."
        )
    if (present != present.T).sum():
        raise BadObject("Graph", i, " has edges in one direction only; its adjacency must be symmetric.")
    rows, columns = present.nonzero()
    order = np.argsort(rows, kind="stable")
    return rows[order], columns[order].astype(np.intp), int(A.shape[0])


def _labels(given: Any, n: int, i: int) -> list[Hashable]:
    """A label for each of n nodes, None for each where none are given."""
    if given is None:
        return [key(None)] * n
    try:
        labels = list(given)
    except TypeError:
        raise BadObjectType("Graph", i, f": labels must be one for each node, or None, got {given!r:.60}.") from None
    if len(labels) != n:
        raise BadObject("Graph", i, f" has {n} nodes but {len(labels)} labels; give one for each, or None.")
    return [key(label) for label in labels]


def edge_label_matrix(
    given: Any, rows: np.ndarray, columns: np.ndarray, n: int, i: int
) -> dict[tuple[int, int], Hashable]:
    """The label of every edge (row, column), from a square array of labels; both directions must agree."""
    table = to_numpy(given) if is_array(given) else given
    try:
        square = [list(row) for row in table]
    except TypeError:
        raise BadObjectType("Graph", i, f": edge labels must be a square array, got {given!r:.60}.") from None
    if len(square) != n or any(len(row) != n for row in square):
        raise BadObject("Graph", i, f": edge labels must be an array of {n} rows of {n}, one for each pair of nodes.")
    found: dict[tuple[int, int], Hashable] = {}
    for a, b in zip(rows.tolist(), columns.tolist(), strict=True):
        if square[a][b] is None:
            raise BadObject("Graph", i, f": edge {(a, b)} has no label, but others do; {_ALL_OR_NONE}")
        found[a, b] = key(square[a][b])
    for (a, b), value in found.items():
        if found.get((b, a), value) != value:
            both = f"{square[a][b]!r:.30} and {square[b][a]!r:.30}"
            raise BadObject("Graph", i, f": edge {(a, b)} has two labels, {both}.")
    return found
