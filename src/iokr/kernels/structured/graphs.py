"""Kernels on graphs with labelled nodes and edges."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp

from iokr._component import component
from iokr._validation.arguments import check_integer
from iokr.data.graphs import Graph, graphs
from iokr.kernels._data.counts import CountKernel, Counts, Vocabulary

__all__ = ["Levels", "ShortestPath", "WeisfeilerLehman"]


class Levels(Vocabulary):
    """Labels, then level by level what a node and its neighbours were called one level before.

    A feature of level h > 0 is (own column, columns of the neighbours, sorted), and for nodes whose edges have labels
    (own column, columns of the neighbours, numbers of the labels of the edges to them), so that names of two
    vocabularies are translated level by level.
    """

    edges: dict[Hashable, int] = {}  # noqa: RUF012  # the number of every label of edges; files of old have none

    def __init__(self, levels: list[dict[Any, int]], edges: dict[Hashable, int] | None = None) -> None:
        super().__init__({})
        self.levels = levels
        self.edges = {} if edges is None else edges

    def __len__(self) -> int:
        return sum(map(len, self.levels))

    def _columns_of(self, other: Levels) -> np.ndarray:
        return self._translated(other.levels, other.edges, grow=False)

    def merged(self, other: Levels) -> tuple[Levels, np.ndarray]:
        """Both in one, which begins with this one, and the columns of `other` in it."""
        both = Levels([dict(level) for level in self.levels], dict(self.edges))
        return both, other._translated(both.levels, both.edges, grow=True)

    def _translated(self, levels: list[dict[Any, int]], edges: dict[Hashable, int], *, grow: bool) -> np.ndarray:
        target = np.full(len(self), -1, dtype=np.intp)
        size = sum(map(len, levels))
        links = [edges.setdefault(label, len(edges)) if grow else edges.get(label, -1) for label in self.edges]
        for depth, (mine, theirs) in enumerate(zip(self.levels, levels, strict=True)):
            for feature, column in mine.items():
                if depth:
                    own, neighbors, *kinds = feature
                    near = target[list(neighbors)].tolist()
                    feature = named_node(int(target[own]), near, [links[kind] for kind in kinds[0]] if kinds else None)
                if grow and feature not in theirs:
                    theirs[feature] = size
                    size += 1
                target[column] = theirs.get(feature, -1)
        return target


def named_node(own: int, near: list[int], kinds: list[int] | None) -> tuple[Any, ...]:
    """A node by its own name, those of its neighbours, and the labels of the edges to them, all sorted."""
    if not kinds:
        return own, tuple(sorted(near))
    pairs = sorted(zip(near, kinds, strict=True))
    return own, tuple(name for name, _ in pairs), tuple(kind for _, kind in pairs)


@component
class WeisfeilerLehman(CountKernel):
    """k(x, z) = Σ_{h ≤ depth} Σ_c n_c^h(x) n_c^h(z), n_c^h how many nodes have the name c after h refinements.

    At h = 0 names are labels; then the name of a node stands for its own and those of its neighbours, with the labels
    of the edges to them: for the tree of walks of h steps around it. Parsing costs depth times the edges, a block is
    one product of sparse counts. Wrap in `Normalized` when sizes differ.

    Parameters
    ----------
    depth : int, default=3
        Refinements. Larger is stricter; 0 compares labels alone.
    label : str, default="label"
        The node attribute of NetworkX graphs.
    edge_label : str, default=None
        Their edge attribute; None is that of `label`. Graphs whose edges lack it have edges that are all alike.

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
    edge_label: str | None = None

    domain = "graphs"

    def fit(self, X: Any) -> WeisfeilerLehman:
        """Check depth."""
        check_integer(self.depth, "depth", minimum=0)
        return self

    def represent(self, X: Any) -> Counts:
        """How many nodes have each name, at every level."""
        depth = check_integer(self.depth, "depth", minimum=0)
        parsed = graphs(X, self.label, self.edge_label)
        sizes = [len(g) for g in parsed]
        starts = np.cumsum([0, *sizes])
        levels: list[dict[Any, int]] = [{}]
        names = [levels[0].setdefault(label, len(levels[0])) for g in parsed for label in g.labels]
        neighbors = [
            (g.indices[a:b] + start).tolist()
            for g, start in zip(parsed, starts[:-1].tolist(), strict=True)
            for a, b in zip(g.starts[:-1].tolist(), g.starts[1:].tolist(), strict=True)
        ]
        edges: dict[Hashable, int] = {}
        kinds = [
            None if g.edges is None else [edges.setdefault(label, len(edges)) for label in g.edges[a:b]]
            for g in parsed
            for a, b in zip(g.starts[:-1].tolist(), g.starts[1:].tolist(), strict=True)
        ]
        columns, used = [names], len(levels[0])
        for _ in range(depth):
            level: dict[Any, int] = {}
            names = [
                level.setdefault(named_node(names[i], [names[j] for j in near], kind), used + len(level))
                for i, (near, kind) in enumerate(zip(neighbors, kinds, strict=True))
            ]
            used += len(level)
            levels.append(level)
            columns.append(names)
        rows = np.tile(np.repeat(np.arange(len(parsed)), sizes), depth + 1)
        return Counts.of(rows, np.array(columns, dtype=np.intp).ravel(), len(parsed), Levels(levels, edges))


