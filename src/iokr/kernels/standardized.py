"""A kernel on columns in units of their standard deviations."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, is_sparse, to_numpy, unwarned
from iokr._component import component
from iokr._validation.arguments import check_computed, check_numbers, check_vectors
from iokr.gram.scalar import ScalarGram
from iokr.kernels.base import WrappedKernel, check_part, fit_part

__all__ = ["Standardized", "column_spread"]

_CONSTANT = 64 * np.finfo(np.float64).eps  # a column whose spread is below this part of its values is constant


@component
class Standardized(WrappedKernel):
    """k(x, z) = base(S⁻¹(x − m), S⁻¹(z − m)) with m the means of the columns at fit, S their standard deviations.

    The answer does not depend on the units of the columns. Columns that were constant at fit play no role. Means and
    deviations are over distinct rows, so that they do not depend on the repetition of rows.

    Parameters
    ----------
    base : Kernel
        On vectors.
    mean, scale : array of shape (p,), default=None
        m, and the diagonal of S, infinite for columns that play no role; None is estimated.

    Attributes
    ----------
    mean_, scale_ : array of shape (p,)
        Those in use.
    offset_ : array of shape (p,)
        What rounding has left out of `mean_`, for columns far from zero.
    base_ : Kernel
        Fitted to the standardised vectors.

    Examples
    --------
    >>> from iokr.kernels import Linear, Standardized
    >>> Standardized(Linear())([[1.0, 5.0], [3.0, 5.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    mean: Any = None
    scale: Any = None

    def fit(self, X: Any) -> Standardized:
        """Means and deviations of the columns; then a clone of the base, fitted to standardised vectors."""
        if check_part(self.base, "base").domain != "vectors":
            raise ValueError(f"`base` must be a kernel on vectors such as `RBF()`, got {self.base!r:.60}.")
        X = check_dense(X)
        rows = np.unique(to_numpy(X), axis=0)
        with unwarned():
            origin = rows[0]
            moved = check_computed(rows - origin, what="x − m")
            self.mean_ = origin + moved.mean(axis=0) if self.mean is None else _given(self.mean, "mean", rows)
            moved = check_computed(rows - self.mean_, what="x − m")
            self.offset_ = moved.mean(axis=0) if self.mean is None else np.zeros(rows.shape[1])
            self.scale_ = (
                column_spread(rows, moved - self.offset_) if self.scale is None else _given(self.scale, "scale", rows)
            )
        if not np.all(self.scale_ > 0):
            raise ValueError("`scale` must be positive, infinite for columns that play no role.")
        self.base_ = fit_part(self.base, "base", self.standardized(X))
        return self

    def standardized(self, X: Any) -> Array:
        """S⁻¹(x − m) for every row."""
        X = check_dense(X)
        if int(X.shape[1]) != len(self.mean_):
            raise ValueError(f"X has {int(X.shape[1])} features, but the kernel was fitted on {len(self.mean_)}.")
        with unwarned():
            moved = (X - asarray_like(self.mean_, X)[None, :]) - asarray_like(self.offset_, X)[None, :]
            Z = moved * asarray_like(1.0 / self.scale_, X)[None, :]
        return check_computed(Z, what="(x − m)/s")

    @property
    def has_features(self) -> bool:
        """Whether the base has."""
        return check_part(self.base, "base").has_features

    def features(self, X: Any) -> Any:
        """Those of the base."""
        return self.base_.features(self.standardized(X))

    def represent(self, X: Any) -> Any:
        """The standardised vectors, as the base represents them."""
        return self.base_.represent(self.standardized(X))

    def gram(self, R: Any, S: Any = None) -> ScalarGram:
        """That of the base."""
        gram: ScalarGram = self.base_.gram(R, S)
        return gram

    def thin_features(self, R: Any) -> Array | None:
        """Those of the base."""
        return self.base_.thin_features(R)

    def coordinates(self, R: Any) -> Array:
        """Those of the base."""
        return self.base_.coordinates(R)


def column_spread(rows: np.ndarray, deviations: np.ndarray | None = None) -> np.ndarray:
    """Standard deviations of columns, infinite for constant ones; `deviations` from the means, where they are known."""
    if deviations is None:
        deviations = rows - rows.mean(axis=0)
    largest = np.abs(deviations).max(axis=0)
    varies = largest > _CONSTANT * np.abs(rows).max(axis=0)
    unit = np.where(varies, largest, 1.0)  # squares of deviations may not be finite
    spread = unit * np.sqrt(np.mean((deviations / unit) ** 2, axis=0))
    return np.asarray(np.where(varies, spread, np.inf))


def _given(values: Any, name: str, rows: np.ndarray) -> np.ndarray:
    """A number for each column."""
    found = check_numbers(values, name)
    if found.shape != (rows.shape[1],) or np.isnan(found).any():
        raise ValueError(f"`{name}` must be a number for each of {rows.shape[1]} columns, got {values!r:.60}.")
    return found


def check_dense(X: Any) -> Array:
    """Vectors that are not sparse: means would fill them."""
    if is_sparse(X):
        raise ValueError(
            "`Standardized` moves columns by their means, which fills a sparse matrix; scale its columns beforehand, "
            "as with `MaxAbsScaler`, or give `X.toarray()`."
        )
    X = check_vectors(X)
    return array_namespace(X).astype(X, array_namespace(X).float64)
