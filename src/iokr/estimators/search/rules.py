"""How a point of the grid is chosen from what was measured on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

__all__ = ["Choice", "Extreme", "Rule", "largest", "smallest"]


@dataclass(frozen=True)
class Choice:
    """The best point along the last axis, the others being fixed."""

    score: float  # larger is better
    index: int
    value: Any  # of the last parameter; between those of the axis if the rule averages


class Rule(Protocol):
    """Chooses a value of the last axis, for which an evaluation has a whole path, and compares the other axes by it."""

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures that must be known before `choose` is called."""

    @property
    def larger(self) -> bool:
        """Whether larger values are better."""

    def values(self, measures: Mapping[str, np.ndarray]) -> np.ndarray:
        """The error or score that is compared, from the measures on any axes."""

    def choose(self, measures: Mapping[str, np.ndarray], path: Sequence[Any]) -> Choice:
        """The choice along the last axis, whose values are `path`."""


@dataclass(frozen=True)
class Extreme:
    """The smallest, or the largest, value of one measure; the first of equal ones."""

    measure: str = "error"
    larger: bool = False

    @property
    def measures(self) -> tuple[str, ...]:
        """The one measure."""
        return (self.measure,)

    def values(self, measures: Mapping[str, np.ndarray]) -> np.ndarray:
        """That measure."""
        return measures[self.measure]

    def choose(self, measures: Mapping[str, np.ndarray], path: Sequence[Any]) -> Choice:
        """The best value along the path."""
        scores = measures[self.measure] if self.larger else -measures[self.measure]
        best = int(np.argmax(scores))
        return Choice(float(scores[best]), best, path[best])


smallest = Extreme()
largest = Extreme("score", larger=True)
