"""Split conformal sets: a model of some rows, scores on the others; for any model and any loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from iokr._array import is_sparse, to_numpy
from iokr.data.candidates import CandidateSets, shared_sequence
from iokr.data.objects import n_objects
from iokr.estimators.base import StructuredEstimator, coordinates_of
from iokr.estimators.conformal.bounds import Bounds, largest, represented
from iokr.estimators.conformal.closed import excess, scores_of, smaller
from iokr.estimators.conformal.order import kth
from iokr.estimators.conformal.rows import some
from iokr.estimators.regression.iokr import KernelRegression, left_out_values

__all__ = ["NO_BALL", "SplitScores", "fitted_residuals"]

NO_BALL = 'With an operator every output has its own variance, so `conformity="scaled"` makes no ball; give a function.'

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
        self._sigma, self._band = np.ones(1), np.empty(0)
        if not self._structured or Bounds.has(model):
            scale = np.sqrt(self._v(X)) if conformity == "scaled" else 1.0
            band, self._sigma = largest(self._numbers(X, y), R)
            self._band = band / scale

    def _numbers(self, X: Any, y: Any) -> Matrix:
        """y − ŷ in the numbers that a band bounds."""
        if not self._structured:
            return self._residuals(X, y)
        H, bounds = coordinates_of(self.model, X), Bounds(self.model)
        return np.asarray(bounds.outputs(y, H) - bounds.answers(to_numpy(H), H))

    def _values(self, X: Any) -> Matrix:
        """h(x), or the answers of a model that gives numbers, (m, q)."""
        if self._structured:
            return np.asarray(to_numpy(coordinates_of(self.model, X)))
        found = self.model.predict(X)
        try:
            H = np.asarray(to_numpy(found), dtype=float)
        except (TypeError, ValueError):
            raise TypeError(
                f"`model` must answer with numbers, which have residuals, and {self.model!r:.60} answers "
                f"{found!r:.60}; for labels use `IOKR(output_kernel=Delta())`."
            ) from None
        return H if H.ndim == 2 else H[:, None]

    def _outputs(self, y: Any) -> Matrix:
        """y as rows of numbers."""
        Y = np.asarray(y.toarray() if is_sparse(y) else to_numpy(y), dtype=float)
        return Y if Y.ndim == 2 else Y[:, None]

    def _residuals(self, X: Any, y: Any) -> Matrix:
        H = self._values(X)
        if not self._structured:
            return np.asarray(self._outputs(y) - H)
        return np.asarray(to_numpy(self.model.embedding_.coordinates(represented(self.model, y), H)) - H)

    def _v(self, X: Any) -> Matrix:
        """Variance of h(x) plus noise."""
        if not hasattr(self.model, "variance"):
            raise TypeError(
                f'`conformity="scaled"` divides by the deviation of h(x), and {self.model!r:.60} has no `variance`; '
                'use "distance", or a function.'
            )
        alpha = getattr(self.model, "alpha_", getattr(self.model, "alpha", 1.0))
        variance = to_numpy(self.model.variance(X))
        if variance.ndim > 1:
            raise ValueError(NO_BALL)
        return np.asarray(variance + alpha)

    def _squares(self, X: Any, y: Any) -> Matrix:
        """The score of each pair: a square, or what a function says."""
        if callable(self.conformity):
            return scores_of(self.conformity, self._residuals(X, y), X)
        if self._structured:
            S = represented(self.model, y)
            squares = to_numpy(self.model.embedding_.sq_residuals(coordinates_of(self.model, X), S))
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
            repeated = some(X, np.full(c, i))
            yield smaller(self.own[None, :], self._squares(repeated, candidates)[:, None])

    def radius(self, X: Any, k: int) -> Matrix:
        """The radius of the ball around h(x) that is the set."""
        Q = kth(np.sqrt(self.own), k)
        return np.asarray(Q * np.sqrt(self._v(X)) if self.conformity == "scaled" else np.full(len(self._values(X)), Q))

    def band(self, X: Any, k: int) -> tuple[Matrix, Matrix]:
        """ŷ ± Qσ_t, (m, T) each, in the numbers of y."""
        H = coordinates_of(self.model, X) if self._structured else None
        answers = self._values(X) if H is None else Bounds(self.model).answers(to_numpy(H), H)
        half = kth(self._band, k) * self._sigma[None, :]
        half = half * np.sqrt(self._v(X))[:, None] if self.conformity == "scaled" else half
        ends = (answers - half, answers + half)
        return ends if H is None else Bounds(self.model).back(ends, H)


def fitted_residuals(model: Any, y: Any) -> Matrix | None:
    """Leave-one-out residuals of a fitted regression in the numbers of y, None where there is no closed form."""
    if not isinstance(model, KernelRegression) or not model.loss_.quadratic or not Bounds.has(model):
        return None
    H, bounds = left_out_values(model), Bounds(model)
    return np.asarray(bounds.outputs(y, H) - bounds.answers(to_numpy(H), H))
