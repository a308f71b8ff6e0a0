"""Predicted against true outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import to_numpy
from iokr._validation.arguments import check_number, check_numbers
from iokr.data.frames import read
from iokr.metrics.displays.axes import MUTED, OURS, axis, check_estimator, finish

__all__ = ["PredictionDisplay"]

_LARGEST = 1e300  # a number around which matplotlib can draw a margin
_NAMED = 10  # coordinates that are named in a legend


class PredictionDisplay:
    """Predicted outputs against the true ones, a colour per coordinate; with a `Conformal`, with bands.

    Parameters
    ----------
    y_true, y_pred : arrays of shape (n,) or (n, q)
        NaN is a missing output, which is not drawn.
    band : array of shape (n, 2) or (n, q, 2), default=None
        Lower and upper ends.

    Attributes
    ----------
    ax_, figure_ : of matplotlib

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR, Conformal
    >>> from iokr.kernels import RBF
    >>> from iokr.metrics import PredictionDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(80, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=80)
    >>> sets = Conformal(IOKR(RBF(1.0), alpha=0.1)).fit(X[:60], y[:60])
    >>> PredictionDisplay.from_estimator(sets, X[60:], y[60:]).band.shape
    (20, 1, 2)
    """

    def __init__(self, y_true: Any, y_pred: Any, band: Any = None) -> None:
        self.y_true = _columns(y_true, "y_true")
        self.y_pred = _columns(y_pred, "y_pred")
        if self.y_true.shape != self.y_pred.shape:
            raise ValueError(
                f"`y_true` has shape {self.y_true.shape} but `y_pred` has {self.y_pred.shape}; they must be the same."
            )
        self.band = None if band is None else np.asarray(band, dtype=float).reshape(*self.y_true.shape, 2)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, coverage: float = 0.9, ax: Any = None, **style: Any
    ) -> PredictionDisplay:
        """Plot a fitted model whose outputs are numbers or vectors, on new rows.

        Parameters
        ----------
        estimator : fitted model, or `Conformal` around one
        X, y : inputs and their outputs
        coverage : float, default=0.9
            Of the bands of a `Conformal`.
        ax : matplotlib axis, default=None
        **style : for matplotlib's `scatter`
        """
        check_estimator(estimator, "predict", "a fitted model")
        predicted = read(estimator.predict(X), matrix=True)
        band = None
        if hasattr(estimator, "band"):
            check_number(coverage, "coverage")
            band = to_numpy(estimator.band(X, coverage))
        return cls(y, predicted, band).plot(ax=ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> PredictionDisplay:
        """Draw; `style` is for matplotlib's `scatter`."""
        ax = axis(ax, (4.4, 4.0))
        values = np.concatenate([self.y_true.ravel(), self.y_pred.ravel()])
        ends = [np.nanmin(values), np.nanmax(values)]
        ax.plot(ends, ends, color=MUTED, linewidth=1, zorder=1)
        q = self.y_true.shape[1]
        for j in range(q):
            colour = OURS if q == 1 else f"C{j % 10}"
            shown = {"color": colour, "s": 12, "alpha": 0.8, "linewidths": 0, **style}
            if self.band is not None:
                ax.vlines(self.y_true[:, j], *self.band[:, j].T, color=shown["color"], alpha=0.25, linewidth=1)
            label = {"label": f"output {j}"} if 1 < q <= _NAMED else {}
            ax.scatter(self.y_true[:, j], self.y_pred[:, j], zorder=2, **shown, **label)
        ax.set(xlabel="true", ylabel="predicted")
        if 1 < q <= _NAMED:
            ax.legend(frameon=False, fontsize="small")
        return finish(self, ax)  # type: ignore[no-any-return]


def _columns(y: Any, name: str) -> np.ndarray:
    """Numbers as rows of coordinates."""
    try:
        values = check_numbers(y, name)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`{name}` must hold numbers or vectors to be drawn ({error})") from None
    if values.ndim not in (1, 2) or not np.any(~np.isnan(values)):
        got = "NaN alone" if values.ndim in (1, 2) and values.size else f"shape {values.shape}"
        raise ValueError(f"`{name}` must hold a number or a row of numbers for each input to be drawn, got {got}.")
    if not np.nanmax(np.abs(values), initial=0.0) < _LARGEST:
        raise ValueError(f"`{name}` contains numbers beyond {_LARGEST:g}, which cannot be drawn; divide by a constant.")
    return values[:, None] if values.ndim == 1 else values
