"""Rooted trees, from NetworkX or nested tuples, as sequences of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from iokr.data.objects import BadObject, BadObjectType, as_objects, is_networkx, key, n_objects

__all__ = ["Node", "Preorder", "keyed_trees", "preorder", "subtree_ends", "tree_nodes"]

Node = tuple[Any, list[int]]  # label, numbers of the children


class Preorder(NamedTuple):
    """The depths and the labels of the nodes of a tree, parents before their children, in order."""

    depths: tuple[int, ...]
    labels: tuple[Any, ...]

    def _stored(self) -> dict[str, Any]:
        return {"depths": self.depths, "labels": self.labels}


def preorder(nodes: Sequence[Node]) -> Preorder:
    """Of the nodes as `tree_nodes` returns them, the root last."""
    depths: list[int] = []
    labels: list[Any] = []
    waiting = [(len(nodes) - 1, 0)]
    while waiting:
        number, depth = waiting.pop()
        label, children = nodes[number]
        depths.append(depth)
        labels.append(label)
        waiting.extend((child, depth + 1) for child in reversed(children))
    return Preorder(tuple(depths), tuple(labels))


def keyed_trees(X: Any, label: str = "label") -> list[Preorder]:
    """Each tree of a sequence, with hashable stand-ins for its labels."""
    n_objects(X)
    found = (preorder(tree_nodes(x, label, i)) for i, x in enumerate(as_objects(X)))
    return [Preorder(t.depths, tuple(map(key, t.labels))) for t in found]


def subtree_ends(depths: Sequence[int]) -> list[int]:
    """For each node of a preorder the number after the last one below it."""
    ends = [0] * len(depths)
    path: list[int] = []  # from the root to the node
    for i, depth in enumerate(depths):
        while len(path) > depth:
            ends[path.pop()] = i
        path.append(i)
    for i in path:
        ends[i] = len(depths)
    return ends


def tree_nodes(x: Any, label: str, i: int) -> list[Node]:
    """The nodes of a tree, children before their parents."""
    return _from_networkx(x, label, i) if is_networkx(x) else _from_nested(x, i)


def _from_nested(x: Any, i: int) -> list[Node]:
    """Of (label, child, …), without recursion, so that trees may be of any depth."""
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
            "Tree", i, f" is not a tree: it has {len(G)} nodes, {G.number_of_edges()} edges and {len(roots)} roots."
        )
    order = []
    waiting = [roots[0]]
    while waiting:  # parents before their children
        order.append(waiting.pop())
        waiting.extend(G.successors(order[-1]))
    if len(order) != len(G):
        raise BadObject("Tree", i, " is not a tree: its root does not reach all nodes.")
    missing = [node for node in order if G.nodes[node].get(label) is None]
    if missing:
        raise BadObject("Tree", i, f": node {missing[0]!r:.40} has no {label!r}; label all nodes.")
    number = {node: j for j, node in enumerate(reversed(order))}
    return [(G.nodes[node][label], [number[child] for child in G.successors(node)]) for node in reversed(order)]
