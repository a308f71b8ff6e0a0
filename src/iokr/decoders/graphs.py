"""What decoders of graphs share: graphs as arrays that can be changed, and back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from iokr._array import Array, asarray_like, to_numpy
from iokr._objects import as_objects, key, n_objects
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding, KernelEmbedding
from iokr.kernels.structured.graphs import Graph, graphs

__all__ = ["GraphDecoder", "Sketch"]


class Sketch(NamedTuple):
    """A graph: symmetric adjacency (N, N), and the number of the label of each node."""

    adjacency: np.ndarray
    labels: np.ndarray


class GraphDecoder(Decoder):
    """Training graphs, their labels, and the cost k_Y(y, y) − 2⟨h(x), ψ(y)⟩ of new graphs."""

    def _read(self, Y: Any, embedding: Embedding) -> None:
        """Keep the training graphs, and how they are written."""
        kernel = embedding.kernel_ if isinstance(embedding, KernelEmbedding) else None
        if kernel is None or kernel.domain != "graphs":
            raise ValueError(
                f"`{type(self).__name__}()` needs an output kernel on graphs, such as `WeisfeilerLehman()`, "
                f"got {kernel!r}; use `Candidates()`."
            )
        self._label = _label_name(kernel)
        self._Y = as_objects(Y)
        self.labels_: list[Any] = []
        numbers: dict[Hashable, int] = {}
        for y in self._Y:
            for label in _given_labels(y, self._label):
                if key(label) not in numbers:
                    numbers[key(label)] = len(numbers)
                    self.labels_.append(label)
        self._sketches = [_sketch(g, numbers) for g in graphs(self._Y, self._label)]
        self._networkx = all(hasattr(y, "adj") for y in self._Y)

    def _written(self, g: Sketch) -> Any:
        """The graph in the form of the training outputs."""
        labels = [self.labels_[j] for j in g.labels]
        plain = all(label is None for label in labels)
        if not self._networkx:
            return g.adjacency.astype(np.int64), None if plain else labels
        made = import_module("networkx").Graph()
        made.add_nodes_from((i, {} if plain else {self._label: label}) for i, label in enumerate(labels))
        made.add_edges_from(zip(*(ends.tolist() for ends in np.nonzero(np.triu(g.adjacency))), strict=True))
        return made

    def _costs(self, h: Array, some: Sequence[Sketch], embedding: Embedding) -> np.ndarray:
        """k_Y(y, y) − 2⟨h, ψ(y)⟩ for one row h, (1, q)."""
        S = embedding.represent(as_objects(self._written(g) for g in some), "candidates")
        costs: np.ndarray = to_numpy(asarray_like(embedding.sq_norms(S), h) - 2 * embedding.inner(h, S)[0, :])
        return costs.astype(np.float64)


def _label_name(kernel: Any) -> str:
    """The node attribute that a kernel reads, be it inside others."""
    while not hasattr(kernel, "label") and hasattr(kernel, "base"):
        kernel = kernel.base
    return str(getattr(kernel, "label", "label"))


def _given_labels(y: Any, name: str) -> list[Any]:
    """The labels of the nodes as they were given, None without."""
    if hasattr(y, "adj"):
        return [data.get(name) for _, data in y.nodes(data=True)]
    adjacency, labels = y
    return [None] * n_objects(adjacency) if labels is None else list(labels)


def _sketch(g: Graph, numbers: dict[Hashable, int]) -> Sketch:
    adjacency = np.zeros((len(g), len(g)), dtype=bool)
    adjacency[np.repeat(np.arange(len(g)), np.diff(g.starts)), g.indices] = True
    return Sketch(adjacency, np.array([numbers[label] for label in g.labels]))
