"""Kernels on graphs with labelled nodes and edges."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from iokr._component import Limits, component
from iokr._validation.arguments import NATURAL
from iokr.data.graphs import Graph, graphs
from iokr.kernels._data.counts import CountKernel, Counts, Vocabulary, name_rows, numbered

__all__ = ["Levels", "ShortestPath", "WeisfeilerLehman", "edge_labels"]


class Levels(Vocabulary):
    """Labels at level 0, then the names of a node and its neighbours at the level before.

    A feature of level h > 0 is (own column, columns of the neighbours, sorted), and for nodes whose edges have labels
    (own column, columns of the neighbours, numbers of the labels of the edges to them), so that names of two
    vocabularies are translated level by level.
    """

    edges: dict[Hashable, int] = {}  # noqa: RUF012  # the numbers of the labels of edges; none in old model files

    def __init__(self, levels: list[dict[Any, int]], edges: dict[Hashable, int] | None = None) -> None:
        super().__init__({})
        self.levels = levels
        self.edges = {} if edges is None else edges

    def _stored(self) -> dict[str, Any]:
        return {"levels": self.levels, "edges": self.edges}

    def __len__(self) -> int:
        return sum(map(len, self.levels))

    def _copy(self) -> Self:
        return type(self)([dict(level) for level in self.levels], dict(self.edges))

    def _translated(self, other: Levels, *, grow: bool) -> np.ndarray:
        edges = other.edges
        target = np.full(len(self), -1, dtype=np.intp)
        size = len(other)
        links = [edges.setdefault(label, len(edges)) if grow else edges.get(label, -1) for label in self.edges]
        for depth, (mine, theirs) in enumerate(zip(self.levels, other.levels, strict=True)):
            for feature, column in mine.items():
                if depth:
                    own, neighbors, *kinds = feature
                    near = target[list(neighbors)].tolist()
                    labels = [links[kind] for kind in kinds[0]] if kinds else None
                    feature = named_node(int(target[own]), near, labels)
                if grow and feature not in theirs:
                    theirs[feature] = size
                    size += 1
                target[column] = theirs.get(feature, -1)
        return target


def named_node(own: int, near: list[int], kinds: list[int] | None) -> tuple[Any, ...]:
    """The feature of a node: its own name, those of its neighbours, and the labels of the edges to them, sorted."""
    if not kinds:
        return own, tuple(sorted(near))
    pairs = sorted(zip(near, kinds, strict=True))
    return own, tuple(name for name, _ in pairs), tuple(kind for _, kind in pairs)


@component
class WeisfeilerLehman(CountKernel):
    """k(x, z) = Σ_{h ≤ depth} Σ_c n_c^h(x) n_c^h(z), n_c^h the number of nodes with the name c after h refinements.

    At h = 0 names are labels; each refinement replaces the name of a node by its own name, those of its neighbours and
    the labels of the edges to them. After h refinements it represents the tree of walks of h steps from the node.
    Parsing costs depth times the edges, a block one product of sparse counts. Wrap in `Normalized` when sizes differ.

    Parameters
    ----------
    depth : int, default=3
        The number of refinements. Larger is stricter; 0 compares labels only.
    label : str, default="label"
        The node attribute of NetworkX graphs.
    edge_label : str, default=None
        The edge attribute of NetworkX graphs; None is `label`. Edges without it all have the same label.

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
    limits: ClassVar[Limits] = {"depth": NATURAL}

    def represent(self, X: Any) -> Counts:
        """The number of nodes with each name, at every level."""
        parsed = graphs(X, self.label, self.edge_label)
        levels: list[dict[Any, int]] = [{}]
        names = [levels[0].setdefault(label, len(levels[0])) for g in parsed for label in g.labels]
        edges: dict[Hashable, int] = {}
        neighbors: list[list[int]] = []  # of the nodes of all graphs, one after the other
        kinds: list[list[int] | None] = []  # the labels of the edges to them
        start = 0
        for g in parsed:
            numbers = None if g.edges is None else [edges.setdefault(label, len(edges)) for label in g.edges]
            for a, b in pairwise(g.starts.tolist()):
                neighbors.append((g.indices[a:b] + start).tolist())
                kinds.append(None if numbers is None else numbers[a:b])
            start += len(g)
        columns = [names]
        used = len(levels[0])
        for _ in range(self.depth):
            level: dict[Any, int] = {}
            names = [
                level.setdefault(named_node(names[i], [names[j] for j in near], kind), used + len(level))
                for i, (near, kind) in enumerate(zip(neighbors, kinds, strict=True))
            ]
            used += len(level)
            levels.append(level)
            columns.append(names)
        rows = np.tile(np.repeat(np.arange(len(parsed)), [len(g) for g in parsed]), self.depth + 1)
        return Counts.of(rows, np.array(columns, dtype=np.intp).ravel(), len(parsed), Levels(levels, edges))


