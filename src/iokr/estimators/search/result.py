"""What is searched and how a point is chosen: named axes, rules, and the errors or scores that were found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.stats import rankdata

from iokr._validation.arguments import check_number

__all__ = [
    "ALPHAS",
    "Axis",
    "Choice",
    "Extreme",
    "OneStandardError",
    "Rule",
    "SearchResult",
    "check_values",
    "drop_single_axes",
    "excess",
    "largest",
    "listed",
    "smallest",
]


class Axis(NamedTuple):
    """The values of one parameter."""

    name: str  # as in `get_params` of the model that is chosen
    values: Sequence[Any]

    def _stored(self) -> dict[str, Any]:
        return {"name": self.name, "values": self.values}


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Errors or scores at every point of a grid; all axes are kept, those of length one too.

    Parameters
    ----------
    axes : tuple of Axis
        The searched parameters, in the order of the axes of `values`.
    values : array
        The error, or where `larger` the score, that the choice is made by. NaN where an interrupted search has none.
    larger : bool
        Whether larger values are better.
    measures : dict of str to array
        Everything that was measured, on the same axes: "error", or "roc_auc" and "average_precision".
    folds : array of shape (number of folds, ...), default=None
        The values on each fold; None where there were no folds.
    weights : array of shape (number of folds,), default=None
        Weight of each fold in the mean.
    best : dict of str to object
        The chosen value of each parameter. An averaged alpha lies between those of its axis.
    best_index : tuple of int
        Index of the chosen point in `values`, the nearest one if the last parameter was averaged.
    interrupted : bool
        Whether the search was interrupted (Ctrl-C).
    solution : object
        The solved model at the best point, where the evaluation provides it at no extra cost.
    """

    axes: tuple[Axis, ...]
    values: np.ndarray
    larger: bool
    measures: dict[str, np.ndarray]
    folds: np.ndarray | None = None
    weights: np.ndarray | None = None
    best: dict[str, Any] = field(default_factory=dict)
    best_index: tuple[int, ...] = ()
    interrupted: bool = False
    solution: Any = field(default=None, repr=False)

    def _stored(self) -> dict[str, Any]:
        return {
            "axes": self.axes,
            "values": self.values,
            "larger": self.larger,
            "measures": self.measures,
            "folds": self.folds,
            "weights": self.weights,
            "best": self.best,
            "best_index": self.best_index,
            "interrupted": self.interrupted,
            "solution": self.solution,
        }

    @property
    def scores(self) -> np.ndarray:
        """The values with the sign that makes larger ones better."""
        return self.values if self.larger else -self.values

    def table(self) -> dict[str, Any]:
        """`cv_results_` in the form of scikit-learn's searches, a row per point in the order of the grid.

        An axis of length one has a column only if it is alpha.
        """
        shown = {axis.name: axis.values for axis in self.axes if len(axis.values) > 1 or axis.name == "alpha"}
        points = [dict(zip(shown, point, strict=True)) for point in product(*shown.values())]
        columns: dict[str, Any] = {f"param_{name}": _column([point[name] for point in points]) for name in shown}
        columns["params"] = points
        if self.folds is not None and self.weights is not None:
            sign = 1.0 if self.larger else -1.0
            splits = sign * self.folds.reshape(len(self.folds), -1)
            for number, scores in enumerate(splits):
                columns[f"split{number}_test_score"] = scores
            mean = _weighted_mean(splits, self.weights)
            columns["std_test_score"] = np.sqrt(_weighted_mean((splits - mean) ** 2, self.weights))
        scores = np.array(self.scores).ravel()
        columns["mean_test_score"] = scores
        descending = np.where(np.isnan(scores), np.inf, -scores)  # unknown scores come last
        columns["rank_test_score"] = rankdata(descending, method="min").astype(np.int32)
        return columns


