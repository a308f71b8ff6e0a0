"""Dask arrays asked about: lazy answers, and candidates that are ranked where they are."""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, to_numpy
from iokr._validation.arguments import check_integer
from iokr.data.chunks import is_lazy
from iokr.decoders.candidates import rank_shared
from iokr.estimators.base import StructuredEstimator
from iokr.gram.distributed import lazy_answer, rank_shards

__all__ = ["LazyAnswers"]


class LazyAnswers(StructuredEstimator):
    """An estimator that takes Dask arrays as inputs and as candidates."""

    def decision_function(self, X: Any) -> Array:
        """h(x) in the embedding's coordinates, (m, q); lazy for a Dask array."""
        return lazy_answer(X, super().decision_function) if is_lazy(X) else super().decision_function(X)

    def predict(self, X: Any, candidates: Any = None) -> Any:
        """Decoded outputs; lazy for a Dask array.

        Parameters
        ----------
        X : array or sequence of m objects
        candidates : sequence of outputs, or `CandidateSets`, default=None
            Choose among these; None leaves it to the decoder.

        Returns
        -------
        y : array of m outputs
            Of the dimension of y at fit when that was a numeric array (dense when it was sparse), else a 1-D object
            array. A frame of pandas or Polars at fit comes back as a frame with its columns, and the index of X. A
            Series comes back as an array, as from scikit-learn's estimators.
        """
        if is_lazy(X):
            check_is_fitted(self)
            return lazy_answer(X, partial(super()._decoded, candidates=candidates))
        return super().predict(X, candidates)

    def rank(self, X: Any, candidates: Any, k: int | None = None) -> tuple[Any, Any]:
        """The candidates, best first.

        Equal candidates are evaluated once, and ties keep the order of the candidates. Memory does not grow with their
        number when `k` is given.

        Parameters
        ----------
        X : array or sequence of m objects
        candidates : sequence of c outputs, `CandidateSets`, or a Dask array
            The chunks of a Dask array are ranked where they are, and their best merged.
        k : int, default=None
            How many to return; None is all.

        Returns
        -------
        indices : array of shape (m, min(k, c)), or a list of arrays for `CandidateSets`
            Indices of the candidates.
        values : of the same shape
            ‖h(x) − ψ(y)‖², ascending; or ⟨h(x), ψ(y)⟩, descending, when the decoder ranks by score; or minus the risk,
            descending, with `MinimumRisk`.
        """
        if not is_lazy(candidates):
            return super().rank(X, candidates, k)
        k = None if k is None else check_integer(k, "k", minimum=1)
        H, embedding = self._ranked(X)
        best = partial(rank_shared, to_numpy(H), embedding, k=k, by=self._by)
        index, values = rank_shards(candidates, best, k, ascending=self._by == "distance")
        return index, self._cast(values)
