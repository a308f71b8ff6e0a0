"""FGW(a, b) = min over couplings P of (1 − α)⟨M, P⟩ + α Σ |C_ij − C'_kl|² P_ik P_jl: graphs after a soft matching."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from iokr._array import is_array, is_sparse, to_numpy
from iokr._objects import BadObject, BadObjectType, key

__all__ = ["SoftGraph", "fgw_distance", "import_ot", "soft_graph"]


class SoftGraph(NamedTuple):
    """Structure C (N, N) and labels: coordinates F (N, d), or `names`, a category each, where F is None."""

    structure: np.ndarray
    features: np.ndarray | None
    names: list[Hashable] | None


def import_ot(who: str) -> Any:
    """POT, or a word on how to get it."""
    try:
        import ot
    except ImportError as error:
        raise ImportError(f"{who} needs the package POT; install `iokr[graph]`.") from error
    return ot


def soft_graph(y: Any, label: str = "label", number: int = 0) -> SoftGraph:
    """A NetworkX graph, or a pair (structure, labels).

    Labels that are floats, or rows of floats, are coordinates; anything else names a category; None is one category for
    all.
    """
    if hasattr(y, "adj"):
        return _from_networkx(y, label, number)
    if not isinstance(y, (tuple, list)) or len(y) != 2:
        raise BadObjectType(
            "Graph", number, f" must be a NetworkX graph or a pair (adjacency, labels), got {type(y).__name__}."
        )
    try:
        C = y[0].toarray() if is_sparse(y[0]) else to_numpy(y[0]) if is_array(y[0]) else np.asarray(y[0])
        C = C.astype(np.float64)
    except (TypeError, ValueError):
        raise BadObjectType("Graph", number, f" has the adjacency {y[0]!r:.60}, which is no matrix.") from None
    if C.ndim != 2 or C.shape[0] != C.shape[1] or len(C) == 0:
        raise BadObject("Graph", number, f" must have a square adjacency with a node or more, got shape {C.shape}.")
    if not np.all(np.isfinite(C)):
        raise BadObject("Graph", number, " has an adjacency with NaN or infinite entries.")
    features, names = _labels(y[1], len(C), number)
    return SoftGraph(C, features, names)


def _from_networkx(G: Any, label: str, number: int) -> SoftGraph:
    if G.is_directed() or G.is_multigraph():
        raise BadObject(
            "Graph", number, " is directed or has parallel edges; pass `nx.Graph(G)` for its undirected edges."
        )
    places = {node: j for j, node in enumerate(G.nodes)}
    if not places:
        raise BadObject("Graph", number, " has no nodes.")
    C = np.zeros((len(places), len(places)))
    for a, b in G.edges:
        C[places[a], places[b]] = C[places[b], places[a]] = 1.0
    values = [data.get(label) for _, data in G.nodes(data=True)]
    features, names = _labels(None if all(value is None for value in values) else values, len(C), number)
    return SoftGraph(C, features, names)


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


def label_coordinates(
    a: SoftGraph, b: SoftGraph, columns: Sequence[Hashable] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """F (N, d) and F' (N', d): categories are the corners of a simplex, √2 apart.

    `columns` says which category each coordinate of soft labels stands for.
    """
    if a.features is None and b.features is None:
        columns = list(dict.fromkeys([*(a.names or ()), *(b.names or ())]))
    F, E = (_coordinates(g, columns) for g in (a, b))
    if F.shape[1] != E.shape[1]:
        raise ValueError(f"The labels of two graphs have {F.shape[1]} and {E.shape[1]} coordinates; give them alike.")
    return F, E


def _coordinates(g: SoftGraph, columns: Sequence[Hashable] | None) -> np.ndarray:
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


def _squares(F: np.ndarray, E: np.ndarray) -> np.ndarray:
    """‖f_i − f'_j‖²."""
    return np.asarray(((F[:, None, :] - E[None, :, :]) ** 2).sum(axis=2))


def fgw_distance(a: SoftGraph, b: SoftGraph, alpha: float, columns: Sequence[Hashable] | None = None) -> float:
    """FGW with uniform nodes and the square for edges: the smallest of a few local minima, the same each time.

    It is not convex. One search begins at the product of the weights, one at the matching of nodes by their labels,
    degrees and neighbours, and between graphs of one size one at the order in which nodes are given.
    """
    ot = import_ot("The fused Gromov-Wasserstein distance")
    p, q = (np.full(len(g.structure), 1.0 / len(g.structure)) for g in (a, b))
    F, E = label_coordinates(a, b, columns)
    M, apart = _squares(F, E), np.zeros((len(p), len(q)))
    F, E = (np.concatenate([labels, np.ones((len(labels), 1))], axis=1) for labels in (F, E))
    for _ in range(3):  # labels and nodes one, two and three steps away
        F, E = a.structure @ F, b.structure @ E
        apart += _squares(F, E)
    starts = [np.outer(p, q), ot.emd(p, q, M + apart)]
    if len(p) == len(q):
        starts.append(np.diag(p))
    with np.errstate(divide="ignore", invalid="ignore"):  # POT divides by α for a gradient that is not asked for
        values = [
            float(
                ot.gromov.fused_gromov_wasserstein2(
                    M, a.structure, b.structure, p, q, loss_fun="square_loss", alpha=float(alpha), G0=start
                )
            )
            for start in starts
        ]
    return max(min(values), 0.0)
