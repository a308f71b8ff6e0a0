"""What users give to be searched, checked: numbers, and one component or a list of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._validation.arguments import check_number

__all__ = ["ALPHAS", "check_values", "listed"]

ALPHAS = tuple(float(f"{a:.6g}") for a in np.logspace(-6, 3, 19))


def check_values(values: Any, name: str, *, strict: bool) -> list[float]:
    """A non-empty list of (strictly) positive numbers."""
    try:
        if isinstance(values, (str, bytes)):
            raise TypeError
        items = [v.item() if hasattr(v, "item") else v for v in values]
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` must be a sequence of numbers, got {values!r:.60}.") from None
    if not items:
        raise ValueError(f"`{name}` is empty; give at least one value.")
    return [check_number(v, name, minimum=0.0, strict=strict) for v in items]


def listed(given: Any, name: str) -> list[Any]:
    """A list as it is, one component as a list of one."""
    if not isinstance(given, (list, tuple)):
        return [given]
    if not given:
        raise ValueError(f"`{name}` is an empty list; give at least one.")
    return list(given)
