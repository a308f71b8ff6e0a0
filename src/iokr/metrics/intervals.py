"""How good quantiles and intervals are: the pinball loss, and the share of outputs that lie inside."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import unwarned
from iokr._validation.arguments import check_numbers, check_same_length, check_weight
from iokr.losses.pinball import check_levels

__all__ = ["coverage", "pinball"]


def pinball(y_true: Any, y_pred: Any, levels: Any, sample_weight: Any = None) -> float:
    """mean over rows and levels of max(θe, (θ − 1)e), e = y − q_θ: least when q_θ is the quantile at level θ.

    Parameters
    ----------
    y_true : array of shape (n,)
    y_pred : array of shape (n, number of levels), or (n,) for one level
        Quantiles, as `QuantileCurves.predict` gives them.
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
    y, Q = _finite(_one_each(y_true), "y_true"), _finite(check_numbers(y_pred, "y_pred"), "y_pred")
    Q, theta = Q[:, None] if Q.ndim == 1 else Q, check_levels(levels)
    if Q.ndim != 2 or Q.shape[1] != len(theta):
        raise ValueError(f"`y_pred` must have a column for each of {len(theta)} levels, got shape {Q.shape}.")
    weight = check_weight(sample_weight, n, y)
    with unwarned():
        e = y[:, None] - Q
        loss = float(np.average(np.maximum(theta * e, (theta - 1) * e).mean(axis=1), weights=weight))
    if not np.isfinite(loss):
        raise ValueError("`y_true` and `y_pred` are so far apart that their loss overflows; divide both by a constant.")
    return loss


def coverage(y_true: Any, y_pred: Any, sample_weight: Any = None) -> float:
    """(1/n) Σ_i 1{low_i ≤ y_i ≤ high_i}: the share of outputs inside their intervals, or in their sets.

    Parameters
    ----------
    y_true : array of shape (n,) or (n, q)
        For sets the positions of the outputs among the candidates, −1 for one that is none of them.
    y_pred : array of shape (n, 2), or (n, q, 2), or object array of n sets
        Intervals, as from `QuantileCurves.interval`, whose ends may be infinite; bands, as from `Conformal.band`,
        inside which all q coordinates of an output have to lie; or sets, as from `Conformal.predict_set`.
    sample_weight : array of shape (n,), default=None

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.metrics import coverage
    >>> coverage([0.5, 2.0, 1.0, 0.0], [[0.0, 1.0], [0.0, 1.0], [1.0, 4.0], [-np.inf, np.inf]])
    0.75
    """
    n = check_same_length(y_true, y_pred, "y_true", "y_pred")
    if isinstance(y_pred, np.ndarray) and y_pred.dtype == object and y_pred.ndim == 1:
        held = np.array([y in members for y, members in zip(_one_each(y_true), y_pred, strict=True)])
        return float(np.average(held, weights=check_weight(sample_weight, n, y_pred)))
    y, ends = _finite(check_numbers(y_true, "y_true"), "y_true"), check_numbers(y_pred, "y_pred")
    if ends.shape[-1:] != (2,) or ends.ndim not in (2, 3) or np.isnan(ends).any():
        raise ValueError(
            f"`y_pred` must hold intervals, (n, 2) or (n, q, 2) numbers that are not NaN, got shape {ends.shape}."
        )
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 and ends.ndim == 2 else y
    if y.shape != ends.shape[:-1]:
        raise ValueError(
            f"`y_true` has shape {y.shape} but `y_pred`, intervals, has {ends.shape}; it must be that and 2."
        )
    inside = (ends[..., 0] <= y) & (y <= ends[..., 1])
    return float(np.average(inside.reshape(n, -1).all(axis=1), weights=check_weight(sample_weight, n, y)))


def _one_each(y: Any) -> np.ndarray:
    """A number for each row."""
    values = check_numbers(y, "y_true")
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.ndim != 1:
        raise ValueError(f"`y_true` must be a number per row, got shape {values.shape}.")
    return values


def _finite(values: np.ndarray, name: str) -> np.ndarray:
    if not np.isfinite(values).all():
        odd = "NaN" if np.isnan(values).any() else "infinity"
        raise ValueError(f"`{name}` contains {odd}; leave such rows out.")
    return values
