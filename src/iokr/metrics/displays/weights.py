"""What a kernel has learned: weights of kernels, widths of features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from iokr._array import to_numpy
from iokr.metrics.displays.axes import OURS, axis, check_labels, finish

__all__ = ["WeightsDisplay"]


class WeightsDisplay:
    """Bars: the weight of each kernel in a sum, or γ of each feature.

    Parameters
    ----------
    values : array of shape (k,)
    labels : sequence of k str
    xlabel : str
        What the values are.

    Attributes
    ----------
    ax_, figure_, bars_ : of matplotlib

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF, Aligned, Linear
    >>> from iokr.metrics import WeightsDisplay
    >>> X = np.linspace(-1, 1, 30)[:, None]
    >>> model = IOKR(Aligned([Linear(), RBF(1.0)])).fit(X, 2 * X[:, 0])
    >>> WeightsDisplay.from_estimator(model).labels
    ['Linear()', 'RBF(gamma=1.0)']
    """

    def __init__(self, values: Any, labels: Sequence[str], *, xlabel: str = "weight") -> None:
        self.values, self.xlabel = np.asarray(to_numpy(values), dtype=float), xlabel
        self.labels = check_labels(labels, len(self.values))

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, labels: Sequence[str] | None = None, ax: Any = None, **style: Any
    ) -> WeightsDisplay:
        """Of a fitted model, or of a fitted kernel: the first learned weights or widths that its kernel has.

        Parameters
        ----------
        estimator : fitted model with `kernel_`, or a kernel
        labels : sequence of str, default=None
            None takes kernels by their names and features by their names or numbers.
        ax : matplotlib axis, default=None
        **style : for matplotlib's `barh`
        """
        kernel = getattr(estimator, "kernel_", None)
        if kernel is None:
            check_is_fitted(estimator)
            kernel = getattr(getattr(estimator, "model_", None), "kernel_", estimator)
        found = next(_learned(kernel, estimator), None)
        if found is None:
            raise TypeError(
                f"{kernel!r:.60} has learned neither weights nor widths; `Aligned([...])` and sums of scaled kernels "
                "have weights, kernels with a gamma for each feature have widths."
            )
        values, named, xlabel = found
        return cls(values, named if labels is None else labels, xlabel=xlabel).plot(ax=ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> WeightsDisplay:
        """Draw; `style` is for matplotlib's `barh`."""
        ax = axis(ax, (5.2, 0.8 + 0.32 * max(len(self.values), 3)))
        places = np.arange(len(self.values))[::-1]
        self.bars_ = ax.barh(places, self.values, **{"color": OURS, "height": 0.65, **style})
        ax.set_yticks(places, self.labels)
        ax.set_xlabel(self.xlabel)
        return finish(self, ax)  # type: ignore[no-any-return]


def _learned(kernel: Any, estimator: Any) -> Iterator[tuple[np.ndarray, list[str], str]]:
    """Weights of the kernel's parts, or widths of features; of its parts where it has none itself."""
    weights, parts = getattr(kernel, "weights_", None), getattr(kernel, "kernels_", None)
    if weights is not None and parts is not None and len(weights) == len(parts):
        yield np.asarray(to_numpy(weights)), [_short(part) for part in parts], "weight"
    for name in ("gammas_", "gammas", "gamma_"):
        widths = getattr(kernel, name, None)
        if widths is not None and np.ndim(widths) == 1 and len(widths) > 1:
            names = getattr(estimator, "feature_names_in_", None)
            features = [str(name) for name in names] if names is not None else []
            if len(features) != len(widths):
                features = [f"feature {j}" for j in range(len(widths))]
            yield np.asarray(to_numpy(widths)), features, "gamma"
            break
    terms = list(_terms(kernel, 1.0))
    if len(terms) > 1:
        yield np.array([factor for factor, _ in terms]), [_short(part) for _, part in terms], "weight"
    for name in ("kernel_", "base_", "left_", "right_"):
        part = getattr(kernel, name, None)
        if isinstance(part, BaseEstimator):
            yield from _learned(part, estimator)


def _terms(kernel: Any, factor: float) -> Iterator[tuple[float, Any]]:
    """The kernels of a sum with their factors."""
    left, right, base = (getattr(kernel, name, None) for name in ("left_", "right_", "base_"))
    if type(kernel).__name__ == "Sum" and left is not None and right is not None:
        yield from _terms(left, factor)
        yield from _terms(right, factor)
    elif type(kernel).__name__ == "Scaled" and base is not None:
        yield from _terms(base, factor * float(kernel.factor))
    else:
        yield factor, kernel


def _short(kernel: Any) -> str:
    text = " ".join(repr(kernel).split())
    return text if len(text) <= 40 else text[:39] + "…"
