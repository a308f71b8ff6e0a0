"""How long each stage of a run takes, and the most memory it has held: for run.json."""

from __future__ import annotations

import re
import sys
from time import perf_counter
from typing import Any

from iokr.apps.report.progress import Progress

__all__ = ["Stages", "peak_memory"]

_NUMBERS = re.compile(r" \d+( of \d+)?")


class Stages:
    """A progress that also adds up the seconds between its calls, by what was being done."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.seconds = progress, dict[str, float]()
        self._what, self._since = "", perf_counter()

    def __call__(self, done: int, total: int, what: str) -> None:
        """Something is begun."""
        self._close()
        self._what = _NUMBERS.sub("", what)
        self.progress(done, total, what)

    def _close(self) -> None:
        now = perf_counter()
        if self._what:
            self.seconds[self._what] = self.seconds.get(self._what, 0.0) + now - self._since
        self._since = now

    def info(self) -> dict[str, Any]:
        """Seconds of every stage, and the peak of the memory."""
        self._close()
        peak = peak_memory()
        found: dict[str, Any] = {"stages": {what: round(seconds, 2) for what, seconds in self.seconds.items()}}
        return found if peak is None else {**found, "memory peak": f"{peak / 1e6:.0f} MB"}


def peak_memory() -> int | None:
    """Bytes that this process has held at most; None where the system does not say."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit
