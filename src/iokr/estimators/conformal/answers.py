"""Predictions and outputs of a fitted model in numbers: coordinates for scores, values for bands."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, asarray_like, is_array, is_numpy, is_sparse, to_numpy
from iokr.data.frames import Frame, read
from iokr.data.objects import error_context, is_numeric
from iokr.estimators.base import StructuredEstimator
from iokr.estimators.outputs import as_outputs
from iokr.estimators.regression.base import KernelRegression, left_out_values

__all__ = [
    "INCOMPLETE",
    "NO_BALL",
    "Answers",
    "PlainAnswers",
    "RegressionAnswers",
    "StructuredAnswers",
    "answers_of",
    "check_complete",
    "largest",
]

INCOMPLETE = "`y` contains NaN: scores of incomplete rows cannot be compared with those of complete ones; drop these."
NO_BALL = (
    "With an operator each coordinate of the output has its own variance, so prediction sets with "
    '`conformity="scaled"` are not balls; give a function as `conformity`.'
)

Matrix = np.ndarray


def answers_of(model: Any) -> Answers:
    """How to read the predictions and outputs of this kind of model."""
    if isinstance(model, KernelRegression):
        return RegressionAnswers(model)
    return StructuredAnswers(model) if isinstance(model, StructuredEstimator) else PlainAnswers(model)


class Answers:
    """What scores need of a fitted model; defaults are those of models that are not from this library."""

    embeds: ClassVar[bool] = False  # whether outputs are embedded: there are distances to sets of candidates
    has_band: bool = True  # whether outputs are numbers
    frame: Frame | None = None  # the columns of the outputs, where they were a frame
    of_pairs: bool = False  # whether rows are pairs of objects

    def __init__(self, model: Any) -> None:
        self.model = model

    def check_targets(self) -> None:
        """Reject outputs with missing entries in forms that only the model reads, such as curves with gaps."""

    def variance(self, X: Any) -> Matrix:
        """The variance of h(x), plus that of the noise, (m,)."""
        raise TypeError(
            f'`conformity="scaled"` divides by the standard deviation of h(x), and {self.model!r:.60} has no '
            '`variance`; use "distance", or a function.'
        )

    def left_out_residuals(self, y: Any) -> Matrix | None:
        """Leave-one-out residuals of the training rows in the numbers of y; None without a closed form."""
        return None

    def in_kind(self, values: Matrix) -> Array:
        """Numbers in the library and the precision of the model."""
        return values


class PlainAnswers(Answers):
    """A model that predicts numbers, such as a regressor of scikit-learn."""

    def values(self, X: Any) -> Matrix:
        """The predictions, (m, q)."""
        predicted = self.model.predict(X)
        try:
            H = np.asarray(to_numpy(predicted), dtype=float)
        except (TypeError, ValueError):
            raise TypeError(
                f"`model` must predict numbers, which have residuals, but {self.model!r:.60} predicts "
                f"{predicted!r:.60}; for labels use `IOKR(output_kernel=Delta())`."
            ) from None
        return _as_matrix(H)

    def residuals(self, X: Any, y: Any) -> Matrix:
        """y − ŷ, (m, q)."""
        H = self.values(X)
        return np.asarray(_dense(y) - H)

    def sq_residuals(self, X: Any, y: Any) -> Matrix:
        """‖y − ŷ‖², (m,)."""
        return np.asarray((self.residuals(X, y) ** 2).sum(axis=1))

    def sq_distances(self, X: Any, candidates: Any) -> Matrix:
        """‖y − ŷ‖² for every candidate y, (m, c)."""
        differences = self.values(X)[:, None, :] - _dense(candidates)[None]
        return np.asarray((differences**2).sum(axis=2))

    band_residuals = residuals  # in the numbers that a band bounds

    def band(self, X: Any, half: Matrix) -> tuple[Matrix, Matrix]:
        """ŷ ± half, in the numbers of y."""
        H = self.values(X)
        return H - half, H + half

    def is_single(self, width: int) -> bool:
        """Whether outputs are single numbers, given the width of a band."""
        return width == 1


class StructuredAnswers(Answers):
    """A model with an embedding: h(x) and ψ(y) in its coordinates, and y as the numbers that a band bounds.

    Coordinates need not be those of y: for curves in a basis they are coefficients, for coupled tasks mixtures. For
    single numbers the band is that of h(x), so that it is the prediction set.
    """

    embeds = True

    def __init__(self, model: StructuredEstimator) -> None:
        super().__init__(model)
        self.embedding: Any = model.embedding_
        self.single = model.outputs_.shape == ()
        self.has_band = self.embedding.has_vectors
        self.frame = model.outputs_.frame

    def represent(self, y: Any, name: str = "y") -> Any:
        """Outputs as the embedding represents them; vectors and curves must be complete."""
        given = y if self.embedding.functional else as_outputs(y, self.model.output_kernel)
        S = self.embedding.represent(given, name)
        if self.embedding.has_vectors:  # output kernels may define NaN, as those on rankings do
            check_complete(S)
        return S

    def values(self, X: Any) -> Matrix:
        """h(x), (m, q)."""
        return np.asarray(to_numpy(self.model._values(X)))

    def residuals(self, X: Any, y: Any) -> Matrix:
        """ψ(y) − h(x), (m, q)."""
        H = self.values(X)
        return np.asarray(to_numpy(self.embedding.coordinates(self.represent(y), H)) - H)

    def sq_residuals(self, X: Any, y: Any) -> Matrix:
        """‖ψ(y) − h(x)‖², (m,)."""
        S = self.represent(y)
        return np.asarray(to_numpy(self.embedding.sq_residuals(self.model._values(X), S)))

    def sq_distances(self, X: Any, candidates: Any) -> Any:
        """‖ψ(y) − h(x)‖² for every candidate y, (m, c); a list of arrays for `CandidateSets`."""
        costs = self.model.distances(X, candidates)
        return [to_numpy(row) for row in costs] if isinstance(costs, list) else to_numpy(costs)

    def numbers(self, y: Any, like: Array) -> Matrix:
        """y in the numbers that a band bounds, (n, T); `like` is an array of the model's library."""
        if self.embedding.functional:
            return np.asarray(to_numpy(self.embedding.values(y)), dtype=float)
        Y = as_outputs(y, self.model.output_kernel)
        if not self.single and self.model.output_kernel is None and is_numeric(Y):
            values = _dense(Y)
            return values.reshape(values.shape[0], -1)
        Psi = to_numpy(self.embedding.coordinates(self.embedding.represent(Y), like))
        return np.asarray(Psi if self.single else self.from_coordinates(Psi, like))

    def from_coordinates(self, H: Matrix, like: Array) -> Matrix:
        """h(x) in the numbers that a band bounds, from its coordinates."""
        return H if self.single else self._vectors(H, like)

    def to_outputs(self, ends: tuple[Matrix, Matrix], like: Array) -> tuple[Matrix, Matrix]:
        """Ends of a band in the numbers of y."""
        if not self.single:
            return ends
        return self._vectors(ends[0], like), self._vectors(ends[1], like)

    def _vectors(self, H: Matrix, like: Array) -> Matrix:
        return np.asarray(to_numpy(self.embedding.vectors(asarray_like(H, like))))

    def band_residuals(self, X: Any, y: Any) -> Matrix:
        """y − ŷ in the numbers that a band bounds."""
        H = self.model._values(X)
        return np.asarray(self.numbers(y, H) - self.from_coordinates(to_numpy(H), H))

    def band(self, X: Any, half: Matrix) -> tuple[Matrix, Matrix]:
        """ŷ ± half, in the numbers of y."""
        H = self.model._values(X)
        centre = self.from_coordinates(to_numpy(H), H)
        return self.to_outputs((centre - half, centre + half), H)

    def is_single(self, width: int) -> bool:
        """Whether outputs are single numbers."""
        return self.single


