"""Rankings: (1 − τ)/2 and (1 − ρ)/2."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr.decoders._losses.base import PairLoss
from iokr.decoders._search.orders import assigned_positions, centred_places, complete_ranks, kemeny_positions
from iokr.kernels.structured.rankings import check_rankings, spearman_features

__all__ = ["KendallLoss", "SpearmanLoss"]

_EXACT = 12  # largest number of items for which Kemeny's ranking is exact


class _Rankings(PairLoss):
    """Rank vectors: lower is better, equal numbers are ties, NaN is unknown."""

    def fit(self, Y: Any) -> _Rankings:
        """Learn the number of items, and the ranks of predictions."""
        self.ranks = complete_ranks(check_rankings(Y))
        return self

    def represent(self, Y: Any) -> np.ndarray:
        """Rank vectors as rows."""
        return check_rankings(Y, len(self.ranks))


class KendallLoss(_Rankings):
    """Δ(y, z) = (1 − τ_b(y, z))/2, over the pairs of items with a rank in both; ½ if no pair is untied in both."""

    def matrix(self, R: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Three products over the d(d − 1)/2 pairs of items."""
        a, known = _signs(R)
        b, others = _signs(S)
        untied = np.sqrt(((a * a) @ others.T) * (known @ (b * b).T))
        tau = a @ b.T / np.where(untied > 0, untied, 1.0)
        return np.asarray(0.5 - 0.5 * tau)

    def search(self, B: np.ndarray, R: np.ndarray) -> Any:
        """Kemeny's ranking of Σ_i β_i sign(y_ia − y_ib)/√(untied · known pairs of y_i), as no pair is tied in z."""
        a, known = _signs(R)
        scale = np.sqrt((a * a).sum(axis=1) * known.sum(axis=1))
        a /= np.where(scale > 0, scale, 1.0)[:, None]
        positions, _, _ = kemeny_positions(-(B @ a), len(self.ranks), _EXACT)
        return self.ranks[positions]


def _signs(ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sign(rank_a − rank_b) for items a < b, 0 if unknown, and 1 where it is known, else 0."""
    first, second = np.triu_indices(ranks.shape[1], 1)
    with np.errstate(invalid="ignore"):
        signs = np.sign(ranks[:, first] - ranks[:, second])
    known = ~np.isnan(signs)
    return np.where(known, signs, 0.0), known.astype(np.float64)


class SpearmanLoss(_Rankings):
    """Δ(y, z) = (1 − ρ(y, z))/2, ρ the cosine of centred ranks; unknown ranks are the middle one."""

    def represent(self, Y: Any) -> np.ndarray:
        """Centred ranks, of unit length; zero where all items tie."""
        features = spearman_features(super().represent(Y))
        norms = np.sqrt((features * features).sum(axis=1, keepdims=True))
        return np.asarray(features / np.where(norms > 0, norms, 1.0))

    def matrix(self, R: np.ndarray, S: np.ndarray) -> np.ndarray:
        """One product."""
        return np.asarray(0.5 - 0.5 * (R @ S.T))

    def search(self, B: np.ndarray, R: np.ndarray) -> Any:
        """The item with the r-th smallest Σ_i β_i y_ij has the r-th rank: a linear assignment."""
        gains = (B @ R)[:, :, None] * centred_places(len(self.ranks))
        return self.ranks[assigned_positions(gains)]
