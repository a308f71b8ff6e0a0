"""Processor seconds of a call."""

from collections.abc import Callable
from time import thread_time
from typing import TypeVar

__all__ = ["timed"]

Value = TypeVar("Value")


def timed(function: Callable[[], Value]) -> tuple[Value, float]:
    """The value of a call and its processor seconds in the calling thread: cases of a study run in parallel threads.

    Examples
    --------
    >>> from iokr_lab.timing import timed
    >>> value, seconds = timed(lambda: sum(range(10)))
    >>> value, seconds >= 0
    (45, True)
    """
    start = thread_time()
    value = function()
    return value, thread_time() - start