class RegressionAnswers(StructuredAnswers):
    """A kernel regression, which has variances and leave-one-out in closed form."""

    def __init__(self, model: KernelRegression) -> None:
        super().__init__(model)
        self.like = model.solution_.C
        self.of_pairs = model.kernel_.domain == "pairs"

    def check_targets(self) -> None:
        """No missing entries."""
        if self.model.targets_.mask is not None:
            raise ValueError(INCOMPLETE)

    def variance(self, X: Any) -> Matrix:
        """The variance of h(x), plus α, (m,)."""
        variance = to_numpy(self.model.variance(X))
        if variance.ndim > 1:
            raise ValueError(NO_BALL)
        return np.asarray(variance + self.model._at[0])

    def left_out_residuals(self, y: Any) -> Matrix | None:
        """Leave-one-out residuals of the training rows in the numbers of y, for quadratic losses."""
        if not self.model.loss_.quadratic or not self.has_band:
            return None
        H = left_out_values(self.model)
        return np.asarray(self.numbers(y, H) - self.from_coordinates(to_numpy(H), H))

    def in_kind(self, values: Matrix) -> Array:
        """Numbers in the library and the precision of the model."""
        return self.model._cast(asarray_like(values, self.like))


def check_complete(y: Any) -> None:
    """Reject missing entries: the score of an incomplete row cannot be compared with that of a complete one."""
    if is_sparse(y) or not is_numeric(y):
        return
    with error_context("y"):
        y = read(y)
    values = to_numpy(y) if is_array(y) and not is_numpy(y) else np.asarray(y)
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError(INCOMPLETE)


def _dense(y: Any) -> Matrix:
    """Outputs as rows of numbers."""
    return _as_matrix(np.asarray(y.toarray() if is_sparse(y) else to_numpy(y), dtype=float))


def _as_matrix(values: Matrix) -> Matrix:
    return values[:, None] if values.ndim == 1 else values


def largest(R: Matrix, spread: Matrix | None = None) -> tuple[Matrix, Matrix]:
    """sup_t |r_it|/σ_t, (n,), and σ, the root mean square of each coordinate of `spread` (None: of R); 1 for one."""
    if R.shape[1] == 1:
        sigma = np.ones(1)
    else:
        squares = (R if spread is None else spread) ** 2
        sigma = np.sqrt(np.maximum(squares.mean(axis=0), np.finfo(float).tiny))
    return np.abs(R / sigma).max(axis=1), sigma
