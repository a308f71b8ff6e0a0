"""Curves, predicted and observed, with bands."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from iokr._array import to_numpy
from iokr._validation.arguments import check_same_length
from iokr.data.curves import read_curves
from iokr.data.objects import n_objects, take
from iokr.metrics.displays.axes import axis

__all__ = ["draw_curves"]

_FEW = 4  # curves that are drawn by default
_FINE = 200  # points on which a curve is drawn, at least


def draw_curves(model: Any, X: Any, y: Any, rows: Any, ax: Any) -> Any:
    """Draw some predicted curves with their bands, and the observed points; the axes."""
    check_is_fitted(model)
    ax = axis(ax, (7, 4))
    n = n_objects(X)
    drawn = np.linspace(0, n - 1, min(n, _FEW)).astype(int)
    if rows is not None:
        drawn = np.asarray(rows)
    theta = np.linspace(model.points_[0], model.points_[-1], max(_FINE, len(model.points_)))
    curves = to_numpy(model.predict(take(X, drawn), at=theta))
    band = np.interp(theta, model.points_, 2 * model.loo_spread()) if model.loss_.quadratic else None
    observed = None
    if y is not None:
        values = to_numpy(read_curves(y, model.points_).values)
        check_same_length(X, values)
        observed = values[drawn]
    for k, curve in enumerate(curves):
        (line,) = ax.plot(theta, curve, label=f"{drawn[k]}, predicted")
        if band is not None:
            ax.fill_between(theta, curve - band, curve + band, color=line.get_color(), alpha=0.12, linewidth=0)
        if observed is not None:
            ax.plot(model.points_, observed[k], ".", color=line.get_color(), markersize=4)
    ax.set_xlabel("θ")
    notes = {"points: observed": observed, "bands: ± 2 sd, leave-one-out": band}
    ax.set_title("; ".join(note for note, shown in notes.items() if shown is not None), fontsize=9)
    ax.legend(fontsize=8)
    return ax
