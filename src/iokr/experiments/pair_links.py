"""`PairModel` as a link predictor: all pairs of labelled nodes as examples, on the splits of the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from iokr._array import is_sparse
from iokr._objects import concat, n_objects, take
from iokr.estimators.pairs import PairModel
from iokr.kernels.base import Kernel

__all__ = ["PairLinks"]


class PairLinks(BaseEstimator):  # type: ignore[misc]
    """Ridge on all pairs of labelled nodes, a node being like itself: exact from one eigendecomposition of K.

    Parameters
    ----------
    kernel, strategy, mix, alpha : as in `PairModel`
    """

    def __init__(
        self, kernel: Kernel | None = None, *, strategy: str = "kernel", mix: float = 0.0, alpha: float = 1.0
    ) -> None:
        self.kernel = kernel
        self.strategy = strategy
        self.mix = mix
        self.alpha = alpha

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> PairLinks:
        """Learn from the links between labelled nodes; `adjacency` is over all nodes."""
        W = adjacency.toarray() if is_sparse(adjacency) else np.asarray(adjacency)
        known = np.arange(n_objects(X)) if labeled is None else np.asarray(labeled)
        a, b = np.triu_indices(len(known))
        y = np.where(a == b, 1, W[np.ix_(known, known)][a, b] != 0)
        model = PairModel(self.kernel, strategy=self.strategy, mix=self.mix, alpha=self.alpha)
        # Self-pairs of half the weight make all ordered pairs weigh the same: the closed form.
        weight = np.where(a == b, 0.5, 1.0)
        self.model_ = model.fit(take(X, known), np.stack([a, b], axis=1), y, sample_weight=weight)
        self.X_fit_, self.n_labeled_, self.known_ = X, len(known), known
        return self

    def decision_function(self, X1: Any = None, X2: Any = None) -> np.ndarray:
        """Scores (m1, m2); None is the nodes given to `fit`."""
        X1, X2 = (self.X_fit_ if X is None else X for X in (X1, X2))
        n1, n2 = n_objects(X1), n_objects(X2)
        i, j = np.divmod(np.arange(n1 * n2), n2)
        pairs = self.n_labeled_ + np.stack([i, n1 + j], axis=1)
        return np.asarray(self.model_.decision_function(pairs, concat(X1, X2))).reshape(n1, n2)
