"""Kernels on rooted trees."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, cast

import numpy as np

from iokr._component import component
from iokr._objects import BadObject, BadObjectType, as_objects, key, n_objects
from iokr._validation import check_choice, check_number
from iokr.kernels._data.counts import CountKernel, Counts, Vocabulary

__all__ = ["Subtree", "Subtrees"]

Node = tuple[Any, list[int]]  # label, numbers of the children


class Subtrees(Vocabulary):
    """Subtrees as (label, columns of the children), children before parents, so that they are translated in order."""

    def _columns_of(self, other: Subtrees) -> np.ndarray:
        return self._translated(other.columns, grow=False)

    def merged(self, other: Subtrees) -> tuple[Subtrees, np.ndarray]:
        """Both in one, which begins with this one, and the columns of `other` in it."""
        columns = dict(self.columns)
        target = other._translated(columns, grow=True)
        return Subtrees(columns), target

    def _translated(self, columns: dict[Hashable, int], *, grow: bool) -> np.ndarray:
        target: list[int] = []
        for key_of in self.columns:
            label, children, ordered = cast(tuple[Hashable, tuple[int, ...], bool], key_of)
            feature = tree_feature(label, [target[child] for child in children], ordered)
            target.append(columns.setdefault(feature, len(columns)) if grow else columns.get(feature, -1))
        return np.array(target, dtype=np.intp)


def tree_feature(label: Hashable, children: list[int], ordered: bool) -> tuple[Hashable, tuple[int, ...], bool]:
    """A subtree by its root and the subtrees below it."""
    return label, tuple(children if ordered else sorted(children)), ordered


@component
class Subtree(CountKernel):
    """k(x, z) = Σ_t δ^|t| n_t(x) n_t(z), n_t(x) how many nodes of x have the subtree t below them, |t| its nodes.

    A subtree is a node with all that is below it: two nodes are alike when their labels are and their children are, in
    order. A tree is a tuple or list (label, child, child, …) of a label and trees, where a leaf may be its label alone;
    or a NetworkX `DiGraph` with edges from parents to children, whose labels are the node attribute `label`. Parsing
    costs the nodes, a block is one product of sparse counts. Wrap in `Normalized` when sizes differ.

    Parameters
    ----------
    decay : float, default=1.0
        δ in (0, 1]: smaller counts large subtrees less, which else make every tree like itself alone.
    ordered : bool, default=True
        Whether the order of children counts. The children in a NetworkX graph are in the order of its edges.
    label : str, default="label"
        The node attribute of NetworkX graphs.

    Examples
    --------
    >>> from iokr.kernels import Subtree
    >>> Subtree()([("+", "a", ("*", "a", "b"))], [("+", ("*", "a", "b"), "a"), "a"])  # a twice, b, a * b; a twice
    array([[6., 2.]])
    >>> Subtree(ordered=False)([("+", "a", ("*", "a", "b"))], [("+", ("*", "a", "b"), "a")])
    array([[7.]])

    References
    ----------
    Vishwanathan and Smola, "Fast kernels for string and tree matching", NeurIPS 2002.
    """

    decay: float = 1.0
    ordered: bool = True
    label: str = "label"

    domain = "trees"

    def fit(self, X: Any) -> Subtree:
        """Check decay and ordered."""
        if not 0 < check_number(self.decay, "decay") <= 1:
            raise ValueError(f"`decay` must lie above 0 and be at most 1, got {self.decay!r}.")
        check_choice(self.ordered, "ordered", (True, False))
        return self

    def represent(self, X: Any) -> Counts:
        """How many nodes of each tree have each subtree below them."""
        self.fit(X)
        n_objects(X)
        trees = as_objects(X)
        vocabulary: dict[Hashable, int] = {}
        sizes: list[int] = []
        rows, columns = [], []
        for i, x in enumerate(trees):
            own: list[int] = []
            for label, children in _nodes(x, self.label, i):
                below = [own[child] for child in children]
                feature = tree_feature(key(label), below, bool(self.ordered))
                column = vocabulary.setdefault(feature, len(vocabulary))
                if column == len(sizes):
                    sizes.append(1 + sum(sizes[child] for child in below))
                own.append(column)
            rows += [i] * len(own)
            columns += own
        weight = float(self.decay) ** np.array(sizes, dtype=np.float64)
        return Counts.of(np.array(rows), np.array(columns), len(trees), Subtrees(vocabulary), weight)


def _nodes(x: Any, label: str, i: int) -> list[Node]:
    """The nodes of a tree, children before their parents."""
    return _from_networkx(x, label, i) if hasattr(x, "adj") else _from_nested(x, i)


def _from_nested(x: Any, i: int) -> list[Node]:
    """Of (label, child, …), without recursion: a tree may be as deep as it likes."""
    found: list[Node] = []
    open_nodes: list[tuple[Any, list[Any], list[int]]] = []  # label, children to come, numbers of those done
    here: Any = x
    while True:
        if isinstance(here, (tuple, list)):
            if not here or isinstance(here[0], (tuple, list)):
                raise BadObject("Tree", i, f" has a node without a label, {here!r:.40}; write (label, child, …).")
            open_nodes.append((here[0], list(here[:0:-1]), []))
        elif here is None or isinstance(here, (dict, set, frozenset)):
            raise BadObjectType("Tree", i, f" must be (label, child, …) or a NetworkX DiGraph, got {here!r:.60}.")
        else:
            open_nodes.append((here, [], []))
        while not open_nodes[-1][1]:
            name, _, done = open_nodes.pop()
            found.append((name, done))
            if not open_nodes:
                return found
            open_nodes[-1][2].append(len(found) - 1)
        here = open_nodes[-1][1].pop()


def _from_networkx(G: Any, label: str, i: int) -> list[Node]:
    if not G.is_directed() or G.is_multigraph():
        raise BadObject("Tree", i, " must be a NetworkX DiGraph with edges from parents to children.")
    roots = [node for node, degree in G.in_degree() if degree == 0]
    if len(roots) != 1 or G.number_of_edges() != len(G) - 1:
        raise BadObject(
            "Tree", i, f" has {len(G)} nodes, {G.number_of_edges()} edges and {len(roots)} roots: it is no tree."
        )
    order, waiting = [], [roots[0]]
    while waiting:  # parents before their children
        order.append(waiting.pop())
        waiting.extend(G.successors(order[-1]))
    if len(order) != len(G):
        raise BadObject("Tree", i, " has nodes that its root does not reach: it is no tree.")
    missing = [node for node in order if G.nodes[node].get(label) is None]
    if missing:
        raise BadObject("Tree", i, f": node {missing[0]!r:.40} has no {label!r}; label all nodes.")
    number = {node: j for j, node in enumerate(reversed(order))}
    return [(G.nodes[node][label], [number[child] for child in G.successors(node)]) for node in reversed(order)]
