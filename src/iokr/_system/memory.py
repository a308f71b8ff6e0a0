"""Memory known in advance: what there is, what a step needs, and a MemoryError before anything is allocated."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

_SMALL = 1 << 16  # entries of a matrix that is not worth the question: 0.5 MB


def human_bytes(n: float) -> str:
    """`n` bytes in words: 3.2 GB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} TB"


def _machine_memory() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def container_limit() -> int | None:
    """Bytes that the container still grants, or None without a limit."""
    for limit, usage in _CGROUPS:
        try:
            allowed = Path(limit).read_text().strip()
            if allowed != "max" and int(allowed) < 1 << 60:
                return max(int(allowed) - int(Path(usage).read_text()), 0)
        except (OSError, ValueError):
            continue
    return None


def available_memory(like: Any = None) -> int | None:
    """Bytes free where `like` lives: its GPU, else the smaller of the machine's and the container's; None: unknown."""
    device = str(getattr(like, "device", ""))
    if device.startswith("cuda") and hasattr(like, "data_ptr"):
        import torch

        free, _ = torch.cuda.mem_get_info(like.device)
        stats = torch.cuda.memory_stats(like.device)
        held = stats.get("reserved_bytes.all.current", 0) - stats.get("allocated_bytes.all.current", 0)
        return int(free + held)
    if "CUDA" in device:
        import cupy

        free, _ = cupy.cuda.runtime.memGetInfo()
        return int(free + cupy.get_default_memory_pool().free_bytes())
    known = [m for m in (_machine_memory(), container_limit()) if m is not None]
    return min(known) if known else None


Words = str | Callable[[], str]


def largest_exact(free: float) -> int:
    """The largest n whose triangle of n²/2 doubles is at most nine tenths of `free` bytes, on two digits."""
    n = int((0.9 * free / 4) ** 0.5)
    size = int(10 ** max(len(str(n)) - 2, 0))
    return n // size * size


def check_memory(needed: float, what: Words, ways_out: str | Callable[[float], str], like: Any = None) -> None:
    """Raise `MemoryError` when `what` needs more bytes than there are; words that take time come from functions.

    That of the ways out is given the bytes that are available.
    """
    available = available_memory(like)
    if available is not None and needed > available:
        raise MemoryError(_refusal(needed, what, ways_out, like, available))


def _refusal(needed: float, what: Words, ways_out: str | Callable[[float], str], like: Any, available: float) -> str:
    words = what if isinstance(what, str) else what()
    where = f" on {device_name(like)}" if is_cuda(like) else ""
    out = ways_out if isinstance(ways_out, str) else ways_out(available)
    return (
        f"{words} needs about {human_bytes(needed)} ({int(needed)} bytes), but {human_bytes(available)} "
        f"({int(available)} bytes) are available{where}. {out}"
    )


@contextmanager
def device_errors(
    needed: float, what: Words, ways_out: str | Callable[[float], str], like: Any = None
) -> Iterator[None]:
    """An OutOfMemoryError of a device, which is torch's or CuPy's, as the `MemoryError` of `check_memory`."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        clear_frames(error.__traceback__)  # they hold what was allocated
        available = available_memory(like) or 0
        raise MemoryError(_refusal(max(needed, available), what, ways_out, like, available)) from error


def check_matrix(n: int, m: int, objects: Any, copies: float = 1.0, what: str = "A kernel matrix") -> None:
    """Refuse `copies` arrays of n × m numbers that do not fit where the `objects`, represented or not, live."""
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
