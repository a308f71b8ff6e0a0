"""All small trees, and the fewest edits between two, slow and obvious."""

from functools import cache
from importlib import import_module
from itertools import product

__all__ = ["every_tree", "fewest_edits", "networkx_tree", "parts"]


def parts(tree) -> tuple:
    """(label, children)."""
    return (tree[0], tuple(tree[1:])) if isinstance(tree, (tuple, list)) else (tree, ())


def networkx_tree(tree, G=None):
    """The same as a NetworkX graph, labels being the attribute `word`."""
    G = import_module("networkx").DiGraph() if G is None else G
    label, children = parts(tree)
    number = len(G)
    G.add_node(number, word=label)
    for child in children:
        below = len(G)
        networkx_tree(child, G)
        G.add_edge(number, below)
    return G


@cache
def _forests(size: int, labels: str) -> tuple:
    """All ordered forests of so many nodes."""
    if size == 0:
        return ((),)
    return tuple(
        (tree, *rest)
        for first in range(1, size + 1)
        for tree, rest in product(_trees(first, labels), _forests(size - first, labels))
    )


@cache
def _trees(size: int, labels: str) -> tuple:
    return tuple((label, *below) if below else label for label, below in product(labels, _forests(size - 1, labels)))


def every_tree(largest: int, labels: str) -> list:
    """All ordered trees of one to so many nodes, each once."""
    return [tree for size in range(1, largest + 1) for tree in _trees(size, labels)]


def _size(forest: tuple) -> int:
    return sum(1 + _size(parts(tree)[1]) for tree in forest)


@cache
def _between(F: tuple, G: tuple) -> int:
    """Edits between forests: the roots of the last trees go, come, or are matched."""
    if not F or not G:
        return _size(F) + _size(G)
    (a, A), (b, B) = parts(F[-1]), parts(G[-1])
    return min(
        1 + _between(F[:-1] + A, G),
        1 + _between(F, G[:-1] + B),
        (a != b) + _between(A, B) + _between(F[:-1], G[:-1]),
    )


def fewest_edits(y, z) -> int:
    """Labels changed, nodes put in, nodes taken out whose children move up, to come from y to z."""
    return _between((y,), (z,))
