"""The fused Gromov–Wasserstein distance between graphs, as structures and labels in coordinates.

FGW(a, b) = min over couplings P of (1 − α)⟨M, P⟩ + α Σ |C_ij − C'_kl|² P_ik P_jl, a soft matching of nodes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from iokr._array import is_array, is_sparse, to_numpy
from iokr.data.graphs import edge_label_matrix, edge_values, networkx_neighbors
from iokr.data.objects import BadObject, BadObjectType, as_array, is_networkx, key
from iokr.decoders._search.local import in_order
from iokr.decoders._search.transport import Arrays, canonical_order, fused_distance, import_ot

__all__ = ["SoftGraph", "arrays_of", "canonical", "fgw_distance", "soft_graph"]

Categories = Sequence[Hashable]


class SoftGraph(NamedTuple):
    """Structure C, and labels: coordinates F (N, d), or categories `names` if F is None.

    C is (N, N), or (N, N, E) with a channel for every category of edges. `kinds` are the categories of the edges of a C
    without channels, (N, N), None for edges without labels.
    """

    structure: np.ndarray
    features: np.ndarray | None
    names: list[Hashable] | None
    kinds: np.ndarray | None = None


def soft_graph(y: Any, label: str = "label", number: int = 0, edge_label: str | None = None) -> SoftGraph:
    """A NetworkX graph, or a tuple (structure, labels) or (structure, labels, edge labels).

    Labels that are floats, or rows of floats, are coordinates; others are categories; None is one category for all.
    """
    if is_networkx(y):
        return _from_networkx(y, label, label if edge_label is None else edge_label, number)
    if not isinstance(y, (tuple, list)) or len(y) not in (2, 3):
        raise BadObjectType(
            "Graph", number, f" must be a NetworkX graph or a pair (adjacency, labels), got {type(y).__name__}."
        )
    C = _structure(y[0], number)
    features, names = _labels(y[1], len(C), number)
    if len(y) == 2 or y[2] is None:
        return SoftGraph(C, features, names)
    if C.ndim == 3:
        raise BadObject("Graph", number, " has an adjacency with channels and edge labels; give one of them.")
    rows, columns = np.nonzero(C)
    return SoftGraph(C, features, names, _table(edge_label_matrix(y[2], rows, columns, len(C), number), len(C)))


def _structure(adjacency: Any, number: int) -> np.ndarray:
    """A square matrix, with channels in the last axis if any."""
    try:
        C = adjacency.toarray() if is_sparse(adjacency) else as_array(adjacency)
        C = C.astype(np.float64)
    except (TypeError, ValueError):
        raise BadObjectType("Graph", number, f" has the adjacency {adjacency!r:.60}, which is not a matrix.") from None
    if C.ndim not in (2, 3) or C.shape[0] != C.shape[1] or 0 in C.shape:
        raise BadObject("Graph", number, f" must have a square adjacency with a node or more, got shape {C.shape}.")
    if not np.all(np.isfinite(C)):
        raise BadObject("Graph", number, " has an adjacency with NaN or infinite entries.")
    return np.asarray(C)


def _table(labels: dict[tuple[int, int], Hashable], n: int) -> np.ndarray:
    """The labels of edges as an array (n, n) of objects, None where there is no edge."""
    kinds = np.full((n, n), None, dtype=object)
    for (a, b), label in labels.items():
        kinds[a, b] = label
    return kinds


def _from_networkx(G: Any, label: str, edge_label: str, number: int) -> SoftGraph:
    neighbors = networkx_neighbors(G, number)
    n = len(neighbors)
    edges = [(a, b) for a, near in enumerate(neighbors) for b in near]
    C = np.zeros((n, n))
    C[[a for a, _ in edges], [b for _, b in edges]] = 1.0
    labels = edge_values(G, edge_label, number)
    kinds = None if labels is None else _table(dict(zip(edges, labels, strict=True)), n)
    values = [value for _, value in G.nodes(data=label)]
    unlabelled = all(value is None for value in values)
    features, names = _labels(None if unlabelled else values, n, number)
    return SoftGraph(C, features, names, kinds)


def _labels(labels: Any, n: int, number: int) -> tuple[np.ndarray | None, list[Hashable] | None]:
    """(coordinates, None) or (None, categories)."""
    if labels is None:
        return None, [None] * n
    values = to_numpy(labels) if is_array(labels) else labels
    if len(values) != n:
        raise BadObject("Graph", number, f" has {n} nodes but {len(values)} labels.")
    if all(isinstance(value, (float, np.floating)) or np.ndim(value) == 1 for value in values):
        F = np.asarray(values, dtype=np.float64)
        F = F[:, None] if F.ndim == 1 else F
        if not np.all(np.isfinite(F)):
            raise BadObject("Graph", number, " has a label that is NaN or infinite.")
        return F, None
    return None, [key(value) for value in values]


def label_categories(graphs: Sequence[SoftGraph]) -> list[Hashable] | None:
    """The categories of the nodes of all graphs, sorted; None if labels are coordinates."""
    if any(g.names is None for g in graphs):
        return None
    return in_order({name for g in graphs for name in g.names or ()})


def edge_categories(graphs: Sequence[SoftGraph]) -> list[Hashable] | None:
    """The categories of the edges of all graphs, sorted, [None] without labels; None for structures with channels."""
    if any(g.structure.ndim == 3 for g in graphs):
        return None
    found = {kind for g in graphs for kind in _edge_labels(g)}
    return in_order(found or {None})


def _edge_labels(g: SoftGraph) -> list[Hashable]:
    """The labels of the edges, one after the other."""
    return [None] if g.kinds is None else g.kinds[g.structure != 0].tolist()


def arrays_of(g: SoftGraph, labels: Categories | None, edges: Categories | None) -> Arrays:
    """(C (E, N, N), F (N, d)): categories are corners of a simplex, √2 apart; a channel for each category of edges.

    `labels` and `edges` are the categories of the coordinates and of the channels.
    """
    return _channels(g, edges), _coordinates(g, labels)


def _coordinates(g: SoftGraph, columns: Categories | None) -> np.ndarray:
    if g.features is not None:
        return g.features
    if columns is None:
        raise ValueError(
            "One graph has categories as labels and the other has coordinates; give the category of each coordinate as "
            "`labels`."
        )
    place = {name: j for j, name in enumerate(columns)}
    F = np.zeros((len(g.structure), len(columns)))
    for i, name in enumerate(g.names or ()):
        if name not in place:
            raise ValueError(f"The label {name!r:.40} is not among `labels`.")
        F[i, place[name]] = 1.0
    return F


def _channels(g: SoftGraph, columns: Categories | None) -> np.ndarray:
    C = g.structure
    if C.ndim == 3:
        return np.moveaxis(C, 2, 0)
    if columns is None:
        raise ValueError(
            "One graph has labels of edges and the other has channels; give the label of each channel as `edge_labels`."
        )
    if g.kinds is None:
        if len(columns) > 1 and None not in columns and np.any(C):
            raise ValueError("A graph has edges without labels, but `edge_labels` requires labels.")
        own = [name is None or len(columns) == 1 for name in columns]
        return np.stack([C if mine else np.zeros_like(C) for mine in own])
    stray = set(_edge_labels(g)) - set(columns)
    if stray:
        raise ValueError(f"The label {next(iter(stray))!r:.40} of an edge is not among `edge_labels`.")
    return np.stack([np.where(_are(g.kinds, name), C, 0.0) for name in columns])


def canonical(g: SoftGraph) -> SoftGraph:
    """The same graph with its nodes in an order that does not depend on their numbers."""
    order = canonical_order(arrays_of(g, label_categories((g,)), edge_categories((g,))))
    square = np.ix_(order, order)
    return SoftGraph(
        g.structure[square],
        None if g.features is None else g.features[order],
        None if g.names is None else [g.names[i] for i in order],
        None if g.kinds is None else g.kinds[square],
    )


def _are(kinds: np.ndarray, name: Hashable) -> np.ndarray:
    """Where the label of an edge is `name`."""
    return np.array([[kind == name for kind in row] for row in kinds], dtype=bool)


def fgw_distance(
    a: SoftGraph, b: SoftGraph, alpha: float, columns: Categories | None = None, edges: Categories | None = None
) -> float:
    """FGW with uniform nodes and squared differences of edges: the smallest of some local minima, deterministic."""
    import_ot("The fused Gromov-Wasserstein distance")
    if a.features is None and b.features is None:
        columns = label_categories((a, b))
    if a.structure.ndim == b.structure.ndim == 2:
        edges = edge_categories((a, b))
    x = arrays_of(a, columns, edges)
    z = arrays_of(b, columns, edges)
    _check_widths("labels", x[1].shape[1], z[1].shape[1])
    _check_widths("edges", len(x[0]), len(z[0]))
    return fused_distance(x, z, float(alpha))[0]


def _check_widths(what: str, a: int, b: int) -> None:
    if a != b:
        raise ValueError(f"The {what} of two graphs have {a} and {b} coordinates; they must have the same number.")
