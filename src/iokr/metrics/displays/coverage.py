"""Measured coverage of conformal sets against the requested coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from iokr.losses.pinball import check_levels
from iokr.metrics.displays.axes import MUTED, OURS, axis, check_estimator, check_name, finish

__all__ = ["CoverageDisplay"]

LEVELS = tuple(round(0.05 * i, 2) for i in range(10, 20))


class CoverageDisplay:
    """Fraction of new rows whose prediction set contains their output, against the requested coverage.

    Parameters
    ----------
    levels : sequence of numbers between 0 and 1
    held : sequence of int
        The number of rows whose set contains their output, for each level.
    n : int
        The number of rows.
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
        check_name(name)
        self.levels = np.asarray(levels, dtype=float)
        self.held = np.asarray(held)
        self.n = n
        self.name = name

    @property
    def coverage(self) -> np.ndarray:
        """Fractions of the rows."""
        return np.asarray(self.held / self.n)

    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of Wilson's interval for each fraction, at 95 %."""
        from scipy.stats import binomtest  # not loaded with the metrics

        intervals = [binomtest(int(k), self.n).proportion_ci(0.95, method="wilson") for k in self.held]
        return np.array([interval.low for interval in intervals]), np.array([interval.high for interval in intervals])

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
        """Plot a fitted `Conformal` on new rows.

        Parameters
        ----------
        estimator : fitted `Conformal`
        X, y : inputs and their outputs
        levels : sequence of float, default=(0.5, 0.55, ..., 0.95)
            Requested coverages.
        candidates : sequence of outputs, default=None
            For `conformity="relative"`.
        name : str, default=None
        ax : matplotlib axis, default=None
        **style : for matplotlib's `plot`
        """
        check_estimator(estimator, "contains", "a fitted `Conformal`")
        requested = check_levels(levels)
        options = {} if candidates is None else {"candidates": candidates}
        inside = [np.asarray(estimator.contains(X, y, level, **options)) for level in requested.tolist()]
        held = [int(rows.sum()) for rows in inside]
        return cls(requested, held, len(inside[0]), name=name).plot(ax=ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> CoverageDisplay:
        """Draw; `style` is for matplotlib's `plot`."""
        ax = axis(ax, (4.4, 4.0))
        low = min(self.levels.min(), self.coverage.min()) - 0.03
        ax.plot([low, 1], [low, 1], color=MUTED, linewidth=1, zorder=1)
        shown = {"color": OURS, "marker": "o", "markersize": 4, "linewidth": 1.6, "label": self.name, **style}
        (self.line_,) = ax.plot(self.levels, self.coverage, **shown)
        ax.fill_between(self.levels, *self.interval(), color=shown["color"], alpha=0.15, linewidth=0)
        ax.set(xlabel="requested coverage", ylabel="measured coverage", xlim=(low, 1.01), ylim=(low, 1.01))
        return finish(self, ax, self.name)  # type: ignore[no-any-return]
