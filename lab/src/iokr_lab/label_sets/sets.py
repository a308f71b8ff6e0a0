"""Label sets from scores: the set with the largest expected F1, sets seen in training, thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._array import to_numpy
from iokr.data.objects import distinct
from iokr.embeddings.base import Embedding
from iokr.metrics import f1_samples

__all__ = ["THRESHOLDS", "F1Map", "best_threshold", "nearest_sets"]

Matrix = NDArray[np.float64]

THRESHOLDS = np.arange(0.05, 0.9, 0.025)
_TOL = 1e-6  # relative to the largest eigenvalue of 2/(s + t)


class F1Map:
    """k(y, z) = 2|y ∩ z| / (|y| + |z|) = ⟨ψ(y), ψ(z)⟩, ψ(y) = (1{y = ∅}, y ⊗ r_|y|), ⟨r_s, r_t⟩ = 2/(s + t).

    F1 as an output kernel (1 for two empty sets). With h(x) = Σ_i β_i(x) ψ(y_i), ⟨h(x), ψ(y)⟩ = Σ_i β_i(x) F1(y_i, y):
    the nearest ψ(y) is the set with the largest mean F1 over the training sets, weighted by β(x). For sets of size k
    this is a sum over labels, maximised by the k largest terms, so the best of all 2^d sets is found exactly (the
    general F-measure maximiser of Dembczyński et al., 2011).

    Parameters
    ----------
    n_labels : int
        d.
    largest : int
        Size of the largest set that can be mapped or predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr_lab.label_sets.sets import F1Map
    >>> Y = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> Z = F1Map(n_labels=3, largest=2).transform(Y)
    >>> (Z @ Z.T).round(3)
    array([[1.   , 0.667, 0.   ],
           [0.667, 1.   , 0.   ],
           [0.   , 0.   , 1.   ]])
    """

    def __init__(self, n_labels: int, largest: int) -> None:
        self.n_labels = n_labels
        self.largest = max(largest, 1)
        sizes = np.arange(1, self.largest + 1)
        values, vectors = np.linalg.eigh(2 / (sizes[:, None] + sizes[None, :]))
        positive = values > _TOL * values[-1]
        self._R = vectors[:, positive] * np.sqrt(values[positive])  # r_s, a row for each size

    def transform(self, Y: Any) -> Matrix:
        """ψ(y_i), a row per set."""
        Y = np.asarray(Y, dtype=np.float64)
        sizes = Y.sum(axis=1).astype(int)
        if sizes.max(initial=0) > self.largest:
            raise ValueError(f"`Y` must have at most {self.largest} labels per row, got more in row {sizes.argmax()}.")
        inside = Y[:, :, None] * self._R[np.maximum(sizes, 1) - 1][:, None, :]
        return np.hstack([(sizes == 0)[:, None].astype(np.float64), inside.reshape(len(Y), -1)])

    def scores(self, H: Matrix, k: int) -> Matrix:
        """Σ_i β_i 2 y_ij / (|y_i| + k): the contribution of label j to ⟨h, ψ(y)⟩ in a set of k labels, (m, d)."""
        terms: Matrix = H[:, 1:].reshape(len(H), self.n_labels, -1) @ self._R[k - 1]
        return terms

    def best_sets(self, H: Matrix) -> Matrix:
        """argmax over all sets of at most `largest` labels of ⟨h, ψ(y)⟩, a 0/1 row for each row of H."""
        best = H[:, 0].copy()
        sets = np.zeros((len(H), self.n_labels))
        for k in range(1, min(self.largest, self.n_labels) + 1):
            terms = self.scores(H, k)
            top = np.argpartition(-terms, k - 1, axis=1)[:, :k]
            values = np.take_along_axis(terms, top, axis=1).sum(axis=1)
            better = np.flatnonzero(values > best)
            best[better] = values[better]
            sets[better] = 0
            sets[better[:, None], top[better]] = 1
        return sets


def nearest_sets(H: Any, embedding: Embedding, Y: Matrix) -> Matrix:
    """For each training row the ψ(y) nearest to h(x_i) among the label sets of the *other* training rows."""
    first, which = distinct(Y)
    S = embedding.represent(Y[first])
    costs = to_numpy(embedding.sq_norms(S))[None, :] - 2 * to_numpy(embedding.inner(H, S))
    alone = np.flatnonzero(np.bincount(which)[which] == 1)
    costs[alone, which[alone]] = np.inf
    nearest: Matrix = Y[first][costs.argmin(axis=1)]
    return nearest


def best_threshold(Y: Matrix, scores: Matrix) -> float:
    """The threshold with the largest F1 for held-out scores."""
    return float(max(THRESHOLDS, key=lambda threshold: f1_samples(Y, scores > threshold)))
