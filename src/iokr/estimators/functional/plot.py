"""Curves, predicted and observed, with bands."""

from __future__ import annotations

from importlib import util
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from iokr._array import to_numpy
from iokr._validation.arguments import check_numbers, check_same_length
from iokr.data.curves import read_curves
from iokr.data.objects import n_objects, take

__all__ = ["draw_curves"]

_LARGEST = 1e150  # what axes can show: they square and subtract
_FEW = 4  # curves are drawn unless rows are named


def draw_curves(model: Any, X: Any, y: Any, rows: Any, ax: Any) -> Any:
    """The axes with a line for each of some predicted curves, its band, and points where it was observed."""
    check_is_fitted(model)
    if util.find_spec("matplotlib") is None:
        raise ImportError("`plot` needs matplotlib; install the extra: pip install 'iokr[report]'.")
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=(7, 4), layout="constrained").add_subplot()
    n = n_objects(X)
    chosen = np.unique(np.linspace(0, n - 1, min(n, _FEW)).astype(int)) if rows is None else _row_numbers(rows, n)
    theta = np.linspace(model.points_[0], model.points_[-1], max(200, len(model.points_)))
    curves = to_numpy(model.predict(take(X, chosen), at=theta))
    band = np.interp(theta, model.points_, 2 * model.loo_spread()) if model.loss_.quadratic else None
    seen = None if y is None else to_numpy(read_curves(y, model.points_).values)
    if seen is not None:
        check_same_length(X, seen)
        seen = seen[chosen]
    if any(part is not None and np.nanmax(np.abs(part), initial=0.0) > _LARGEST for part in (curves, band, seen)):
        raise ValueError(
            f"`y` or the curves hold numbers beyond {_LARGEST:g}, which axes cannot show; scale the outputs."
        )
    for k, curve in enumerate(curves):
        (line,) = ax.plot(theta, curve, label=f"{chosen[k]}, predicted")
        if band is not None:
            ax.fill_between(theta, curve - band, curve + band, color=line.get_color(), alpha=0.12, linewidth=0)
        if seen is not None:
            ax.plot(model.points_, seen[k], ".", color=line.get_color(), markersize=4)
    ax.set_xlabel("θ")
    words = [] if seen is None else ["points: observed"]
    words += [] if band is None else ["bands: ± 2 sd, leave-one-out"]
    ax.set_title("; ".join(words), fontsize=9)
    ax.legend(fontsize=8)
    return ax


def _row_numbers(rows: Any, n: int) -> np.ndarray:
    """Numbers of rows of X."""
    found = check_numbers(rows, "rows")
    if found.ndim != 1 or not np.all((found == np.floor(found)) & (found >= 0) & (found < n)):
        raise ValueError(f"`rows` must be a list of row numbers of X, from 0 to {n - 1}, got {rows!r:.60}.")
    return found.astype(int)
