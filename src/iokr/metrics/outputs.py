"""Losses between true and predicted outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import is_array, is_sparse, unwarned
from iokr._validation.arguments import check_integer, check_number, check_numbers, check_same_length
from iokr.data.frames import EXACT, check_frame, frame_of
from iokr.data.objects import as_array, equal_entries, is_numeric, keys

__all__ = ["check_compared", "f1_samples", "hamming", "mean_rank", "rbf_loss", "subset_accuracy", "top_k_accuracy"]


def rbf_loss(y_true: Any, y_pred: Any, *, gamma: float = 1.0) -> float:
    """mean of 2 − 2 exp(−γ‖y − ŷ‖²): the squared distance between ψ(y) and ψ(ŷ) under a Gaussian kernel.

    Parameters
    ----------
    y_true, y_pred : arrays of shape (n,) or (n, q)
    gamma : float, default=1.0
        1/(2σ²) in the papers' letters.

    Examples
    --------
    >>> from iokr.metrics import rbf_loss
    >>> round(rbf_loss([[0.0]], [[1.0]], gamma=0.5), 4)
    0.7869
    """
    gamma = check_number(gamma, "gamma", minimum=0.0, strict=True)
    Y, Z = _pair(y_true, y_pred)
    with unwarned():  # far apart is far apart: the loss is 2
        return float(np.mean(2 - 2 * np.exp(-gamma * ((Y - Z) ** 2).sum(axis=1))))


def hamming(y_true: Any, y_pred: Any) -> float:
    """(1/nq) Σ_ij 1{y_ij ≠ ŷ_ij}: fraction of labels that are wrong.

    Examples
    --------
    >>> from iokr.metrics import hamming
    >>> hamming([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.25
    """
    Y, Z = _pair(y_true, y_pred)
    if max(np.abs(Y).max(initial=0.0), np.abs(Z).max(initial=0.0)) >= EXACT:  # floats may have rounded whole numbers
        Y, Z = (_entries(y).reshape(Y.shape) for y in (y_true, y_pred))
    return float(np.mean(~equal_entries(Y, Z)))


def f1_samples(y_true: Any, y_pred: Any) -> float:
    """mean over rows of 2|y ∩ ŷ| / (|y| + |ŷ|); two empty sets count 1.

    Examples
    --------
    >>> from iokr.metrics import f1_samples
    >>> f1_samples([[1, 0], [0, 0]], [[1, 1], [0, 0]]).__round__(4)
    0.8333
    """
    Y, Z = _pair(y_true, y_pred)
    for name, sets in (("y_true", Y), ("y_pred", Z)):
        if np.any((sets != 0) & (sets != 1)):
            raise ValueError(f"`{name}` must hold label sets, rows of 0 and 1, not scores; cut these at a threshold.")
    Y, Z = Y != 0, Z != 0
    sizes = Y.sum(axis=1) + Z.sum(axis=1)
    return float(np.mean(np.where(sizes > 0, 2 * (Y & Z).sum(axis=1) / np.maximum(sizes, 1), 1.0)))


def subset_accuracy(y_true: Any, y_pred: Any) -> float:
    """(1/n) Σ_i 1{y_i = ŷ_i}: fraction of outputs that are right as a whole, be they label sets, words or rankings.

    Rows of numbers are equal when all their entries are (NaN equals NaN); other objects as Python says, lists and
    arrays by their entries.

    Parameters
    ----------
    y_true, y_pred : n outputs

    Examples
    --------
    >>> from iokr.metrics import subset_accuracy
    >>> subset_accuracy([[1, 0], [1, 1]], [[1, 1], [1, 1]]), subset_accuracy(["cat", "dog"], ["cat", "dot"])
    (0.5, 0.5)
    """
    check_compared(y_true, y_pred)
    found = [keys(_flat(y)) for y in (y_true, y_pred)]
    return float(np.mean([y == z for y, z in zip(*found, strict=True)]))


def top_k_accuracy(ranks: Any, k: int = 1) -> float:
    """fraction of ranks ≤ k; ranks as `cross_val_rank` gives them, infinite where the truth was no candidate.

    Examples
    --------
    >>> from iokr.metrics import top_k_accuracy
    >>> top_k_accuracy([1, 3, 2, 1], k=2)
    0.75
    """
    check_integer(k, "k", minimum=1)
    return float(np.mean(_ranks(ranks) <= k))


def mean_rank(ranks: Any) -> float:
    """mean of the ranks of the true outputs, 1 being best.

    Examples
    --------
    >>> from iokr.metrics import mean_rank
    >>> mean_rank([1, 3, 2])
    2.0
    """
    return float(np.mean(_ranks(ranks)))


def check_compared(y_true: Any, y_pred: Any) -> int:
    """As many outputs as predictions, and in frames the same columns."""
    check_frame(frame_of(y_true), y_pred, "y_pred", "y_true")
    return check_same_length(y_true, y_pred, "y_true", "y_pred")


def _flat(y: Any) -> Any:
    """A column of numbers as these numbers, which is how plain ones come."""
    column = is_array(y) and len(y.shape) == 2 and y.shape[1] == 1 and is_numeric(y)
    return y[:, 0] if column else y


def _ranks(ranks: Any) -> np.ndarray:
    values = check_numbers(ranks, "ranks")
    if values.ndim != 1 or len(values) == 0 or np.any(np.isnan(values)) or np.any(values < 1):
        raise ValueError(f"`ranks` must be a non-empty 1-D sequence of numbers from 1, got {ranks!r:.60}.")
    return values


def _entries(y: Any) -> np.ndarray:
    """Numbers as they are given."""
    return np.asarray(y.toarray() if is_sparse(y) else as_array(y))


def _pair(y_true: Any, y_pred: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both as float matrices of one shape."""
    check_compared(y_true, y_pred)
    Y, Z = check_numbers(y_true, "y_true"), check_numbers(y_pred, "y_pred")
    Y, Z = (y[:, None] if y.ndim == 1 else y for y in (Y, Z))
    for name, values in (("y_true", Y), ("y_pred", Z)):
        if not np.isfinite(values).all():
            odd = "NaN" if np.isnan(values).any() else "infinity"
            raise ValueError(f"`{name}` contains {odd}; leave such rows out.")
    if Y.shape != Z.shape:
        raise ValueError(f"`y_true` has shape {Y.shape} but `y_pred` has {Z.shape}; they must be the same.")
    return Y, Z
