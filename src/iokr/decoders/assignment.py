"""The nearest complete ranking."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array
from iokr._component import component
from iokr._validation.arguments import check_integer
from iokr.decoders._search.linear import output_kernel, output_weights
from iokr.decoders._search.orders import assigned_positions, centred_places, complete_ranks, kemeny_positions
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.kernels.structured.rankings import Kendall, Spearman, check_rankings
from iokr.kernels.structured.sequences import Positional, counts_positions

__all__ = ["Assignment"]


@component
class Assignment(Decoder):
    """ŷ = argmax ⟨h(x), ψ(y)⟩ over all d! complete rankings of d items, which all have the same ‖ψ(y)‖.

    With `Spearman()` and `Positional(Delta())` (the fraction of items at their positions) ⟨h(x), ψ(y)⟩ is a sum over
    items, and the best ranking is a linear assignment of items to ranks: exact, d³. With `Kendall()` it is a sum over
    pairs of items, and the best ranking is Kemeny's: exact by dynamic programming over sets of items, 2ᵈ d, up to
    `exact` items; above, by moves of single items until none improves it, with a bound (`solve`). These kernels may be
    in `Normalized` or `Scaled`. Ties are broken by the order of the items.

    Parameters
    ----------
    exact : int, default=12
        The largest number of items for which Kemeny's ranking is exact, at most 20; an item more doubles time and
        memory.

    Attributes
    ----------
    ranks_ : ndarray of shape (d,)
        The ranks of predictions, ascending: those of a complete training ranking, else 1 … d.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.decoders import Assignment
    >>> from iokr.kernels import Kendall
    >>> rankings = [[1, 2, 3], [3, 1, 2]]
    >>> model = IOKR(output_kernel=Kendall(), decoder=Assignment(), alpha=0.1).fit([[0.0], [1.0]], rankings)
    >>> model.predict([[0.9]])
    array([array([3., 1., 2.])], dtype=object)
    """

    exact: int = 12

    def _stored(self) -> dict[str, Any]:
        return {"positions": self._positions}

    def fit(self, Y: Any, embedding: Embedding) -> Assignment:
        """Needs rankings under a kernel that is linear in items or in pairs of items."""
        if check_integer(self.exact, "exact", minimum=0) > 20:
            raise ValueError(
                f"`exact` must be at most 20, got {self.exact}; each more item doubles the tables over sets of items."
            )
        kernel, _ = output_kernel(embedding)
        counting = counts_positions(kernel)
        hamming = counting is not None and not counting.transitions
        if not hamming and not isinstance(kernel, (Kendall, Spearman)):
            raise ValueError(
                "`Assignment()` needs the output kernel `Spearman()`, `Kendall()` or `Positional(Delta())` on rank "
                f"vectors, got {kernel!r}; use `Candidates()`."
            )
        ranks = check_rankings(Y)
        self.ranks_ = complete_ranks(ranks)
        self._positions: Any = None
        if hamming:
            positions = {rank: position for position, rank in enumerate(self.ranks_.tolist())}
            self._positions = np.array([[positions.get(rank, -1) for rank in row] for row in ranks.tolist()])
        return self

    def decode(self, H: Array, embedding: Embedding) -> Any:
        """The best ranking for each row of H."""
        return self.solve(H, embedding)[0]

    def solve(self, H: Array, embedding: Embedding) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(rankings, values, bounds): ⟨h, ψ(ŷ)⟩ of the rankings, and upper bounds over all complete rankings.

        A ranking whose value equals the bound, up to rounding, is the best one. ψ is that of the kernel inside
        `Normalized` and `Scaled`.
        """
        kernel, _ = output_kernel(embedding)
        weights, S = output_weights(H, embedding)
        d = len(self.ranks_)
        if isinstance(kernel, Kendall):
            F = weights @ S
            positions, values, bounds = kemeny_positions(F / np.sqrt(F.shape[1]), d, self.exact)
            return self.ranks_[positions], values, bounds
        # gains (m, d, d): of item j at position r
        if isinstance(kernel, Positional):  # Σ_i β_i 1{rank of item j in y_i is the r-th}
            gains = np.stack([weights @ (self._positions == position) for position in range(d)], axis=2)
        else:
            gains = (weights @ S)[:, :, None] * (centred_places(d) * np.sqrt(12.0 / (d**3 - d)))
        positions = assigned_positions(gains)
        values = np.take_along_axis(gains, positions[:, :, None], axis=2).sum(axis=(1, 2))
        return self.ranks_[positions], values, values
