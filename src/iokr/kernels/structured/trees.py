"""Kernels on rooted trees."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, cast

import numpy as np

from iokr._component import Limits, component
from iokr._validation.arguments import DECAY, FLAG, NATURAL, either
from iokr.data.objects import as_objects, key, n_objects
from iokr.data.trees import Node, tree_nodes
from iokr.kernels._data.counts import CountKernel, Counts, Vocabulary

__all__ = ["Subtree", "Subtrees"]


class Subtrees(Vocabulary):
    """Subtrees as (label, columns of the children), children before parents, so that they are translated in order."""

    def _translated(self, other: Subtrees, *, grow: bool) -> np.ndarray:
        columns = other.columns
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
    """k(x, z) = Σ_t δ^|t| n_t(x) n_t(z), n_t(x) the number of subtrees t of x, |t| the number of nodes of t.

    A subtree is a node with all its descendants: two are equal if their labels and their children, in order, are equal.
    With `depth` their first levels are counted instead: a node alone, a node with its children, and so on up to `depth`
    levels below it. Trees without equal subtrees may have such parts in common.

    A tree is a tuple or list (label, child, child, …) of a label and trees, where a leaf may be its label alone; or a
    NetworkX `DiGraph` with edges from parents to children, whose labels are the node attribute `label`. Parsing costs
    the number of nodes times 1 + depth; a block one product of sparse counts. Wrap in `Normalized` when sizes differ.

    Parameters
    ----------
    decay : float, default=1.0
        δ in (0, 1]: smaller gives large subtrees less weight, which otherwise make k(x, x) dominate.
    ordered : bool, default=True
        Whether the order of children counts. The children in a NetworkX graph are in the order of its edges.
    label : str, default="label"
        The node attribute of NetworkX graphs.
    depth : int, default=None
        The largest number of levels below a node: 0 counts labels, 1 also labels with those of the children. None
        counts whole subtrees.

    Examples
    --------
    >>> from iokr.kernels import Subtree
    >>> Subtree()([("+", "a", ("*", "a", "b"))], [("+", ("*", "a", "b"), "a"), "a"])  # a twice, b, a * b; a twice
    array([[6., 2.]])
    >>> Subtree(ordered=False)([("+", "a", ("*", "a", "b"))], [("+", ("*", "a", "b"), "a")])
    array([[7.]])
    >>> Subtree(depth=1)([("+", "a", ("*", "a", "b"))], [("+", "a", ("*", "b", "a"))])  # labels, and + above a and *
    array([[8.]])

    References
    ----------
    Vishwanathan and Smola, "Fast kernels for string and tree matching", NeurIPS 2002.
    """

    decay: float = 1.0
    ordered: bool = True
    label: str = "label"
    depth: int | None = None

    domain = "trees"
    limits: ClassVar[Limits] = {"decay": DECAY, "ordered": FLAG, "depth": either(None, NATURAL)}

    def represent(self, X: Any) -> Counts:
        """The counts of the subtrees of each tree."""
        n_objects(X)
        trees = as_objects(X)
        columns: dict[Any, int] = {}
        rows: list[int] = []
        places: list[int] = []
        for i, x in enumerate(trees):
            own = self._parts(tree_nodes(x, self.label, i), columns)
            rows += [i] * len(own)
            places += own
        sizes: list[int] = []  # the number of nodes of each part: the parts below it come before it
        for _, below, _ in columns:
            sizes.append(1 + sum(sizes[child] for child in below))
        weight = float(self.decay) ** np.array(sizes, dtype=np.float64)
        return Counts.of(np.array(rows), np.array(places), len(trees), Subtrees(columns), weight)

    def _parts(self, nodes: list[Node], columns: dict[Any, int]) -> list[int]:
        """A column for every subtree of a tree, or for its first levels; new ones are added to `columns`."""

        def column(name: Hashable, below: list[int]) -> int:
            return columns.setdefault(tree_feature(name, below, bool(self.ordered)), len(columns))

        found: list[list[int]] = []  # the columns of each node: of its subtree, or of its first levels
        for label, children in nodes:
            name = key(label)
            below = [found[child] for child in children]
            if self.depth is None:
                found.append([column(name, [child[0] for child in below])])
                continue
            own = [column(name, [])]
            height = max(map(len, below), default=0)
            for level in range(min(self.depth, height)):
                own.append(column(name, [child[min(level, len(child) - 1)] for child in below]))
            found.append(own)
        return [number for own in found for number in own]
