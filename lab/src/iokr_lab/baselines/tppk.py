"""Ridge or an SVM on unordered pairs with the tensor product pairwise kernel."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from iokr._array import Array, asarray_like, to_numpy
from iokr._component import component
from iokr._system.memory import check_memory
from iokr._validation.arguments import check_choice, check_number, check_random
from iokr.apps.links.baselines import LinkBaseline, Nodes
from iokr.estimators.pairs.all_pairs import AllPairs, pair_labels
from iokr.gram.pairs.gram import PairGram

__all__ = ["TPPK"]


@component
class TPPK(LinkBaseline):
    """s(u, v) = Σ_p c_p κ({u, v}, p) = k_uᵀ S k_v, κ({a, b}, {c, d}) = k(a, c)k(b, d) + k(a, d)k(b, c).

    Ridge or an SVM on pairs with the tensor product pairwise kernel κ.

    Parameters
    ----------
    kernel : Kernel, default=None
        Kernel on the inputs of the nodes; None is `RBF()`.
    loss : {"square", "hinge"}, default="square"
        Ridge on *all* pairs, as `PairLinkPredictor`: S = U [(Uᵀ Y U)_ij / (s_i s_j + λ)] Uᵀ with K = U diag(s) Uᵀ and
        Y_ab = 1 for links and for a node with itself (these have weight ½), else `unlinked`. Or a support vector
        machine (SVM) on all links and `ratio` decoys for each, whose Gram matrix is formed.
    alpha : float, default=1.0
        λ > 0: larger values shrink more; C of the SVM is 1/λ.
    unlinked : float, default=-1.0
        Label of pairs without a link, for ridge. There is no intercept: with 0, far from all data means "no link".
    ratio : float, default=9.0
        Number of decoys, pairs without a link, per link, for the SVM.
    random_state : int, RandomState or None, default=0
        Seed for the draw of decoys.

    References
    ----------
    Ben-Hur, Noble, Bioinformatics 21, 2005; Hue, Vert, ICML 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr_lab.baselines import TPPK
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
        if check_number(self.unlinked, "unlinked") >= 1:
            raise ValueError(f"`unlinked` must be below 1, the label of links, got {self.unlinked!r}.")
        check_number(self.ratio, "ratio", minimum=0.0, strict=True)

    def learn(self, K: Array, W: Array) -> None:
        linked = to_numpy(W) > 0
        self.intercept_ = 0.0
        if self.loss == "hinge":
            self.form_ = asarray_like(self._svm(to_numpy(K), linked), K)
            return
        [ridge] = AllPairs.path(K, pair_labels(linked, self.unlinked), [(0.0, self.alpha)])
        self.form_ = ridge.S + ridge.S.T  # both orders of a pair

    def _svm(self, K: np.ndarray, linked: np.ndarray) -> np.ndarray:
        """S of the SVM on links and decoys."""
        from sklearn.svm import SVC

        i, j = np.triu_indices(len(K), 1)
        y = linked[i, j]
        links = np.flatnonzero(y)
        others = np.flatnonzero(~y)
        if len(links) == 0 or len(others) == 0:
            raise ValueError("`adjacency` must have both linked and unlinked pairs of labelled nodes.")
        n_decoys = min(len(others), round(self.ratio * len(links)))
        decoys = check_random(self.random_state).choice(others, max(n_decoys, 1), replace=False)
        rows = np.concatenate([links, decoys])
        check_memory(16 * len(rows) ** 2, "The Gram matrix of pairs", 'Lower `ratio`, or use `loss="square"`.')
        gram = PairGram(K, np.stack([i[rows], j[rows]], axis=1))
        svm = SVC(C=1 / self.alpha, kernel="precomputed").fit(gram.dense(), y[rows])
        self.intercept_ = float(svm.intercept_[0])
        c = np.zeros(len(rows))
        c[svm.support_] = 2 * svm.dual_coef_[0]
        return np.asarray(gram.scatter(c).toarray())

    def compare(self, U: Nodes, V: Nodes) -> Array:
        return U.K @ self.form_ @ V.K.T + self.intercept_
