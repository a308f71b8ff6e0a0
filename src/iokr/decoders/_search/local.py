"""Local search by the best single edit, over labels in an order that does not depend on the data."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from iokr.data.objects import key

__all__ = ["descend", "distinct_labels", "in_order"]


T = TypeVar("T")
_LESS = 1e-10  # relative decrease of the cost below which the search ends: with rounding alone it would go on


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


def in_order(names: Iterable[Hashable]) -> list[Hashable]:
    """Names sorted by type and text, so that their order of appearance does not matter."""
    return sorted(names, key=lambda name: (type(name).__name__, repr(name)))


def distinct_labels(labels: Iterable[Any]) -> tuple[list[Any], dict[Hashable, int]]:
    """The distinct labels, sorted, the first of equal ones; and their numbers by their keys."""
    first: dict[Hashable, Any] = {}
    for label in labels:
        first.setdefault(key(label), label)
    names = in_order(first)
    return [first[name] for name in names], {name: i for i, name in enumerate(names)}
