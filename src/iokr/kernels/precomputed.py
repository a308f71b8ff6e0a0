"""A Gram matrix that is computed elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, is_array, take_rows
from iokr._component import component
from iokr._validation.arguments import check_rows, check_vectors
from iokr._validation.matrices import check_psd
from iokr.data.objects import Parts, as_array, n_objects
from iokr.kernels.base import Kernel

__all__ = ["Precomputed", "check_indices"]


@component
class Precomputed(Kernel):
    """k(i, j) = matrix[i, j]: objects are row numbers of the Gram matrix of all objects.

    With a matrix, inputs, outputs, unlabelled points and candidates are integers, rows of that matrix. Without
    one, `Precomputed()`, X is the (n, n) Gram matrix at fit and the (m, n) rows k(x, x_i) at predict, as for
    scikit-learn's `kernel="precomputed"`; this form is for labelled inputs only.

    Parameters
    ----------
    matrix : array of shape (N, N), default=None
        Symmetric positive semi-definite; checked once, at fit.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import Precomputed
    >>> Precomputed(np.array([[2.0, 1.0], [1.0, 2.0]]))([0, 1], [1])
    array([[1.],
           [2.]])
    """

    matrix: Any = None

    domain = "indices"

    @property
    def pairwise(self) -> bool:  # type: ignore[override]
        """Whether X is the Gram matrix itself."""
        return self.matrix is None

    def fit(self, X: Any) -> Precomputed:
        """Check the matrix."""
        if self.pairwise:
            self.matrix_ = check_psd(X, "X (a precomputed Gram matrix)")
        else:
            self.matrix_ = check_psd(self.matrix, "matrix")
        return self

    def represent(self, X: Any) -> Any:
        """Row numbers; for `Precomputed()`, rows k(x, x_i) of objects."""
        size = self.matrix_.shape[0]
        numbers = len(getattr(X, "shape", ())) == 1  # the objects of `fit` are 0 … n − 1 in both forms
        if numbers or not self.pairwise:
            return check_indices(X, size, "Precomputed(matrix)", "row")
        rows = check_vectors(X, "X (rows of a precomputed Gram matrix)", sparse=False)
        if rows.shape[1] != size:
            raise ValueError(
                f"`X` must hold k(x, x_i) for the {size} training objects, a column each, got {rows.shape[1]} columns; "
                "X has a different number of features than at fit."
            )
        return Parts(rows, np.full(rows.shape[0], -1))

    def block(self, R: Any, S: Any) -> Array:
        if isinstance(S, Parts):
            raise ValueError("`Precomputed()` has k(x, x_i) for training objects x_i only; use `Precomputed(matrix)`.")
        source = R.parts[0] if isinstance(R, Parts) else take_rows(self.matrix_, R)
        if len(S) == source.shape[1] and np.array_equal(S, np.arange(len(S))):
            return source
        xp = array_namespace(source)
        if source is self.matrix_ or not is_array(source) or isinstance(source, np.ndarray):
            return source[:, S]
        return xp.take(source, xp.asarray(S, device=source.device), axis=1)

    def diag(self, R: Any) -> Array:
        if isinstance(R, Parts):
            raise ValueError(
                "`Precomputed()` does not have k(x, x) of new objects; give the whole matrix: `Precomputed(matrix)`."
            )
        return take_rows(array_namespace(self.matrix_).linalg.diagonal(self.matrix_), R)


def check_indices(X: Any, size: int, kernel: str, what: str) -> np.ndarray:
    """Numbers of rows (or nodes) below `size`, as integers."""
    n_objects(X)
    wanted = f"With `{kernel}` objects are {what} numbers, a 1-D array of integers"
    index = as_array(X)
    if index.ndim == 2 and index.shape[1] == 1:
        index = index[:, 0]
    if index.ndim != 1:
        raise ValueError(f"{wanted}, got shape {index.shape}.")
    return check_rows(index, size, wanted)
