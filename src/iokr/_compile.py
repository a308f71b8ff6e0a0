"""Loops that Numba compiles where it is installed (the `fast` extra)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["compiled"]


@cache
def compiled(loop: Callable[..., Any]) -> Callable[..., Any] | None:
    """`loop` compiled, or None without Numba; the caller then takes its route in NumPy, to the same numbers."""
    try:
        from numba import njit
    except ImportError:
        return None
    machine_code: Callable[..., Any] = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})(loop)
    return machine_code
