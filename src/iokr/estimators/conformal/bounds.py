"""Outputs and answers as the numbers that a band bounds: vectors as they are, curves at their nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import asarray_like, is_sparse, to_numpy
from iokr.data.objects import is_numeric
from iokr.embeddings.base import EuclideanEmbedding
from iokr.embeddings.curves import Curves
from iokr.estimators.base import StructuredEstimator
from iokr.estimators.conformal.order import check_complete
from iokr.estimators.outputs import as_outputs

__all__ = ["Bounds", "largest", "represented"]

Matrix = np.ndarray


def represented(model: StructuredEstimator, y: Any, name: str = "y") -> Any:
    """Outputs as the model's embedding holds them; vectors and curves are complete."""
    embedding = model.embedding_
    S = embedding.represent(y if isinstance(embedding, Curves) else as_outputs(y, model.output_kernel), name)
    if isinstance(embedding, EuclideanEmbedding):  # kernels may know what to do with NaN, as those of rankings do
        check_complete(S)
    return S


class Bounds:
    """y and ŷ = h(x) in numbers, (n, T) each, of a fitted model whose outputs have coordinates.

    Coordinates of h(x) need not be those of y: of curves in a basis they are coefficients, of coupled tasks mixtures.
    Numbers, one for each row, are bounded where h(x) is, so that their band is their set.

    Parameters
    ----------
    model : fitted, with a Euclidean embedding
    """

    def __init__(self, model: StructuredEstimator) -> None:
        self._model, self._single = model, model.outputs_.shape == ()

    @staticmethod
    def has(model: StructuredEstimator) -> bool:
        """Whether outputs are numbers at all, and not known through their kernel alone."""
        return isinstance(model.embedding_, EuclideanEmbedding)

    def outputs(self, y: Any, like: Any) -> Matrix:
        """y in numbers."""
        embedding = self._model.embedding_
        if isinstance(embedding, Curves):
            return np.asarray(to_numpy(embedding.values(y)), dtype=float)
        Y = as_outputs(y, self._model.output_kernel)
        if not self._single and self._model.output_kernel is None and is_numeric(Y):
            values = np.asarray(Y.toarray() if is_sparse(Y) else to_numpy(Y), dtype=float)
            return values.reshape(values.shape[0], -1)
        Psi = embedding.coordinates(embedding.represent(Y), like)
        return np.asarray(to_numpy(Psi) if self._single else self.answers(to_numpy(Psi), like))

    def answers(self, H: Matrix, like: Any) -> Matrix:
        """h(x) in numbers, H being in the coordinates of the embedding."""
        if self._single:
            return H
        embedding: Any = self._model.embedding_
        return np.asarray(to_numpy(embedding.vectors(asarray_like(H, like))))

    def back(self, ends: tuple[Matrix, Matrix], like: Any) -> tuple[Matrix, Matrix]:
        """Ends of a band from these numbers to those of y."""
        if not self._single:
            return ends
        embedding: Any = self._model.embedding_
        low, high = (np.asarray(to_numpy(embedding.vectors(asarray_like(end, like)))) for end in ends)
        return low, high


def largest(R: Matrix, spread: Matrix | None = None) -> tuple[Matrix, Matrix]:
    """sup_t |r_it|/σ_t, (n,), and σ, the root mean square of each coordinate of `spread` (None: of R); 1 for one."""
    squares = (R if spread is None else spread) ** 2
    sigma = np.ones(1) if R.shape[1] == 1 else np.sqrt(np.maximum(squares.mean(axis=0), np.finfo(float).tiny))
    return np.abs(R / sigma).max(axis=1), sigma
