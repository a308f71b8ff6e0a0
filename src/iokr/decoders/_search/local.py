"""Local search: one edit at a time, while it helps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

__all__ = ["descend"]

T = TypeVar("T")
_LESS = 1e-10  # what a cost must fall by, relative to it: less may be rounding, and would go on for ever


def descend(
    begin: T, edits: Callable[[T], Sequence[T]], costs: Callable[[Sequence[T]], np.ndarray], max_steps: int
) -> tuple[T, float]:
    """y ← the edit of y of least cost, while that gets smaller, `max_steps` times at most; (y, its cost)."""
    here, cost = begin, float(costs([begin])[0])
    for _ in range(max_steps):
        edited = edits(here)
        if not len(edited):
            break
        values = costs(edited)
        best = int(np.argmin(values))
        if values[best] >= cost - _LESS * max(abs(cost), 1.0):
            break
        here, cost = edited[best], float(values[best])
    return here, cost
