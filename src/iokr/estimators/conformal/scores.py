"""Nonconformity scores and how they are compared: y is in the set if fewer than ⌈c(n + 1)⌉ are below its own."""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from iokr._array import is_array, is_sparse, to_numpy
from iokr._validation.arguments import check_number
from iokr.data.candidates import CandidateSets, flatten_sets, shared_sequence
from iokr.data.objects import n_objects, take
from iokr.estimators.conformal.answers import answers_of, largest
from iokr.estimators.inputs import is_pairwise

__all__ = [
    "NodeScores",
    "Scores",
    "SplitScores",
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

    def radius(self, X: Any, k: int) -> Matrix:
        """The radius of a ball around h(x) that holds the set, (m,). May be overridden: sets of partners have none."""
        raise ValueError("Prediction sets of partners are not balls; use `predict_set`.")

    def band(self, X: Any, k: int) -> Matrix:
        """Lower and upper ends, in ascending order, (m, 2) for single numbers, else (m, T, 2)."""
        if not self.answers.has_band:
            raise ValueError("Outputs known through their kernel have no coordinates to bound; use `predict_set`.")
        ends = np.sort(np.stack(self.ends(X, k), axis=-1), axis=-1)
        return ends[:, 0, :] if self.answers.is_single(ends.shape[1]) else ends

    def ends(self, X: Any, k: int) -> Any:
        """Both ends of the band in the numbers of y, (m, T), in any order. May be overridden, as `radius`."""
        raise ValueError("Prediction sets of partners are not bands; use `predict_set`.")


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


class SplitScores(Scores):
    """Scores of n calibration rows, which the model has not seen.

    Parameters
    ----------
    model : any fitted model
    conformity : as in `Conformal`
    X, y : the calibration rows
    R : leave-one-out residuals of the training rows, (·, q), for the widths of bands; None where unknown
    """

    def __init__(self, model: Any, conformity: Any, X: Any, y: Any, R: Matrix | None) -> None:
        self.model = model
        self.conformity = conformity
        self._kept = (X, y) if conformity == "relative" else None  # their scores depend on the candidates
        self.own = self._scores(X, y)
        self.n = len(self.own)
        self._band = np.empty(0)
        self._sigma = np.ones(1)
        if self.answers.has_band:
            scores, self._sigma = largest(self.answers.band_residuals(X, y), R)
            self._band = scores / (self._deviations(X) if self.scaled else 1.0)

    def _stored(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "conformity": self.conformity,
            "training": self._kept,
            "band": self._band,
            "sigma": self._sigma,
        }

    @property
    def scaled(self) -> bool:
        """Whether scores are divided by the standard deviation of h(x)."""
        return bool(self.conformity == "scaled")

    def _deviations(self, X: Any) -> Matrix:
        return np.asarray(np.sqrt(self.answers.variance(X)))

    def _scores(self, X: Any, y: Any) -> Matrix:
        """The score of each pair: a square, or the value of the function."""
        if callable(self.conformity):
            return scores_of(self.conformity, self.answers.residuals(X, y), X)
        squares = self.answers.sq_residuals(X, y)
        return np.asarray(squares / self.answers.variance(X) if self.scaled else squares)

    def counts(self, X: Any, y: Any, candidates: Any = None) -> Matrix:
        """How many scores are smaller than that of (x, y), for each pair."""
        new = self._scores(X, y)
        if self._kept is None:
            return smaller(self.own[None, :], new[:, None])
        own = excess(self.answers.sq_distances(self._kept[0], candidates), self.own)
        return smaller(own[None, :], excess(self.answers.sq_distances(X, candidates), new)[:, None])

    def candidate_counts(self, X: Any, candidates: Any) -> Iterator[Matrix]:
        """The same for every candidate, an array per input."""
        if callable(self.conformity):
            yield from self._function_counts(X, candidates)
            return
        if isinstance(candidates, CandidateSets):
            if not self.answers.embeds:
                raise ValueError("`CandidateSets` need a model of `iokr`; give one list of candidates.")
        else:
            candidates = shared_sequence(candidates)
        costs = self.answers.sq_distances(X, candidates)
        if self._kept is not None:
            own = excess(self.answers.sq_distances(self._kept[0], candidates), self.own)
            for row in costs:
                yield smaller(own[None, :], excess(row, row)[:, None])
            return
        v = self.answers.variance(X) if self.scaled else np.ones(len(costs))
        for row, scale in zip(costs, v, strict=True):
            yield smaller(self.own[None, :], (row / scale)[:, None])

    def _function_counts(self, X: Any, candidates: Any) -> Iterator[Matrix]:
        m = n_objects(X)
        sets = isinstance(candidates, CandidateSets)
        if sets:
            flatten_sets(candidates, m)  # checks all of them
        for i in range(m):
            listed = shared_sequence(candidates[i] if sets else candidates)
            repeated = some(X, np.full(n_objects(listed), i))
            yield smaller(self.own[None, :], self._scores(repeated, listed)[:, None])

    def radius(self, X: Any, k: int) -> Matrix:
        """The radius of the ball around h(x) that is the set."""
        Q = kth(np.sqrt(self.own), k)
        if self.scaled:
            return np.asarray(Q * self._deviations(X))
        return np.full(len(self.answers.values(X)), Q)

    def ends(self, X: Any, k: int) -> Any:
        """ŷ ± Qσ_t in the numbers of y."""
        half = kth(self._band, k) * self._sigma[None, :]
        if self.scaled:
            half = half * self._deviations(X)[:, None]
        return self.answers.band(X, half)


class NodeScores(Scores):
    """s(u) = −min over the partners v of u of κ̂(u, v), minus the lowest score of a partner; −∞ without any.

    The model was fitted to the links between some nodes. n others, each with its row of links to these, give the scores
    s_i. v is in the set of u if fewer than k of them are below −κ̂(u, v), so the set holds all partners of u if fewer
    than k are below s(u).

    Parameters
    ----------
    model : a fitted model of links
    nodes : numbers of the nodes that it was fitted on, among all
    n_nodes : the number of all nodes
    X : the other nodes
    links : their links to all nodes, (n, n_nodes)
    """

    needs_candidates = False

    def __init__(self, model: Any, nodes: np.ndarray, n_nodes: int, X: Any, links: Any) -> None:
        self.model = model
        self.nodes = nodes
        self.n_nodes = n_nodes
        self.own = self._worst(X, links)
        self.n = len(self.own)

    def _stored(self) -> dict[str, Any]:
        return {"model": self.model, "nodes": self.nodes, "n_nodes": self.n_nodes}

    def predict(self, X: Any, candidates: Any) -> Any:
        """κ̂(u, v) for the nodes v that the model was fitted on."""
        return self.model.decision_function(X)

    def _scores(self, X: Any) -> np.ndarray:
        """κ̂(u, v), (m, number of fitted nodes)."""
        return np.asarray(to_numpy(self.model.decision_function(X)), dtype=float)

    def _worst(self, X: Any, links: Any) -> np.ndarray:
        S = self._scores(X)
        partners = self._partners(links, len(S))
        return np.asarray(np.max(np.where(partners, -S, -np.inf), axis=1))

    def _partners(self, links: Any, m: int) -> np.ndarray:
        """Whether u and v are linked, (m, number of fitted nodes), from rows of links to all nodes."""
        dense = links.toarray() if is_sparse(links) else links
        values = to_numpy(dense) if is_array(dense) else np.asarray(dense)
        if values.shape != (m, self.n_nodes):
            raise ValueError(
                f"`y` must hold a row of links for each of {m} nodes, with a column for each of the {self.n_nodes} "
                f"nodes of `fit`, got shape {values.shape}."
            )
        if values.dtype.kind not in "biuf" or (values.dtype.kind == "f" and not np.all(np.isfinite(values))):
            raise ValueError("`y` must hold finite numbers: the weight of each link, 0 without a link.")
        return np.asarray(values[:, self.nodes] != 0)

    def counts(self, X: Any, y: Any, candidates: Any = None) -> np.ndarray:
        """How many scores are below that of u and its row of links."""
        _reject(candidates)
        return smaller(self.own[None, :], self._worst(X, y)[:, None])

    def candidate_counts(self, X: Any, candidates: Any) -> Iterator[np.ndarray]:
        """How many scores are below −κ̂(u, v), for every node of `fit`; n for nodes that the model was not fitted on."""
        _reject(candidates)
        for scores in self._scores(X):
            row = np.full(self.n_nodes, self.n)
            row[self.nodes] = smaller(self.own[None, :], -scores[:, None])
            yield row


def _reject(candidates: Any) -> None:
    if candidates is not None:
        raise ValueError("`candidates` must be None: the candidates are the nodes of `fit`.")
