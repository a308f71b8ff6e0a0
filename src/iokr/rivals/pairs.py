"""Ridge, or an SVM, on unordered pairs: in closed form on all of them, and by `PairModel`."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, array_namespace, asarray_like, eigh, eye_like, is_array, to_numpy
from iokr._component import component
from iokr._memory import check_memory
from iokr._objects import concat, take
from iokr._validation import check_choice, check_number
from iokr.estimators.inputs import Border
from iokr.estimators.pairs.model import PairModel
from iokr.kernels.base import Kernel
from iokr.rivals.base import LinkRival, Nodes, NodeScorer, spectral_filter

__all__ = ["TPPK", "PairLinks"]


def _check_unlinked(unlinked: Any) -> None:
    if check_number(unlinked, "unlinked") >= 1:
        raise ValueError(f"`unlinked` must be below 1, the label of links, got {unlinked!r}.")


@component
class TPPK(LinkRival):
    """s(u, v) = Σ_p c_p κ({u, v}, p), κ({a, b}, {c, d}) = k(a, c)k(b, d) + k(a, d)k(b, c): ridge, or an SVM, on pairs.

    κ is the tensor product pairwise kernel. Either way the score is k_uᵀ S k_v. Papers: Ben-Hur, Noble, Bioinformatics
    21, 2005; Hue, Vert, ICML 2010.

    Parameters
    ----------
    kernel : Kernel, default=None
        On the nodes' inputs; None is `RBF()`.
    loss : {"square", "hinge"}, default="square"
        Ridge on *all* pairs, from one eigendecomposition K = U diag(s) Uᵀ: S = U [(Uᵀ Y U)_ij / (s_i s_j + λ)] Uᵀ with
        Y_ab = 1 for links and self-pairs (a node is similar to itself; they weigh ½), else `unlinked`. Or a support
        vector machine (SVM) on all links and `ratio` decoys for each, whose Gram matrix is formed.
    alpha : float, default=1.0
        λ > 0: larger shrinks; C of the SVM is 1/λ.
    unlinked : float, default=-1.0
        Label of pairs without a link, for ridge. There is no intercept: with 0, far from all data means "no link".
    ratio : float, default=9.0
        Pairs without a link for each link, for the SVM.
    random_state : int, RandomState or None, default=0
        Draws the decoys.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.rivals import TPPK
    >>> X, graph = np.array([[0.0], [0.1], [3.0], [3.1]]), np.kron(np.eye(2), 1 - np.eye(2))
    >>> scores = TPPK(alpha=0.1).fit(X, graph).decision_function([[0.2]], [[0.0], [3.0]])
    >>> bool(scores[0, 0] > scores[0, 1])
    True
    """

    _: KW_ONLY
    loss: str = "square"
    alpha: float = 1.0
    unlinked: float = -1.0
    ratio: float = 9.0
    random_state: Any = 0

    def check_parameters(self) -> None:
        check_choice(self.loss, "loss", ("square", "hinge"))
        check_number(self.alpha, "alpha", minimum=0.0, strict=True)
        _check_unlinked(self.unlinked)
        check_number(self.ratio, "ratio", minimum=0.0, strict=True)

    def learn(self, K: Array, W: Array) -> None:
        xp, n = array_namespace(K), K.shape[0]
        self.intercept_ = 0.0
        if self.loss == "square":
            Y = self.unlinked + (1 - self.unlinked) * (xp.astype(W > 0, xp.float64) + eye_like(n, K))
            s, U = eigh(K)
            s = xp.clip(s, min=0.0)
            self.form_ = spectral_filter(U, Y, 1 / (s[:, None] * s[None, :] + self.alpha))
            return
        self.form_ = asarray_like(self._svm(to_numpy(K), to_numpy(W) > 0), K)

    def _svm(self, K: np.ndarray, linked: np.ndarray) -> np.ndarray:
        """S of the SVM on links and decoys."""
        from sklearn.svm import SVC  # loaded only where an SVM is asked for

        i, j = np.triu_indices(len(K), 1)
        y = linked[i, j]
        links, others = np.flatnonzero(y), np.flatnonzero(~y)
        if len(links) == 0 or len(others) == 0:
            raise ValueError("`adjacency` must hold both linked and unlinked pairs among the labelled nodes.")
        n_decoys = min(len(others), round(self.ratio * len(links)))
        rows = np.concatenate(
            [links, check_random_state(self.random_state).choice(others, max(n_decoys, 1), replace=False)]
        )
        check_memory(16 * len(rows) ** 2, "The Gram matrix of pairs", 'Lower `ratio`, or use `loss="square"`.')
        a, b = i[rows], j[rows]
        gram = K[np.ix_(a, a)] * K[np.ix_(b, b)] + K[np.ix_(a, b)] * K[np.ix_(b, a)]
        svm = SVC(C=1 / self.alpha, kernel="precomputed").fit(gram, y[rows])
        self.intercept_ = float(svm.intercept_[0])
        S = np.zeros_like(K)
        S[a[svm.support_], b[svm.support_]] = svm.dual_coef_[0]
        S += S.T.copy()
        return S

    def compare(self, U: Nodes, V: Nodes) -> Array:
        return U.K @ self.form_ @ V.K.T + self.intercept_


@component
class PairLinks(NodeScorer):
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

    def check_parameters(self) -> None:
        _check_unlinked(self.unlinked)

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> PairLinks:
        """Learn from the links between labelled nodes; arguments as in `LinkPredictor.fit`."""
        X, kernel = self.read(X, adjacency, labeled)
        self.X_fit_ = X
        self._border = Border(kernel, X if is_array(X) else np.empty(0))
        a, b = np.triu_indices(len(self.labeled_))
        linked = np.where(a == b, 1, self.network_.graph.toarray()[a, b] != 0)
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
        """(m1, m2) scores as in `LinkRival.decision_function`; labelled nodes of `fit` (None) are known again."""
        check_is_fitted(self)
        first, second = self.positions(X1), self.positions(X2)
        X1, X2 = (self.X_fit_ if X is None else self._border.check(self, X) for X in (X1, X2))
        new = len(self.labeled_)
        first = np.where(first < 0, new + np.arange(len(first)), first)
        second = np.where(second < 0, new + len(first) + np.arange(len(second)), second)
        pairs = np.stack([np.repeat(first, len(second)), np.tile(second, len(first))], axis=1)
        nodes = concat(X1, X2)
        scores: Any = sum(factor * model.decision_function(pairs, nodes) for factor, model in self.models_)
        return array_namespace(scores).reshape(scores, (len(first), len(second)))
