"""Nonconformity scores and how they are compared: y is in the set if fewer than ⌈c(n + 1)⌉ are below its own."""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from iokr._array import to_numpy
from iokr._validation.arguments import check_number
from iokr.data.objects import take
from iokr.estimators.conformal.answers import answers_of
from iokr.estimators.inputs import is_pairwise

__all__ = [
    "Scores",
    "check_coverage",
    "excess",
    "fits_network",
    "kth",
    "rank_needed",
    "rank_of",
    "rows_needed",
    "rows_of",
    "scores_of",
    "second_argument",
    "smaller",
    "some",
    "takes_gram",
]

Matrix = np.ndarray
_ROUNDING = 1e-9  # of coverage · (n + 1): 0.9 · 10 is 9
_TIE = 1e-12  # relative difference of two equal scores; a tie keeps y in the set


class Scores(ABC):
    """Nonconformity scores of n calibration rows, compared with those of new pairs (x, y)."""

    needs_candidates: ClassVar[bool] = True
    model: Any
    own: Any
    n: int

    def _stored(self) -> dict[str, Any]:
        return {"own": self.own, "n": self.n}

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


def check_coverage(coverage: Any) -> float:
    """A number between 0 and 1, both excluded."""
    value = check_number(coverage, "coverage")
    if not 0 < value < 1:
        raise ValueError(f"`coverage` must lie between 0 and 1, both excluded, got {coverage!r}.")
    return value


def rows_needed(coverage: float) -> int:
    """The smallest n with ⌈coverage · (n + 1)⌉ ≤ n."""
    return math.ceil(coverage / (1 - coverage) - _ROUNDING)


def rank_of(coverage: float, n: int) -> int:
    """k = ⌈coverage · (n + 1)⌉, which is above n where n scores are too few."""
    return max(1, math.ceil(coverage * (n + 1) - _ROUNDING))


def rank_needed(coverage: Any, n: int) -> int:
    """k = ⌈coverage · (n + 1)⌉; an error where it is above n, for then the set is everything."""
    value = check_coverage(coverage)
    k = rank_of(value, n)
    if k > n:
        raise ValueError(
            f"A coverage of {value:g} needs at least {rows_needed(value)} calibration rows, got {n}: with fewer the "
            "set is everything. Give more rows, or lower `coverage`."
        )
    return k


def kth(values: np.ndarray, k: int) -> np.ndarray:
    """The k-th smallest along the last axis."""
    return np.asarray(np.partition(values, k - 1, axis=-1)[..., k - 1])


def second_argument(model: Any) -> str:
    """The name of the second argument of `fit`; empty without one."""
    if not hasattr(model, "fit"):
        return ""
    names = list(inspect.signature(model.fit).parameters)
    return names[1] if len(names) > 1 else ""


def fits_network(model: Any) -> bool:
    """Whether rows are the nodes of a network."""
    return second_argument(model) == "adjacency"


def takes_gram(model: Any) -> bool:
    """Whether X is a Gram matrix."""
    return hasattr(model, "get_params") and is_pairwise(model.get_params(deep=False).get("kernel"))


def some(X: Any, rows: np.ndarray) -> Any:
    """Some of the rows; a list for a list, which models read as a matrix if it holds numbers."""
    return [X[int(i)] for i in rows] if isinstance(X, (list, tuple)) else take(X, rows)


def rows_of(X: Any, rows: np.ndarray, model: Any, columns: np.ndarray | None = None) -> Any:
    """Some rows; of a Gram matrix with some columns, by default those of the same rows."""
    if not takes_gram(model):
        return some(X, rows)
    return take(X, rows)[:, rows if columns is None else columns]
