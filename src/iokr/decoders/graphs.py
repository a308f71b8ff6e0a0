"""The base of decoders of graphs: graphs as arrays that can be changed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from iokr._array import Array, is_sparse, to_numpy
from iokr.data.graphs import Graph, graphs
from iokr.data.objects import as_objects, is_networkx, n_objects
from iokr.decoders._search.linear import kernel_option, output_costs
from iokr.decoders._search.local import distinct_labels
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.kernels.base import Kernel

__all__ = ["GraphDecoder", "Sketch", "given_labels", "graph_kernel", "label_names"]


class Sketch(NamedTuple):
    """A graph: symmetric adjacency (N, N), and the number of the label of each node.

    Entries of the adjacency are 0, and 1 + the number of the label of an edge.
    """

    adjacency: np.ndarray
    labels: np.ndarray

    def _stored(self) -> dict[str, Any]:
        return {"adjacency": self.adjacency, "labels": self.labels}


class GraphDecoder(Decoder):
    """Training graphs, their labels, and the cost k_Y(y, y) − 2⟨h(x), ψ(y)⟩ of new graphs."""

    labels_: list[Any]
    edge_labels_: Sequence[Any] = (None,)  # in model files without them

    def _stored(self) -> dict[str, Any]:
        return {
            "training_outputs": self._Y,
            "node_label": self._label,
            "edge_label": self._edge_label,
            "networkx": self._networkx,
            "sketches": self._sketches,
        }

    def _read(self, Y: Any, embedding: Embedding) -> None:
        """Keep the training graphs and their form."""
        kernel = graph_kernel(embedding)
        if kernel is None:
            raise ValueError(
                f"`{type(self).__name__}()` needs an output kernel on graphs, such as `WeisfeilerLehman()`, "
                f"got {embedding.kernel_!r}; use `Candidates()`."
            )
        self._Y = as_objects(Y)
        self._label, self._edge_label = label_names(kernel)
        parsed = graphs(self._Y, self._label, self._edge_label)
        numbers, links = self._learn_labels()
        self._sketches = [_sketch(g, numbers, links) for g in parsed]

    def _learn_labels(self) -> tuple[dict[Hashable, int], dict[Hashable, int]]:
        """Keep the distinct labels of all nodes and edges; returns the numbers of both by their keys."""
        self._networkx = all(is_networkx(y) for y in self._Y)
        given = [given_labels(y, self._label, self._edge_label) for y in self._Y]
        nodes = distinct_labels(label for labels, _ in given for label in labels)
        edges = distinct_labels(label for _, labels in given for label in labels) or {None: None}
        self.labels_ = list(nodes.values())
        self.edge_labels_ = list(edges.values())
        numbers = {name: i for i, name in enumerate(nodes)}
        links = {name: i for i, name in enumerate(edges)}
        return numbers, links

    def _written(self, g: Sketch) -> Any:
        """The graph in the form of the training outputs."""
        labels = [self.labels_[j] for j in g.labels]
        no_labels = all(label is None for label in labels)
        no_edge_labels = all(label is None for label in self.edge_labels_)
        adjacency = np.asarray(g.adjacency).astype(np.int64)
        if not self._networkx:
            pair = ((adjacency > 0).astype(np.int64), None if no_labels else labels)
            return pair if no_edge_labels else (*pair, as_objects([None, *self.edge_labels_])[adjacency])
        written = import_module("networkx").Graph()
        written.add_nodes_from((i, {} if no_labels else {self._label: label}) for i, label in enumerate(labels))
        for a, b in np.argwhere(np.triu(adjacency)).tolist():
            label = {} if no_edge_labels else {self._edge_label: self.edge_labels_[adjacency[a, b] - 1]}
            written.add_edge(a, b, **label)
        return written

    def _costs(self, h: Array, some: Sequence[Sketch], embedding: Embedding) -> np.ndarray:
        """k_Y(y, y) − 2⟨h, ψ(y)⟩ for one row h, (1, q)."""
        return output_costs(h, [self._written(g) for g in some], embedding)


def graph_kernel(embedding: Embedding) -> Kernel | None:
    """The output kernel if its domain are graphs."""
    kernel = embedding.kernel_
    return kernel if kernel is not None and kernel.domain == "graphs" else None


def label_names(kernel: Any) -> tuple[str, str]:
    """The attributes of nodes and edges that a kernel reads, also a kernel inside others."""
    label = str(kernel_option(kernel, "label", "label"))
    edge_label = kernel_option(kernel, "edge_label", None)
    return label, label if edge_label is None else str(edge_label)


def given_labels(y: Any, name: str, edge_name: str) -> tuple[list[Any], list[Any]]:
    """The labels of the nodes and of the edges of a graph, None for each without label."""
    if is_networkx(y):
        nodes = [label for _, label in y.nodes(data=name)]
        return nodes, [label for _, _, label in y.edges(data=edge_name)]
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
