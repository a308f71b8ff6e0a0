"""Folds over the nodes of a network, which are cut by rows and columns together."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from iokr._state import Stateful
from iokr._validation.arguments import check_choice, check_integer, check_rows
from iokr.data.frames import read
from iokr.data.objects import as_array, error_context, n_objects
from iokr.kernels.nodes import check_graph

__all__ = ["Network", "NodeKFold", "TooFewLinks", "check_labeled", "node_folds"]


class TooFewLinks(ValueError):
    """A network with too few nodes, links or pairs that are not linked to hold some out and learn from the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import LinkPredictor
    >>> from iokr.model_selection import TooFewLinks, cross_validate_links
    >>> one_link = np.zeros((6, 6))
    >>> one_link[0, 1] = one_link[1, 0] = 1
    >>> try:
    ...     cross_validate_links(LinkPredictor(), np.eye(6), one_link, cv=3, settings=("known-new",))
    ... except TooFewLinks:
    ...     print("some folds have no link to learn from")
    some folds have no link to learn from
    """


def check_labeled(labeled: Any, N: int) -> np.ndarray:
    """Numbers of the labelled nodes of N, from numbers, a mask, or None for all."""
    if N == 0:
        raise ValueError("`X` is empty; at least two nodes are needed.")
    index = np.arange(N) if labeled is None else _node_numbers(labeled, N)
    if len(index) < 2:
        raise ValueError(f"At least two labelled nodes are needed, got {len(index)}.")
    return index


def _node_numbers(labeled: Any, N: int) -> np.ndarray:
    """Distinct node numbers, as they are or from a mask."""
    with error_context("labeled"):
        given = as_array(read(labeled))
    if given.ndim != 1:
        raise ValueError(f"`labeled` must be a 1-D array of node numbers, or a mask, got shape {given.shape}.")
    if given.dtype.kind == "b":
        if len(given) != N:
            raise ValueError(f"`labeled` is a mask of {len(given)} entries but X has {N} nodes.")
        return np.flatnonzero(given)
    index = check_rows(given, N, "`labeled` must be a mask or hold node numbers, integers")
    if len(np.unique(index)) < len(index):
        twice = np.flatnonzero(np.bincount(index) > 1)[0]
        raise ValueError(f"`labeled` names node {int(twice)} more than once.")
    return index


def node_folds(cv: Any) -> Any:
    """The splitter that `cv` means: an integer is `NodeKFold(cv)`."""
    if isinstance(cv, Integral):
        return NodeKFold(cv)  # type: ignore[arg-type]
    if not hasattr(cv, "split") or not hasattr(cv, "get_n_splits"):
        raise TypeError(f"`cv` must be a number of folds or a splitter such as `NodeKFold(5)`, got {cv!r:.60}.")
    return cv


class NodeKFold(Stateful):
    """nodes = ∪ folds: every node is new once, with all of its links hidden.

    Folds over links leave some links of every node in training. Predicting the links of a node without known links is
    harder, and more common. The pairs of a held-out fold of nodes are of both kinds, known–new and new–new.

    Parameters
    ----------
    n_splits : int, default=5
    shuffle : bool, default=True
    random_state : int, default=0
        Of the shuffle.

    Examples
    --------
    >>> from iokr.model_selection import NodeKFold
    >>> [(len(train), len(test)) for train, test in NodeKFold(3).split(range(7))]
    [(4, 3), (5, 2), (5, 2)]
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: int = 0) -> None:
        self.n_splits = check_integer(n_splits, "n_splits", minimum=2)
        self.shuffle = check_choice(shuffle, "shuffle", (True, False))
        self.random_state = check_integer(random_state, "random_state", minimum=0)

    def __repr__(self) -> str:
        return f"NodeKFold({self.n_splits}, shuffle={self.shuffle}, random_state={self.random_state})"

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many folds."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(train, test) node numbers, ascending, a fold at a time; X is the nodes, only their number is read."""
        n = n_objects(X)
        if n < self.n_splits:
            raise TooFewLinks(f"There are {n} nodes, too few for {self.n_splits} folds; use a smaller `n_splits`.")
        order = np.random.default_rng(self.random_state).permutation(n) if self.shuffle else np.arange(n)
        for fold in np.array_split(order, self.n_splits):
            new = np.zeros(n, dtype=bool)
            new[fold] = True
            yield np.flatnonzero(~new), np.flatnonzero(new)


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
