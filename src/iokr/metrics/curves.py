"""ROC and precision-recall curves of a ranking of pairs, on a common grid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["GRID", "Curves"]

Matrix = NDArray[np.float64]

GRID = np.linspace(0, 1, 201)


@dataclass(frozen=True)
class Curves:
    """The fraction of links found at each fraction of false alarms, and the precision at each fraction found."""

    found: Matrix
    precision: Matrix

    @classmethod
    def of(cls, truth: Any, scores: Any) -> Curves:
        """On the grid 0, 0.005, …, 1."""
        linked = np.asarray(truth).ravel()[np.argsort(-np.asarray(scores).ravel(), kind="stable")] != 0
        links, others = np.cumsum(linked), np.cumsum(~linked)
        found = np.interp(GRID, others / others[-1], links / links[-1])
        first = np.searchsorted(links, np.maximum(np.ceil(GRID * links[-1]), 1))
        return cls(found, links[first] / (first + 1))

    @classmethod
    def mean(cls, curves: Iterable[Curves]) -> Curves:
        """Point by point."""
        curves = list(curves)
        return cls(np.mean([c.found for c in curves], axis=0), np.mean([c.precision for c in curves], axis=0))
