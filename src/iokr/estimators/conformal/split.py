"""Split conformal sets: a model fitted on some rows, scores of the others; for any model and any loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from iokr.data.candidates import CandidateSets, flatten_sets, shared_sequence
from iokr.data.objects import n_objects
from iokr.estimators.conformal.answers import largest
from iokr.estimators.conformal.order import kth
from iokr.estimators.conformal.rows import some
from iokr.estimators.conformal.scores import Scores, excess, scores_of, smaller

__all__ = ["SplitScores"]

Matrix = np.ndarray


class SplitScores(Scores):
    """Scores of n calibration rows, which the model has not seen.

    Parameters
    ----------
    model : any fitted model
    conformity : as in `Conformal`
    X, y : the calibration rows
    R : leave-one-out residuals of the training rows, (·, q), for the widths of bands; None where unknown
    """

    def __init__(self, model: Any, conformity: Any, X: Any, y: Any, R: Matrix | None = None) -> None:
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

    def band(self, X: Any, k: int) -> Matrix:
        """ŷ ± Qσ_t in the numbers of y."""
        if not self.answers.has_band:
            raise ValueError("Outputs known through their kernel have no coordinates to bound; use `predict_set`.")
        half = kth(self._band, k) * self._sigma[None, :]
        if self.scaled:
            half = half * self._deviations(X)[:, None]
        ends = np.sort(np.stack(self.answers.band(X, half), axis=-1), axis=-1)
        return ends[:, 0, :] if self.answers.is_single(ends.shape[1]) else ends
