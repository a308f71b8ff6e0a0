"""What decoders of graphs share: graphs as arrays that can be changed, and back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from iokr._array import Array, is_sparse, to_numpy
from iokr.data.graphs import Graph, graphs
from iokr.data.objects import as_objects, key, n_objects
from iokr.decoders._search.linear import kernel_option, output_costs
from iokr.decoders.base import Decoder
from iokr.decoders.fgw import in_order
from iokr.embeddings.base import Embedding, KernelEmbedding
from iokr.kernels.base import Kernel

__all__ = ["GraphDecoder", "Sketch", "given_labels", "graph_kernel", "label_names"]


class Sketch(NamedTuple):
    """A graph: symmetric adjacency (N, N), and the number of the label of each node.

    Entries of the adjacency are 0, and 1 + the number of the label of an edge.
    """

    adjacency: np.ndarray
    labels: np.ndarray


class GraphDecoder(Decoder):
    """Training graphs, their labels, and the cost k_Y(y, y) − 2⟨h(x), ψ(y)⟩ of new graphs."""

    def _read(self, Y: Any, embedding: Embedding) -> None:
        """Keep the training graphs, and how they are written."""
        kernel = graph_kernel(embedding)
        if kernel is None:
            raise ValueError(
                f"`{type(self).__name__}()` needs an output kernel on graphs, such as `WeisfeilerLehman()`, "
                f"got {embedding.kernel_!r}; use `Candidates()`."
            )
        self._Y, (self._label, self._edge_label) = as_objects(Y), label_names(kernel)
        parsed = graphs(self._Y, self._label, self._edge_label)
        numbers, links = self._keep_labels()
        self._sketches = [_sketch(g, numbers, links) for g in parsed]

    def _keep_labels(self) -> tuple[dict[Hashable, int], dict[Hashable, int]]:
        """Keep the labels of all nodes and edges as they were given; (numbers of both by their keys)."""
        self._networkx = all(hasattr(y, "adj") for y in self._Y)
        given = [given_labels(y, self._label, self._edge_label) for y in self._Y]
        kept = []
        for side in range(2):
            first: dict[Hashable, Any] = {}
            for labels in given:
                for label in labels[side]:
                    first.setdefault(key(label), label)
            first = first or {None: None}
            kept.append({name: first[name] for name in in_order(list(first)) or ()})
        self.labels_, self.edge_labels_ = (list(first.values()) for first in kept)
        numbers, links = ({name: i for i, name in enumerate(first)} for first in kept)
        return numbers, links

    def _written(self, g: Sketch) -> Any:
        """The graph in the form of the training outputs."""
        labels = [self.labels_[j] for j in g.labels]
        kinds = getattr(self, "edge_labels_", [None])  # models of old files have none
        plain, alike = all(label is None for label in labels), all(kind is None for kind in kinds)
        adjacency = np.asarray(g.adjacency).astype(np.int64)
        if not self._networkx:
            pair = (adjacency > 0).astype(np.int64), None if plain else labels
            return pair if alike else (*pair, as_objects([None, *kinds])[adjacency])
        made = import_module("networkx").Graph()
        made.add_nodes_from((i, {} if plain else {self._label: label}) for i, label in enumerate(labels))
        for a, b in zip(*(ends.tolist() for ends in np.nonzero(np.triu(adjacency))), strict=True):
            made.add_edge(a, b, **({} if alike else {self._edge_label: kinds[adjacency[a, b] - 1]}))
        return made

    def _costs(self, h: Array, some: Sequence[Sketch], embedding: Embedding) -> np.ndarray:
        """k_Y(y, y) − 2⟨h, ψ(y)⟩ for one row h, (1, q)."""
        return output_costs(h, [self._written(g) for g in some], embedding)


def graph_kernel(embedding: Embedding) -> Kernel | None:
    """The output kernel if it is one on graphs."""
    kernel = embedding.kernel_ if isinstance(embedding, KernelEmbedding) else None
    return kernel if kernel is not None and kernel.domain == "graphs" else None


def label_names(kernel: Any) -> tuple[str, str]:
    """The attributes of nodes and edges that a kernel reads, be it inside others."""
    label = str(kernel_option(kernel, "label", "label"))
    edge_label = kernel_option(kernel, "edge_label", None)
    return label, label if edge_label is None else str(edge_label)


def given_labels(y: Any, name: str, edge_name: str) -> tuple[list[Any], list[Any]]:
    """The labels of the nodes and of the edges as they were given, None without."""
    if hasattr(y, "adj"):
        edges = [data.get(edge_name) for _, _, data in y.edges(data=True)]
        return [data.get(name) for _, data in y.nodes(data=True)], edges
    adjacency, labels = y[:2]
    nodes = [None] * n_objects(adjacency) if labels is None else list(labels)
    if len(y) == 2 or y[2] is None:
        return nodes, [None]
    A = adjacency.toarray() if is_sparse(adjacency) else to_numpy(adjacency)
    return nodes, [y[2][a][b] for a, b in np.argwhere(A != 0).tolist()]


def _sketch(g: Graph, numbers: dict[Hashable, int], links: dict[Hashable, int]) -> Sketch:
    adjacency = np.zeros((len(g), len(g)), dtype=np.int64)
    kinds = [1 + links[kind] for kind in g.edges or [None] * len(g.indices)]
    adjacency[np.repeat(np.arange(len(g)), np.diff(g.starts)), g.indices] = kinds
    return Sketch(adjacency, np.array([numbers[label] for label in g.labels]))
