"""Outputs of estimators: read from what users bring, told apart by weight and precision, given back in their form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, is_array, is_numpy, is_sparse
from iokr._objects import as_objects, is_numeric, n_objects, take
from iokr.kernels.base import Kernel

__all__ = [
    "as_fitted",
    "as_outputs",
    "cast",
    "like_fitted",
    "positive_rows",
    "r2",
    "require_y",
    "row_numbers",
    "single_precision",
]


# ------------------------------------------------------------------------------------------------ outputs in


def require_y(y: Any) -> None:
    """Raise scikit-learn's error where there is no y."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")


def as_outputs(y: Any, output_kernel: Kernel | None) -> Any:
    """y as an array when it is one or can be read as one, else a 1-D object array."""
    require_y(y)
    n_objects(y, "y")
    if hasattr(y, "__array__") and not hasattr(y, "__len__") and not is_array(y):
        y = np.asarray(y)
    if isinstance(y, np.ma.MaskedArray):
        y = np.ma.filled(y.astype(np.float64), np.nan)  # hidden entries are missing
    if is_sparse(y) or (is_array(y) and (not is_numpy(y) or y.dtype.kind in "buif")):
        return y
    wants_numbers = output_kernel is None or output_kernel.domain in ("vectors", "fingerprints", "indices")
    if hasattr(y, "iloc") or hasattr(y, "__dataframe__") or hasattr(y, "to_numpy"):
        values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
        return values if values.dtype.kind in "buif" or wants_numbers else as_objects(values)
    if wants_numbers:
        if isinstance(y, np.ndarray):
            return y
        try:
            return np.asarray(y)
        except ValueError:
            return as_objects(y)
    return as_objects(y)


def positive_rows(X: Any, weight: np.ndarray | None) -> Any:
    """The rows with positive weight."""
    return X if weight is None or np.all(weight > 0) else take(X, np.flatnonzero(weight > 0))


def row_numbers(weight: np.ndarray | None) -> Callable[[int], int] | None:
    """From the number of a row among those with positive weight to its number among all; None where all have."""
    if weight is None or np.all(weight > 0):
        return None
    rows = np.flatnonzero(weight > 0)
    return lambda i: int(rows[i])


# ------------------------------------------------------------------------------------------------- precision


def single_precision(X: Any, y: Any = None) -> bool:
    """Whether answers are float32: X is an array of 32-bit (or shorter) floats, and y is none of 64-bit ones."""
    single = (is_array(X) or is_sparse(X)) and any(name in str(X.dtype) for name in ("float32", "float16"))
    return single and not str(getattr(y, "dtype", "")).endswith("float64")


def cast(H: Array, single: bool) -> Array:
    """Numbers in the precision of the answers."""
    if not single or not is_numeric(H):
        return H
    xp = array_namespace(H)
    return xp.astype(H, xp.float32)


# ----------------------------------------------------------------------------------------------- outputs out


def as_fitted(Y: Any, shape: tuple[int, ...] | None) -> Any:
    """Decoded outputs in the form of y at fit: rows of this shape, or without one a 1-D object array."""
    if shape is None:
        if isinstance(Y, np.ndarray) and Y.dtype == object and Y.ndim == 1:
            return Y
        return as_objects(Y.to_numpy() if hasattr(Y, "to_numpy") else Y)
    if is_sparse(Y):
        Y = Y.toarray()
    if not is_array(Y):
        Y = np.asarray(Y.to_numpy() if hasattr(Y, "to_numpy") else list(Y))
    return array_namespace(Y).reshape(Y, (Y.shape[0], *shape))


def like_fitted(y: Any, shape: tuple[int, ...] | None) -> Any:
    """Numeric y in the shape of the fitted outputs, so that 0 and (0,) compare equal."""
    if shape is None or is_sparse(y) or not is_array(y):
        return y.toarray() if is_sparse(y) else y
    return array_namespace(y).reshape(y, (y.shape[0], *shape))


def r2(residual: float, spread: float, n: int) -> float:
    """1 − residual/spread, with scikit-learn's answers where the spread is zero."""
    if n < 2:
        return float("nan")
    if spread <= 0:
        return 1.0 if residual <= 0 else 0.0
    return 1.0 - residual / spread
