"""The graph kernels of the GraKeL library."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from iokr._array import Array
from iokr._component import component
from iokr.data.graphs import Graph, graphs
from iokr.data.objects import as_objects
from iokr.kernels.base import Kernel

__all__ = ["GraKeL"]


@component
class GraKeL(Kernel):
    """k(x, z) by a kernel of the GraKeL library, on the same graphs as the other graph kernels.

    A block is a `fit` and a `transform` of a copy of the kernel. Needs the `graph` extra. Do not set `normalize` in
    GraKeL's kernel (wrap this one in `Normalized`), nor a random state that changes between calls. The Gram matrix is
    checked to be positive semi-definite, since not all of GraKeL's are.

    Parameters
    ----------
    kernel : object
        A kernel of GraKeL, such as `grakel.RandomWalk(lamda=0.01)`.
    label : str, default="label"
        The node attribute of NetworkX graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import GraKeL
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> from grakel import VertexHistogram  # doctest: +SKIP
    >>> GraKeL(VertexHistogram())([(path, "COC"), (path, "CCO")])  # doctest: +SKIP
    array([[5., 5.],
           [5., 5.]])
    """

    kernel: Any
    label: str = "label"

    domain = "graphs"
    trusted = False

    def state(self) -> dict[str, Any]:
        raise TypeError("GraKeL(...) cannot be saved: it represents graphs as objects of the package grakel.")

    def fit(self, X: Any) -> GraKeL:
        """Check that GraKeL is installed and that the kernel is one of its kernels."""
        try:
            from grakel.kernels import Kernel as Theirs
        except ImportError as error:
            raise ImportError("`GraKeL` needs the package grakel; install `iokr[graph]`.") from error
        if not isinstance(self.kernel, Theirs):
            raise TypeError(f"`kernel` must be a kernel of GraKeL, got {self.kernel!r:.60}.")
        return self

    def represent(self, X: Any) -> np.ndarray:
        """Graphs of GraKeL."""
        return as_objects(_theirs(g) for g in graphs(X, self.label))

    def block(self, R: np.ndarray, S: np.ndarray) -> Array:
        if not len(R) or not len(S):
            return np.zeros((len(R), len(S)))
        return np.asarray(clone(self.kernel).fit(list(S)).transform(list(R)), dtype=np.float64)

    def diag(self, R: np.ndarray) -> Array:
        return np.array([clone(self.kernel).fit_transform([x])[0, 0] for x in R], dtype=np.float64)


def _theirs(g: Graph) -> Any:
    """A graph of GraKeL: edges in both directions, and labels of nodes and edges."""
    from grakel import Graph as Theirs

    ends = np.repeat(np.arange(len(g)), np.diff(g.starts)).tolist()
    edges: dict[int, dict[int, float]] = {i: {} for i in range(len(g))}
    for a, b in zip(ends, g.indices.tolist(), strict=True):
        edges[a][b] = 1.0
    labels = {i: "none" if label is None else label for i, label in enumerate(g.labels)}
    if g.edges is None:
        return Theirs(edges, node_labels=labels)
    links = dict(zip(zip(ends, g.indices.tolist(), strict=True), g.edges, strict=True))
    return Theirs(edges, node_labels=labels, edge_labels=links)
