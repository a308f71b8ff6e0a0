"""`PairModel` as a link predictor: all pairs of labelled nodes as examples, on the splits of the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from iokr._array import is_sparse
from iokr._objects import concat, n_objects, take
from iokr.estimators.pairs.model import PairModel
from iokr.kernels.base import Kernel

__all__ = ["PairLinks"]


class PairLinks(BaseEstimator):  # type: ignore[misc]
    """Ridge on all pairs of labelled nodes, a node being like itself: exact from one eigendecomposition of K.

    `PairModel` codes two labels as ±1. With few links and no intercept, all that is far from the data would then count
    as a link, so pairs without one get the label `unlinked` instead: the solution is linear in the labels, hence
    ½(1 − `unlinked`) times that for ±1, and ½(1 + `unlinked`) times that for 1 throughout.

    Parameters
    ----------
    kernel, strategy, mix, alpha : as in `PairModel`
    unlinked : float, default=0.0
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        strategy: str = "kernel",
        mix: float = 0.0,
        alpha: float = 1.0,
        unlinked: float = 0.0,
    ) -> None:
        self.kernel = kernel
        self.strategy = strategy
        self.mix = mix
        self.alpha = alpha
        self.unlinked = unlinked

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> PairLinks:
        """Learn from the links between labelled nodes; `adjacency` is over all nodes."""
        W = adjacency.toarray() if is_sparse(adjacency) else np.asarray(adjacency)
        known = np.arange(n_objects(X)) if labeled is None else np.asarray(labeled)
        a, b = np.triu_indices(len(known))
        y = np.where(a == b, 1, W[np.ix_(known, known)][a, b] != 0)
        model = PairModel(self.kernel, strategy=self.strategy, mix=self.mix, alpha=self.alpha)
        # Self-pairs of half the weight make all ordered pairs weigh the same: the closed form.
        weight = np.where(a == b, 0.5, 1.0)
        nodes, pairs = take(X, known), np.stack([a, b], axis=1)
        labels = ((y, (1 - self.unlinked) / 2), (np.ones(len(y)), (1 + self.unlinked) / 2))
        self.models_ = [
            (share, clone(model).fit(nodes, pairs, y, sample_weight=weight)) for y, share in labels if share
        ]
        self.X_fit_, self.known_ = X, known
        return self

    def decision_function(self, X1: Any = None, X2: Any = None) -> np.ndarray:
        """Scores (m1, m2); None is the nodes given to `fit`, where labelled ones are known again."""
        first, second = self._numbers(X1), self._numbers(X2)
        X1, X2 = (self.X_fit_ if X is None else X for X in (X1, X2))
        new = len(self.known_)
        first = np.where(first < 0, new + np.arange(len(first)), first)
        second = np.where(second < 0, new + len(first) + np.arange(len(second)), second)
        pairs = np.stack([np.repeat(first, len(second)), np.tile(second, len(first))], axis=1)
        nodes = concat(X1, X2)
        scores = sum(share * np.asarray(model.decision_function(pairs, nodes)) for share, model in self.models_)
        return np.asarray(scores).reshape(len(first), len(second))

    def _numbers(self, X: Any) -> np.ndarray:
        """Places among the labelled nodes, −1 for the others."""
        if X is not None:
            return np.full(n_objects(X), -1)
        found = np.full(n_objects(self.X_fit_), -1)
        found[self.known_] = np.arange(len(self.known_))
        return found
