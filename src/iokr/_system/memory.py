"""Available memory, and a MemoryError before a step allocates more."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from traceback import clear_frames
from typing import Any

from iokr._array import device_name, is_cuda

__all__ = [
    "available_memory",
    "check_matrix",
    "check_memory",
    "container_limit",
    "device_errors",
    "human_bytes",
    "largest_exact",
]

_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)

_SMALL = 1 << 16  # entries of a matrix that is not checked: 0.5 MB
_USABLE = 0.9  # of the free memory


def human_bytes(n: float) -> str:
    """`n` bytes for messages: 3.2 GB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} TB"


def _machine_memory() -> int | None:
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def container_limit() -> int | None:
    """Free bytes of the container, or None without a limit."""
    for limit, usage in _CGROUPS:
        with suppress(OSError, ValueError):
            allowed = Path(limit).read_text().strip()
            if allowed != "max" and int(allowed) < 1 << 60:
                return max(int(allowed) - int(Path(usage).read_text()), 0)
    return None


def available_memory(like: Any = None) -> int | None:
    """Free bytes on the GPU of `like`, else the smaller of the machine's and the container's; None if unknown."""
    device = str(getattr(like, "device", ""))
    if device.startswith("cuda") and hasattr(like, "data_ptr"):
        import torch

        free, _ = torch.cuda.mem_get_info(like.device)
        stats = torch.cuda.memory_stats(like.device)
        cached = stats.get("reserved_bytes.all.current", 0) - stats.get("allocated_bytes.all.current", 0)
        return int(free + cached)
    if "CUDA" in device:
        import cupy

        free, _ = cupy.cuda.runtime.memGetInfo()
        return int(free + cupy.get_default_memory_pool().free_bytes())
    known = [m for m in (_machine_memory(), container_limit()) if m is not None]
    return min(known) if known else None


Words = str | Callable[[], str]


def largest_exact(free: float) -> int:
    """The largest n whose triangle of n²/2 doubles takes at most 90 % of `free` bytes, to two digits."""
    n = int((_USABLE * free / 4) ** 0.5)
    unit = int(10 ** max(len(str(n)) - 2, 0))
    return n // unit * unit


def check_memory(needed: float, what: Words, advice: str | Callable[[float], str], like: Any = None) -> None:
    """Raise `MemoryError` when `what` needs more bytes than are available.

    Texts that take time to compose are given as functions; that of the advice takes the available bytes.
    """
    available = available_memory(like)
    if available is not None and needed > available:
        raise MemoryError(_message(needed, what, advice, like, available))


def _message(needed: float, what: Words, advice: str | Callable[[float], str], like: Any, available: float) -> str:
    step = what if isinstance(what, str) else what()
    where = f" on {device_name(like)}" if is_cuda(like) else ""
    hint = advice if isinstance(advice, str) else advice(available)
    return (
        f"{step} needs about {human_bytes(needed)} ({int(needed)} bytes), but {human_bytes(available)} "
        f"({int(available)} bytes) are available{where}. {hint}"
    )


@contextmanager
def device_errors(needed: float, what: Words, advice: str | Callable[[float], str], like: Any = None) -> Iterator[None]:
    """An OutOfMemoryError of torch or CuPy as the `MemoryError` of `check_memory`."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        clear_frames(error.__traceback__)  # frees what was allocated
        available = available_memory(like) or 0
        raise MemoryError(_message(max(needed, available), what, advice, like, available)) from error


def check_matrix(n: int, m: int, objects: Any, copies: float = 1.0, what: str = "A kernel matrix") -> None:
    """MemoryError if `copies` arrays of n × m numbers do not fit into the memory where the `objects` are."""
    if n * m <= _SMALL:
        return
    while hasattr(objects, "parts"):
        objects = objects.parts[0]
    check_memory(
        8.0 * copies * n * m,
        f"{what} of {n} × {m} objects",
        "To reduce memory: fewer objects at a time or, for a kernel, `Nystroem(kernel, n_components)`.",
        objects,
    )
