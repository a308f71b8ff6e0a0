"""Inputs of trees: float32 as scikit-learn's trees read them, with columns far from the origin moved to it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from iokr._array import is_array, is_numpy, is_sparse, to_numpy, unwarned
from iokr.data.frames import read
from iokr.estimators.inputs import check_names, check_table

__all__ = ["as_float32", "column_middles", "numbers_of", "warn_of_narrow_features"]

_APART = 1e-7  # scikit-learn's trees do not separate values that are nearer than this
_FAR = 2.0**8  # beyond this multiple of its range, float32 keeps too few digits of a column


def numbers_of(X: Any) -> Any:
    """X as a matrix of numbers of NumPy or SciPy, not yet validated."""
    X = check_table(X, "X")
    if is_array(X) and not is_numpy(X):
        X = to_numpy(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "SU":
        raise ValueError("`X` must be a matrix of numbers, got strings; convert them.")
    return X


def column_middles(X: Any, known: Any) -> np.ndarray | None:
    """What to subtract from each column: the middle of its range where float32 would round it to a few values.

    Time stamps are such columns. The range is that of the rows `known`; None where nothing is to be subtracted.
    """
    wide = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf" and X.dtype.itemsize == 8
    if not wide or not X.size:
        return None
    low = np.fmin.reduce(X[known], axis=0).astype(float)
    high = np.fmax.reduce(X[known], axis=0).astype(float)
    with np.errstate(all="ignore"):
        far = np.maximum(abs(low), abs(high)) > _FAR * (high - low)
        move = far & np.isfinite(high - low) & (high > low)
        middle = np.where(move, low + (high - low) / 2, 0.0)
    return middle if middle.any() else None


def as_float32(model: Any, X: Any, names: list[Any] | None, middle: np.ndarray | None, *, reset: bool) -> Any:
    """X − middle as float32, in C order or CSR, with the bookkeeping of scikit-learn; NaN is a missing value."""
    if middle is not None:
        X = _less(X, middle)
    finite = True if is_sparse(X) else "allow-nan"
    checks = {"accept_sparse": "csr", "dtype": np.float32, "order": "C", "ensure_all_finite": finite}
    if names is not None:
        check_names(model, names, reset=reset)
    with unwarned():  # numbers beyond float32 are an error, not a warning
        if names is None:
            X = validate_data(model, X, reset=reset, **checks)
        else:
            X = check_array(X, input_name="X", estimator=model, **checks)
    if is_sparse(X):
        X.sort_indices()
        X.indices = X.indices.astype(np.int32, copy=False)
        X.indptr = X.indptr.astype(np.int32, copy=False)
    return X


def _less(X: Any, middle: np.ndarray) -> Any:
    """X − middle; X itself where shapes or kinds differ, which the validation that follows reports."""
    values = X.toarray() if is_sparse(X) else np.asarray(X)
    fits = values.ndim == 2 and values.shape[1] == len(middle) and values.dtype.kind in "iuf"
    return values - middle if fits else X


def warn_of_narrow_features(X: Any, rows: Any) -> None:
    """Warn of features that vary, but by less than scikit-learn's trees separate (1e-7, or the digits of float32)."""
    if is_sparse(rows):
        return
    narrow = np.flatnonzero(_ranges(rows) <= _APART)
    given = read(X, matrix=True)
    if not (isinstance(given, np.ndarray) and given.dtype.kind in "buif"):
        given = rows
    lost = narrow[_ranges(np.asarray(given[:, narrow], dtype=np.float64)) > 0]
    if len(lost):
        warnings.warn(
            f"Feature {int(lost[0])} of X ({len(lost)} in all) varies by less than trees can separate (1e-7, and the "
            "digits of float32), so it is not used; centre it and scale it up.",
            UserWarning,
            stacklevel=3,
        )


def _ranges(X: np.ndarray) -> np.ndarray:
    """max − min of each column over its known entries, −∞ where there are none."""
    return np.asarray(np.nanmax(X, axis=0, initial=-np.inf) - np.nanmin(X, axis=0, initial=np.inf))
