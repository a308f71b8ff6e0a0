"""`PairModel` as a link predictor: all pairs of labelled nodes as examples, on the splits of the others."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, array_namespace, is_array
from iokr._component import Component, component
from iokr._objects import concat, n_objects, take
from iokr._validation import check_number
from iokr.estimators.inputs import Border, check_inputs
from iokr.estimators.links.network import check_names, check_network
from iokr.estimators.pairs.model import PairModel
from iokr.kernels.base import Kernel
from iokr.rivals.base import check_node_kernel

__all__ = ["PairLinks"]


@component
class PairLinks(Component):
    """s(u, v) = Σ_p c_p κ({u, v}, p): ridge on all pairs of labelled nodes by `PairModel`, a node being like itself.

    Pairs are labelled 1 if linked and `unlinked` if not. `PairModel` codes two labels as ±1; the solution is linear in
    the labels, hence ½(1 − `unlinked`) times that for ±1 plus ½(1 + `unlinked`) times that for 1 throughout. All from
    one eigendecomposition of K.

    Parameters
    ----------
    kernel : Kernel, default=None
        On the nodes' inputs; None is `RBF()`.
    strategy : {"kernel", "duplicate", "local"}, default="kernel"
        As in `PairModel`.
    mix : float, default=0.0
        δ of the pair kernel, as in `PairModel`; 0 is TPPK.
    alpha : float, default=1.0
        λ > 0: larger shrinks.
    unlinked : float, default=0.0
        Label of pairs without a link. There is no intercept: with 0, far from all data means "no link".

    Attributes
    ----------
    models_ : list of (factor, PairModel)
        The score is Σ factor · `model.decision_function`.
    labeled_ : array of shape (n,)
        The labelled nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.rivals import PairLinks
    >>> X, graph = np.array([[0.0], [0.1], [3.0], [3.1]]), np.kron(np.eye(2), 1 - np.eye(2))
    >>> scores = PairLinks(alpha=0.1).fit(X, graph).decision_function([[0.2]], [[0.0], [3.0]])
    >>> bool(scores[0, 0] > scores[0, 1])
    True
    """

    kernel: Kernel | None = None
    _: KW_ONLY
    strategy: str = "kernel"
    mix: float = 0.0
    alpha: float = 1.0
    unlinked: float = 0.0

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> PairLinks:
        """Learn from the links between labelled nodes.

        Parameters
        ----------
        X : array or sequence of N objects
            All nodes.
        adjacency : array or sparse matrix, (n, n) or (N, N)
            Symmetric links between the labelled nodes in the order of `labeled`, or between all nodes, of which only
            rows and columns in `labeled` are read.
        labeled : integers or mask, default=None
            Nodes whose links are known; None is all.

        Returns
        -------
        self
        """
        if check_number(self.unlinked, "unlinked") >= 1:
            raise ValueError(f"`unlinked` must be below 1, the label of links, got {self.unlinked!r}.")
        kernel = check_node_kernel(self.kernel)
        check_names(X, adjacency)
        X = check_inputs(self, X, kernel, reset=True)
        network = check_network(X, adjacency, labeled)
        self.X_fit_, self.labeled_ = X, network.labeled
        self._border = Border(kernel, X if is_array(X) else np.empty(0))
        a, b = np.triu_indices(len(self.labeled_))
        linked = np.where(a == b, 1, network.graph.toarray()[a, b] != 0)
        model = PairModel(kernel, strategy=self.strategy, mix=self.mix, alpha=self.alpha)
        # Self-pairs of half the weight make all ordered pairs weigh the same: the closed form.
        weight = np.where(a == b, 0.5, 1.0)
        nodes, pairs = take(X, self.labeled_), np.stack([a, b], axis=1)
        labels = ((linked, (1 - self.unlinked) / 2), (np.ones(len(a)), (1 + self.unlinked) / 2))
        self.models_ = [
            (factor, clone(model).fit(nodes, pairs, y, sample_weight=weight)) for y, factor in labels if factor
        ]
        return self

    def decision_function(self, X1: Any = None, X2: Any = None) -> Array:
        """The score of every node of the first list with every node of the second.

        Parameters
        ----------
        X1, X2 : arrays or sequences of objects, default=None
            None is the nodes of `fit`, in that order, of which the labelled ones are known again.

        Returns
        -------
        scores : array of shape (m1, m2)
            Higher means "link".
        """
        check_is_fitted(self)
        first, second = self._numbers(X1), self._numbers(X2)
        X1, X2 = (self.X_fit_ if X is None else self._border.check(self, X) for X in (X1, X2))
        new = len(self.labeled_)
        first = np.where(first < 0, new + np.arange(len(first)), first)
        second = np.where(second < 0, new + len(first) + np.arange(len(second)), second)
        pairs = np.stack([np.repeat(first, len(second)), np.tile(second, len(first))], axis=1)
        nodes = concat(X1, X2)
        scores: Any = sum(factor * model.decision_function(pairs, nodes) for factor, model in self.models_)
        return array_namespace(scores).reshape(scores, (len(first), len(second)))

    def _numbers(self, X: Any) -> np.ndarray:
        """Positions among the labelled nodes, −1 for the others."""
        if X is not None:
            return np.full(n_objects(X), -1)
        found = np.full(n_objects(self.X_fit_), -1)
        found[self.labeled_] = np.arange(len(self.labeled_))
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags
