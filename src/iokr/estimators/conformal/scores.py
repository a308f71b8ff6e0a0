"""Nonconformity scores: what they are compared with, and how a function of the user is called."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from iokr._array import to_numpy
from iokr.estimators.conformal.answers import answers_of

__all__ = ["Scores", "excess", "scores_of", "smaller"]

Matrix = np.ndarray
_TIE = 1e-12  # relative difference of two equal scores; a tie keeps y in the set


class Scores(ABC):
    """Nonconformity scores of n calibration rows, compared with those of new pairs (x, y)."""

    needs_candidates: ClassVar[bool] = True
    model: Any
    n: int

    @property
    def answers(self) -> Any:
        """How to read the predictions and outputs of the model."""
        return answers_of(self.model)

    def predict(self, X: Any, candidates: Any) -> Any:
        """Predictions of the model. May be overridden."""
        return self.model.predict(X) if candidates is None else self.model.predict(X, candidates)

    @abstractmethod
    def counts(self, X: Any, y: Any, candidates: Any = None) -> Matrix:
        """How many scores are smaller than that of (x, y), for each pair, (m,)."""

    @abstractmethod
    def candidate_counts(self, X: Any, candidates: Any) -> Iterator[Matrix]:
        """The same for every candidate, an array per input."""

    @abstractmethod
    def radius(self, X: Any, k: int) -> Matrix:
        """The radius of a ball around h(x) that holds the set, (m,)."""

    @abstractmethod
    def band(self, X: Any, k: int) -> Matrix:
        """Lower and upper ends, (m, 2) for single numbers, else (m, T, 2)."""


def smaller(scores: Matrix, own: Matrix) -> Matrix:
    """#{i: s_i < t_i}, over the last axis."""
    return np.asarray((scores * (1 + _TIE) < own).sum(axis=-1))


def excess(costs: Matrix, own: Matrix) -> Matrix:
    """cost(y) − min over the candidates and y itself, costs being (..., c); 0 where they are equal up to rounding.

    The best candidate has exactly 0, however it was computed: many rows have this score, and a tie keeps y in the set.
    """
    gap = own - costs.min(axis=-1)
    return np.where(gap > _TIE * costs.max(axis=-1), gap, 0.0)


def scores_of(conformity: Callable[[Matrix, Any], Any], residuals: Matrix, X: Any) -> Matrix:
    """A score per row from a function of residuals and inputs."""
    scores = np.asarray(to_numpy(conformity(residuals, X)), dtype=float)
    missing = np.isnan(scores).any()
    if scores.shape != (len(residuals),) or missing:
        raise ValueError(
            f"`conformity(residuals, X)` must return a number for each of {len(residuals)} rows, got an array of shape "
            f"{scores.shape}{', with NaN' if missing else ''}."
        )
    return scores
