"""Trees near h(x), by local search from the best candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np

from iokr._array import Array
from iokr._component import Limits, component
from iokr._validation.arguments import COUNT, FLAG, NATURAL, either
from iokr.data.objects import as_objects, is_networkx, key
from iokr.data.trees import Preorder, preorder, tree_nodes
from iokr.decoders._search.linear import kernel_option, output_costs, search_rows
from iokr.decoders._search.local import descend, distinct_labels
from iokr.decoders._search.trees import children_of, productions, subtrees, tree_edits
from iokr.decoders.base import Decoder
from iokr.decoders.candidates import rank_shared
from iokr.embeddings.base import Embedding

__all__ = ["TreeEdits"]


@component
class TreeEdits(Decoder):
    """ŷ ← the tree at one edit with the smallest k_Y(y, y) − 2⟨h(x), ψ(y)⟩, until no edit makes this smaller.

    Edits relabel a node with another training label, delete a node, whose children move to its parent, or a subtree,
    insert a leaf or a node above neighbouring children, swap two children, or replace a subtree by one of a training
    tree near h(x). The search begins from the training trees nearest to h(x), so that ŷ is at least as near as these;
    it is a local minimum, in general not the global one, and `solve` returns a bound. For every output kernel on trees,
    also in other kernels. Predictions have the form of the training trees. A step compares N (2 labels + grafts · N)
    trees of N nodes with two children per node, more for more children.

    Parameters
    ----------
    n_starts : int, default=5
        The number of training trees to begin from. More take longer and find nearer trees.
    max_steps : int, default=20
        The largest number of edits from each of them; 0 is `Candidates()`.
    grafts : int, default=3
        The number of training trees nearest to h(x) whose subtrees are inserted; 0 inserts single nodes only.
    grammar : bool, default=False
        Whether each node of a prediction must have the label, and the labels of the children, of some training node:
        predictions are then expressions, or sentences, if the training trees are.
    max_nodes : int, default=None
        The largest number of nodes of a prediction, except that no training tree is too large to begin from. None is
        the largest number of nodes of the training trees: under a normalised kernel a tree that contains its parts
        twice is as near as one that contains them once.

    Attributes
    ----------
    labels_ : list
        The labels of the nodes of the training trees.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.decoders import TreeEdits
    >>> from iokr.kernels import RBF, Subtree
    >>> trees = [("+", ("*", "a", "b"), "c"), ("+", ("*", "a", "b"), "d"), ("+", ("*", "b", "b"), "c")]
    >>> model = IOKR(RBF(0.5), output_kernel=Subtree(0.5), decoder=TreeEdits(), alpha=0.01)
    >>> model.fit([[0, 0], [1, 0], [0, 1]], trees).predict([[1, 1]])[0]  # not a training tree
    ('+', ('*', 'b', 'b'), 'd')
    """

    n_starts: int = 5
    max_steps: int = 20
    grafts: int = 3
    grammar: bool = False
    max_nodes: int | None = None

    limits: ClassVar[Limits] = {
        "n_starts": COUNT,
        "max_steps": NATURAL,
        "grafts": NATURAL,
        "grammar": FLAG,
        "max_nodes": either(None, COUNT),
    }

    def _stored(self) -> dict[str, Any]:
        return {
            "node_label": self._label,
            "ordered": self._ordered,
            "trees": self._trees,
            "training_outputs": self._Y,
            "productions": self._productions,
            "networkx": self._networkx,
            "as_list": self._list,
            "bare": self._bare,
        }

    def fit(self, Y: Any, embedding: Embedding) -> TreeEdits:
        """Keep the training trees; raise unless the output kernel is on trees."""
        self.check_parameters()
        kernel = embedding.kernel_
        if kernel is None or kernel.domain != "trees":
            raise ValueError(
                f"`TreeEdits()` needs an output kernel on trees, such as `Subtree()`, got {kernel!r}; "
                "use `Candidates()`."
            )
        self._label = str(kernel_option(kernel, "label", "label"))
        self._ordered = bool(kernel_option(kernel, "ordered", True))
        trees = as_objects(Y)
        self._read([preorder(tree_nodes(y, self._label, i)) for i, y in enumerate(trees)], trees)
        self._networkx = all(is_networkx(y) for y in trees)
        self._list, self._bare = _style(trees)
        return self

    def _read(self, parsed: list[Preorder], trees: np.ndarray) -> None:
        """Keep the distinct training trees, with the numbers of their labels."""
        self.labels_, numbers = distinct_labels(label for t in parsed for label in t.labels)
        first: dict[Preorder, int] = {}  # the number of the first of equal trees
        for i, t in enumerate(parsed):
            first.setdefault(Preorder(t.depths, tuple(numbers[key(label)] for label in t.labels)), i)
        self._trees = list(first)
        self._Y = trees[list(first.values())]
        self._productions = set().union(*(productions(t, ordered=self._ordered) for t in self._trees))

    def decode(self, H: Array, embedding: Embedding) -> Any:
        """A tree for each row of H."""
        return self.solve(H, embedding)[0]

    def solve(self, H: Array, embedding: Embedding) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(trees, costs, bounds): k_Y(y, y) − 2⟨h, ψ(y)⟩ of the trees, and lower bounds over all trees."""
        near, _ = rank_shared(H, embedding, self._Y, max(self.n_starts, self.grafts), by="distance")
        return search_rows(H, embedding, lambda i, h: self._nearest(h, near[i].tolist(), embedding))

    def _nearest(self, h: Array, nearest: list[int], embedding: Embedding) -> tuple[Any, float]:
        """The best tree at the end of the searches, and its cost; a training tree itself if no edit improves it."""
        parts = dict.fromkeys(part for j in nearest[: self.grafts] for part in subtrees(self._trees[j]))
        known: dict[Preorder, float] = {}  # searches from several trees meet

        def costs(some: Sequence[Preorder]) -> np.ndarray:
            new = [t for t in some if t not in known]
            if new:
                values = output_costs(h, [self._written(t) for t in new], embedding)
                known.update(zip(new, values.tolist(), strict=True))
            return np.array([known[t] for t in some])

        ends = [
            (start, *descend(self._trees[start], lambda t: self._edits(t, parts), costs, self.max_steps))
            for start in nearest[: self.n_starts]
        ]
        start, tree, cost = min(ends, key=itemgetter(2))
        return (self._Y[start] if tree is self._trees[start] else self._written(tree)), cost

    def _edits(self, t: Preorder, parts: Iterable[Preorder]) -> list[Preorder]:
        """The trees at one edit, within the limits on nodes and grammar."""
        limit = max(self.max_nodes or max(len(known.labels) for known in self._trees), len(t.labels))
        edited = tree_edits(t, range(len(self.labels_)), parts, swaps=self._ordered)
        small = [e for e in edited if len(e.labels) <= limit]
        if not self.grammar:
            return small
        return [e for e in small if productions(e, ordered=self._ordered) <= self._productions]

    def _written(self, t: Preorder) -> Any:
        """The tree in the form of the training outputs."""
        labels = [self.labels_[j] for j in t.labels]
        children = children_of(t.depths)
        if self._networkx:
            return _digraph(children, labels, self._label)
        written = list(labels)  # the subtree of each node
        for i in reversed(range(len(labels))):  # children come after their parents
            if children[i] or not self._bare or not _stands_alone(labels[i]):
                subtree = [labels[i], *(written[j] for j in children[i])]
                written[i] = subtree if self._list else tuple(subtree)
        return written[0]


def _style(trees: np.ndarray) -> tuple[bool, bool]:
    """(lists, bare): whether all inner nodes are lists, and whether any leaf is a label without a tuple or list."""
    types: set[type] = set()  # of inner nodes
    bare = False
    waiting = [y for y in trees if not is_networkx(y)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (tuple, list)):
            types.add(list if isinstance(node, list) else tuple)
            waiting.extend(node[1:])
        else:
            bare = True
    return types == {list}, bare


def _stands_alone(label: Any) -> bool:
    """Whether a label without a tuple is read as a leaf."""
    return label is not None and not isinstance(label, (dict, set, frozenset)) and not is_networkx(label)


def _digraph(children: list[list[int]], labels: list[Any], name: str) -> Any:
    """Nodes 0, 1, … from the root, with edges from parents to children."""
    tree = import_module("networkx").DiGraph()
    tree.add_nodes_from((i, {name: label}) for i, label in enumerate(labels))
    tree.add_edges_from((i, j) for i, below in enumerate(children) for j in below)
    return tree
