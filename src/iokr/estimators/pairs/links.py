"""Links between nodes by ridge on all pairs of labelled nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, asarray_like, to_numpy
from iokr._component import component
from iokr._system.memory import check_matrix, check_memory
from iokr._validation.arguments import SHARE, check_choice, check_integer, check_number
from iokr.data.objects import n_objects, take
from iokr.estimators.areas import SCORINGS, AreaRule, areas_by_name
from iokr.estimators.inputs import InputAdapter, check_scalar, fit_points, represent
from iokr.estimators.links.base import LinkModel
from iokr.estimators.links.network import LinkData
from iokr.estimators.pairs.all_pairs import AllPairs, pair_labels
from iokr.estimators.pairs.model import choose_strategy
from iokr.estimators.pairs.strategies import PairData
from iokr.estimators.progress import CallbackSupportMixin, Progress, begin, end, report, with_callbacks
from iokr.estimators.search.engine import Part, cv_results, forget_search, n_points, select
from iokr.estimators.search.result import Axis, check_values, listed
from iokr.kernels.base import Kernel, check_gram
from iokr.losses.square import Square
from iokr.model_selection.nodes import NodeKFold, TooFewLinks

__all__ = ["PairLinkPredictor", "PairLinkPredictorCV"]

_MATRICES = 4  # of n × n numbers at a fit: K, its eigenvectors, labels, coefficients
_FLOAT64 = 8.0  # bytes


class PairLinkRegression(LinkModel):
    """f(u, v) = m_uᵀ S k_v + k_uᵀ Sᵀ m_v: what `PairLinkPredictor` and `PairLinkPredictorCV` share."""

    def _prepare(self, X: Any, adjacency: Any, labeled: Any, kernel: Kernel) -> LinkData:
        """What `fit` is given, checked, and whether there is memory for it."""
        data = self._check_nodes(X, adjacency, labeled, kernel)
        n = len(data.network.labeled)
        check_memory(
            _MATRICES * _FLOAT64 * n * n, f"Ridge on all pairs of {n} labelled nodes", "Use fewer labelled nodes."
        )
        return data

    def _set_fit(self, data: LinkData, kernel: Kernel, ridge: AllPairs) -> None:
        """Keep the nodes, the fitted kernel and the coefficients."""
        self._set_nodes(data)
        self.kernel_ = kernel
        self.ridge_ = ridge

    def factors(self, X: Any = None, *, nodes: Any = None) -> tuple[Array, Array]:
        """(A, B) with f(u, v) = ⟨a_u, b_v⟩ for nodes X, for some nodes of `fit` by number, or for all of them."""
        K, own = self._rows(X, nodes)
        return self.ridge_.factors(K, own)

    def _rows(self, X: Any, nodes: Any = None) -> tuple[Array, np.ndarray]:
        """k(u, x_i) of nodes u and labelled nodes x_i, and the i of a node that is x_i, else −1."""
        check_is_fitted(self)
        if X is not None:
            R = InputAdapter(self.kernel_, self.ridge_.S).read(self, X)
            own = np.full(int(R.shape[0]), -1)
        else:
            n_nodes = n_objects(self.nodes_)
            numbers = np.arange(n_nodes) if nodes is None else np.asarray(nodes)
            R = represent(self.kernel_, take(self.nodes_, numbers))
            position = np.full(n_nodes, -1)
            position[self.labeled_] = np.arange(len(self.labeled_))
            own = position[numbers]
        check_matrix(int(R.shape[0]), len(self.labeled_), R, 2.0)
        S = represent(self.kernel_, take(self.nodes_, self.labeled_))
        return self.kernel_.gram(R, S).dense(), own

    def leave_pair_out(self) -> Array:
        """f₋ₚ(u, v), (n, n), of labelled nodes in the order of `labeled_`: each pair p without its own label.

        In closed form, n⁴/2 operations. The pair's nodes stay with all their other pairs, so these are scores of pairs
        of known nodes; for new nodes they are optimistic.
        """
        check_is_fitted(self)
        model = self.unfitted()
        K = self.kernel_.gram(self.kernel_.represent(take(self.nodes_, self.labeled_))).dense()
        Y = pair_labels(self.network_.graph.toarray() != 0, model.unlinked)
        a, b = np.triu_indices(len(Y))
        weight = np.where(a == b, 0.5, 1.0)  # all ordered pairs weigh the same: the closed form
        pairs = PairData(np.stack([a, b], axis=1), Y[a, b], weight, None, np.arange(len(a)), a > b)
        strategy = choose_strategy(model.strategy, model.mix)
        f = strategy.leave_pair_out(strategy.pose(pairs, K, Square()).at(model.alpha))
        scores = np.empty(Y.shape)
        scores[a, b] = f
        scores[b, a] = f
        return self._cast(asarray_like(scores, K))


@component
class PairLinkPredictor(PairLinkRegression):
    """f(u, v) = Σ_p c_p κ({u, v}, p): ridge of `PairModel` on all pairs p of labelled nodes, as a link predictor.

    Pairs are labelled 1 if they are linked, and a node with itself, and `unlinked` otherwise. With all pairs observed
    the n²/2 coefficients follow from one eigendecomposition of the n × n kernel matrix of the nodes.

    Parameters
    ----------
    kernel : Kernel, default=None
        On the features of nodes; None is `RBF()` with the median bandwidth.
    strategy : {"kernel", "duplicate", "local"}, default="kernel"
        As in `PairModel`. With "local" two nodes without known links have no score: NaN.
    mix : float, default=0.0
        δ of the kernel on pairs, as in `PairModel`; 0 is the tensor product pairwise kernel (TPPK).
    alpha : float, default=1.0
        λ > 0: larger shrinks f more.
    unlinked : float, default=0.0
        Label of pairs without a link. There is no intercept: with 0, far from all data means "no link".

    Attributes
    ----------
    kernel_ : Kernel
        Fitted on the labelled nodes.
    labeled_ : array of shape (n,)
        Numbers of the labelled nodes.
    ridge_ : AllPairs
        `S`, the (n, n) coefficients, and `mix`.
    threshold_ : float
        After `best_threshold()`: the largest F1 on pairs with a held-out node, over five folds.
    n_features_in_ : int
        When X is an array.

    Notes
    -----
    A fit costs about 14n³ flops and 4n² numbers of memory, all scores of m nodes 4m²n.

    References
    ----------
    Ben-Hur, Noble, Bioinformatics 21, 2005; Hue, Vert, ICML 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import PairLinkPredictor
    >>> X, graph = np.array([[0.0], [0.1], [3.0], [3.1]]), np.kron(np.eye(2), 1 - np.eye(2))
    >>> model = PairLinkPredictor(alpha=0.1).fit(X, graph)
    >>> model.decision_function([[0.2]], [[0.0], [3.0]]).round(1)
    array([[1. , 0.1]])
    """

    kernel: Kernel | None = None
    _: KW_ONLY
    strategy: str = "kernel"
    mix: float = 0.0
    alpha: float = 1.0
    unlinked: float = 0.0

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> PairLinkPredictor:
        """Learn from all pairs of labelled nodes; arguments as in `LinkPredictor.fit`."""
        strategy = choose_strategy(self.strategy, self.mix)
        alpha = check_number(self.alpha, "alpha", minimum=0.0, strict=True)
        unlinked = check_number(self.unlinked, "unlinked")
        if unlinked >= 1:
            raise ValueError(f"`unlinked` must be below 1, the label of links, got {self.unlinked!r}.")
        kernel = check_scalar(self.kernel, objects="X")
        data = self._prepare(X, adjacency, labeled, kernel)
        linked = data.network.graph.toarray() != 0
        fitted, K = _fit_kernel(kernel, data, linked)
        Y = pair_labels(linked, unlinked)
        [ridge] = AllPairs.path(K, Y, [(strategy.mix, alpha)], ordered=strategy.ordered)
        self._set_fit(data, fitted, ridge)
        return self

    def unfitted(self) -> PairLinkPredictor:
        """A PairLinkPredictor with the parameters in use, to be fitted to other links."""
        return clone(self)  # type: ignore[no-any-return]

    def factors(self, X: Any = None, *, nodes: Any = None) -> tuple[Array, Array]:
        """(A, B) with f(u, v) = ⟨a_u, b_v⟩ for nodes X, for some nodes of `fit` by number, or for all of them.

        With ``strategy="local"`` f is 0 where neither node has a local model.
        """
        K, own = self._rows(X, nodes)
        A, B = self.ridge_.factors(K, own)
        if self.strategy == "local":
            # A labelled node has a local model. A pair with one of them is scored by it alone, not by the mean of two:
            # twice the term of u where v is new, and the other way round.
            n = len(self.labeled_)
            other = np.ones((len(own), 2 * n))
            other[own < 0, :n] = 2.0
            B = B * asarray_like(other, B)
            other = other[:, ::-1]
            A = A * asarray_like(other, A)
        return A, B

    def decision_function(self, X1: Any = None, X2: Any = None) -> Array:
        """f(u, v), (m1, m2), for nodes u of X1 and v of X2; None is the nodes of `fit`, in their order.

        With ``strategy="local"`` NaN for two nodes without known links, an error if there are no others.
        """
        scores = super().decision_function(X1, X2)
        if self.strategy != "local":
            return scores
        unknown = np.outer(*(self._without_model(X) for X in (X1, X2)))
        if unknown.all():
            raise ValueError("Local models are of labelled nodes: leave X1 or X2 out to mean the fitted nodes.")
        return asarray_like(np.where(unknown, np.nan, to_numpy(scores)), scores)

    def predict_links(self, X1: Any = None, X2: Any = None, **options: Any) -> Any:
        """The pairs most likely to be linked, best first; as in `LinkPredictor`.

        With ``strategy="local"`` every node has to be labelled.
        """
        check_is_fitted(self)
        if self.strategy == "local" and any(self._without_model(X).any() for X in (X1, X2)):
            raise ValueError(
                '`strategy="local"` has no score for two nodes without known links, so pairs of them cannot be ranked; '
                'use `strategy="duplicate"`.'
            )
        return super().predict_links(X1, X2, **options)

    def _without_model(self, X: Any) -> np.ndarray:
        """Which nodes have no local model: new ones, and those of `fit` that are not labelled."""
        without = np.ones(n_objects(self.nodes_ if X is None else X), dtype=bool)
        if X is None:
            without[self.labeled_] = False
        return without


@component
class PairLinkPredictorCV(CallbackSupportMixin, PairLinkRegression):  # type: ignore[misc]
    """argmax over kernel, δ and α of the AUC of pairs with a held-out node: `PairLinkPredictor`, chosen.

    Folds of labelled nodes are held out with all their links. One eigendecomposition per kernel and fold is reused for
    every δ and α.

    Parameters
    ----------
    kernel : Kernel, or a list of them, default=None
        As in `PairLinkPredictor`; a list is searched.
    alphas, mixes : sequences of float
        Values of λ and of δ.
    scoring : {"roc_auc", "average_precision", "both"}, default="roc_auc"
        "both" maximises the logistic mean of the two areas, as in `LinkPredictorCV`.
    cv : int, default=3
        Number of folds of nodes.

    Attributes
    ----------
    kernel_ : Kernel
        The chosen one, fitted on all labelled nodes.
    alpha_, mix_ : float
        The chosen values.
    scores_ : array
        Axes kernel × mix × alpha, axes of length one dropped; there where there was a choice.
    areas_ : dict of str to array
        "roc_auc" and "average_precision" at the same indices.
    search_ : SearchResult
        The scores on named axes, all of them kept, those of each fold, and the choice.
    best_index_ : tuple of int
        Index of the largest score, the first of equal ones.
    cv_results_ : dict
        The scores as a table, `pandas.DataFrame(model.cv_results_)`, in the form of scikit-learn's searches.
    labeled_, ridge_, threshold_, n_features_in_ :
        As in `PairLinkPredictor`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import PairLinkPredictorCV
    >>> from iokr.kernels import RBF
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> adjacency = (abs(X - X.T) < 0.5) - np.eye(40)
    >>> model = PairLinkPredictorCV([RBF(0.01), RBF(1.0)], alphas=(0.1, 1.0), mixes=(0.0,)).fit(X, adjacency)
    >>> model.kernel_, model.alpha_, model.scores_.shape
    (RBF(gamma=1.0), 0.1, (2, 2))
    """

    kernel: Any = None
    _: KW_ONLY
    alphas: Sequence[float] = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)
    mixes: Sequence[float] = (0.0, 0.5)
    scoring: str = "roc_auc"
    cv: int = 3

    cv_results_ = cv_results

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, adjacency: Any, labeled: Any = None, progress: Progress | None = None) -> PairLinkPredictorCV:
        """Choose, where there is a choice, and learn from all pairs of labelled nodes.

        Parameters
        ----------
        X, adjacency, labeled :
            As in `LinkPredictor.fit`.
        progress : callable, default=None
            Called as `progress(done, total, what)` each time that a point of the grid is scored on a fold.
        """
        check_choice(self.scoring, "scoring", SCORINGS)
        n_folds = check_integer(self.cv, "cv", minimum=2)
        kernels = [check_scalar(kernel, objects="X") for kernel in listed(self.kernel, "kernel")]
        mixes = [SHARE(mix, "mix") for mix in check_values(self.mixes, "mixes", strict=False)]
        alphas = check_values(self.alphas, "alphas", strict=True)
        axes = (Axis("kernel", kernels), Axis("mix", mixes), Axis("alpha", alphas))
        context = begin(self, n_points(axes) * n_folds, X=X, y=None)
        data = self._prepare(X, adjacency, labeled, kernels[0])
        linked = data.network.graph.toarray() != 0
        best = 0
        self.mix_ = mixes[0]
        self.alpha_ = alphas[0]
        forget_search(self)
        if n_points(axes) > 1:
            found = select(
                self,
                axes,
                _on_node_folds(data, linked, axes, n_folds),
                rule=AreaRule(self.scoring, "best"),
                n_folds=n_folds,
                progress=report(context, self, progress),
            )
            self.mix_ = found.best["mix"]
            self.alpha_ = found.best["alpha"]
            best = found.best_index[0]
        fitted, K = _fit_kernel(kernels[best], data, linked)
        [ridge] = AllPairs.path(K, pair_labels(linked), [(self.mix_, self.alpha_)])
        self._set_fit(data, fitted, ridge)
        end(context, self, X=X, y=None)
        return self

    def unfitted(self) -> PairLinkPredictor:
        """A PairLinkPredictor with the parameters in use, to be fitted to other links."""
        return PairLinkPredictor(clone(self.kernel_), mix=self.mix_, alpha=self.alpha_)


def _on_node_folds(data: LinkData, linked: np.ndarray, axes: Sequence[Axis], n_folds: int) -> Iterator[Part]:
    """Areas of pairs with a node of the fold, from one eigendecomposition for each kernel and fold."""
    kernels, mixes, alphas = (axis.values for axis in axes)
    points = list(product(range(len(mixes)), range(len(alphas))))
    grid = [(mixes[j], alphas[k]) for j, k in points]
    empty = True
    for i, kernel in enumerate(kernels):
        K = to_numpy(_fit_kernel(kernel, data, linked)[1])
        for fold, (train, test) in enumerate(NodeKFold(n_folds).split(K)):
            above = np.triu_indices(len(test), k=1)
            truth = np.concatenate([linked[test][:, train].ravel(), linked[test][:, test][above]])
            among = linked[np.ix_(train, train)]
            if not truth.any() or truth.all() or not among.any():
                continue
            empty = False
            path = AllPairs.new_scores(K[np.ix_(train, train)], pair_labels(among), K[np.ix_(test, train)], grid)
            for (j, k), F in zip(points, path, strict=True):
                scores = np.concatenate([F[:, : len(train)].ravel(), F[:, len(train) :][above]])
                yield Part((i, j, k), areas_by_name(truth, scores), fold)
    if empty:
        raise TooFewLinks("No fold has links to learn from and links to find; use fewer folds.")


def _fit_kernel(kernel: Kernel, data: LinkData, linked: np.ndarray) -> tuple[Kernel, Array]:
    """A clone, fitted on the labelled nodes, and K; supervised kernels take the labels of pairs as their target."""
    X = data.X_labeled
    target = asarray_like(pair_labels(linked), X)
    fitted, R = fit_points(kernel, X, learned_from=(target,) if kernel.supervised else ())
    gram = fitted.gram(R)
    check_gram(gram, fitted.trusted, "kernel")
    return fitted, gram.dense()
