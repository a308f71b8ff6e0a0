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
from iokr.kernels.structured.graphs import edge_labels

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
        numbers, edge_numbers = self._learn_labels()
        self._sketches = [_sketch(g, numbers, edge_numbers) for g in parsed]

    def _learn_labels(self) -> tuple[dict[Hashable, int], dict[Hashable, int]]:
        """Keep the distinct labels of all nodes and edges; returns the numbers of both by their keys."""
        self._networkx = all(is_networkx(y) for y in self._Y)
        given = [given_labels(y, self._label, self._edge_label) for y in self._Y]
        of_edges = [label for _, labels in given for label in labels]
        self.labels_, numbers = distinct_labels(label for labels, _ in given for label in labels)
        self.edge_labels_, edge_numbers = distinct_labels(of_edges or [None])
        return numbers, edge_numbers

    def _written(self, g: Sketch) -> Any:
        """The graph in the form of the training outputs."""
        labels = [self.labels_[j] for j in g.labels]
        labelled = any(label is not None for label in labels)
        edges_labelled = any(label is not None for label in self.edge_labels_)
        kinds = np.asarray(g.adjacency).astype(np.int64)
        label_of_edge = as_objects([None, *self.edge_labels_])[kinds]  # (N, N), None where there is no edge
        if not self._networkx:
            written = ((kinds > 0).astype(np.int64), labels if labelled else None)
            return (*written, label_of_edge) if edges_labelled else written
        networkx = import_module("networkx")
        G = networkx.Graph()
        edges = np.argwhere(np.triu(kinds)).tolist()
        G.add_nodes_from(range(len(labels)))
        G.add_edges_from(edges)
        if labelled:
            networkx.set_node_attributes(G, dict(enumerate(labels)), self._label)
        if edges_labelled:
            networkx.set_edge_attributes(G, {(a, b): label_of_edge[a, b] for a, b in edges}, self._edge_label)
        return G

    def _costs(self, h: Array, some: Sequence[Sketch], embedding: Embedding) -> np.ndarray:
        """k_Y(y, y) − 2⟨h, ψ(y)⟩ for one row h, (1, q)."""
        return output_costs(h, [self._written(g) for g in some], embedding)


def graph_kernel(embedding: Embedding) -> Kernel | None:
    """The output kernel if it is one on graphs."""
    kernel = embedding.kernel_
    return kernel if kernel is not None and kernel.domain == "graphs" else None


def label_names(kernel: Any) -> tuple[str, str]:
    """The attributes of nodes and edges that a kernel reads, also a kernel inside others."""
    label = str(kernel_option(kernel, "label", "label"))
    edge_label = kernel_option(kernel, "edge_label", None)
    return label, label if edge_label is None else str(edge_label)


def given_labels(y: Any, name: str, edge_name: str) -> tuple[list[Any], list[Any]]:
    """The labels of the nodes and of the edges of a graph, None for each without a label."""
    if is_networkx(y):
        nodes = [label for _, label in y.nodes(data=name)]
        return nodes, [label for _, _, label in y.edges(data=edge_name)]
    adjacency, labels = y[:2]
    nodes = [None] * n_objects(adjacency) if labels is None else list(labels)
    if len(y) == 2 or y[2] is None:
        return nodes, [None]  # one for all edges
    A = adjacency.toarray() if is_sparse(adjacency) else to_numpy(adjacency)
    return nodes, [y[2][a][b] for a, b in np.argwhere(A != 0).tolist()]


def _sketch(g: Graph, numbers: dict[Hashable, int], edge_numbers: dict[Hashable, int]) -> Sketch:
    """A parsed graph, its labels as numbers."""
    adjacency = np.zeros((len(g), len(g)), dtype=np.int64)
    kinds = [1 + edge_numbers[label] for label in edge_labels(g)]
    adjacency[np.repeat(np.arange(len(g)), np.diff(g.starts)), g.indices] = kinds
    return Sketch(adjacency, np.array([numbers[label] for label in g.labels]))
