"""The data of link prediction: which nodes are labelled, and the links between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from iokr._array import Array, asarray_like, is_array, is_sparse, to_numpy
from iokr.data.frames import read
from iokr.data.objects import error_context, n_objects, take
from iokr.kernels.algebra import Normalized
from iokr.kernels.base import Kernel, check_gram
from iokr.kernels.nodes import Diffusion, NodeKernel, check_graph
from iokr.model_selection.nodes import Network as CutNetwork
from iokr.model_selection.nodes import check_labeled

__all__ = ["LinkData", "Network", "check_names", "check_network", "fit_output_kernel", "graph_matrix", "node_names"]


@dataclass(frozen=True, eq=False)
class Network:
    """N nodes, n of them labelled: all links between two labelled nodes are known."""

    n_nodes: int  # N
    labeled: np.ndarray  # (n,), in the order of the rows of `graph`
    graph: csr_array  # (n, n), weights of the links between labelled nodes, symmetric
    part: np.ndarray | None = None  # (N,), the numbers of the nodes in the whole network, if they were cut from one

    def _stored(self) -> dict[str, Any]:
        return {"n_nodes": self.n_nodes, "labeled": self.labeled, "graph": self.graph, "part": self.part}

    @property
    def unlabeled(self) -> np.ndarray:
        """The other nodes, ascending."""
        rest = np.ones(self.n_nodes, dtype=bool)
        rest[self.labeled] = False
        return np.flatnonzero(rest)

    def links(self) -> np.ndarray:
        """Known links as (k, 2) node numbers i < j, sorted."""
        ends = self.graph.tocoo()
        pairs = np.sort(self.labeled[np.column_stack([ends.row, ends.col])], axis=1)
        return np.unique(pairs[ends.row < ends.col], axis=0)

    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions i < j of all pairs of labelled nodes, and whether they are linked."""
        rows, columns = np.triu_indices(len(self.labeled), k=1)
        return rows, columns, self.graph.toarray()[rows, columns] > 0

    def columns(self, K: Array) -> Array:
        """The columns of the labelled nodes, of a matrix with a column per node."""
        return K if len(self.labeled) == self.n_nodes else asarray_like(to_numpy(K)[:, self.labeled], K)


@dataclass(frozen=True, eq=False)
class LinkData:
    """The checked arguments of `fit` of a link predictor."""

    X: Any  # N nodes
    network: Network
    pairwise: bool  # whether X is the Gram matrix over all nodes
    single: bool  # whether results are float32
    names: np.ndarray | None = None  # of the nodes, if X has them

    @property
    def X_labeled(self) -> Any:
        """The inputs of the labelled nodes."""
        return take(self.network.columns(self.X) if self.pairwise else self.X, self.network.labeled)

    @property
    def X_unlabeled(self) -> Any:
        """The inputs of the other nodes, None if all nodes are labelled."""
        others = self.network.unlabeled
        return take(self.X, others) if len(others) else None


def check_names(X: Any, adjacency: Any) -> None:
    """Raise if tables name their rows in different orders: they are read by position, not by name."""
    rows, columns = (_names(adjacency, axis) for axis in ("index", "columns"))
    for name, other in (("columns of `adjacency`", columns), ("rows of X", _names(X, "index"))):
        if rows is not None and other is not None and rows != other and sorted(rows) == sorted(other):
            raise ValueError(
                f"The rows of `adjacency` and the {name} must have the same order, but their names are ordered "
                "differently; use for example `adjacency.loc[X.index, X.index]`."
            )


def node_names(X: Any) -> np.ndarray | None:
    """The names of the rows of a pandas table, as text; None if there are none, or numbers."""
    names = _names(X, "index")
    return None if names is None else np.array(names, dtype=str)


def graph_matrix(adjacency: Any, X: Any) -> Any:
    """The weights of a NetworkX graph in the order of X; anything else as it is.

    Nodes 0 … N − 1 are rows of X; other nodes are looked up in the index of X. Rows without a node have no link.
    """
    if not (hasattr(adjacency, "number_of_nodes") and hasattr(adjacency, "edges")):
        return adjacency
    if adjacency.is_directed():
        raise ValueError("`adjacency` must be an undirected graph; use `graph.to_undirected()`.")
    import networkx as nx

    names = _names(X, "index")
    order = list(range(n_objects(X))) if names is None else names
    unknown = sorted(set(adjacency.nodes) - set(order), key=str)
    if unknown and names is None:
        raise ValueError(
            f"`adjacency` is a graph with nodes such as {unknown[0]!r:.40}, but the rows of X have no names: pass X as "
            "a frame with the names as its index, or relabel the nodes 0, 1, … in the order of X."
        )
    if unknown:
        raise ValueError(
            f"Every node of `adjacency` must be in the index of X, but {unknown[0]!r:.40} is not ({len(unknown)} such "
            "nodes); add their features, or use `graph.subgraph(X.index)`."
        )
    graph = adjacency.copy()
    graph.add_nodes_from(order)  # rows of X without a node have no links
    return csr_array(nx.to_scipy_sparse_array(graph, nodelist=order, dtype=float))


