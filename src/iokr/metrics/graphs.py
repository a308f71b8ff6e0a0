"""Losses between graphs: isomorphism, and the fewest edits."""

from __future__ import annotations

import time
from collections.abc import Hashable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from iokr._validation.arguments import check_number
from iokr.data.graphs import Graph, graphs
from iokr.metrics.outputs import compared_pairs

__all__ = ["GraphEditDistance", "graph_edit_distance", "isomorphic_accuracy"]

_CALLS_PER_LOOK = 256  # at the clock


def isomorphic_accuracy(y_true: Any, y_pred: Any, *, label: str = "label", edge_label: str | None = None) -> float:
    """The fraction of graphs that are isomorphic, with the same labels of nodes and edges.

    Parameters
    ----------
    y_true, y_pred : n graphs, as the graph kernels take them
    label, edge_label : str
        The attributes of nodes and edges of NetworkX graphs; `edge_label=None` is `label`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.metrics import isomorphic_accuracy
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> isomorphic_accuracy([(path, "CCO"), (path, "CCO")], [(path, "OCC"), (path, "COC")])
    0.5
    """
    pairs = _pairs(y_true, y_pred, label, edge_label)
    return float(np.mean([_isomorphic(a, b) for a, b in pairs]))


class GraphEditDistance(NamedTuple):
    """Mean edit distance between graphs, and the fraction of pairs for which it is exact.

    Examples
    --------
    >>> from iokr.metrics import GraphEditDistance
    >>> GraphEditDistance(1.5, 1.0, 1.5).mean
    1.5
    """

    mean: float  # of the fewest edits found, an upper bound
    exact: float  # fraction of the pairs for which these are proved to be the fewest
    lower: float  # mean of lower bounds


def graph_edit_distance(
    y_true: Any, y_pred: Any, *, seconds: float = 1.0, label: str = "label", edge_label: str | None = None
) -> GraphEditDistance:
    """Mean of the fewest edits that turn y into ŷ: nodes and edges inserted, deleted or relabelled.

    The search is exponential in the number of nodes. For each pair it ends after `seconds` with the fewest edits found,
    an upper bound; the result states for which fraction of the pairs this is exact, and a lower bound. Molecules of
    nine atoms usually take far less than a second.

    Parameters
    ----------
    y_true, y_pred : n graphs, as the graph kernels take them
    seconds : float, default=1.0
        The most for each pair.
    label, edge_label : str
        The attributes of nodes and edges of NetworkX graphs; `edge_label=None` is `label`.

    Returns
    -------
    GraphEditDistance
        (mean, exact, lower).

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.metrics import graph_edit_distance
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> graph_edit_distance([(path, "CCO")], [(path, "CNC")])  # the middle becomes N, O becomes C
    GraphEditDistance(mean=2.0, exact=1.0, lower=2.0)
    """
    check_number(seconds, "seconds", minimum=0.0, strict=True)
    pairs = _pairs(y_true, y_pred, label, edge_label)
    found = np.array([_Edits(a, b, seconds).solve() for a, b in pairs])
    upper, lower = found.T
    return GraphEditDistance(float(upper.mean()), float(np.mean(upper == lower)), float(lower.mean()))


class _Matrix(NamedTuple):
    """A graph as numbers: labels (N,), edges (N, N), 0 without an edge."""

    labels: np.ndarray
    edges: np.ndarray


def _pairs(y_true: Any, y_pred: Any, label: str, edge_label: str | None) -> list[tuple[_Matrix, _Matrix]]:
    labels: dict[Hashable, int] = {}
    links: dict[Hashable, int] = {}
    pairs = compared_pairs(y_true, y_pred, partial(graphs, label=label, edge_label=edge_label))
    return [(_matrix(a, labels, links), _matrix(b, labels, links)) for a, b in pairs]


def _matrix(g: Graph, labels: dict[Hashable, int], links: dict[Hashable, int]) -> _Matrix:
    edges = np.zeros((len(g), len(g)), dtype=np.int64)
    ends = np.repeat(np.arange(len(g)), np.diff(g.starts))
    kinds = g.edges or [None] * len(g.indices)
    edges[ends, g.indices] = [1 + links.setdefault(kind, len(links)) for kind in kinds]
    return _Matrix(np.array([labels.setdefault(name, len(labels)) for name in g.labels]), edges)


def _isomorphic(a: _Matrix, b: _Matrix) -> bool:
    """By colours of neighbourhoods, then by trying the nodes of one colour in turn."""
    if len(a.labels) != len(b.labels) or (a.edges > 0).sum() != (b.edges > 0).sum():
        return False
    return _matched(np.concatenate([a.labels, b.labels]), a.edges, b.edges)


