"""Networks on one thread, so that the processor time of the calling thread is their total time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

__all__ = ["import_torch", "one_thread"]

_lock = Lock()
_inside: list[int] = []  # the previous number of threads, once for each open context


def import_torch() -> None:
    """Import torch before threads start, so that no thread sees a partially imported module."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError("the experiment `surrogate` needs torch: pip install 'iokr[torch]'.") from error


@contextmanager
def one_thread() -> Iterator[None]:
    """Restrict torch to the calling thread; the last context to close restores the previous number of threads.

    Cases of a study run in parallel threads. The number of threads is global in torch but takes effect in each thread
    only when it is set there.
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
