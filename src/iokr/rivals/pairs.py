"""Ridge, or an SVM, on unordered pairs: in closed form on all of them, and by the strategies of `PairModel`."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from iokr._array import Array, array_namespace, asarray_like, eigh, eye_like, to_numpy
from iokr._component import component
from iokr._memory import check_memory
from iokr._validation import check_choice, check_number
from iokr.estimators.pairs.data import PairData
from iokr.estimators.pairs.model import choose_strategy
from iokr.gram.pairs.gram import PairGram
from iokr.losses.square import Square
from iokr.rivals.base import LinkRival, Nodes, spectral_filter
from iokr.solvers.auto import Auto

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
        gram = PairGram(K, np.stack([i[rows], j[rows]], axis=1))
        svm = SVC(C=1 / self.alpha, kernel="precomputed").fit(gram.dense(), y[rows])
        self.intercept_ = float(svm.intercept_[0])
        c = np.zeros(len(rows))
        c[svm.support_] = 2 * svm.dual_coef_[0]
        return np.asarray(gram.scatter(c).toarray())

    def compare(self, U: Nodes, V: Nodes) -> Array:
        return U.K @ self.form_ @ V.K.T + self.intercept_


@component
class PairLinks(LinkRival):
    """s(u, v) = Σ_p c_p κ({u, v}, p): ridge of `PairModel` on all pairs of labelled nodes, a node being like itself.

    Pairs are labelled 1 if linked and `unlinked` if not; all from one eigendecomposition of K. With
    ``strategy="local"`` two nodes without known links have no score: NaN, an error between lists that hold no other.

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

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.rivals import PairLinks
    >>> X, graph = np.array([[0.0], [0.1], [3.0], [3.1]]), np.kron(np.eye(2), 1 - np.eye(2))
    >>> scores = PairLinks(alpha=0.1).fit(X, graph).decision_function([[0.2]], [[0.0], [3.0]])
    >>> bool(scores[0, 0] > scores[0, 1])
    True
    """

    _: KW_ONLY
    strategy: str = "kernel"
    mix: float = 0.0
    alpha: float = 1.0
    unlinked: float = 0.0

    def check_parameters(self) -> None:
        choose_strategy(self.strategy, self.mix)
        check_number(self.alpha, "alpha", minimum=0.0, strict=True)
        _check_unlinked(self.unlinked)

    def learn(self, K: Array, W: Array) -> None:
        a, b = np.triu_indices(K.shape[0])
        target = np.where((a == b) | (to_numpy(W)[a, b] != 0), 1.0, self.unlinked)
        weight = np.where(a == b, 0.5, 1.0)  # all ordered pairs weigh the same: the closed form
        data = PairData(np.stack([a, b], axis=1), target, weight, None, np.arange(len(a)), a > b)
        posed = choose_strategy(self.strategy, self.mix).pose(data, K, Square()).at(self.alpha)
        self.points_ = posed.examples.points
        self.coefficients_ = posed.strategy.solve(posed.gram, posed.problem, Auto()).C

    def compare(self, U: Nodes, V: Nodes) -> Array:
        xp, m, q = array_namespace(U.K), len(U.index), len(V.index)
        K, same = (U.K, U.index) if V is U else (xp.concat([U.K, V.K], axis=0), np.append(U.index, V.index))
        second = np.arange(q) + (0 if V is U else m)
        pairs = np.stack([np.repeat(np.arange(m), q), np.tile(second, m)], axis=1)
        strategy = choose_strategy(self.strategy, self.mix)
        if strategy.silent(pairs, self.points_, same).all():
            raise ValueError("Local models are of labelled nodes: leave X1 or X2 out to mean the fitted nodes.")
        return xp.reshape(strategy.score(K, pairs, self.points_, self.coefficients_, same), (m, q))
