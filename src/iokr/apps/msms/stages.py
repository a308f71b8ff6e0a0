"""What run.json has about a run: the seconds of each stage, memory, versions and data files."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from iokr.apps.report import Progress, run_info
from iokr.chem.structures.molecules import rdkit_version

__all__ = ["Stages", "peak_memory"]

_NUMBERS = re.compile(r" \d+( of \d+)?")


class Stages:
    """A progress callback that also adds up the seconds of each stage, by what is being done."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.seconds: dict[str, float] = {}
        self._stage = ""
        self._start = self._since = perf_counter()

    def __call__(self, done: int, total: int, what: str) -> None:
        """A stage begins, or goes on."""
        self._add_seconds()
        self._stage = _NUMBERS.sub("", what)
        self.progress(done, total, what)

    def _add_seconds(self) -> None:
        now = perf_counter()
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._since
        self._since = now

    def info(self, files: Sequence[Path], seed: int | None = None) -> dict[str, Any]:
        """Versions, data files and their hashes, seconds of the run and of every stage, and the peak of the memory."""
        self._add_seconds()
        found = run_info(seed=seed, seconds=self._since - self._start, files=files)
        found["versions"]["rdkit"] = rdkit_version()
        found["stages"] = {what: round(seconds, 2) for what, seconds in self.seconds.items()}
        peak = peak_memory()
        if peak is not None:
            found["memory peak"] = f"{peak / 1e6:.0f} MB"
        return found


def peak_memory() -> int | None:
    """The largest number of bytes that this process has held; None on systems without `resource`."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * unit
