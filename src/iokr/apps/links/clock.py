"""How far a long command is, and how long it will take: from flops, and from the rate that this machine reaches."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

import numpy as np

from iokr.apps.report.progress import Progress

__all__ = ["Clock"]

_OFTEN = 5.0  # seconds between two lines of one part
_SLOWER = 3.0  # a factorisation against a product, per flop


class Clock:
    """Parts of the work by name, with their flops; tells a `Progress` where it is.

    The rate is that of a product of matrices at first, and what was measured as soon as a part of the work is done.
    """

    def __init__(self, progress: Progress, parts: Mapping[str, float]) -> None:
        self.progress, self.parts = progress, dict(parts)
        self.start, self.last, self.told = perf_counter(), "", 0.0
        self.rate = _gemm_rate() / _SLOWER

    def at(self, part: str, share: float = 0.0, what: str = "") -> None:
        """`share` of a part is done, and all parts before it."""
        now = perf_counter()
        if part == self.last and now - self.told < _OFTEN:
            return
        names = list(self.parts)
        done = sum(self.parts[name] for name in names[: names.index(part)]) + share * self.parts[part]
        total = sum(self.parts.values())
        if done > 0.02 * total and now - self.start > 1.0:
            self.rate = done / (now - self.start)
        left = (total - done) / self.rate
        words = f"{part}{', ' if what else ''}{what}{f', about {_in_words(left)} left' if left > _OFTEN else ''}"
        self.progress(int(100 * done / total), 100, words)
        self.last, self.told = part, now


def _gemm_rate() -> float:
    """Flops a second of a product of matrices, here and now."""
    A = np.ones((400, 400))
    A @ A
    start = perf_counter()
    A @ A
    return 2 * 400**3 / max(perf_counter() - start, 1e-6)


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
