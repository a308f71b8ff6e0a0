"""ROC and precision-recall curves of a ranking of pairs, on a common grid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["GRID", "Curves"]

GRID = np.linspace(0, 1, 201)  # rates from 0 to 1 in steps of 0.005


@dataclass(frozen=True)
class Curves:
    """The true positive rate at each false positive rate, and the precision at each recall, on the grid."""

    roc: np.ndarray
    precision: np.ndarray

    @classmethod
    def of(cls, truth: Any, scores: Any) -> Curves:
        """Those of pairs ranked by their scores."""
        descending = np.argsort(-np.asarray(scores).ravel(), kind="stable")
        linked = np.asarray(truth).ravel()[descending] != 0
        links = np.cumsum(linked)
        others = np.cumsum(~linked)
        roc = np.interp(GRID, others / others[-1], links / links[-1])
        first = np.searchsorted(links, np.maximum(np.ceil(GRID * links[-1]), 1))  # the pair that reaches each recall
        return cls(roc, links[first] / (first + 1))

    @classmethod
    def mean(cls, curves: Iterable[Curves]) -> Curves:
        """The mean at each point of the grid."""
        return cls(*np.mean([(c.roc, c.precision) for c in curves], axis=0))