def _names(table: Any, axis: str) -> list[str] | None:
    """The names of the rows or columns of a pandas table; None if there are none, or numbers."""
    names: Any = getattr(table, axis, None)
    return list(names) if getattr(names, "inferred_type", "") == "string" else None


def check_network(X: Any, adjacency: Any, labeled: Any = None) -> Network:
    """The network that `fit(X, adjacency, labeled)` describes, checked.

    `adjacency` is over the labelled nodes in the order of `labeled`, or over all nodes, of which only rows and columns
    in `labeled` are read.
    """
    N = n_objects(X)
    index = check_labeled(labeled, N)
    n = len(index)
    adjacency = graph_matrix(adjacency, X)
    part = adjacency.nodes if isinstance(adjacency, CutNetwork) else None
    W = _matrix(adjacency if part is None else adjacency.adjacency)
    if W.shape not in {(n, n), (N, N)}:
        sizes = f"({n}, {n})" if n == N else f"({n}, {n}), the labelled nodes, or ({N}, {N}), all nodes"
        raise ValueError(f"`adjacency` must have the shape {sizes}, got {tuple(W.shape)}.")
    if n == N and not np.array_equal(index, np.arange(N)):
        raise ValueError(
            "`labeled` contains all nodes in another order than X, so that rows of `adjacency` are ambiguous; leave "
            "`labeled` out and pass `adjacency` in the order of X."
        )
    if n < N and W.shape == (N, N):
        W = W[index][:, index] if is_sparse(W) else W[np.ix_(index, index)]
    graph = check_graph(W, "adjacency")
    if graph.nnz == 0:
        raise ValueError("`adjacency` must have a link between two labelled nodes, but has none.")
    return Network(N, index, graph, part)


def fit_output_kernel(kernel: Kernel | None, network: Network) -> tuple[Kernel, Array]:
    """The output kernel, fitted on the labelled nodes, and V with V Vᵀ = K_Y.

    Node kernels without a graph get that of the labelled nodes, whose numbers are then 0 … n − 1; a kernel with its own
    graph or matrix has one row for every node of X.
    """
    kernel = Normalized(Diffusion(1.0)) if kernel is None else clone(kernel)
    if kernel.pairwise or kernel.numeric:
        raise ValueError(
            f"`output_kernel` must compare nodes by their number, got {kernel!r:.60}; use a node kernel such as "
            "`Diffusion()`, or `Precomputed(matrix)` over all nodes."
        )
    nodes = [part for part in _with_members(kernel) if isinstance(part, NodeKernel)]
    without_graph = [part for part in nodes if part.graph is None]
    if without_graph and len(without_graph) < len(nodes):
        raise ValueError(
            f"The node kernels of `output_kernel` must all have a graph over all nodes, or none may have one, got "
            f"{kernel!r}; those without a graph get that of the labelled nodes."
        )
    for part in without_graph:  # parts of the clone
        part.graph = network.graph
    objects = np.arange(len(network.labeled)) if without_graph else network.labeled
    kernel = kernel.fit(objects)
    R = kernel.represent(objects)
    check_gram(kernel.gram(R), kernel.trusted, "output_kernel")
    for part in without_graph:
        part.graph = None  # the fitted kernel does not need a copy of it
    return kernel, kernel.coordinates(R)


def _matrix(adjacency: Any) -> Any:
    """A NumPy array or a CSR matrix, entries not checked."""
    if is_sparse(adjacency):
        return csr_array(adjacency)
    with error_context("adjacency"):
        adjacency = read(adjacency, matrix=True)
    try:
        W = to_numpy(adjacency) if is_array(adjacency) else np.asarray(adjacency)
    except ValueError:
        raise ValueError("`adjacency` must be a symmetric matrix; its rows have different lengths.") from None
    if W.ndim != 2:
        raise ValueError(
            f"`adjacency` must be a symmetric matrix, dense or sparse, with a row and a column per node, got shape "
            f"{W.shape}."
        )
    return W


def _with_members(kernel: Kernel) -> Iterator[Kernel]:
    """The kernel and all kernels that it is made of."""
    yield kernel
    for member in kernel.members:
        yield from _with_members(member)
