"""Loops compiled by Numba where it is installed (the extra `fast`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

__all__ = ["compiled", "compiling", "inlined"]

F = TypeVar("F", bound=Callable[..., Any])

_ENABLED: ContextVar[bool] = ContextVar("iokr_compiles_loops", default=True)


def compiled(loop: Callable[..., Any], *, reorder: bool = False) -> Callable[..., Any] | None:
    """`loop` as machine code, compiled at its first call; None without Numba or inside `compiling(False)`.

    Without it the caller computes the same numbers, up to rounding, with NumPy. `reorder` is faster: it allows the
    compiler to reorder sums and assumes that there are no NaN; else only a product and a sum may be fused.
    """
    return _machine_code(loop, reorder) if _ENABLED.get() else None


@contextmanager
def compiling(enabled: bool) -> Iterator[None]:
    """Whether `compiled` compiles in this block and thread; with False as if Numba were not installed.

    >>> from iokr._system.compile import compiled, compiling
    >>> with compiling(False):
    ...     compiled(sum) is None
    True
    """
    token = _ENABLED.set(enabled)
    try:
        yield
    finally:
        _ENABLED.reset(token)


_INLINED: list[Callable[..., Any]] = []


def inlined(function: F) -> F:
    """Decorate a small function that compiled loops call; it stays an ordinary function elsewhere."""
    _INLINED.append(function)
    return function


@cache
def _register(function: Callable[..., Any]) -> None:
    from numba.extending import register_jitable

    register_jitable(inline="always")(function)


@cache
def _machine_code(loop: Callable[..., Any], reorder: bool) -> Callable[..., Any] | None:
    try:
        from numba import njit
    except ImportError:
        return None
    for helper in _INLINED:
        _register(helper)
    options = {"fastmath": True} if reorder else {"fastmath": {"contract"}, "error_model": "numpy"}
    function: Callable[..., Any] = njit(cache=True, nogil=True, **options)(loop)
    return function
