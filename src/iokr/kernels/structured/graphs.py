"""Kernels on graphs with labelled nodes.

A graph is a NetworkX graph, whose labels are the node attribute named `label`, or a pair (adjacency, labels) of a
square array or sparse matrix and a label per node, or None. Edges have no direction, weights or labels. Nodes without
labels are all alike.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from iokr._array import is_sparse, to_numpy
from iokr._component import component
from iokr._objects import BadObject, BadObjectType, as_objects, key, n_objects
from iokr._validation import check_integer
from iokr.kernels._data.counts import CountKernel, Counts, Vocabulary

__all__ = ["Graph", "ShortestPath", "WeisfeilerLehman", "graphs"]


@dataclass(frozen=True)
class Graph:
    """Neighbours of node i: indices[starts[i] : starts[i + 1]]; its label: labels[i]."""

    starts: np.ndarray
    indices: np.ndarray
    labels: list[Hashable]

    def __len__(self) -> int:
        return len(self.labels)


def graphs(X: Any, label: str) -> list[Graph]:
    """Graphs, parsed; what is none, or has no nodes, is refused by its number."""
    n_objects(X)
    return [_from_networkx(x, label, i) if hasattr(x, "adj") else _from_pair(x, i) for i, x in enumerate(as_objects(X))]


def _from_networkx(G: Any, label: str, i: int) -> Graph:
    if G.is_directed() or G.is_multigraph():
        raise BadObject("Graph", i, " is directed or has parallel edges; pass `nx.Graph(G)` for its undirected edges.")
    if len(G) == 0:
        raise BadObject("Graph", i, _EMPTY)
    number = {node: j for j, node in enumerate(G.nodes)}
    neighbors = [[number[v] for v in G.adj[node]] for node in G.nodes]
    values = [data.get(label) for _, data in G.nodes(data=True)]
    given = [value is not None for value in values]
    if any(given) and not all(given):
        missing = list(G.nodes)[given.index(False)]
        raise BadObject(
            "Graph", i, f": node {missing!r:.40} has no {label!r}, but others have; label all nodes or none."
        )
    starts = np.cumsum([0, *map(len, neighbors)])
    flat = np.array([v for row in neighbors for v in row], dtype=np.intp)
    return Graph(starts, flat, [key(value) for value in values])


_EMPTY = " has no nodes; a graph kernel needs at least one."


def _from_pair(x: Any, i: int) -> Graph:
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise BadObjectType("Object", i, f" must be a NetworkX graph or a pair (adjacency, labels), got {x!r:.60}.")
    adjacency, labels = x
    try:
        A = adjacency.tocsr() if is_sparse(adjacency) else np.atleast_2d(to_numpy(adjacency))
        present = A != 0
    except (TypeError, ValueError, OverflowError):
        raise BadObjectType("Graph", i, f": the adjacency must be a square matrix, got {adjacency!r:.60}.") from None
    if min(A.shape) == 0:
        raise BadObject("Graph", i, _EMPTY)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise BadObject("Graph", i, f": the adjacency must be a square matrix, got shape {A.shape}.")
    if (present != present.T).sum():
        raise BadObject("Graph", i, " has edges in one direction only; its adjacency must be symmetric.")
    n = A.shape[0]
    try:
        names = [None] * n if labels is None else list(labels)
    except TypeError:
        raise BadObjectType("Graph", i, f": labels must be one for each node, or None, got {labels!r:.60}.") from None
    if len(names) != n:
        raise BadObject("Graph", i, f" has {n} nodes but {len(names)} labels; give one for each, or None.")
    rows, columns = present.nonzero()
    order = np.argsort(rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return Graph(starts, columns[order].astype(np.intp), [key(name) for name in names])


class _Levels(Vocabulary):
    """Labels, then level by level what a node and its neighbours were called one level before.

    A feature of level h > 0 is (own column, columns of the neighbours, sorted), so that names of two vocabularies are
    translated level by level.
    """

    def __init__(self, levels: list[dict[Any, int]]) -> None:
        super().__init__({})
        self.levels = levels

    def __len__(self) -> int:
        return sum(map(len, self.levels))

    def _columns_of(self, other: _Levels) -> np.ndarray:
        return self._translated(other.levels, grow=False)

    def merged(self, other: _Levels) -> tuple[_Levels, np.ndarray]:
        """Both in one, which begins with this one, and the columns of `other` in it."""
        both = _Levels([dict(level) for level in self.levels])
        return both, other._translated(both.levels, grow=True)

    def _translated(self, levels: list[dict[Any, int]], *, grow: bool) -> np.ndarray:
        target = np.full(len(self), -1, dtype=np.intp)
        size = sum(map(len, levels))
        for depth, (mine, theirs) in enumerate(zip(self.levels, levels, strict=True)):
            for feature, column in mine.items():
                if depth:
                    own, neighbors = feature
                    feature = int(target[own]), tuple(sorted(target[list(neighbors)].tolist()))
                if grow and feature not in theirs:
                    theirs[feature] = size
                    size += 1
                target[column] = theirs.get(feature, -1)
        return target


@component
class WeisfeilerLehman(CountKernel):
    """k(x, z) = Σ_{h ≤ depth} Σ_c n_c^h(x) n_c^h(z), n_c^h how many nodes have the name c after h refinements.

    At h = 0 names are labels; then the name of a node stands for its own and those of its neighbours: for the tree of
    walks of h steps around it. Parsing costs depth times the edges, a block is one product of sparse counts. Wrap in
    `Normalized` when sizes differ.

    Parameters
    ----------
    depth : int, default=3
        Refinements. Larger is stricter; 0 compares labels alone.
    label : str, default="label"
        The node attribute of NetworkX graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import WeisfeilerLehman
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> WeisfeilerLehman(1)([(path, "COC"), (path, "CCO")])
    array([[10.,  5.],
           [ 5.,  8.]])

    References
    ----------
    Shervashidze, Schweitzer, van Leeuwen, Mehlhorn and Borgwardt, "Weisfeiler-Lehman graph kernels", JMLR 2011.
    """

    depth: int = 3
    label: str = "label"

    domain = "graphs"

    def fit(self, X: Any) -> WeisfeilerLehman:
        """Check depth."""
        check_integer(self.depth, "depth", minimum=0)
        return self

    def represent(self, X: Any) -> Counts:
        """How many nodes have each name, at every level."""
        depth = check_integer(self.depth, "depth", minimum=0)
        parsed = graphs(X, self.label)
        sizes = [len(g) for g in parsed]
        starts = np.cumsum([0, *sizes])
        levels: list[dict[Any, int]] = [{}]
        names = [levels[0].setdefault(label, len(levels[0])) for g in parsed for label in g.labels]
        neighbors = [
            (g.indices[a:b] + start).tolist()
            for g, start in zip(parsed, starts[:-1].tolist(), strict=True)
            for a, b in zip(g.starts[:-1].tolist(), g.starts[1:].tolist(), strict=True)
        ]
        columns, used = [names], len(levels[0])
        for _ in range(depth):
            level: dict[Any, int] = {}
            names = [
                level.setdefault((names[i], tuple(sorted([names[j] for j in near]))), used + len(level))
                for i, near in enumerate(neighbors)
            ]
            used += len(level)
            levels.append(level)
            columns.append(names)
        rows = np.tile(np.repeat(np.arange(len(parsed)), sizes), depth + 1)
        return Counts.of(rows, np.array(columns, dtype=np.intp).ravel(), len(parsed), _Levels(levels))


@component
class ShortestPath(CountKernel):
    """k(x, z) = Σ_{a,b,d} n_abd(x) n_abd(z), n_abd how many pairs of nodes labelled a, b lie at distance d.

    Pairs of nodes are ordered and of two different nodes; those that no path joins do not count, and a graph without
    edges has ψ(x) = 0. Parsing costs nodes × edges for each graph, a block is one product of sparse counts. Wrap in
    `Normalized` when sizes differ.

    Parameters
    ----------
    label : str, default="label"
        The node attribute of NetworkX graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import ShortestPath
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> ShortestPath()([(path, "COC"), (path, "CCO")])
    array([[12.,  4.],
           [ 4.,  8.]])

    References
    ----------
    Borgwardt and Kriegel, "Shortest-path kernels on graphs", ICDM 2005.
    """

    label: str = "label"

    domain = "graphs"

    def represent(self, X: Any) -> Counts:
        """How many pairs of nodes have each (labels, distance)."""
        parsed = graphs(X, self.label)
        codes: dict[Hashable, int] = {}
        named = [np.array([codes.setdefault(label, len(codes)) for label in g.labels]) for g in parsed]
        rows, triples = [], []
        for i, (g, names) in enumerate(zip(parsed, named, strict=True)):
            first, second, distance = _distances(g)
            a, b = names[first], names[second]
            low, high = np.minimum(a, b), np.maximum(a, b)
            triples.append((distance * len(codes) + low) * len(codes) + high)
            rows.append(np.full(len(distance), i))
        keys, columns = np.unique(np.concatenate(triples), return_inverse=True)
        labels = list(codes)
        vocabulary: dict[Hashable, int] = {
            (k // len(codes) ** 2, frozenset((labels[k // len(codes) % len(codes)], labels[k % len(codes)]))): j
            for j, k in enumerate(keys.tolist())
        }
        # Unordered pairs are counted: n_ab = n_ba, each the count, for a ≠ b; n_aa is twice the count.
        alike = keys // len(codes) % len(codes) == keys % len(codes)
        weight = np.where(alike, 4.0, 2.0)
        return Counts.of(np.concatenate(rows), columns, len(parsed), Vocabulary(vocabulary), weight)


def _distances(g: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(a, b, distance) of the nodes a < b that a path joins."""
    from scipy.sparse.csgraph import shortest_path

    n = len(g)
    A = sp.csr_array((np.ones(len(g.indices)), g.indices, g.starts), shape=(n, n))
    D = shortest_path(A, method="D", unweighted=True, directed=True)
    a, b = np.nonzero(np.triu(np.isfinite(D), 1))
    return a, b, D[a, b].astype(np.int64)
