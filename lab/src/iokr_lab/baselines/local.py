"""One classifier per node."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, cholesky, eye_like, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_choice, check_number
from iokr.apps.links.baselines import LinkBaseline, Nodes

__all__ = ["LocalModels"]


@component
class LocalModels(LinkBaseline):
    """s(a, v) = g_a(v): for each labelled node a, a classifier of the other nodes into linked to a or not.

    The score of two labelled nodes is ½(g_a(b) + g_b(a)), a mean of fitted values. A node without known links has no
    classifier, so a pair of two such nodes has no score: NaN among the fitted nodes, an error between lists without any
    labelled node.

    Parameters
    ----------
    kernel : Kernel, default=None
        Kernel on the inputs; None is `RBF()`.
    loss : {"hinge", "square"}, default="hinge"
        n support vector machines, each on n − 1 nodes; or ridge, all from one Cholesky factor, n³ flops: with
        Q = (K + λI)⁻¹ and C = Q(2W − 11ᵀ), C ← C − Q diag(C_aa/Q_aa) leaves out the node itself.
    alpha : float, default=1.0
        λ > 0: larger values shrink more; C of the SVMs is 1/λ.

    References
    ----------
    Bleakley, Biau, Vert, Bioinformatics 23, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr_lab.baselines import LocalModels
    >>> X, graph = np.array([[0.0], [0.1], [3.0], [3.1], [0.2]]), np.kron(np.eye(2), 1 - np.eye(2))
    >>> scores = LocalModels(loss="square").fit(X, graph, labeled=[0, 1, 2, 3]).decision_function()
    >>> bool(scores[4, 0] > scores[4, 2])
    True
    """

    _: KW_ONLY
    loss: str = "hinge"
    alpha: float = 1.0

    def check_parameters(self) -> None:
        check_choice(self.loss, "loss", ("hinge", "square"))
        check_number(self.alpha, "alpha", minimum=0.0, strict=True)

    def learn(self, K: Array, W: Array) -> None:
        xp = array_namespace(K)
        if self.loss == "hinge":
            coefficients, intercepts = _svms(to_numpy(K), to_numpy(W) > 0, 1 / self.alpha)
            self.coefficients_ = asarray_like(coefficients, K)
            self.intercepts_ = asarray_like(intercepts, K)
            return
        Q = cholesky(K, self.alpha).solve(eye_like(K.shape[0], K))
        C = Q @ (2 * xp.astype(W > 0, xp.float64) - 1)
        self.coefficients_ = C - Q * (xp.linalg.diagonal(C) / xp.linalg.diagonal(Q))[None, :]
        self.intercepts_ = xp.zeros_like(K[0, :])

    def compare(self, U: Nodes, V: Nodes) -> Array:
        if np.all(U.index < 0) and np.all(V.index < 0):
            raise ValueError(
                "`X1` or `X2` must contain labelled nodes, as only these have classifiers; None is the nodes of `fit`."
            )
        by_V = self._scores(U, V)  # g_v(u)
        by_U = self._scores(V, U).T  # g_u(v)
        xp = array_namespace(by_V)
        both = (by_V + by_U) / 2
        return xp.where(xp.isnan(by_U), by_V, xp.where(xp.isnan(by_V), by_U, both))

    def _scores(self, U: Nodes, V: Nodes) -> Array:
        """g_v(u), (m1, m2); NaN if v has no classifier."""
        xp = array_namespace(U.K)
        index = asarray_like(V.index, U.K)
        scores = U.K @ self.coefficients_ + self.intercepts_[None, :]
        scores = xp.take(scores, xp.clip(index, min=0), axis=1)
        return xp.where((index < 0)[None, :], xp.nan, scores)


def _svms(K: np.ndarray, linked: np.ndarray, C: float) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of the SVM of node a in column a, 0 for a itself; if a has no link the SVM is the constant −1."""
    from sklearn.svm import SVC

    n = len(K)
    coefficients = np.zeros((n, n))
    intercepts = np.full(n, -1.0)
    for a in range(n):
        others = np.delete(np.arange(n), a)
        y = linked[others, a]
        if not y.any() or y.all():
            intercepts[a] = 1.0 if y.all() else -1.0
            continue
        svm = SVC(C=C, kernel="precomputed").fit(K[np.ix_(others, others)], y)
        coefficients[others[svm.support_], a] = svm.dual_coef_[0]
        intercepts[a] = svm.intercept_[0]
    return coefficients, intercepts
