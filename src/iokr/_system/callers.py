"""Where a warning points to."""

from __future__ import annotations

import sys

__all__ = ["user_level"]

_OURS = ("iokr", "sklearn")  # scikit-learn wraps `fit` for callbacks


def user_level() -> int:
    """The `stacklevel` with which a warning of the calling function points to the line of the user."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS:
        level, frame = level + 1, frame.f_back
    return level
