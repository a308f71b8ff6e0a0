"""Weights of kernels, and widths of features, that a kernel has learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from iokr._array import to_numpy
from iokr.kernels.base import Kernel
from iokr.metrics.displays.axes import OURS, axis, check_labels, finish, short
from iokr.operator_kernels.base import OperatorKernel

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
        self.values = np.asarray(to_numpy(values), dtype=float)
        self.labels = check_labels(labels, len(self.values))
        self.xlabel = xlabel

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, labels: Sequence[str] | None = None, ax: Any = None, **style: Any
    ) -> WeightsDisplay:
        """Plot the first learned weights or widths in the kernel of a fitted model, or in a fitted kernel.

        Parameters
        ----------
        estimator : fitted model with `kernel_`, or a kernel
        labels : sequence of str, default=None
            None is the kernels, or the names or numbers of the features.
        ax : matplotlib axis, default=None
        **style : for matplotlib's `barh`
        """
        kernel = _kernel_of(estimator)
        found = None if kernel is None else _learned(kernel)
        if found is None:
            raise TypeError(
                f"{estimator!r:.60} has learned neither weights nor widths: `Aligned([...])` and sums of scaled "
                "kernels have weights, kernels with a gamma for each feature have widths."
            )
        values, names, xlabel = found
        if labels is None:
            labels = names or _feature_names(estimator, len(values))
        return cls(values, labels, xlabel=xlabel).plot(ax=ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> WeightsDisplay:
        """Draw; `style` is for matplotlib's `barh`."""
        ax = axis(ax, (5.2, 0.8 + 0.32 * max(len(self.values), 3)))
        places = np.arange(len(self.values))[::-1]
        self.bars_ = ax.barh(places, self.values, **{"color": OURS, "height": 0.65, **style})
        ax.set_yticks(places, self.labels)
        ax.set_xlabel(self.xlabel)
        return finish(self, ax)  # type: ignore[no-any-return]


def _feature_names(estimator: Any, p: int) -> list[str]:
    """The names of p features at fit, or else their numbers."""
    names = [str(name) for name in vars(estimator).get("feature_names_in_", ())]
    return names if len(names) == p else [f"feature {j}" for j in range(p)]


def _kernel_of(estimator: Any) -> Kernel | None:
    """A kernel, or the fitted scalar kernel of a model, or of the model inside it."""
    if isinstance(estimator, Kernel):
        return estimator
    check_is_fitted(estimator)
    model = vars(estimator).get("model_", estimator)
    kernel: Kernel | OperatorKernel | None = vars(model).get("kernel_")
    return None if kernel is None else kernel.scalar


def _learned(kernel: Kernel) -> tuple[np.ndarray, list[str] | None, str] | None:
    """Weights of the terms of a sum, or widths of features, of the kernel or of one inside it; names; what they are."""
    if len(kernel.terms) > 1:
        return np.array([weight for weight, _ in kernel.terms]), [short(term) for _, term in kernel.terms], "weight"
    if kernel.widths is not None:
        return kernel.widths, None, "gamma"
    for member in kernel.fitted_members:
        found = _learned(member)
        if found is not None:
            return found
    return None
