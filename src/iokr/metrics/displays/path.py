"""Errors along the alphas that a model was chosen from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from iokr.metrics.displays.axes import OURS, axis, check_labels, finish, short

__all__ = ["PathDisplay"]

_WIDE = 30  # ratio of errors above which their axis is logarithmic
_NAMED = 12  # curves that are named in a legend


class PathDisplay:
    """Error (or score) against alpha, with a curve for each point of the other searched axes; the best is marked.

    Parameters
    ----------
    alphas : sequence of a numbers
    values : array of shape (c, a)
        A row per curve.
    labels : sequence of c str
    best : tuple of int
        Indices of the best curve and alpha.
    ylabel : str
    chosen : float, default=None
        The alpha of the model, if it is not one of the grid.

    Attributes
    ----------
    ax_, figure_, lines_ : of matplotlib

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKRCV
    >>> from iokr.kernels import RBF
    >>> from iokr.metrics import PathDisplay
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> model = IOKRCV([RBF(0.1), RBF(1.0)], alphas=(0.01, 0.1, 1.0)).fit(X, np.sin(X[:, 0]))
    >>> display = PathDisplay.from_estimator(model)
    >>> display.values.shape, display.labels[1]
    ((2, 3), 'RBF(gamma=1.0)')
    """

    def __init__(
        self,
        alphas: Any,
        values: Any,
        labels: Sequence[str],
        best: tuple[int, int],
        *,
        ylabel: str = "leave-one-out error",
        chosen: float | None = None,
    ) -> None:
        self.alphas = np.asarray(alphas, dtype=float)
        self.values = np.asarray(values, dtype=float)
        self.labels = list(labels)
        self.best = best
        self.ylabel = ylabel
        self.chosen = chosen

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, labels: Sequence[str] | None = None, ax: Any = None, **style: Any
    ) -> PathDisplay:
        """Plot the search of a fitted model with alphas to choose from: `IOKRCV`, `LinkPredictorCV`, `MultiTaskCV`, ...

        Parameters
        ----------
        estimator : fitted model that chose alpha, with `search_`
        labels : sequence of str, default=None
            Names of the curves; None is the searched kernels and other parameters.
        ax : matplotlib axis, default=None
        **style : for matplotlib's `plot`
        """
        check_is_fitted(estimator)
        search = vars(estimator).get("search_")
        if search is None or search.axes[-1].name != "alpha":
            raise TypeError(f"`estimator` must have chosen among `alphas`, got {type(estimator).__name__}.")
        *axes, path = search.axes
        values = np.asarray(search.values, dtype=float).reshape(-1, len(path.values))
        scores = values if search.larger else -values
        row, column = np.unravel_index(np.nanargmax(scores), values.shape)
        names = _labels(axes) if labels is None else check_labels(labels, len(values))
        ylabel = "leave-one-out error"
        if search.larger:
            ylabel = "score"
        elif "cv_errors_" in vars(estimator):
            ylabel = "cross-validation error"
        best = (int(row), int(column))
        display = cls(path.values, values, names, best, ylabel=ylabel, chosen=search.best["alpha"])
        return display.plot(ax=ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> PathDisplay:
        """Draw; `style` is for matplotlib's `plot`."""
        ax = axis(ax)
        order = np.argsort(self.alphas)
        self.lines_ = [
            ax.plot(self.alphas[order], row[order], label=label, **{"linewidth": 1.6, **style})[0]
            for row, label in zip(self.values, self.labels, strict=True)
        ]
        row, column = self.best
        at = self.alphas[column], self.values[row, column]
        ax.plot(*at, "o", color=OURS, markersize=7, markerfacecolor="none", markeredgewidth=1.8, label="best")
        if self.chosen is not None and not np.isclose(self.chosen, at[0]):
            ax.axvline(self.chosen, color=OURS, linestyle=":", linewidth=1.2, label="chosen")
        ax.set(xlabel="alpha", ylabel=self.ylabel, xscale="log")
        known = self.values[np.isfinite(self.values)]
        if known.size and known.min() > 0 and known.max() > _WIDE * known.min():
            ax.set_yscale("log")
        if len(self.labels) <= _NAMED:
            ax.legend(frameon=False, fontsize="small")
        return finish(self, ax)  # type: ignore[no-any-return]


def _labels(axes: Sequence[Any]) -> list[str]:
    """The searched values at each point of the axes before alpha; kernels by their repr."""
    varied = [axis for axis in axes if len(axis.values) > 1] or axes[:1]
    return [", ".join(map(_label, varied, point)) for point in product(*(axis.values for axis in varied))]


def _label(axis: Any, value: Any) -> str:
    if axis.name == "kernel":
        return short(value)
    name = axis.name.replace("__", " ").replace("_", " ")
    return f"{name} {value:g}" if isinstance(value, (int, float)) else f"{name} {short(value)}"