def drop_single_axes(values: np.ndarray, index: tuple[int, ...] = ()) -> tuple[np.ndarray, tuple[int, ...]]:
    """Values on the grid and an index into them, both without the axes of length one."""
    return np.squeeze(values), tuple(i for i, size in zip(index, values.shape, strict=False) if size > 1)


def _column(values: list[Any]) -> np.ndarray:
    """Numbers as numbers, everything else as objects."""
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return np.array(values, dtype=float)
    return np.fromiter(values, dtype=object, count=len(values))


def _weighted_mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Σ_f w_f v_f / Σ_f w_f over the known entries of the first axis; NaN where no entry is known."""
    w = np.where(np.isnan(values), 0.0, weights.reshape(-1, *(1,) * (values.ndim - 1)))
    total = w.sum(axis=0)
    sums = np.sum(w * np.nan_to_num(values), axis=0)
    return np.where(total > 0, sums / np.where(total > 0, total, 1.0), np.nan)


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

    measures: tuple[str] = ("error",)
    larger: bool = False

    def values(self, measures: Mapping[str, np.ndarray]) -> np.ndarray:
        """That measure."""
        (measure,) = self.measures
        return measures[measure]

    def choose(self, measures: Mapping[str, np.ndarray], path: Sequence[Any]) -> Choice:
        """The best value along the path."""
        values = self.values(measures)
        scores = values if self.larger else -values
        best = int(np.argmax(scores))
        return Choice(float(scores[best]), best, path[best])


@dataclass(frozen=True)
class OneStandardError:
    """The largest value of a path whose error is within one standard error of the smallest, paired over rows.

    `excess` is the difference in standard errors. Where errors do not differ clearly the choice is a cautious one: with
    few rows the smallest one is often small by chance, at a value that follows the noise.
    """

    measures: tuple[str, str] = ("error", "excess")
    larger: bool = False

    def values(self, measures: Mapping[str, np.ndarray]) -> np.ndarray:
        """The error."""
        return measures[self.measures[0]]

    def choose(self, measures: Mapping[str, np.ndarray], path: Sequence[Any]) -> Choice:
        """The largest of the values that are within one standard error."""
        error, excess = (measures[name] for name in self.measures)
        within = np.flatnonzero(excess <= 1.0).tolist()
        chosen = max(within, key=lambda i: path[i])
        return Choice(-float(np.min(error)), chosen, path[chosen])


def excess(shares: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    """(Σ_i e_i − e_i*) / its standard error for rows of errors e (c, n), e* the row with the smallest sum.

    With `groups`, integers, errors are summed within each first.
    """
    if groups is not None:
        together = np.unique(groups, return_inverse=True)[1]
        shares = np.stack([np.bincount(together, row) for row in shares])
    difference = shares - shares[np.argmin(shares.sum(axis=1))]
    total, deviation = difference.sum(axis=1), difference.std(axis=1) * np.sqrt(shares.shape[1])
    apart = np.where(total > 0, np.inf, 0.0)  # where all rows differ equally
    return np.asarray(np.divide(total, deviation, out=apart, where=deviation > 0))


smallest = Extreme()
largest = Extreme(("score",), larger=True)


ALPHAS = tuple(float(f"{a:.6g}") for a in np.logspace(-6, 3, 19))


def check_values(values: Any, name: str, *, strict: bool) -> list[float]:
    """A non-empty list of (strictly) positive numbers."""
    try:
        if isinstance(values, (str, bytes)):
            raise TypeError
        items = [v.item() if hasattr(v, "item") else v for v in values]
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` must be a sequence of numbers, got {values!r:.60}.") from None
    if not items:
        raise ValueError(f"`{name}` is empty; give at least one value.")
    return [check_number(v, name, minimum=0.0, strict=strict) for v in items]


def listed(given: Any, name: str) -> list[Any]:
    """A list as it is, one component as a list of one."""
    if not isinstance(given, (list, tuple)):
        return [given]
    if not given:
        raise ValueError(f"`{name}` is an empty list; give at least one.")
    return list(given)
