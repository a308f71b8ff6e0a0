"""Losses between label sets and between rows of categories: Hamming loss and 1 − F1."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from iokr._array import blocks, is_sparse, to_numpy
from iokr._validation.arguments import check_numbers
from iokr.data.objects import as_objects, is_numeric
from iokr.decoders._losses.base import PairLoss
from iokr.kernels.structured.sets import Hamming

__all__ = ["CategoryHamming", "LabelSetF1", "LabelSetHamming", "hamming_loss"]

_ENTRIES = 1 << 22  # entries of a block of gains


class _LabelSets(PairLoss):
    """Python sets, or rows of zeros and ones."""

    def fit(self, Y: Any) -> PairLoss:
        """Learn the labels, and the type of the sets."""
        self.labels = Hamming().fit(Y)
        self.kind: type | None = None
        if not is_numeric(Y):
            kinds = {type(y) for y in as_objects(Y)}
            if kinds <= {set, frozenset}:
                self.kind = frozenset if kinds == {frozenset} else set
        return super().fit(Y)  # raises unless all outputs are sets of labels

    def represent(self, Y: Any) -> np.ndarray:
        """1 for the labels of each set, else 0, (n, q)."""
        return np.asarray(to_numpy(self.labels.features(Y))[:, :-1] > 0, dtype=np.float64)

    def _written(self, Z: np.ndarray) -> Any:
        """Predictions in the form of the training outputs."""
        if self.kind is None:
            return Z.astype(np.float64)
        names = self.labels.labels_
        return as_objects(self.kind(names[j] for j in np.flatnonzero(row)) for row in Z)


class LabelSetHamming(_LabelSets):
    """Δ(y, z) = |y Δ z|/q: the fraction of q labels that are wrong."""

    def matrix(self, R: np.ndarray, S: np.ndarray) -> np.ndarray:
        """(|y| + |z| − 2|y ∩ z|)/q."""
        sizes = R.sum(axis=1)[:, None] + S.sum(axis=1)[None, :]
        return np.asarray((sizes - 2.0 * (R @ S.T)) / R.shape[1])

    def search(self, B: np.ndarray, R: np.ndarray) -> Any:
        """z_j = 1 if the sets with label j have more weight than those without: Σ_i β_i (2y_ij − 1) > 0."""
        return self._written(B @ (2.0 * R - 1.0) > 0)


class LabelSetF1(_LabelSets):
    """Δ(y, z) = 1 − 2|y ∩ z|/(|y| + |z|), 0 for two empty sets."""

    def matrix(self, R: np.ndarray, S: np.ndarray) -> np.ndarray:
        """1 − F1 of all pairs."""
        sizes = R.sum(axis=1)[:, None] + S.sum(axis=1)[None, :]
        return np.asarray((sizes > 0) - 2.0 * (R @ S.T) / np.maximum(sizes, 1.0))

    def search(self, B: np.ndarray, R: np.ndarray) -> Any:
        """For each size k of z the k labels with the largest Σ_i β_i 2y_ij/(|y_i| + k), then the best k.

        For a given size the gain of a set is a sum over its labels, so that the best set of each size is exact for all
        signs of β. Training sets of the same size are summed first: m q (sizes + log q) steps for each k.
        """
        m = len(B)
        q = R.shape[1]
        sizes, which = np.unique(R.sum(axis=1), return_inverse=True)
        Z = np.zeros((m, q), dtype=bool)
        for some in blocks(m, max(1, _ENTRIES // (q * len(sizes)))):
            masses = np.stack([B[some][:, which == s] @ R[which == s] for s in range(len(sizes))])
            Z[some] = self._best(masses, sizes, B[some][:, R.sum(axis=1) == 0].sum(axis=1))
        return self._written(Z)

    def _best(self, masses: np.ndarray, sizes: np.ndarray, empty: np.ndarray) -> np.ndarray:
        """The best set of every row, from Σ β_i y_ij over the training sets of each size, (sizes, m, q)."""
        _, m, q = masses.shape
        Z = np.zeros((m, q), dtype=bool)
        best = empty.copy()  # the gain of the empty set, from training sets that are empty
        for k in range(1, q + 1):
            gains = np.tensordot(2.0 / (sizes + k), masses, axes=1)
            largest = np.argsort(-gains, axis=1, kind="stable")[:, :k]
            gain = np.take_along_axis(gains, largest, axis=1).sum(axis=1)
            better = np.flatnonzero(gain > best)
            best[better] = gain[better]
            Z[better] = False
            Z[better[:, None], largest[better]] = True
        return Z


class CategoryHamming(PairLoss):
    """Δ(y, z) = #{j : y_j ≠ z_j}/q for rows of numbers."""

    def fit(self, Y: Any) -> CategoryHamming:
        """Learn the number of entries."""
        self.flat = len(np.shape(Y)) == 1
        self.width = int(self._rows(Y, "y").shape[1])
        return self

    def _rows(self, Y: Any, name: str) -> np.ndarray:
        rows = check_numbers(Y.toarray() if is_sparse(Y) else Y, name)
        rows = rows[:, None] if rows.ndim == 1 else rows
        if rows.ndim != 2 or np.isnan(rows).any():
            raise ValueError(f"`{name}` must be rows of numbers without NaN for the loss 'hamming'.")
        return rows

    def represent(self, Y: Any) -> np.ndarray:
        """The numbers."""
        rows = self._rows(Y, "candidates")
        if rows.shape[1] != self.width:
            raise ValueError(f"Outputs had {self.width} entries at fit, but candidates have {rows.shape[1]}.")
        return rows

    def matrix(self, R: np.ndarray, S: np.ndarray) -> np.ndarray:
        """The fraction of entries that differ, for all pairs."""
        return np.asarray(cdist(R, S, "hamming"))

    def search(self, B: np.ndarray, R: np.ndarray) -> Any:
        """For each entry the training value a with the largest weight Σ_i β_i 1{y_ij = a}."""
        Z = np.empty((len(B), self.width))
        for j in range(self.width):
            values, which = np.unique(R[:, j], return_inverse=True)
            weights = B @ (which[:, None] == np.arange(len(values)))
            Z[:, j] = values[np.argmax(weights, axis=1)]
        return Z[:, 0] if self.flat else Z


def hamming_loss(Y: Any) -> PairLoss:
    """That of label sets for sets and rows of zeros and ones, else that of rows of categories."""
    if not is_numeric(Y):
        return LabelSetHamming()
    values = to_numpy(Y.data if is_sparse(Y) else Y)
    is_binary = bool(np.all((values == 0) | (values == 1)))
    return LabelSetHamming() if is_binary and len(np.shape(Y)) > 1 else CategoryHamming()
