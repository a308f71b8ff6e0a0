"""Local search by the best single edit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

__all__ = ["descend"]

T = TypeVar("T")
_LESS = 1e-10  # relative decrease of the cost below which the search ends: less may be rounding, without end


def descend(
    begin: T, edits: Callable[[T], Sequence[T]], costs: Callable[[Sequence[T]], np.ndarray], max_steps: int
) -> tuple[T, float]:
    """(y, its cost) after y ← the edit of y with the smallest cost, while the cost falls, `max_steps` times at most."""
    here = begin
    cost = float(costs([begin])[0])
    for _ in range(max_steps):
        edited = edits(here)
        if not len(edited):
            break
        values = costs(edited)
        best = int(np.argmin(values))
        if values[best] >= cost - _LESS * max(abs(cost), 1.0):
            break
        here = edited[best]
        cost = float(values[best])
    return here, cost
