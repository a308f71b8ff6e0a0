"""Metrics of quantiles and intervals: the pinball loss, and the fraction of outputs inside."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import unwarned
from iokr._validation.arguments import check_numbers, check_same_length, check_weight
from iokr.losses.pinball import check_levels
from iokr.metrics.outputs import check_finite

__all__ = ["coverage", "number_per_row", "pinball"]


def pinball(y_true: Any, y_pred: Any, levels: Any, sample_weight: Any = None) -> float:
    """Mean over rows and levels of max(θe, (θ − 1)e), e = y − q_θ; smallest if q_θ is the quantile at level θ.

    Parameters
    ----------
    y_true : array of shape (n,)
    y_pred : array of shape (n, number of levels), or (n,) for one level
        Quantiles, as from `QuantileCurves.predict`.
    levels : float or sequence of float
        θ in (0, 1), one for each column.
    sample_weight : array of shape (n,), default=None

    Examples
    --------
    >>> from iokr.metrics import pinball
    >>> round(pinball([1.0, 2.0], [[0.0, 3.0], [1.0, 4.0]], levels=(0.1, 0.9)), 3)
    0.15
    """
    n = check_same_length(y_true, y_pred, "y_true", "y_pred")
    y = number_per_row(y_true, "y_true")
    check_finite(y, "y_true")
    Q = check_numbers(y_pred, "y_pred")
    check_finite(Q, "y_pred")
    theta = check_levels(levels)
    if Q.ndim == 1:
        Q = Q[:, None]
    if Q.ndim != 2 or Q.shape[1] != len(theta):
        raise ValueError(f"`y_pred` must have a column for each of {len(theta)} levels, got shape {Q.shape}.")
    weight = check_weight(sample_weight, n, y)
    with unwarned():
        e = y[:, None] - Q
        loss = float(np.average(np.maximum(theta * e, (theta - 1) * e).mean(axis=1), weights=weight))
    if not np.isfinite(loss):
        raise ValueError("The loss of `y_true` and `y_pred` overflows; divide both by a constant.")
    return loss


def coverage(y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
    """(1/n) Σ_i 1{low_i ≤ y_i ≤ high_i}: the fraction of outputs inside their intervals, or in their prediction sets.

    Parameters
    ----------
    y_true : array of shape (n,) or (n, q)
        For sets the indices of the outputs among the candidates, −1 for an output that is not one of them.
    y_pred : array of shape (n, 2), or (n, q, 2), or object array of n sets
        Intervals, as from `QuantileCurves.interval`, whose ends may be infinite; bands, as from `Conformal.band`,
        inside which all q coordinates of an output must lie; or sets, as from `Conformal.predict_set`.
    sample_weight : array of shape (n,), default=None

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.metrics import coverage
    >>> coverage([0.5, 2.0, 1.0, 0.0], [[0.0, 1.0], [0.0, 1.0], [1.0, 4.0], [-np.inf, np.inf]])
    0.75
    """
    n = check_same_length(y_true, y_pred, "y_true", "y_pred")
    weight = check_weight(sample_weight, n, y_pred)
    if isinstance(y_pred, np.ndarray) and y_pred.dtype == object and y_pred.ndim == 1:
        y = number_per_row(y_true, "y_true")
        held = np.array([index in members for index, members in zip(y, y_pred, strict=True)])
    else:
        held = _inside(y_true, y_pred)
    return float(np.average(held, weights=weight))


def _inside(y_true: Any, y_pred: Any) -> np.ndarray:
    """Whether each output lies inside its interval or band, (n,)."""
    y = check_numbers(y_true, "y_true")
    ends = check_numbers(y_pred, "y_pred")
    check_finite(y, "y_true")
    if ends.shape[-1:] != (2,) or ends.ndim not in (2, 3) or np.isnan(ends).any():
        raise ValueError(
            f"`y_pred` must hold intervals, (n, 2) or (n, q, 2) numbers that are not NaN, got shape {ends.shape}."
        )
    if y.ndim == 2 and y.shape[1] == 1 and ends.ndim == 2:
        y = y[:, 0]
    if y.shape != ends.shape[:-1]:
        raise ValueError(
            f"`y_pred` must have shape {(*y.shape, 2)}, two ends for each entry of `y_true`, got {ends.shape}."
        )
    inside = (ends[..., 0] <= y) & (y <= ends[..., 1])
    return np.asarray(inside.reshape(len(y), -1).all(axis=1))


def number_per_row(y: Any, name: str, advice: str = "") -> np.ndarray:
    """(n,) numbers, from a vector or a column."""
    values = check_numbers(y, name)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"`{name}` must be a number per row, got shape {values.shape}{advice}.")
    return values
