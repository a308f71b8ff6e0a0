"""A network that folds can cut: by rows and columns together."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from iokr._state import Stateful
from iokr.kernels.nodes import check_graph

__all__ = ["Network"]


class Network(Stateful):
    """(W, I): the nodes I of the network W; `network[rows]` is (W, I[rows]), rows and columns cut together.

    Wrapped so, an adjacency matrix can be the second argument of scikit-learn's searches: a fold of nodes is cut out of
    rows and columns, `LinkPredictor` learns from the links between the nodes of the training part, and its `score` is
    the ROC area of all pairs with a new node, those of a new and a known one included: a part remembers the whole.

    Parameters
    ----------
    adjacency : array or sparse matrix of shape (n, n)
        Symmetric weights of at least 0, a row and a column per node.

    Attributes
    ----------
    whole : csr_array of shape (n, n)
    nodes : array of int
        Which nodes of the whole these are.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from iokr import LinkPredictor
    >>> from iokr.kernels import RBF
    >>> from iokr.model_selection import Network
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> network = Network((abs(X - X.T) < 0.5) - np.eye(40))
    >>> network[:10]
    Network(10 of 40 nodes)
    >>> search = GridSearchCV(LinkPredictor(RBF(1.0)), {"alpha": [0.01, 1e4]}, cv=4).fit(X[::-1], network[::-1])
    >>> search.best_params_
    {'alpha': 0.01}
    """

    whole: csr_array
    nodes: np.ndarray

    def __init__(self, adjacency: Any) -> None:
        if isinstance(adjacency, Network):
            self.whole, self.nodes = adjacency.whole, adjacency.nodes
            return
        self.whole = check_graph(adjacency, "adjacency")
        self.nodes = np.arange(self.whole.shape[0])

    def _stored(self) -> dict[str, Any]:
        return {"whole": self.whole, "nodes": self.nodes}

    @property
    def shape(self) -> tuple[int]:
        """(n,), so that folds know they can cut it."""
        return (len(self.nodes),)

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, rows: Any) -> Network:
        if isinstance(rows, tuple):  # scikit-learn asks for [rows, ...]
            rows = rows[0]
        part = Network(self)
        part.nodes = np.atleast_1d(self.nodes[rows])
        return part

    @property
    def adjacency(self) -> csr_array:
        """The links between these nodes."""
        return csr_array(self.whole[self.nodes][:, self.nodes])

    def links_to(self, nodes: np.ndarray) -> np.ndarray:
        """(len(self), len(nodes)): whether each of these nodes is linked to others, numbered as in the whole."""
        return np.asarray(self.whole[self.nodes][:, nodes].toarray() != 0)

    def __repr__(self) -> str:
        n, N = len(self.nodes), self.whole.shape[0]
        return f"Network({n} nodes)" if n == N else f"Network({n} of {N} nodes)"
