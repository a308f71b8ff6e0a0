"""κ̂(u, v) = ⟨h(u), h(v)⟩: links between nodes, from their features and the links that are known."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, array_namespace, asarray_like, gemm, to_numpy
from iokr._component import component
from iokr._system.memory import check_matrix
from iokr._validation.arguments import check_choice, check_computed, check_integer, check_number, check_same_length
from iokr.data.objects import n_objects, take
from iokr.estimators.base import KernelModel
from iokr.estimators.inputs import check_inputs, check_isotropic, check_kernel
from iokr.estimators.links.network import (
    LinkData,
    check_names,
    check_network,
    fit_output_kernel,
    graph_matrix,
    node_names,
)
from iokr.estimators.links.probability import fit_logistic, root_mean_square
from iokr.estimators.links.ranking import best_pairs, f1_threshold
from iokr.estimators.outputs import single_precision
from iokr.estimators.regression.iokr import IOKR, left_out_values
from iokr.kernels.base import Kernel
from iokr.kernels.nodes import check_graph
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.metrics.pairs import roc_auc_pairs
from iokr.model_selection import Network, NodeKFold
from iokr.operator_kernels.base import OperatorKernel
from iokr.solvers.base import Solver

__all__ = ["LinkPredictor", "LinkRegression"]

_SCORES = "A score for every pair"


class LinkRegression(KernelModel):
    """What `LinkPredictor` and `LinkPredictorCV` share: nodes in, h learned by kernel regression, pairs out."""

    kernel: Any
    output_kernel: Any
    loss: Loss | None
    manifold: Any
    solver: Solver | None

    model_: IOKR

    def _prepare(self, X: Any, adjacency: Any, labeled: Any, kernels: list[Kernel | OperatorKernel]) -> LinkData:
        """What `fit` is given, checked; scikit-learn's bookkeeping of features is kept."""
        self._check_components()
        single = single_precision(X)
        check_names(X, adjacency)
        adjacency, names = graph_matrix(adjacency, X), node_names(X)
        X = check_inputs(self, X, kernels[0], reset=True)
        pairwise = kernels[0].pairwise
        if pairwise and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"With `Precomputed()` X is the Gram matrix over all nodes, hence square, got shape {tuple(X.shape)}."
            )
        network = check_network(X, adjacency, labeled)
        for kernel in kernels:
            if isinstance(kernel, OperatorKernel) and kernel.explicit_outputs:
                check_isotropic(kernel)
        return LinkData(X, network, pairwise, single, names)

    def _keep(self, data: LinkData, output_kernel: Kernel, model: IOKR) -> None:
        """Keep the nodes, their network and the fitted regression."""
        for stale in ("threshold_", "logistic_"):
            self.__dict__.pop(stale, None)
        self.nodes_, self.network_, self.labeled_ = data.X, data.network, data.network.labeled
        self.output_kernel_, self.model_ = output_kernel, model
        self._pairwise, self._single_precision = data.pairwise, data.single
        self.names_ = data.names

    def _values(self, X: Any) -> Array:
        """h(u) in orthonormal coordinates, (m, r); None is the nodes of fit."""
        check_is_fitted(self)
        X = self.nodes_ if X is None else check_inputs(self, X, self.model_.kernel_, reset=False)
        return self.model_.decision_function(self.network_.columns(X) if self._pairwise else X)

    def decision_function(self, X1: Any = None, X2: Any = None) -> Array:
        """κ̂(u, v) = ⟨h(u), h(v)⟩, (m1, m2), for nodes u of X1 and v of X2; None is the nodes of `fit`, in their order.

        Higher means a link. Symmetric and positive semi-definite when both lists are the same.
        """
        check_is_fitted(self)
        m1, m2 = (n_objects(self.nodes_ if X is None else X) for X in (X1, X2))
        check_matrix(m1, m2, self.nodes_ if X1 is None else X1, 2.0, _SCORES)
        H1 = self._values(X1)
        H2 = H1 if X2 is X1 else self._values(X2)
        return self._cast(check_computed(gemm(H1, H2), "Node", "⟨h(u), h(v)⟩"))

    def scores_among(self, nodes: Any) -> Array:
        """κ̂ between some of the nodes of `fit`, given by their numbers, (m, m); the others are not scored."""
        check_is_fitted(self)
        chosen = take(self.nodes_, np.asarray(nodes))
        return self.decision_function(chosen, chosen)

    def loo_decision_function(self) -> Array:
        """κ̂ between labelled nodes, each without its own label: ⟨h₋ᵢ(x_i), h₋ⱼ(x_j)⟩, in closed form.

        An (n, n) array in the order of `labeled_`. K_Y is held fixed. It was computed from all known links, so it still
        knows those of the node left out, and metrics of these scores are optimistic: use them to choose, not to report.
        """
        check_is_fitted(self)
        check_matrix(len(self.labeled_), len(self.labeled_), self.nodes_, 2.0, _SCORES)
        H = left_out_values(self.model_)
        return self._cast(check_computed(gemm(H, H), "Node", "⟨h(u), h(v)⟩"))

    def score(self, X: Any, adjacency: Any) -> float:
        """ROC area of pairs with a new node: the fraction of (link, other pair) that the scores put in this order.

        Parameters
        ----------
        X : as at fit, m nodes
        adjacency : array or sparse matrix of shape (m, m), or `Network`
            Of a matrix, all pairs of the m nodes count. A `Network` that was cut like that of `fit`, as
            `GridSearchCV` does, knows which nodes are new and which links they have to those of `fit`: pairs of a new
            and a labelled node count as well, and pairs of two nodes of `fit` do not, unless there are no others.

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        m = n_objects(X)
        S = to_numpy(self.decision_function(X, X))
        if not isinstance(adjacency, Network):
            W = check_graph(adjacency, "adjacency")
            if W.shape[0] != m:
                raise ValueError(f"`adjacency` has {W.shape[0]} nodes but X has {m}; it needs a row and a column each.")
            return _roc(W.toarray()[np.triu_indices(m, k=1)] != 0, S[np.triu_indices(m, k=1)])
        check_same_length(X, adjacency, "X", "adjacency")
        known = np.empty(0, dtype=np.intp) if self.network_.part is None else self.network_.part[self.labeled_]
        new = ~np.isin(adjacency.nodes, known)
        among = np.triu(new[:, None] | new[None, :], k=1)
        if not new.any():  # the nodes of `fit` themselves
            among = np.triu(np.ones((m, m), dtype=bool), k=1)
        truth, scores = [adjacency.links_to(adjacency.nodes)[among]], [S[among]]
        others = ~np.isin(known, adjacency.nodes)
        if new.any() and others.any():
            beside = to_numpy(self.decision_function(X))[:, self.labeled_]
            truth.append(adjacency.links_to(known[others])[new].ravel())
            scores.append(beside[new][:, others].ravel())
        return _roc(np.concatenate(truth), np.concatenate(scores))

    @cached_property
    def threshold_(self) -> float:
        """θ above which a pair is called a link, the best F1 on labelled pairs; found when it is first asked for."""
        check_is_fitted(self)
        return f1_threshold(*(self._loo_pairs() if self.model_.loss_.quadratic else self._fold_pairs()))

    def _loo_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Whether the labelled pairs are linked, and their leave-one-out scores."""
        check_matrix(len(self.labeled_), len(self.labeled_), self.nodes_, 4.0, _SCORES)
        H = left_out_values(self.model_)
        rows, columns, linked = self.network_.pairs()
        return linked, to_numpy(gemm(H, H))[rows, columns]

    def _fold_pairs(self, *, sized: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Whether pairs with a node of the fold are linked, and their scores by a model that never saw its links.

        A smaller network has another K_Y: where `sized`, scores of a fold are multiplied so that those between its
        known nodes have the root mean square that they have here.
        """
        linked, scores = [], []
        parts: dict[str, Any] = {"output_kernel": clone(self.output_kernel_), "loss": self.loss, "solver": self.solver}
        model = LinkPredictor(self.model_.kernel, alpha=self.model_.alpha, manifold=self.model_.manifold, **parts)
        W = self.network_.graph.toarray() > 0
        n = len(W)
        known = np.ix_(self.labeled_, self.labeled_)
        size = root_mean_square(to_numpy(self.decision_function())[known]) if sized else 1.0
        for train, test in NodeKFold(min(5, n)).split(W):
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
            raise ValueError("Too few links for node folds: no fold leaves one to learn from; give `threshold`.")
        return np.concatenate(linked), np.concatenate(scores)

    @cached_property
    def logistic_(self) -> tuple[float, float]:
        """(a, b) of p = σ(a κ̂ + b), found when it is first asked for: pairs with a new node, five node folds."""
        check_is_fitted(self)
        return fit_logistic(*self._fold_pairs(sized=True))

    def link_probability(self, X1: Any = None, X2: Any = None) -> Array:
        """σ(a κ̂(u, v) + b), (m1, m2): how likely u and v are linked; nodes as in `decision_function`.

        a and b have the smallest log loss on pairs with a node of a fold, scored by models that never saw its links
        (five fits, once), whose scores are brought to the size of these. Calibrated on average over pairs with a new
        node; nothing is guaranteed, as pairs that share a node are not exchangeable. A node beside itself has the
        number of the formula, too.
        """
        scores = self.decision_function(X1, X2)
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
            Only pairs whose score is above; None is `threshold_`, or no threshold when `top` is given.
        top : int, default=None
            At most so many pairs.
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
        check_choice(known, "known", (True, False))
        if top is not None:
            check_integer(top, "top", minimum=1)
        above = -np.inf if top is not None and threshold is None else None
        if above is None:
            above = self.threshold_ if threshold is None else check_number(threshold, "threshold")
        H1 = self._values(X1)
        H2 = None if X2 is X1 else self._values(X2)
        left_out = self.network_.links() if not known and X1 is None and X2 is None else None
        pairs, scores = best_pairs(H1, H2, top=top, above=above, known=left_out)
        one, other = (getattr(self, "names_", None) if X is None else node_names(X) for X in (X1, X2))
        if one is not None and other is not None:
            import pandas as pd

            return pd.DataFrame({"source": one[pairs[:, 0]], "target": other[pairs[:, 1]], "score": scores})
        return asarray_like(pairs, H1), self._cast(asarray_like(scores, H1))


def _roc(linked: np.ndarray, scores: np.ndarray) -> float:
    """The area, which needs links and other pairs."""
    if not linked.any() or linked.all():
        raise ValueError(
            f"Of {len(linked)} pairs with a new node {int(linked.sum())} are linked: the ROC area needs links and "
            "other pairs; use fewer folds, or more nodes."
        )
    return roc_auc_pairs(linked, scores)


@component
class LinkPredictor(LinkRegression):
    """κ̂(u, v) = ⟨h(u), h(v)⟩ with h : nodes → F learned on the labelled nodes, where ⟨ψ(i), ψ(j)⟩ = k_Y(i, j).

    The known links between labelled nodes give them an output kernel, by default heat diffusion along the links with
    unit diagonal. h is learned from the features of nodes to this kernel's feature space, by ridge regression or with a
    margin, and two nodes, seen or not, are linked when their images are close. A manifold penalty lets nodes without
    known links take part in learning (semi-supervised); scores between nodes of `fit` are the transductive use.

    Parameters
    ----------
    kernel : Kernel, default=None
        On the features of nodes; None is `RBF()` with the median bandwidth. Several views: `Mean([...])`,
        `Aligned([...])`.
    output_kernel : Kernel, default=None
        On labelled nodes; None is `Normalized(Diffusion(1.0))`. Node kernels without a graph get that of the known
        links; one that brings its own graph, and `Precomputed(matrix)`, has a row for every node of X.
    loss : Loss, default=None
        None is `Square()`; `MaxMargin()` asks for unit diagonal of the output kernel.
    alpha, manifold, solver :
        As in `IOKR`; the manifold's penalty uses the unlabelled nodes.

    Attributes
    ----------
    labeled_ : array of shape (n,)
        Numbers of the labelled nodes.
    threshold_ : float
        A pair with a higher score is called a link; the best F1 on leave-one-out scores (optimistic, as K_Y holds the
        links), or by five node folds, each refitted on its own links, for losses without a closed form. Computed when
        first asked for.
    model_ : IOKR
        The regression from features to the coordinates V of the labelled nodes, V Vᵀ = K_Y.
    output_kernel_ : Kernel
        Fitted on the labelled nodes.
    n_features_in_ : int
        When X is an array.

    Notes
    -----
    With B k_u the weights of u on the labelled nodes, κ̂(u, v) = k_uᵀ Bᵀ K_Y B k_v: the score matrix of any nodes is
    positive semi-definite. Costs: the factor of K_Y (an eigendecomposition of the Laplacian), n³/3 flops for K + λI,
    2n³ for V, then 2mn² + m²n for all pairs of m nodes. Papers: Brouard, d'Alché-Buc, Szafranski, ICML 2011 and JMLR
    2016 (its λ₁ is `alpha` for ridge, half of it for the margin; its λ₂ half, for the margin a quarter, of `weight`).

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import LinkPredictor
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])  # two groups; links known for two nodes of each
    >>> adjacency = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> model = LinkPredictor(alpha=0.1).fit(X, adjacency, labeled=[0, 1, 3, 4])
    >>> pairs, scores = model.predict_links(top=4)
    >>> sorted(pairs.tolist())
    [[0, 2], [1, 2], [3, 5], [4, 5]]
    >>> model.decision_function([[0.3]]).round(1)
    array([[0.8, 0.8, 0.8, 0.1, 0.1, 0. ]])
    """

    kernel: Kernel | OperatorKernel | None = None
    _: KW_ONLY
    output_kernel: Kernel | None = None
    loss: Loss | None = None
    alpha: float = 1.0
    manifold: Manifold | None = None
    solver: Solver | None = None

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> LinkPredictor:
        """Learn h from the links between labelled nodes.

        Parameters
        ----------
        X : array, sparse matrix, or sequence of N nodes
            Features of all nodes, labelled or not.
        adjacency : array or sparse matrix of shape (n, n) or (N, N), `Network`, or NetworkX graph
            Symmetric weights of at least 0: over the labelled nodes in the order of `labeled`, or over all nodes, of
            which only rows and columns in `labeled` are read. Of a graph the nodes 0, 1, … are rows of X, others are
            found in the index of the frame X.
        labeled : integers of shape (n,), or mask of shape (N,), default=None
            The nodes all of whose mutual links are known; None is all.
        """
        kernel = check_kernel(self.kernel)
        data = self._prepare(X, adjacency, labeled, [kernel])
        model = IOKR(kernel, loss=self.loss, alpha=self.alpha, manifold=self.manifold, solver=self.solver)
        X_unlabeled = None if self.manifold is None else data.X_unlabeled
        output_kernel, V = fit_output_kernel(self.output_kernel, data.network)
        self._keep(data, output_kernel, model.fit(data.X_labeled, V, X_unlabeled=X_unlabeled))
        return self
