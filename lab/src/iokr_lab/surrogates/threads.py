"""Networks on one thread, so that the time of the calling thread is all that they take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

__all__ = ["need_torch", "one_thread"]

_lock = Lock()
_inside: list[int] = []  # threads of torch before, once for each that is inside


def need_torch() -> None:
    """Import torch before there are threads: those that ask whether an array is torch's must not find it half read."""
    try:
        import torch  # noqa: F401  # for its effect
    except ImportError as error:
        raise ImportError("`surrogate` needs torch; install `iokr[torch]`.") from error


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch works in the calling thread alone; what was set comes back when the last that is inside has left.

    Cases of a study run side by side in threads, and the number is one for all of them but counts for a thread from
    when it asks for it, so each asks.
    """
    import torch

    with _lock:
        _inside.append(_inside[0] if _inside else torch.get_num_threads())
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            before = _inside.pop()
            if not _inside:
                torch.set_num_threads(before)
