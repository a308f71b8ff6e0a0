"""Errors along the grid that a model was chosen from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from iokr.metrics.displays.axes import OURS, axis, check_labels, finish

__all__ = ["PathDisplay"]

_MEASURES = {
    "loo_errors_": ("leave-one-out error", False),
    "cv_errors_": ("error of folds", False),
    "scores_": ("score", True),
}


class PathDisplay:
    """Error (or score) against alpha, a curve for each kernel and manifold weight; the choice is marked.

    Parameters
    ----------
    alphas : sequence of a numbers
    values : array of shape (c, a)
        A row per curve.
    labels : sequence of c str
    best : tuple of int
        Curve and alpha that were chosen.
    ylabel : str
    chosen : float, default=None
        The alpha that the model took where it is none of the grid.

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
        self.alphas, self.values = np.asarray(alphas, dtype=float), np.asarray(values, dtype=float)
        self.labels, self.best, self.ylabel, self.chosen = list(labels), best, ylabel, chosen

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, labels: Sequence[str] | None = None, ax: Any = None, **style: Any
    ) -> PathDisplay:
        """Of a fitted model with alphas to choose from: `IOKRCV`, `LinkPredictorCV`, `MultiTaskCV` and others.

        Parameters
        ----------
        estimator : fitted model with `alphas`, and `loo_errors_`, `cv_errors_` or `scores_`
        labels : sequence of str, default=None
            Names of the curves; None takes kernels and manifold_weights.
        ax : matplotlib axis, default=None
        **style : for matplotlib's `plot`
        """
        check_is_fitted(estimator)
        name = next((name for name in _MEASURES if hasattr(estimator, name)), None)
        if name is None or not hasattr(estimator, "alphas"):
            raise TypeError(f"`estimator` must have chosen among `alphas`, got {type(estimator).__name__}.")
        alphas = np.asarray([float(a) for a in estimator.alphas])
        ylabel, larger = _MEASURES[name]
        values = np.asarray(getattr(estimator, name), dtype=float).reshape(-1, len(alphas))
        found = values if larger else -values
        best = tuple(int(i) for i in np.unravel_index(np.nanargmax(found), values.shape))
        named = _labels(estimator, len(values)) if labels is None else check_labels(labels, len(values))
        chosen = getattr(estimator, "alpha_", None)
        display = cls(alphas, values, named, (best[0], best[1]), ylabel=ylabel, chosen=chosen)
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
        positive = self.values[np.isfinite(self.values)]
        if positive.size and positive.min() > 0 and positive.max() > 30 * positive.min():
            ax.set_yscale("log")
        if len(self.labels) <= 12:
            ax.legend(frameon=False, fontsize="small")
        return finish(self, ax)  # type: ignore[no-any-return]


def _labels(estimator: Any, curves: int) -> list[str]:
    """Kernels × manifold_weights by their names; numbers where there is more to a curve."""
    kernels = estimator.kernel if isinstance(estimator.kernel, (list, tuple)) else [estimator.kernel]
    names = [_short(kernel) for kernel in kernels]
    manifold_weights = getattr(estimator, "manifold_weights", None)
    if manifold_weights is not None and len(names) * len(manifold_weights) == curves:
        one = len(names) == 1
        return [f"{'' if one else name + ', '}manifold weight {s:g}" for name in names for s in manifold_weights]
    if len(names) == curves:
        return names
    return [str(number) for number in range(curves)]


def _short(kernel: Any) -> str:
    text = " ".join(repr(kernel).split()) if kernel is not None else "RBF()"
    return text if len(text) <= 40 else text[:39] + "…"
