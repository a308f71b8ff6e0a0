"""Graphs near h(x), by local search from the best candidates."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from iokr._array import Array
from iokr._component import Limits, component
from iokr._validation.arguments import COUNT, FLAG, NATURAL, either
from iokr.decoders._search.linear import search_rows
from iokr.decoders._search.local import descend
from iokr.decoders.candidates import rank_shared
from iokr.decoders.graphs import GraphDecoder, Sketch
from iokr.embeddings.base import Embedding

__all__ = ["GraphEdits"]


@component
class GraphEdits(GraphDecoder):
    """ŷ ← the graph at one edit with the smallest k_Y(y, y) − 2⟨h(x), ψ(y)⟩, until no edit makes this smaller.

    Edits insert or delete an edge, change the label of a node or an edge to another training label, delete a node, or
    insert one with an edge to another. The search begins from the training graphs nearest to h(x), so that ŷ is at
    least as near as these; it is a local minimum, in general not the global one, and `solve` returns a bound. For every
    output kernel on graphs, also in other kernels. A step compares about N²/2 graphs of N nodes, more with many labels:
    for graphs of tens of nodes.

    Parameters
    ----------
    n_starts : int, default=1
        The number of training graphs to begin from. More take longer and may find nearer graphs.
    max_steps : int, default=20
        The largest number of edits from each of them; 0 is `Candidates()`.
    nodes : bool, default=True
        Whether nodes are inserted and deleted; otherwise their number is that of the training graph.
    connected : bool, default=False
        Whether predictions are connected: the search begins from connected training graphs, and edits that disconnect a
        graph are left out.
    max_nodes : int, default=None
        The largest number of nodes of a prediction, except that no training graph is too large to begin from. None is
        the largest number of nodes of the training graphs: under a normalised kernel a graph that contains its parts
        twice is as near as one that contains them once, so that predictions would grow without a limit.

    Attributes
    ----------
    labels_ : list
        The labels of the nodes of the training graphs; None for nodes without labels.
    edge_labels_ : list
        The labels of their edges; [None] for edges without labels.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.decoders import GraphEdits
    >>> from iokr.kernels import RBF, WeisfeilerLehman
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> graphs = [(chain, "CAN"), (chain, "OAN"), (chain, "CAS")]
    >>> model = IOKR(RBF(0.5), output_kernel=WeisfeilerLehman(1), decoder=GraphEdits(), alpha=0.01)
    >>> adjacency, labels = model.fit([[0, 0], [1, 0], [0, 1]], graphs).predict([[1, 1]])[0]
    >>> labels  # not a training graph
    ['O', 'A', 'S']
    """

    n_starts: int = 1
    max_steps: int = 20
    nodes: bool = True
    connected: bool = False
    max_nodes: int | None = None

    limits: ClassVar[Limits] = {
        "n_starts": COUNT,
        "max_steps": NATURAL,
        "nodes": FLAG,
        "connected": FLAG,
        "max_nodes": either(None, COUNT),
    }

    def _stored(self) -> dict[str, Any]:
        return {"starts": self._starts}

    def fit(self, Y: Any, embedding: Embedding) -> GraphEdits:
        """Keep the training graphs; raise unless the output kernel is on graphs."""
        self.check_parameters()
        self._read(Y, embedding)
        self._starts = np.arange(len(self._sketches))
        if self.connected:
            self._starts = np.flatnonzero([is_connected(g.adjacency) for g in self._sketches])
            if not len(self._starts):
                raise ValueError("`connected=True` begins from connected graphs, but `y` has none; leave it out.")
        return self

    def decode(self, H: Array, embedding: Embedding) -> Any:
        """A graph for each row of H."""
        return self.solve(H, embedding)[0]

    def solve(self, H: Array, embedding: Embedding) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(graphs, costs, bounds): k_Y(y, y) − 2⟨h, ψ(y)⟩ of the graphs, and lower bounds over all graphs."""
        most = self.max_nodes or max(len(g.labels) for g in self._sketches)
        nearest, _ = rank_shared(H, embedding, self._Y[self._starts], self.n_starts, by="distance")
        starts = self._starts[nearest].tolist()

        def search(i: int, h: Array) -> tuple[Any, float]:
            return min((self._search(h, start, most, embedding) for start in starts[i]), key=itemgetter(1))

        return search_rows(H, embedding, search)

    def _search(self, h: Array, start: int, most: int, embedding: Embedding) -> tuple[Any, float]:
        """The graph at the end of the search, and its cost; the training graph itself if no edit improves it."""

        def edits(g: Sketch) -> list[Sketch]:
            return [e for e in self._edits(g, most) if not self.connected or is_connected(e.adjacency)]

        begin = self._sketches[start]
        end, cost = descend(begin, edits, lambda some: self._costs(h, some, embedding), self.max_steps)
        return (self._Y[start] if end is begin else self._written(end)), cost

    def _edits(self, g: Sketch, most: int) -> Iterator[Sketch]:
        """The graphs at one edit; nodes are inserted while there are fewer than `most`."""
        A, labels = g
        n = len(labels)
        kinds = range(1 + len(self.edge_labels_))  # no edge, and an edge of each label
        for a, b in combinations(range(n), 2):
            for kind in kinds:
                if kind != A[a, b]:
                    changed = A.copy()
                    changed[a, b] = changed[b, a] = kind
                    yield Sketch(changed, labels)
        for a in range(n):
            for label in range(len(self.labels_)):
                if label != labels[a]:
                    yield Sketch(A, np.where(np.arange(n) == a, label, labels))
        if not self.nodes:
            return
        for a in range(n if n > 1 else 0):
            rest = np.delete(np.arange(n), a)
            yield Sketch(A[np.ix_(rest, rest)], labels[rest])
        for a, kind in product(range(n if n < most else 0), kinds[1:]):
            grown = np.zeros((n + 1, n + 1), dtype=np.int64)
            grown[:n, :n] = A
            grown[a, n] = grown[n, a] = kind
            for label in range(len(self.labels_)):
                yield Sketch(grown, np.append(labels, label))


def is_connected(adjacency: np.ndarray) -> bool:
    """Whether there is a path between any two nodes."""
    count, _ = connected_components(csr_array(adjacency != 0), directed=False)
    return bool(count == 1)
