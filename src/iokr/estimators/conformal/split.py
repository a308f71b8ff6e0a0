"""Split conformal sets: a model of some rows, scores on the others; for any model and any loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from iokr._array import is_sparse, to_numpy
from iokr._objects import n_objects, take
from iokr.decoders.candidate_sets import CandidateSets, shared_sequence
from iokr.estimators.base import StructuredEstimator
from iokr.estimators.conformal.closed import excess, scores_of, smaller
from iokr.estimators.conformal.order import kth
from iokr.estimators.outputs import as_outputs
from iokr.estimators.regression.iokr import KernelRegression

__all__ = ["SplitScores", "fitted_residuals"]

Matrix = np.ndarray


class SplitScores:
    """Scores of n calibration rows, which the model has not seen, beside those of new pairs (x, y).

    Parameters
    ----------
    model : any fitted model; one without outputs of `iokr` answers with numbers
    conformity : as in `Conformal`
    X, y : the calibration rows
    R : residuals of the rows that the model was fitted on, (·, q), for the widths of bands; None where unknown
    """

    def __init__(self, model: Any, conformity: Any, X: Any, y: Any, R: Matrix | None = None) -> None:
        self.model, self.conformity = model, conformity
        self._structured = isinstance(model, StructuredEstimator)
        self._kept = (X, y) if conformity == "relative" else None
        self.own = self._squares(X, y)
        self.n = len(self.own)
        self._sigma = np.ones(1)
        self._band: Matrix | None = None
        if not self._structured or model.embedding_.explicit:
            residuals = self._residuals(X, y)
            if residuals.shape[1] > 1:
                spread = residuals if R is None else R
                self._sigma = np.sqrt(np.maximum((spread**2).mean(axis=0), np.finfo(float).tiny))
            scale = np.sqrt(self._v(X)) if conformity == "scaled" else 1.0
            self._band = np.abs(residuals / self._sigma).max(axis=1) / scale

    def _values(self, X: Any) -> Matrix:
        """h(x), or the answers of a model that gives numbers, (m, q)."""
        H = to_numpy(self.model.decision_function(X) if self._structured else self.model.predict(X))
        return np.asarray(H if H.ndim == 2 else H[:, None], dtype=float)

    def _outputs(self, y: Any) -> Matrix:
        """y as rows of numbers."""
        Y = np.asarray(y.toarray() if is_sparse(y) else to_numpy(y), dtype=float)
        return Y if Y.ndim == 2 else Y[:, None]

    def _residuals(self, X: Any, y: Any) -> Matrix:
        H = self._values(X)
        if not self._structured:
            return np.asarray(self._outputs(y) - H)
        embedding = self.model.embedding_
        S = embedding.represent(as_outputs(y, self.model.output_kernel))
        return np.asarray(to_numpy(embedding.coordinates(S, self.model.decision_function(X))) - H)

    def _v(self, X: Any) -> Matrix:
        """Variance of h(x) plus noise."""
        alpha = getattr(self.model, "alpha_", getattr(self.model, "alpha", 1.0))
        return np.asarray(to_numpy(self.model.variance(X)) + alpha)

    def _squares(self, X: Any, y: Any) -> Matrix:
        """The score of each pair: a square, or what a function says."""
        if callable(self.conformity):
            return scores_of(self.conformity, self._residuals(X, y), X)
        if self._structured:
            S = self.model.embedding_.represent(as_outputs(y, self.model.output_kernel))
            squares = to_numpy(self.model.embedding_.sq_residuals(self.model.decision_function(X), S))
        else:
            squares = (self._residuals(X, y) ** 2).sum(axis=1)
        return np.asarray(squares / self._v(X) if self.conformity == "scaled" else squares)

    def _costs(self, X: Any, candidates: Any) -> Matrix:
        """‖ψ(y) − h(x)‖², (m, c)."""
        if self._structured:
            return to_numpy(self.model.distances(X, candidates))
        return np.asarray(((self._values(X)[:, None, :] - self._outputs(candidates)[None]) ** 2).sum(axis=2))

    def counts(self, X: Any, y: Any, candidates: Any = None) -> Matrix:
        """How many scores are smaller than that of (x, y), for each pair."""
        own = self._squares(X, y)
        if self._kept is None:
            return smaller(self.own[None, :], own[:, None])
        scores = excess(self._costs(self._kept[0], candidates), self.own)
        return smaller(scores[None, :], excess(self._costs(X, candidates), own)[:, None])

    def candidate_counts(self, X: Any, candidates: Any) -> Iterator[Matrix]:
        """The same for every candidate, an array per input."""
        if isinstance(candidates, CandidateSets) and self._structured:
            costs = [to_numpy(row) for row in self.model.distances(X, candidates)]
        elif isinstance(candidates, CandidateSets):
            raise ValueError("`CandidateSets` need a model of `iokr`; give one list of candidates.")
        else:
            listed = shared_sequence(candidates)
            if callable(self.conformity):
                yield from self._called(X, listed)
                return
            costs = list(self._costs(X, listed))
        v = self._v(X) if self.conformity == "scaled" else np.ones(len(costs))
        own = self.own if self._kept is None else excess(self._costs(self._kept[0], listed), self.own)
        for row, scale in zip(costs, v, strict=True):
            values = excess(row, row) if self._kept is not None else row / scale
            yield smaller(own[None, :], values[:, None])

    def _called(self, X: Any, candidates: Any) -> Iterator[Matrix]:
        c = n_objects(candidates)
        for i in range(n_objects(X)):
            repeated = take(X, np.full(c, i))
            yield smaller(self.own[None, :], self._squares(repeated, candidates)[:, None])

    def radius(self, X: Any, k: int) -> Matrix:
        """The radius of the ball around h(x) that is the set."""
        Q = kth(np.sqrt(self.own), k)
        return np.asarray(Q * np.sqrt(self._v(X)) if self.conformity == "scaled" else np.full(len(self._values(X)), Q))

    def band(self, X: Any, k: int) -> tuple[Matrix, Matrix]:
        """h ± Qσ_t, (m, q) each."""
        assert self._band is not None
        H = self._values(X)
        half = kth(self._band, k) * self._sigma[None, :]
        half = half * np.sqrt(self._v(X))[:, None] if self.conformity == "scaled" else np.broadcast_to(half, H.shape)
        return H - half, H + half


def fitted_residuals(model: Any) -> Matrix | None:
    """Leave-one-out residuals of a fitted regression with coordinates, None where there are none in closed form."""
    if not isinstance(model, KernelRegression) or not model.loss_.quadratic or not model.embedding_.explicit:
        return None
    H = to_numpy(model.loo_decision_function())
    return np.asarray(to_numpy(model.targets_.Psi) - H)
