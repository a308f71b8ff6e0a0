"""Coverage of conformal sets against what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from iokr.losses.pinball import check_levels
from iokr.metrics.displays.axes import MUTED, OURS, axis, check_estimator, check_name, finish

__all__ = ["CoverageDisplay"]

LEVELS = tuple(round(0.05 * i, 2) for i in range(10, 20))


class CoverageDisplay:
    """Fraction of new rows whose set holds their output, against the coverage asked for, with binomial intervals.

    Parameters
    ----------
    levels : sequence of numbers between 0 and 1
    held : sequence of int
        How many of the rows were in their sets.
    n : int
        How many rows.
    name : str, default=None
        In the legend.

    Attributes
    ----------
    ax_, figure_, line_ : of matplotlib

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR, Conformal
    >>> from iokr.kernels import RBF
    >>> from iokr.metrics import CoverageDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(200, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=200)
    >>> sets = Conformal(IOKR(RBF(1.0), alpha=0.1)).fit(X[:60], y[:60])
    >>> CoverageDisplay.from_estimator(sets, X[60:], y[60:], levels=(0.5, 0.8, 0.9)).coverage.shape
    (3,)
    """

    def __init__(self, levels: Any, held: Any, n: int, *, name: str | None = None) -> None:
        self.levels, self.held, self.n, self.name = np.asarray(levels, dtype=float), np.asarray(held), n, name

    @property
    def coverage(self) -> np.ndarray:
        """Fractions of the rows."""
        return np.asarray(self.held / self.n)

    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """95 % of Wilson's interval for each fraction: (p̂ + z²/2n ± z√(p̂(1 − p̂)/n + z²/4n²)) / (1 + z²/n)."""
        z, n, p = 1.959964, self.n, self.coverage
        middle, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        return (middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        levels: Sequence[float] = LEVELS,
        candidates: Any = None,
        name: str | None = None,
        ax: Any = None,
        **style: Any,
    ) -> CoverageDisplay:
        """Of a fitted `Conformal` on rows that it has not seen.

        Parameters
        ----------
        estimator : fitted `Conformal`
        X, y : inputs and their outputs
        levels : sequence of float, default=(0.5, 0.55, ..., 0.95)
            Coverages to ask for.
        candidates : sequence of outputs, default=None
            For `conformity="relative"`.
        name : str, default=None
        ax : matplotlib axis, default=None
        **style : for matplotlib's `plot`
        """
        check_estimator(estimator, "contains", "a fitted `Conformal`")
        check_name(name)
        asked = check_levels(levels)
        options = {} if candidates is None else {"candidates": candidates}
        inside = [np.asarray(estimator.contains(X, y, level, **options)) for level in asked.tolist()]
        return cls(asked, [int(one.sum()) for one in inside], len(inside[0]), name=name).plot(ax=ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> CoverageDisplay:
        """Draw; `style` is for matplotlib's `plot`."""
        ax = axis(ax, (4.4, 4.0))
        low = min(self.levels.min(), self.coverage.min()) - 0.03
        ax.plot([low, 1], [low, 1], color=MUTED, linewidth=1, zorder=1)
        shown = {"color": OURS, "marker": "o", "markersize": 4, "linewidth": 1.6, **style}
        label = {} if self.name is None else {"label": self.name}
        (self.line_,) = ax.plot(self.levels, self.coverage, **shown, **label)
        ax.fill_between(self.levels, *self.interval(), color=shown["color"], alpha=0.15, linewidth=0)
        ax.set(xlabel="coverage asked for", ylabel="coverage measured", xlim=(low, 1.01), ylim=(low, 1.01))
        if self.name is not None:
            ax.legend(frameon=False, loc="lower right")
        return finish(self, ax)  # type: ignore[no-any-return]
