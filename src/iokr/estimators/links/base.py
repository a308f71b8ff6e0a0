"""What models of links share: nodes and their network, scores of two lists of nodes, predicted links."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, array_namespace, asarray_like, gemm, to_numpy
from iokr._system.memory import check_matrix
from iokr._validation.arguments import check_computed, check_same_length
from iokr.data.objects import n_objects
from iokr.estimators.base import KernelModel
from iokr.estimators.inputs import adapt
from iokr.estimators.links.network import (
    LinkData,
    Network,
    check_names,
    check_network,
    graph_matrix,
    node_names,
)
from iokr.estimators.links.ranking import best_pairs, f1_threshold, fit_logistic, lower_bound, root_mean_square
from iokr.kernels.base import Kernel
from iokr.kernels.nodes import check_graph
from iokr.metrics.pairs import roc_auc_pairs
from iokr.model_selection.nodes import Network as CutNetwork
from iokr.model_selection.nodes import NodeKFold, TooFewLinks
from iokr.operator_kernels.base import OperatorKernel

__all__ = ["SCORES", "LinkModel"]

SCORES = "A score for every pair"  # what memory is needed for, in errors
_FOLDS = 5


class LinkModel(KernelModel, ABC):
    """s(u, v) = ⟨a_u, b_v⟩: a score for any two nodes, seen or not; higher means a link.

    A subclass writes `factors`, the vectors of nodes, and `unfitted`, a model with the parameters in use.
    """

    nodes_: Any  # the inputs of `fit`
    network_: Network
    labeled_: np.ndarray
    names_: np.ndarray | None = None  # of the nodes, where X had them

    def _stored(self) -> dict[str, Any]:
        return {"pairwise": self._pairwise}

    @abstractmethod
    def factors(self, X: Any = None, *, nodes: Any = None) -> tuple[Array, Array]:
        """(A, B) with s(u, v) = ⟨a_u, b_v⟩ for nodes X, for some nodes of `fit` by number, or for all of them."""

    @abstractmethod
    def unfitted(self) -> Any:
        """A model with the parameters in use, to be fitted to other links."""

    def _check_nodes(self, X: Any, adjacency: Any, labeled: Any, kernel: Kernel | OperatorKernel) -> LinkData:
        """What `fit` is given, checked; scikit-learn's bookkeeping of features is kept."""
        self._check_components()
        check_names(X, adjacency)
        adjacency, names = graph_matrix(adjacency, X), node_names(X)
        sample = adapt(self, X, kernel, reset=True)
        X = sample.X
        if kernel.pairwise and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"With `Precomputed()` X is the Gram matrix over all nodes, hence square, got shape {tuple(X.shape)}."
            )
        return LinkData(X, check_network(X, adjacency, labeled), kernel.pairwise, sample.single, names)

    def _set_nodes(self, data: LinkData) -> None:
        """Keep the nodes and their network; what was computed for earlier ones is forgotten."""
        for stale in ("threshold_", "logistic_"):
            self.__dict__.pop(stale, None)
        self.nodes_ = data.X
        self.network_ = data.network
        self.labeled_ = data.network.labeled
        self.names_ = data.names
        self._pairwise = data.pairwise
        self._single_precision = data.single

    def decision_function(self, X1: Any = None, X2: Any = None) -> Array:
        """s(u, v), (m1, m2), for nodes u of X1 and v of X2; None is the nodes of `fit`, in their order.

        Higher means a link. Symmetric when both lists are the same.
        """
        check_is_fitted(self)
        m1, m2 = (n_objects(self.nodes_ if X is None else X) for X in (X1, X2))
        check_matrix(m1, m2, self.nodes_ if X1 is None else X1, 2.0, SCORES)
        A, B = self.factors(X1)
        if X2 is not X1:
            _, B = self.factors(X2)
        return self._cast(check_computed(gemm(A, B), "Node", "s(u, v)"))

    def scores_among(self, nodes: Any) -> Array:
        """s between some of the nodes of `fit`, given by their numbers, (m, m); the others are not scored."""
        A, B = self.factors(nodes=nodes)
        check_matrix(int(A.shape[0]), int(B.shape[0]), A, 2.0, SCORES)
        return self._cast(check_computed(gemm(A, B), "Node", "s(u, v)"))

    def score(self, X: Any, adjacency: Any) -> float:
        """ROC area of pairs with a new node: the fraction of (link, other pair) that the scores put in this order.

        Parameters
        ----------
        X : as at fit, m nodes
        adjacency : array or sparse matrix of shape (m, m), or `Network`
            With a matrix, all pairs of the m nodes count. A `Network` that was cut like that of `fit`, as
            `GridSearchCV` does, knows which nodes are new and which links they have to those of `fit`: pairs of a new
            and a labelled node count as well, and pairs of two nodes of `fit` do not, unless there are no others.

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        m = n_objects(X)
        S = to_numpy(self.decision_function(X, X))
        if not isinstance(adjacency, CutNetwork):
            W = check_graph(adjacency, "adjacency")
            if W.shape[0] != m:
                raise ValueError(f"`adjacency` has {W.shape[0]} nodes but X has {m}; it needs a row and a column each.")
            return _roc(W.toarray()[np.triu_indices(m, k=1)] != 0, S[np.triu_indices(m, k=1)])
        check_same_length(X, adjacency, "X", "adjacency")
        known = np.empty(0, dtype=np.intp)
        if self.network_.part is not None:
            known = self.network_.part[self.labeled_]
        new = ~np.isin(adjacency.nodes, known)
        counted = new if new.any() else ~new  # without new nodes, the nodes of `fit` themselves
        among = np.triu(counted[:, None] | counted[None, :], k=1)
        truth, scores = [adjacency.links_to(adjacency.nodes)[among]], [S[among]]
        others = ~np.isin(known, adjacency.nodes)
        if new.any() and others.any():
            with_known = to_numpy(self.decision_function(X))[:, self.labeled_]
            truth.append(adjacency.links_to(known[others])[new].ravel())
            scores.append(with_known[new][:, others].ravel())
        return _roc(np.concatenate(truth), np.concatenate(scores))

    def _held_out_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Whether pairs are linked, and their scores without their links. May be overridden: a closed form."""
        return self._fold_pairs()

    def _fold_pairs(self, *, sized: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Whether pairs with a node of a fold are linked, and their scores by a model without the links of that node.

        A smaller network has smaller or larger scores: where `sized`, those of a fold are multiplied so that the root
        mean square between its known nodes is that of this model.
        """
        linked, scores = [], []
        model = self.unfitted()
        W = self.network_.graph.toarray() > 0
        n = len(W)
        known = np.ix_(self.labeled_, self.labeled_)
        size = root_mean_square(to_numpy(self.decision_function())[known]) if sized else 1.0
        for train, test in NodeKFold(min(_FOLDS, n)).split(W):
            graph = self.network_.graph[train][:, train]
            if graph.nnz == 0:
                continue
            model.fit(self.nodes_, graph, labeled=self.labeled_[train])
            S = to_numpy(model.decision_function())[known]
            if sized:
                S = S * (size / root_mean_square(S[np.ix_(train, train)]))
            new = np.isin(np.arange(n), test)
            rows, columns = np.nonzero(np.triu(new[:, None] | new[None, :], k=1))
            linked.append(W[rows, columns])
            scores.append(S[rows, columns])
        if not linked:
            raise TooFewLinks("Too few links for node folds: no fold leaves one to learn from; give `threshold`.")
        return np.concatenate(linked), np.concatenate(scores)

    def best_threshold(self) -> float:
        """θ above which a pair is called a link: the largest F1 on held-out pairs.

        Computed at the first call and kept as `threshold_`.
        """
        check_is_fitted(self)
        if "threshold_" not in vars(self):
            self.threshold_ = f1_threshold(*self._held_out_pairs())
        return self.threshold_

    def link_probability(self, X1: Any = None, X2: Any = None) -> Array:
        """σ(a s(u, v) + b), (m1, m2): the probability that u and v are linked; nodes as in `decision_function`.

        a and b have the smallest log loss on pairs with a node of a fold, scored by models without its links (five
        fits at the first call, kept as `logistic_`), whose scores are brought to the size of these. Calibrated on
        average over pairs with a new node; there is no guarantee, as pairs that share a node are not exchangeable. The
        value of a node with itself has no meaning.
        """
        scores = self.decision_function(X1, X2)
        if "logistic_" not in vars(self):
            self.logistic_ = fit_logistic(*self._fold_pairs(sized=True))
        a, b = self.logistic_
        return self._cast(1 / (1 + array_namespace(scores).exp(-(a * scores + b))))

    def predict_links(
        self,
        X1: Any = None,
        X2: Any = None,
        *,
        threshold: float | None = None,
        top: int | None = None,
        known: bool = False,
    ) -> Any:
        """The pairs most likely to be linked, best first.

        Scores are computed in panels and only the best are kept: memory does not grow with m1 · m2 when `top` is given.

        Parameters
        ----------
        X1, X2 : features of m1 and m2 nodes, default=None
            None is the nodes of `fit`. One and the same list twice (both None, or `X2 is X1`) gives pairs i < j of
            it; two lists give every pair (i, j), i of the first and j of the second.
        threshold : float, default=None
            Only pairs with a larger score; None is `best_threshold()`, or no threshold when `top` is given.
        top : int, default=None
            The largest number of pairs.
        known : bool, default=False
            Whether to list the links that `fit` was given, too.

        Returns
        -------
        pairs : array of shape (k, 2)
            Indices in the two lists.
        scores : array of shape (k,)
            Descending; equal scores in the order of the pairs.

        Where every node has a name, X having been a frame with names as its index, both are one frame with the columns
        ``source``, ``target`` and ``score``.
        """
        check_is_fitted(self)
        above = lower_bound(threshold, top, known, self.best_threshold)
        A, B = self.factors(X1)
        if X2 is not X1:
            _, B = self.factors(X2)
        left_out = self.network_.links() if not known and X1 is None and X2 is None else None
        pairs, scores = best_pairs(A, B, top=top, above=above, known=left_out, one_list=X2 is X1)
        one, other = (self.names_ if X is None else node_names(X) for X in (X1, X2))
        if one is not None and other is not None:
            import pandas as pd

            return pd.DataFrame({"source": one[pairs[:, 0]], "target": other[pairs[:, 1]], "score": scores})
        return asarray_like(pairs, A), self._cast(asarray_like(scores, A))


def _roc(linked: np.ndarray, scores: np.ndarray) -> float:
    """The area, which needs links and other pairs."""
    if not linked.any() or linked.all():
        raise ValueError(
            f"The ROC area needs links and other pairs, but {int(linked.sum())} of {len(linked)} pairs with a new node "
            "are linked; use fewer folds, or more nodes."
        )
    return roc_auc_pairs(linked, scores)