@component
class ShortestPath(CountKernel):
    """k(x, z) = Σ_{a,b,d} n_abd(x) n_abd(z), n_abd the number of pairs of nodes labelled a, b at distance d.

    Pairs are ordered and of two different nodes; those without a path between them do not count, and a graph without
    edges has ψ(x) = 0. Where edges have labels, pairs of neighbours also need the same label of their edge to be equal;
    the labels along longer shortest paths, of which there may be several, are not used. Parsing costs nodes × edges for
    each graph, a block is one product of sparse counts. Wrap in `Normalized` when sizes differ.

    Parameters
    ----------
    label : str, default="label"
        The node attribute of NetworkX graphs.
    edge_label : str, default=None
        The edge attribute of NetworkX graphs; None is `label`. Edges without it all have the same label.

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
        """The number of pairs of nodes with each (labels, distance)."""
        parsed = graphs(X, self.label, self.edge_label)
        codes, _ = numbered([label for g in parsed for label in g.labels])
        # None, with the number 0, is the label of edges of graphs without labels, and of longer paths
        links, _ = numbered([None, *(label for g in parsed for label in edge_labels(g))])
        rows: list[np.ndarray] = []
        words: list[np.ndarray] = []
        for i, g in enumerate(parsed):
            first, second, distance = _distances(g)
            names = np.array([codes[label] for label in g.labels])
            low = np.minimum(names[first], names[second])
            high = np.maximum(names[first], names[second])
            kind = _joined(g, links)[first, second]
            words.append(np.column_stack([distance, kind, low, high]))
            rows.append(np.full(len(distance), i))
        every = np.concatenate(words)
        columns, place = name_rows(every, int(every.max(initial=0)) + 1)
        distinct = every[place]
        labels = list(codes)
        names_of_links = list(links)
        vocabulary: dict[Hashable, int] = {}
        for j, (d, k, a, b) in enumerate(distinct.tolist()):
            pair = (d, frozenset((labels[a], labels[b])))
            vocabulary[(*pair, names_of_links[k]) if k else pair] = j
        # Unordered pairs are counted: for a ≠ b n_ab = n_ba is the count, n_aa is twice the count.
        weight = np.where(distinct[:, 2] == distinct[:, 3], 4.0, 2.0)
        return Counts.of(np.concatenate(rows), columns, len(parsed), Vocabulary(vocabulary), weight)


def edge_labels(g: Graph) -> Sequence[Hashable]:
    """The label of each edge, None in a graph without labels."""
    return [None] * len(g.indices) if g.edges is None else g.edges


def _joined(g: Graph, links: dict[Hashable, int]) -> np.ndarray:
    """The number of the label of the edge between two nodes, 0 where there is none."""
    kinds = np.zeros((len(g), len(g)), dtype=np.int64)
    ends = np.repeat(np.arange(len(g)), np.diff(g.starts))
    kinds[ends, g.indices] = [links[label] for label in edge_labels(g)]
    return kinds


def _distances(g: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(a, b, distance) of the nodes a < b with a path between them."""
    from scipy.sparse.csgraph import shortest_path

    n = len(g)
    A = sp.csr_array((np.ones(len(g.indices)), g.indices, g.starts), shape=(n, n))
    D = shortest_path(A, method="D", unweighted=True, directed=True)
    a, b = np.nonzero(np.triu(np.isfinite(D), 1))
    return a, b, D[a, b].astype(np.int64)
