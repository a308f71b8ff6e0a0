"""A word where the best value of a search lies at an end of its list."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from iokr._system.callers import user_level
from iokr.estimators.search.result import SearchResult
from iokr.kernels.base import Kernel
from iokr.kernels.standardized import Standardized
from iokr.kernels.vectors import RBF, Laplacian

__all__ = ["warn_at_end_of_widths", "warn_at_ends"]

_ROWS = 20  # fewer choose by chance
_LEAST = 5  # shorter lists are a choice, not a range
_STEP = 0.01  # of the error: a smaller gain over the neighbour promises little
_SPREAD = 1e-3  # of the largest error of the list: below, everything is explained


def warn_at_ends(found: SearchResult, n: int) -> None:
    """Warn if the best alpha for n rows is the first or last of its list, and its neighbour clearly worse."""
    if n < _ROWS:
        return
    *_, axis = found.axes
    errors = -found.scores[found.best_index[:-1]]
    end = _clear_end(errors, list(axis.values))
    if axis.name == "alpha" and end is not None:
        name, other = ("largest", "larger") if end == max(axis.values) else ("smallest", "smaller")
        reason = " The inputs may explain little." if name == "largest" else ""
        warnings.warn(
            f"The best `alpha`, {end:g}, is the {name} of the list, and {other} ones may be better: extend `alphas`."
            f"{reason}",
            UserWarning,
            stacklevel=user_level(),
        )


def warn_at_end_of_widths(found: SearchResult, n: int) -> None:
    """The same for the widths of the kernel that was chosen among those that are searched where none is given."""
    if n < _ROWS:
        return
    kernels = found.axes[0].values
    errors = np.min(-found.scores.reshape(len(kernels), -1), axis=1)
    chosen = kernels[found.best_index[0]]
    numbers = [
        i for i, kernel in enumerate(kernels) if _has_width(kernel) and type(_base(kernel)) is type(_base(chosen))
    ]
    gammas = [float(_base(kernels[i]).gamma) for i in numbers]
    end = _clear_end(errors[numbers], gammas)
    limit = isinstance(_base(chosen), Laplacian) and end == min(gammas, default=None)  # wider ones only need less alpha
    if end is not None and not limit:
        name = "narrowest" if end == max(gammas) else "widest"
        warnings.warn(
            f"The best kernel, {chosen!r}, is the {name} of the list; give a list that goes on, `kernel=[...]`.",
            UserWarning,
            stacklevel=user_level(),
        )


def _clear_end(errors: np.ndarray, values: Sequence[float]) -> float | None:
    """The best value, if it is an end of the range and clearly better than its neighbour."""
    if len(values) < _LEAST or not np.all(np.isfinite(errors)):
        return None
    order = np.argsort(values)
    errors = errors[order]
    best = int(np.argmin(errors))
    if best not in (0, len(errors) - 1):
        return None
    neighbour = errors[1 if best == 0 else -2]
    clear = neighbour - errors[best] > max(_STEP * abs(errors[best]), _SPREAD * (errors.max() - errors.min()))
    return float(values[order[best]]) if clear else None


def _base(kernel: Kernel) -> Kernel:
    return kernel.base if isinstance(kernel, Standardized) else kernel


def _has_width(kernel: Kernel) -> bool:
    return isinstance(_base(kernel), (RBF, Laplacian))
