"""What a search keeps: the score of every setting as a table, and what was known when it was interrupted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

import numpy as np
from scipy.stats import rankdata

__all__ = ["Search", "Searching", "Tally"]


@dataclass(frozen=True, eq=False)
class Search:
    """Scores over a grid, larger is better, and those of each fold where there were folds."""

    names: tuple[str, ...]  # the axes, as parameters of the model that is chosen
    settings: tuple[list[Any], ...]  # the values along each
    scores: np.ndarray
    splits: np.ndarray | None = None  # (folds, *grid)
    weights: np.ndarray | None = None  # of the folds in the mean

    def table(self) -> dict[str, Any]:
        """As `cv_results_` of scikit-learn's searches, a row per setting in the order of the grid."""
        axes = list(zip(self.names, self.settings, strict=True))
        varied = [number for number, (name, values) in enumerate(axes) if len(values) > 1 or name == "alpha"]
        rows = [tuple(row[number] for number in varied) for row in product(*self.settings)]
        names = [axes[number][0] for number in varied]
        found: dict[str, Any] = {
            f"param_{name}": _column([row[number] for row in rows]) for number, name in enumerate(names)
        }
        found["params"] = [dict(zip(names, row, strict=True)) for row in rows]
        if self.splits is not None and self.weights is not None:
            flat = self.splits.reshape(len(self.splits), -1)
            for number, scores in enumerate(flat):
                found[f"split{number}_test_score"] = scores.copy()
            found["std_test_score"] = np.sqrt(_mean((flat - _mean(flat, self.weights)) ** 2, self.weights))
        mean = self.scores.ravel().copy()
        found["mean_test_score"] = mean
        found["rank_test_score"] = rankdata(np.where(np.isnan(mean), np.inf, -mean), method="min").astype(np.int32)
        return found


def _column(values: list[Any]) -> np.ndarray:
    """Numbers as numbers, everything else as objects."""
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return np.array(values, dtype=float)
    return np.fromiter(values, dtype=object, count=len(values))


def _mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted mean over the first axis of what is known, NaN where nothing is."""
    w = np.where(np.isnan(values), 0.0, weights.reshape(-1, *(1,) * (values.ndim - 1)))
    total = w.sum(axis=0)
    sums = np.sum(w * np.nan_to_num(values), axis=0)
    return np.where(total > 0, sums / np.where(total > 0, total, 1.0), np.nan)


@dataclass(eq=False)
class Tally:
    """Errors (or scores) of a search while it runs, NaN where they are not known yet."""

    axes: Mapping[str, Sequence[Any]]  # parameter of the model that is chosen ↦ values
    name: str  # the attribute that they are kept in
    larger: bool = False  # whether larger is better
    values: np.ndarray = field(init=False)
    splits: list[np.ndarray] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.values = np.full(self.shape, np.nan)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values along each axis."""
        return tuple(len(values) for values in self.axes.values())

    def grid(self, *shape: int) -> np.ndarray:
        """Where to write the values, in a shape of as many entries."""
        assert prod(shape) == self.values.size
        return self.values.reshape(shape)

    def fold(self, weight: float, *shape: int) -> np.ndarray:
        """Where to write the values of the next fold, whose weight in the mean is given."""
        self.splits.append(np.full(self.shape, np.nan))
        self.weights.append(weight)
        return self.splits[-1].reshape(shape or self.shape)

    def known(self) -> np.ndarray:
        """The values, or the mean over the folds so far."""
        return _mean(np.array(self.splits), np.array(self.weights)) if self.splits else self.values

    def search(self, values: np.ndarray | None = None) -> Search:
        """As it is kept; with folds, `values` are the means that were chosen by."""
        sign = 1.0 if self.larger else -1.0
        scores = sign * (self.known() if values is None else np.asarray(values).reshape(self.shape))
        names, settings = tuple(self.axes), tuple(list(values) for values in self.axes.values())
        if not self.splits:
            return Search(names, settings, scores)
        return Search(names, settings, scores, sign * np.array(self.splits), np.array(self.weights))


class Searching:
    """Models that choose: `cv_results_`, and `interrupted_` where Ctrl-C ended the search."""

    search_: Search
    interrupted_: bool

    @property
    def cv_results_(self) -> dict[str, Any]:
        """Every setting with its score, as scikit-learn's searches have it: `pandas.DataFrame(model.cv_results_)`.

        `params`, a column `param_NAME` for everything that was searched, `mean_test_score` (minus the error, or the
        score itself where larger is better), `rank_test_score`, 1 for the best; with folds `split0_test_score` and so
        on, and `std_test_score`. There are no times: in closed form many settings share one factorisation.
        """
        if "search_" not in vars(self):
            raise AttributeError(f"This {type(self).__name__} has no `cv_results_`; call `fit` first.")
        return self.search_.table()

    @contextmanager
    def _searching(self, tally: Tally) -> Iterator[None]:
        """What is known is kept when the search is interrupted, and nothing of an earlier fit."""
        try:
            yield
        except KeyboardInterrupt:
            for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
                if name not in ("n_features_in_", "feature_names_in_"):
                    del self.__dict__[name]
            self.interrupted_, self.search_ = True, tally.search()
            setattr(self, tally.name, np.squeeze(tally.known()))
            raise

    def _keep_search(self, tally: Tally, values: np.ndarray | None = None) -> None:
        """The search was seen to its end."""
        self.interrupted_, self.search_ = False, tally.search(values)

    def __sklearn_is_fitted__(self) -> bool:
        state = vars(self)
        fitted = any(name.endswith("_") and not name.startswith("__") for name in state)
        return fitted and not state.get("interrupted_", False)