def _matched(colours: np.ndarray, A: np.ndarray, B: np.ndarray) -> bool:
    """Whether some matching of nodes preserves colours and edges; nodes of A come first in `colours`."""
    n = len(A)
    colours = _refined(colours, A, B)
    mine = colours[:n]
    theirs = colours[n:]
    if not np.array_equal(np.sort(mine), np.sort(theirs)):
        return False
    counts = np.bincount(mine, minlength=len(mine))
    if counts.max() == 1:
        p = np.argsort(mine)
        q = np.argsort(theirs)
        return bool(np.array_equal(A[np.ix_(p, p)], B[np.ix_(q, q)]))
    tied = int(np.argmax(counts > 1))
    node = int(np.argmax(mine == tied))
    fresh = int(colours.max()) + 1
    for other in np.flatnonzero(theirs == tied).tolist():
        marked = colours.copy()
        marked[[node, n + other]] = fresh
        if _matched(marked, A, B):
            return True
    return False


def _refined(colours: np.ndarray, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Colours refined by those of the neighbours until they are stable, with common names in both graphs."""
    n = len(A)
    names = np.unique(colours, return_inverse=True)[1].ravel()
    while True:
        size = int(names.max()) + 1
        of_first = np.sort(A * size + names[None, :n], axis=1)
        of_second = np.sort(B * size + names[None, n:], axis=1)
        rows = np.column_stack([names, np.concatenate([of_first, of_second])])
        finer = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        if int(finer.max()) + 1 == size:
            return np.asarray(finer)
        names = finer


class _Edits:
    """The fewest edits from a to b, by branch and bound: nodes of a are mapped to nodes of b, or deleted, in turn.

    Edits of an edge are counted once both of its ends are decided. The remaining edits are at least those that the
    labels of the remaining nodes and the numbers of their edges need; branches that cannot improve are cut.
    """

    def __init__(self, a: _Matrix, b: _Matrix, seconds: float) -> None:
        if len(a.labels) > len(b.labels):
            a, b = b, a  # the distance is symmetric
        order = np.argsort(-(a.edges > 0).sum(axis=1), kind="stable")  # nodes with many edges first
        self.x = a.labels[order].tolist()
        self.A = a.edges[np.ix_(order, order)].tolist()
        self.z = b.labels.tolist()
        self.B = b.edges.tolist()
        self.n = len(self.x)
        self.m = len(self.z)
        self.deadline = time.monotonic() + seconds
        self.calls = 0
        self.complete = True
        total = sum(entry > 0 for E in (self.A, self.B) for row in E for entry in row) // 2
        self.best = self.n + self.m + total
        self.edges_left = [  # edges of a with an undecided end after i nodes
            sum(self.A[u][v] > 0 for u in range(self.n) for v in range(max(u + 1, i), self.n))
            for i in range(self.n + 1)
        ]

    def solve(self) -> tuple[float, float]:
        """(fewest edits found, lower bound)."""
        lower = self._ahead(0, [], list(range(self.m)))
        self._map(0, [], list(range(self.m)), 0)
        return float(self.best), float(self.best if self.complete else lower)

    def _ahead(self, i: int, images: list[int], free: list[int]) -> int:
        """A lower bound of the edits for nodes i, i + 1, …"""
        unmatched = dict.fromkeys(self.x[i:], 0)  # how often each label remains; `Counter` takes twice the time
        for label in self.x[i:]:
            unmatched[label] += 1
        common = 0
        for v in free:
            if unmatched.get(self.z[v], 0) > 0:
                unmatched[self.z[v]] -= 1
                common += 1
        nodes = max(self.n - i, len(free)) - common
        used = [v for v in images if v >= 0]
        edges = sum(self.B[u][v] > 0 for k, u in enumerate(free) for v in free[k + 1 :])
        edges += sum(self.B[u][v] > 0 for u in free for v in used)
        return int(nodes + abs(edges - self.edges_left[i]))

    def _map(self, i: int, images: list[int], free: list[int], cost: int) -> None:
        """Try every image of node i; images[u] is −1 where u is deleted."""
        self.calls += 1
        if self.calls % _CALLS_PER_LOOK == 0 and time.monotonic() > self.deadline:
            self.complete = False
        if not self.complete:
            return
        if i == self.n:
            added = self._ahead(i, images, free)
            self.best = min(self.best, cost + added)
            return
        ways = []
        for v in free:
            edits = (self.x[i] != self.z[v]) + sum(
                self.A[i][u] != (self.B[v][w] if w >= 0 else 0) for u, w in enumerate(images)
            )
            ways.append((cost + edits, v))
        deleted = 1 + sum(self.A[i][u] > 0 for u in range(i))
        ways.append((cost + deleted, -1))
        for total, v in sorted(ways, key=lambda way: way[0]):
            if total >= self.best:
                break
            rest = [w for w in free if w != v]
            if total + self._ahead(i + 1, [*images, v], rest) < self.best:
                self._map(i + 1, [*images, v], rest, total)
