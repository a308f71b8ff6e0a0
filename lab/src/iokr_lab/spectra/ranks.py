"""Ranks of the true molecules and the figures computed from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.estimators.identification.confidence import mean_rank

__all__ = ["DIGITS", "TOPS", "mean_ranks", "rank_figures"]

TOPS = (1, 5, 10, 20)
DIGITS = {**{f"top-{k}": 1 for k in TOPS}, "MRR": 3}
"""Decimals of each figure."""


def mean_ranks(scores: Iterable[Any], truth: Iterable[int]) -> NDArray[np.float64]:
    """The rank of the true candidate of each query; ties count their mean rank."""
    return np.array([mean_rank(np.asarray(f), int(t)) for f, t in zip(scores, truth, strict=True)])


def rank_figures(ranks: NDArray[Any]) -> dict[str, float]:
    """Top-k accuracies in percent and the mean reciprocal rank."""
    figures = {f"top-{k}": 100 * float(np.mean(ranks <= k)) for k in TOPS}
    return {**figures, "MRR": float(np.mean(1 / ranks))}
