"""Graphs as the fused Gromov–Wasserstein distance takes them: structures and labels in coordinates.

FGW(a, b) = min over couplings P of (1 − α)⟨M, P⟩ + α Σ |C_ij − C'_kl|² P_ik P_jl: graphs after a soft matching.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from iokr._array import is_array, is_sparse, to_numpy
from iokr.data.graphs import edge_label_matrix, edge_values
from iokr.data.objects import BadObject, BadObjectType, key
from iokr.decoders._search.transport import Arrays, canonical_order, fused_distance, import_ot

__all__ = ["SoftGraph", "arrays_of", "canonical", "fgw_distance", "in_order", "soft_graph"]

Categories = Sequence[Hashable]


class SoftGraph(NamedTuple):
    """Structure C, and labels: coordinates F (N, d), or `names`, a category each, where F is None.

    C is (N, N), or (N, N, E) with a channel for every kind of edge. `kinds` are the categories of the edges of a plain
    C, (N, N), None where edges are all alike or C has channels.
    """

    structure: np.ndarray
    features: np.ndarray | None
    names: list[Hashable] | None
    kinds: np.ndarray | None = None


def soft_graph(y: Any, label: str = "label", number: int = 0, edge_label: str | None = None) -> SoftGraph:
    """A NetworkX graph, or a tuple (structure, labels) or (structure, labels, edge labels).

    Labels that are floats, or rows of floats, are coordinates; anything else names a category; None is one category for
    all.
    """
    if hasattr(y, "adj"):
        return _from_networkx(y, label, label if edge_label is None else edge_label, number)
    if not isinstance(y, (tuple, list)) or len(y) not in (2, 3):
        raise BadObjectType(
            "Graph", number, f" must be a NetworkX graph or a pair (adjacency, labels), got {type(y).__name__}."
        )
    try:
        C = y[0].toarray() if is_sparse(y[0]) else to_numpy(y[0]) if is_array(y[0]) else np.asarray(y[0])
        C = C.astype(np.float64)
    except (TypeError, ValueError):
        raise BadObjectType("Graph", number, f" has the adjacency {y[0]!r:.60}, which is no matrix.") from None
    if C.ndim not in (2, 3) or C.shape[0] != C.shape[1] or 0 in C.shape:
        raise BadObject("Graph", number, f" must have a square adjacency with a node or more, got shape {C.shape}.")
    if not np.all(np.isfinite(C)):
        raise BadObject("Graph", number, " has an adjacency with NaN or infinite entries.")
    features, names = _labels(y[1], len(C), number)
    if len(y) == 2 or y[2] is None:
        return SoftGraph(C, features, names)
    if C.ndim == 3:
        raise BadObject("Graph", number, " has an adjacency with channels and edge labels; give one of them.")
    rows, columns = np.nonzero(C)
    kinds = np.full(C.shape, None, dtype=object)
    for (a, b), kind in edge_label_matrix(y[2], rows, columns, len(C), number).items():
        kinds[a, b] = kind
    return SoftGraph(C, features, names, kinds)


def _from_networkx(G: Any, label: str, edge_label: str, number: int) -> SoftGraph:
    if G.is_directed() or G.is_multigraph():
        raise BadObject(
            "Graph", number, " is directed or has parallel edges; pass `nx.Graph(G)` for its undirected edges."
        )
    places = {node: j for j, node in enumerate(G.nodes)}
    if not places:
        raise BadObject("Graph", number, " has no nodes.")
    C = np.zeros((len(places), len(places)))
    rows = np.array([places[u] for u in G.nodes for _ in G.adj[u]], dtype=np.intp)
    columns = np.array([places[v] for u in G.nodes for v in G.adj[u]], dtype=np.intp)
    C[rows, columns] = 1.0
    found = edge_values(G, edge_label, number)
    kinds = None
    if found is not None:
        kinds = np.full(C.shape, None, dtype=object)
        for a, b, kind in zip(rows.tolist(), columns.tolist(), found, strict=True):
            kinds[a, b] = kind
    values = [data.get(label) for _, data in G.nodes(data=True)]
    features, names = _labels(None if all(value is None for value in values) else values, len(C), number)
    return SoftGraph(C, features, names, kinds)


def _labels(labels: Any, n: int, number: int) -> tuple[np.ndarray | None, list[Hashable] | None]:
    """(coordinates, None) or (None, categories)."""
    if labels is None:
        return None, [None] * n
    values = to_numpy(labels) if is_array(labels) else labels
    try:
        count = len(values)
    except TypeError:
        raise BadObjectType(
            "Graph", number, f": labels must be one for each node, or None, got {labels!r:.60}."
        ) from None
    if count != n:
        raise BadObject("Graph", number, f" has {n} nodes but {count} labels.")
    if all(isinstance(value, (float, np.floating)) or np.ndim(value) == 1 for value in values):
        F = np.asarray(values, dtype=np.float64)
        F = F[:, None] if F.ndim == 1 else F
        if not np.all(np.isfinite(F)):
            raise BadObject("Graph", number, " has a label that is NaN or infinite.")
        return F, None
    return None, [key(value) for value in values]


def label_categories(graphs: Iterable[SoftGraph]) -> list[Hashable] | None:
    """The labels of nodes that graphs with categories have; None where labels are coordinates."""
    names = [g.names for g in graphs]
    return None if any(some is None for some in names) else list(dict.fromkeys(n for some in names for n in some or ()))


def edge_categories(graphs: Iterable[SoftGraph]) -> list[Hashable] | None:
    """The labels of edges that graphs without channels have, None for edges without; None where there are channels."""
    found: dict[Hashable, None] = {}
    for g in graphs:
        if g.structure.ndim == 3:
            return None
        kinds = [None] if g.kinds is None else g.kinds[g.structure != 0].tolist()
        found.update(dict.fromkeys(kinds))
    return list(found) or [None]


def in_order(categories: list[Hashable] | None) -> list[Hashable] | None:
    """Categories in an order of their own, whatever order they were seen in."""
    return None if categories is None else sorted(categories, key=lambda name: (type(name).__name__, repr(name)))


def arrays_of(g: SoftGraph, labels: Categories | None, edges: Categories | None) -> Arrays:
    """(C (E, N, N), F (N, d)): categories are corners of a simplex, √2 apart, and a channel for each kind of edge.

    `labels` and `edges` say which category each coordinate and each channel stands for.
    """
    return _channels(g, edges), _coordinates(g, labels)


def _coordinates(g: SoftGraph, columns: Categories | None) -> np.ndarray:
    if g.features is not None:
        return g.features
    if columns is None:
        raise ValueError(
            "One graph has categories for labels and the other has coordinates; say in `labels` which category each "
            "coordinate stands for."
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
            "One graph has labels of edges and the other has channels; say in `edge_labels` which label each channel "
            "stands for."
        )
    if g.kinds is None:
        if len(columns) > 1 and None not in columns and np.any(C):
            raise ValueError("A graph has edges without labels, where `edge_labels` are needed.")
        return np.stack([C if name is None or len(columns) == 1 else np.zeros_like(C) for name in columns])
    stray = set(g.kinds[C != 0].tolist()) - set(columns)
    if stray:
        raise ValueError(f"The label {next(iter(stray))!r:.40} of an edge is not among `edge_labels`.")
    return np.stack([np.where(_are(g.kinds, name), C, 0.0) for name in columns])


def canonical(g: SoftGraph) -> SoftGraph:
    """The same graph with its nodes in an order that does not depend on how they are numbered."""
    columns, edges = in_order(label_categories((g,))), in_order(edge_categories((g,)))
    order = canonical_order(arrays_of(g, columns, edges))
    square = np.ix_(order, order)
    return SoftGraph(
        g.structure[square],
        None if g.features is None else g.features[order],
        None if g.names is None else [g.names[i] for i in order],
        None if g.kinds is None else g.kinds[square],
    )


def _are(kinds: np.ndarray, name: Hashable) -> np.ndarray:
    """Where the label of an edge is this one."""
    return np.array([[kind == name for kind in row] for row in kinds], dtype=bool)


def fgw_distance(
    a: SoftGraph, b: SoftGraph, alpha: float, columns: Categories | None = None, edges: Categories | None = None
) -> float:
    """FGW with uniform nodes and the square for edges: the smallest of a few local minima, the same each time."""
    import_ot("The fused Gromov-Wasserstein distance")
    if a.features is None and b.features is None:
        columns = in_order(label_categories((a, b)))
    if a.structure.ndim == b.structure.ndim == 2:
        edges = in_order(edge_categories((a, b)))
    x, z = (arrays_of(g, columns, edges) for g in (a, b))
    for what, widths in (("labels", [x[1].shape[1], z[1].shape[1]]), ("edges", [len(x[0]), len(z[0])])):
        if widths[0] != widths[1]:
            raise ValueError(f"The {what} of two graphs have {widths[0]} and {widths[1]} coordinates; give them alike.")
    return fused_distance(x, z, float(alpha))[0]
