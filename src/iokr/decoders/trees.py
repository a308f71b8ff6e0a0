"""Trees near h(x): from the best candidates, one edit at a time."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from importlib import import_module
from operator import itemgetter
from typing import Any

import numpy as np

from iokr._array import Array
from iokr._component import component
from iokr._validation.arguments import check_choice, check_integer
from iokr.data.objects import as_objects, key
from iokr.data.trees import Preorder, preorder, tree_nodes
from iokr.decoders._search.linear import kernel_option, output_bounds, output_costs
from iokr.decoders._search.local import descend
from iokr.decoders._search.trees import productions, subtrees, tree_edits
from iokr.decoders.base import Decoder
from iokr.decoders.candidates import rank_shared
from iokr.decoders.fgw import in_order
from iokr.embeddings.base import Embedding, KernelEmbedding

__all__ = ["TreeEdits"]


@component
class TreeEdits(Decoder):
    """ŷ ← the tree one edit away with the smallest k_Y(y, y) − 2⟨h(x), ψ(y)⟩, while that gets smaller.

    Edits give a node another of the training labels, take out a node, whose children move to its parent, or a whole
    subtree, put in a leaf or a node above neighbouring children, swap two children, or put a subtree of a training tree
    near h(x) in the place of another. The search begins from the training trees nearest to h(x), so that ŷ is at least
    as near as any of them; it ends where no single edit helps, a local minimum and not the global one for sure. `solve`
    gives a bound. For every output kernel on trees, whatever it is in. Answers are written as the training trees are. A
    step compares N (2 labels + grafts · N) trees of N nodes and two children a node, more where nodes have many.

    Parameters
    ----------
    n_starts : int, default=5
        Training trees to begin from. More cost more and find nearer trees: of a few, one mostly is on the way.
    max_steps : int, default=20
        Edits from each of them, at most; 0 is `Candidates()`.
    grafts : int, default=3
        Training trees nearest to h(x) whose subtrees may be put in; 0 leaves single nodes.
    grammar : bool, default=False
        Whether each node of an answer has a label and labels of children that some training node has: what is then
        found is an expression, or a sentence, wherever the training trees are.
    max_nodes : int, default=None
        Nodes of an answer, at most, and as many as those of the tree one begins from; None is the most that a training
        tree has. Under a normalised kernel a tree that holds its parts twice is as near as one that holds them once.

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
    >>> model.fit([[0, 0], [1, 0], [0, 1]], trees).predict([[1, 1]])[0]  # a tree that was not there
    ('+', ('*', 'b', 'b'), 'd')
    """

    n_starts: int = 5
    max_steps: int = 20
    grafts: int = 3
    grammar: bool = False
    max_nodes: int | None = None

    def fit(self, Y: Any, embedding: Embedding) -> TreeEdits:
        """Keep the training trees."""
        check_integer(self.n_starts, "n_starts", minimum=1)
        check_integer(self.max_steps, "max_steps", minimum=0)
        check_integer(self.grafts, "grafts", minimum=0)
        check_choice(self.grammar, "grammar", (True, False))
        if self.max_nodes is not None:
            check_integer(self.max_nodes, "max_nodes", minimum=1)
        kernel = embedding.kernel_ if isinstance(embedding, KernelEmbedding) else None
        if kernel is None or kernel.domain != "trees":
            raise ValueError(
                f"`TreeEdits()` needs an output kernel on trees, such as `Subtree()`, got {kernel!r}; "
                "use `Candidates()`."
            )
        self._label = str(kernel_option(kernel, "label", "label"))
        self._ordered = bool(kernel_option(kernel, "ordered", True))
        trees = as_objects(Y)
        self._read([preorder(tree_nodes(y, self._label, i)) for i, y in enumerate(trees)], trees)
        self._networkx = all(hasattr(y, "adj") for y in trees)
        self._list, self._bare = _style(trees)
        return self

    def _read(self, parsed: list[Preorder], trees: np.ndarray) -> None:
        """Keep the distinct training trees, with numbers in the place of labels."""
        first: dict[Hashable, Any] = {}
        for t in parsed:
            for label in t.labels:
                first.setdefault(key(label), label)
        names = in_order(list(first)) or []
        numbers = {name: i for i, name in enumerate(names)}
        self.labels_ = [first[name] for name in names]
        which: dict[Preorder, int] = {}
        for i, t in enumerate(parsed):
            which.setdefault(Preorder(t.depths, tuple(numbers[key(label)] for label in t.labels)), i)
        self._trees, self._Y = list(which), trees[list(which.values())]
        self._productions = set().union(*(productions(t, ordered=self._ordered) for t in self._trees))

    def decode(self, H: Array, embedding: Embedding) -> Any:
        """A tree for each row of H."""
        return self.solve(H, embedding)[0]

    def solve(self, H: Array, embedding: Embedding) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(trees, costs, bounds): k_Y(y, y) − 2⟨h, ψ(y)⟩ of the trees, and what no tree at all goes below."""
        near, _ = rank_shared(H, embedding, self._Y, max(self.n_starts, self.grafts), by="distance")
        found, costs = [], []
        for i, nearest in enumerate(near.tolist()):
            tree, cost = self._nearest(H[i : i + 1, :], nearest, embedding)
            found.append(tree)
            costs.append(cost)
        return as_objects(found), np.array(costs), np.minimum(output_bounds(H, embedding), costs)

    def _nearest(self, h: Array, nearest: list[int], embedding: Embedding) -> tuple[Any, float]:
        """The best tree where edits end, and its cost; a training tree itself when none helps."""
        parts = dict.fromkeys(part for j in nearest[: self.grafts] for part in subtrees(self._trees[j]))
        known: dict[Preorder, float] = {}  # ways from several trees meet
        most = self.max_nodes or max(len(t.labels) for t in self._trees)

        def edits(t: Preorder) -> list[Preorder]:
            edited = tree_edits(t, range(len(self.labels_)), parts, swaps=self._ordered)
            limit = max(most, len(t.labels))
            return [e for e in edited if len(e.labels) <= limit and (not self.grammar or self._allowed(e))]

        def costs(some: Sequence[Preorder]) -> np.ndarray:
            new = [t for t in some if t not in known]
            if new:
                values = output_costs(h, [self._written(t) for t in new], embedding)
                known.update(zip(new, values.tolist(), strict=True))
            return np.array([known[t] for t in some])

        ends = [
            (start, *descend(self._trees[start], edits, costs, self.max_steps)) for start in nearest[: self.n_starts]
        ]
        start, tree, cost = min(ends, key=itemgetter(2))
        return (self._Y[start] if tree is self._trees[start] else self._written(tree)), cost

    def _allowed(self, t: Preorder) -> bool:
        """Whether every node and its children were seen together."""
        return productions(t, ordered=self._ordered) <= self._productions

    def _written(self, t: Preorder) -> Any:
        """The tree in the form of the training outputs."""
        labels = [self.labels_[j] for j in t.labels]
        if self._networkx:
            return _digraph(t.depths, labels, self._label)
        below: list[list[Any]] = []  # of each depth, the subtrees that wait for their parent
        for depth, label in zip(reversed(t.depths), reversed(labels), strict=True):
            children = below.pop() if len(below) > depth + 1 else []
            below += [[] for _ in range(depth + 1 - len(below))]
            if self._bare and not children and _stands_alone(label):
                below[depth].append(label)
            else:
                made = [label, *reversed(children)]
                below[depth].append(made if self._list else tuple(made))
        return below[0][0]


def _style(trees: np.ndarray) -> tuple[bool, bool]:
    """(lists, bare): whether inner nodes are lists, all of them, and whether any leaf is its label alone."""
    lists, bare, inner = True, False, False
    waiting = [y for y in trees if not hasattr(y, "adj")]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (tuple, list)):
            inner, lists = True, lists and isinstance(node, list)
            waiting.extend(node[1:])
        else:
            bare = True
    return lists and inner, bare


def _stands_alone(label: Any) -> bool:
    """Whether a label is read as a leaf where it stands without a tuple."""
    return label is not None and not isinstance(label, (dict, set, frozenset)) and not hasattr(label, "adj")


def _digraph(depths: Sequence[int], labels: list[Any], name: str) -> Any:
    """Nodes 0, 1, … from the root, with edges from parents to children."""
    made, path = import_module("networkx").DiGraph(), list[int]()
    for i, (depth, label) in enumerate(zip(depths, labels, strict=True)):
        made.add_node(i, **{name: label})
        del path[depth:]
        if path:
            made.add_edge(path[-1], i)
        path.append(i)
    return made
