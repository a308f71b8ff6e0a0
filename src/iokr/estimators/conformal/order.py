"""y is in the set when fewer than k = ⌈coverage · (n + 1)⌉ of n scores are below its own: one rule for all methods."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from iokr._array import is_array, is_numpy, is_sparse, to_numpy
from iokr._validation.arguments import check_number
from iokr.data.frames import read
from iokr.data.objects import error_context, is_numeric

__all__ = ["INCOMPLETE", "check_complete", "check_coverage", "kth", "rank_needed", "rank_of", "rows_needed"]

INCOMPLETE = "`y` contains NaN: scores of incomplete rows cannot be compared with those of complete ones; drop these."
_ROUNDING = 1e-9  # of coverage · (n + 1): 0.9 · 10 is 9


def check_complete(y: Any) -> None:
    """Reject missing entries: the score of an incomplete row cannot be compared with that of a complete one."""
    if is_sparse(y) or not is_numeric(y):
        return
    with error_context("y"):
        y = read(y)
    values = to_numpy(y) if is_array(y) and not is_numpy(y) else np.asarray(y)
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError(INCOMPLETE)


def check_coverage(coverage: Any) -> float:
    """A number between 0 and 1, both excluded."""
    value = check_number(coverage, "coverage")
    if not 0 < value < 1:
        raise ValueError(f"`coverage` must lie between 0 and 1, both excluded, got {coverage!r}.")
    return value


def rows_needed(coverage: float) -> int:
    """The smallest n with ⌈coverage · (n + 1)⌉ ≤ n."""
    return math.ceil(coverage / (1 - coverage) - _ROUNDING)


def rank_of(coverage: float, n: int) -> int:
    """k = ⌈coverage · (n + 1)⌉, which is above n where n scores are too few."""
    return max(1, math.ceil(coverage * (n + 1) - _ROUNDING))


def rank_needed(coverage: Any, n: int) -> int:
    """k = ⌈coverage · (n + 1)⌉; an error where it is above n, for then the set is everything."""
    value = check_coverage(coverage)
    k = rank_of(value, n)
    if k > n:
        raise ValueError(
            f"A coverage of {value:g} needs at least {rows_needed(value)} calibration rows, got {n}: with fewer the "
            "set is everything. Give more rows, or lower `coverage`."
        )
    return k


def kth(values: np.ndarray, k: int) -> np.ndarray:
    """The k-th smallest along the last axis."""
    return np.asarray(np.partition(values, k - 1, axis=-1)[..., k - 1])
