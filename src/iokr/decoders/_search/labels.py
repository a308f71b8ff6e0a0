"""Labels of nodes and edges, in an order that does not depend on the data."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from iokr.data.objects import key

__all__ = ["distinct_labels", "in_order"]


def in_order(names: Iterable[Hashable]) -> list[Hashable]:
    """Names sorted by type and text, in any order of appearance."""
    return sorted(names, key=lambda name: (type(name).__name__, repr(name)))


def distinct_labels(labels: Iterable[Any]) -> dict[Hashable, Any]:
    """The distinct labels by their keys, sorted; the first of equal ones."""
    first: dict[Hashable, Any] = {}
    for label in labels:
        first.setdefault(key(label), label)
    return {name: first[name] for name in in_order(first)}
