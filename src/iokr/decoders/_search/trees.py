"""The ordered trees at one edit from a given one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from iokr.data.trees import Preorder, subtree_ends

__all__ = ["children_of", "productions", "subtrees", "tree_edits"]


def tree_edits(t: Preorder, labels: Iterable[int], grafts: Iterable[Preorder], *, swaps: bool) -> list[Preorder]:
    """The distinct trees at one edit from t, without t.

    A node is relabelled, deleted (its children move to its parent) or inserted (above some neighbouring children of a
    node, above none, or above the root), a subtree is deleted or replaced by one of the `grafts`, two children of a
    node are swapped.
    """
    labels = list(labels)
    ends = subtree_ends(t.depths)
    children = children_of(t.depths)
    found = dict.fromkeys(_relabelled(t, labels))
    found |= dict.fromkeys(_without(t, ends, children))
    found |= dict.fromkeys(_with_a_node(t, ends, children, labels))
    found |= dict.fromkeys(_grafted(t, ends, grafts))
    if swaps:
        found |= dict.fromkeys(_swapped(t, ends, children))
    found.pop(t, None)
    return list(found)


def subtrees(t: Preorder) -> list[Preorder]:
    """The subtree of each node of t."""
    ends = subtree_ends(t.depths)
    return [
        Preorder(tuple(depth - t.depths[i] for depth in t.depths[i:end]), t.labels[i:end]) for i, end in enumerate(ends)
    ]


def productions(t: Preorder, *, ordered: bool) -> set[tuple[int, ...]]:
    """The label of each node and those of its children, in order or sorted."""
    below = [[t.labels[j] for j in some] for some in children_of(t.depths)]
    return {(label, *(some if ordered else sorted(some))) for label, some in zip(t.labels, below, strict=True)}


def children_of(depths: tuple[int, ...]) -> list[list[int]]:
    """The numbers of the children of each node."""
    found: list[list[int]] = [[] for _ in depths]
    path: list[int] = []
    for i, depth in enumerate(depths):
        del path[depth:]
        if path:
            found[path[-1]].append(i)
        path.append(i)
    return found


def _relabelled(t: Preorder, labels: list[int]) -> Iterator[Preorder]:
    for i in range(len(t.labels)):
        for label in labels:
            yield Preorder(t.depths, (*t.labels[:i], label, *t.labels[i + 1 :]))


def _without(t: Preorder, ends: list[int], children: list[list[int]]) -> Iterator[Preorder]:
    """t without a node, or without a subtree; the root is deleted only if it has one child."""
    for i, end in enumerate(ends):
        if i or len(children[0]) == 1:
            raised = tuple(depth - 1 for depth in t.depths[i + 1 : end])
            yield Preorder((*t.depths[:i], *raised, *t.depths[end:]), t.labels[:i] + t.labels[i + 1 :])
        if i:
            yield Preorder(t.depths[:i] + t.depths[end:], t.labels[:i] + t.labels[end:])


def _with_a_node(t: Preorder, ends: list[int], children: list[list[int]], labels: list[int]) -> Iterator[Preorder]:
    """t with a new root, or with a new child of a node above a run of its children."""
    places = [(0, len(t.depths), 0)]
    for i, below in enumerate(children):
        bounds = [*below, ends[i]]
        places += [(first, last, t.depths[i] + 1) for k, first in enumerate(bounds) for last in bounds[k:]]
    for first, last, depth in places:
        lowered = tuple(d + 1 for d in t.depths[first:last])
        depths = (*t.depths[:first], depth, *lowered, *t.depths[last:])
        for label in labels:
            yield Preorder(depths, (*t.labels[:first], label, *t.labels[first:]))


def _grafted(t: Preorder, ends: list[int], grafts: Iterable[Preorder]) -> Iterator[Preorder]:
    for graft in grafts:
        for i, end in enumerate(ends):
            lowered = tuple(depth + t.depths[i] for depth in graft.depths)
            yield Preorder((*t.depths[:i], *lowered, *t.depths[end:]), (*t.labels[:i], *graft.labels, *t.labels[end:]))


def _swapped(t: Preorder, ends: list[int], children: list[list[int]]) -> Iterator[Preorder]:
    for below in children:
        for i, j in combinations(below, 2):
            yield Preorder(*(tuple(_exchanged(part, i, ends[i], j, ends[j])) for part in t))


def _exchanged(part: tuple[int, ...], a: int, b: int, c: int, d: int) -> tuple[int, ...]:
    """Entries a to b exchanged with entries c to d."""
    return part[:a] + part[c:d] + part[b:c] + part[a:b] + part[d:]