@component
class ShortestPath(CountKernel):
    """k(x, z) = Σ_{a,b,d} n_abd(x) n_abd(z), n_abd how many pairs of nodes labelled a, b lie at distance d.

    Pairs of nodes are ordered and of two different nodes; those that no path joins do not count, and a graph without
    edges has ψ(x) = 0. Where edges have labels, two neighbours count as alike only when the labels of their edges are
    the same; there may be several shortest paths between nodes that lie further apart, whose edges are not read.
    Parsing costs nodes × edges for each graph, a block is one product of sparse counts. Wrap in `Normalized` when sizes
    differ.

    Parameters
    ----------
    label : str, default="label"
        The node attribute of NetworkX graphs.
    edge_label : str, default=None
        Their edge attribute; None is that of `label`. Graphs whose edges lack it have edges that are all alike.

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
    edge_label: str | None = None

    domain = "graphs"

    def represent(self, X: Any) -> Counts:
        """How many pairs of nodes have each (labels, distance)."""
        parsed = graphs(X, self.label, self.edge_label)
        codes: dict[Hashable, int] = {}
        named = [np.array([codes.setdefault(label, len(codes)) for label in g.labels]) for g in parsed]
        links: dict[Hashable, int] = {None: 0}  # edges of graphs without labels, and longer paths
        joined = [_joined(g, links) for g in parsed]
        rows, words = [], []
        for i, (g, names, kinds) in enumerate(zip(parsed, named, joined, strict=True)):
            first, second, distance = _distances(g)
            a, b = names[first], names[second]
            low, high = np.minimum(a, b), np.maximum(a, b)
            kind = np.zeros(len(distance), dtype=np.int64) if kinds is None else kinds[first, second]
            words.append(((distance * len(links) + kind) * len(codes) + low) * len(codes) + high)
            rows.append(np.full(len(distance), i))
        keys, columns = np.unique(np.concatenate(words), return_inverse=True)
        low, high = keys // len(codes) % len(codes), keys % len(codes)
        distance, kind = np.divmod(keys // len(codes) ** 2, len(links))
        labels, names_of_links = list(codes), list(links)
        vocabulary: dict[Hashable, int] = {}
        for j, (d, k, a, b) in enumerate(zip(*(x.tolist() for x in (distance, kind, low, high)), strict=True)):
            pair = d, frozenset((labels[a], labels[b]))
            vocabulary[(*pair, names_of_links[k]) if k else pair] = j
        # Unordered pairs are counted: n_ab = n_ba, each the count, for a ≠ b; n_aa is twice the count.
        weight = np.where(low == high, 4.0, 2.0)
        return Counts.of(np.concatenate(rows), columns, len(parsed), Vocabulary(vocabulary), weight)


def _joined(g: Graph, links: dict[Hashable, int]) -> np.ndarray | None:
    """The number of the label of the edge between two nodes, 0 between others; None without labels."""
    if g.edges is None:
        return None
    kinds = np.zeros((len(g), len(g)), dtype=np.int64)
    ends = np.repeat(np.arange(len(g)), np.diff(g.starts))
    kinds[ends, g.indices] = [links.setdefault(label, len(links)) for label in g.edges]
    return kinds


def _distances(g: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(a, b, distance) of the nodes a < b that a path joins."""
    from scipy.sparse.csgraph import shortest_path

    n = len(g)
    A = sp.csr_array((np.ones(len(g.indices)), g.indices, g.starts), shape=(n, n))
    D = shortest_path(A, method="D", unweighted=True, directed=True)
    a, b = np.nonzero(np.triu(np.isfinite(D), 1))
    return a, b, D[a, b].astype(np.int64)
