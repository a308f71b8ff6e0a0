"""Ranks of the true outputs among their candidates."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._validation.arguments import check_numbers, check_same_length
from iokr.data.candidates import CandidateSets, ranks_of_truth, shared_sequence
from iokr.data.frames import EXACT
from iokr.data.objects import keys
from iokr.metrics.displays.axes import axis, check_name, finish

__all__ = ["RankDisplay"]

_EACH = 10_000  # largest rank for which the line has a point at each rank
_LONG = 20  # largest rank on a linear axis


class RankDisplay:
    """Fraction of inputs whose true output is among the k first candidates, against k.

    Parameters
    ----------
    ranks : array of shape (n,)
        1 is best; infinite where the truth was not a candidate. `cross_val_rank` computes them out of fold.
    name : str, default=None
        In the legend.

    Attributes
    ----------
    ax_, figure_, line_ : of matplotlib

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.kernels import Delta
    >>> from iokr.metrics import RankDisplay
    >>> X, y = np.arange(12.0)[:, None] // 4, ["low"] * 4 + ["middle"] * 4 + ["high"] * 4
    >>> model = IOKR(output_kernel=Delta(), alpha=0.1).fit(X, y)
    >>> RankDisplay.from_estimator(model, X, y, ["low", "middle", "high"]).ranks.max()
    np.float64(1.0)
    """

    def __init__(self, ranks: Any, *, name: str | None = None) -> None:
        check_name(name)
        self.ranks = check_numbers(ranks, "ranks")
        self.name = name
        known = self.ranks[~np.isinf(self.ranks)]
        if self.ranks.ndim != 1 or not len(self.ranks) or np.any(~(self.ranks >= 1)) or np.any(known > EXACT):
            raise ValueError(f"`ranks` must be a non-empty 1-D sequence of numbers from 1 to 2⁵³, got {ranks!r:.60}.")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, candidates: Any, *, name: str | None = None, ax: Any = None, **style: Any
    ) -> RankDisplay:
        """Plot a fitted model on new rows.

        Parameters
        ----------
        estimator : fitted model with `rank`
        X, y : n inputs and their outputs
        candidates : sequence of outputs, `SharedCandidates`, or `CandidateSets`
        name : str, default=None
        ax : matplotlib axis, default=None
        **style : for matplotlib's `step`
        """
        check_same_length(X, y)
        order, _ = estimator.rank(X, candidates)
        if not isinstance(candidates, CandidateSets):
            candidates = shared_sequence(candidates)
        return cls.from_ranks(ranks_of_truth(order, keys(y), candidates), name=name, ax=ax, **style)

    @classmethod
    def from_ranks(cls, ranks: Any, *, name: str | None = None, ax: Any = None, **style: Any) -> RankDisplay:
        """Plot known ranks, as from `cross_val_rank`."""
        return cls(ranks, name=name).plot(ax=ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> RankDisplay:
        """Draw; `style` is for matplotlib's `step`."""
        ax = axis(ax)
        finite = self.ranks[np.isfinite(self.ranks)]
        last = float(finite.max()) if len(finite) else 1.0
        k = np.arange(1, max(int(last), 2) + 1) if last <= _EACH else np.unique(np.r_[1.0, finite])
        fraction = np.searchsorted(np.sort(self.ranks), k, side="right") / len(self.ranks)
        (self.line_,) = ax.step(k, 100 * fraction, where="post", **{"linewidth": 1.8, "label": self.name, **style})
        ax.set(xlabel="rank k", ylabel="truth among the first k (%)")
        ax.set_ylim(0, 103)
        if last > _LONG:
            ax.set_xscale("log")
        elif ax.get_xscale() == "linear":
            ax.xaxis.get_major_locator().set_params(integer=True)
        return finish(self, ax, self.name)  # type: ignore[no-any-return]
