"""How long work says how far it is."""

from collections.abc import Callable

__all__ = ["Progress", "silent"]

Progress = Callable[[int, int, str], None]
"""Called with the steps done, the steps in all, and what is being done."""


def silent(done: int, total: int, what: str) -> None:
    """No-op progress callback.

    Examples
    --------
    >>> from iokr.apps.report import silent
    >>> silent(1, 3, "working")
    """
