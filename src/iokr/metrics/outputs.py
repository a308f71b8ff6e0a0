"""Losses between true and predicted outputs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from iokr._array import is_array, is_sparse, unwarned
from iokr._validation.arguments import check_integer, check_number, check_numbers, check_same_length
from iokr.data.frames import EXACT, check_frame, frame_of
from iokr.data.objects import as_array, as_objects, equal_entries, error_context, is_numeric, keys

__all__ = [
    "check_compared",
    "check_finite",
    "compared_pairs",
    "f1_samples",
    "hamming",
    "mean_rank",
    "rbf_loss",
    "subset_accuracy",
    "top_k_accuracy",
]


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
    with unwarned():  # where the squared distance overflows, the loss is 2
        return float(np.mean(2 - 2 * np.exp(-gamma * ((Y - Z) ** 2).sum(axis=1))))


def hamming(y_true: Any, y_pred: Any) -> float:
    """(1/nq) Σ_ij 1{y_ij ≠ ŷ_ij}: the fraction of labels that are wrong.

    Parameters
    ----------
    y_true, y_pred : arrays of shape (n,) or (n, q), or n Python sets
        For sets, q labels are in one of them.

    Examples
    --------
    >>> from iokr.metrics import hamming
    >>> hamming([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.25
    """
    Y, Z = _pair(y_true, y_pred)
    if max(np.abs(Y).max(initial=0.0), np.abs(Z).max(initial=0.0)) >= EXACT:  # integers that floats may have rounded
        Y = _entries(y_true).reshape(Y.shape)
        Z = _entries(y_pred).reshape(Z.shape)
    return float(np.mean(~equal_entries(Y, Z)))


def f1_samples(y_true: Any, y_pred: Any) -> float:
    """mean over rows of 2|y ∩ ŷ| / (|y| + |ŷ|); two empty sets count 1.

    Parameters
    ----------
    y_true, y_pred : n Python sets, or arrays of 0 and 1 of shape (n, q)

    Examples
    --------
    >>> from iokr.metrics import f1_samples
    >>> f1_samples([[1, 0], [0, 0]], [[1, 1], [0, 0]]).__round__(4)
    0.8333
    >>> f1_samples([{"sea"}, set()], [{"sea", "sun"}, set()]).__round__(4)
    0.8333
    """
    Y, Z = _pair(y_true, y_pred)
    for name, sets in (("y_true", Y), ("y_pred", Z)):
        if np.any((sets != 0) & (sets != 1)):
            raise ValueError(f"`{name}` must hold label sets, rows of 0 and 1; apply a threshold to scores first.")
    Y = Y != 0
    Z = Z != 0
    sizes = Y.sum(axis=1) + Z.sum(axis=1)
    return float(np.mean(np.where(sizes > 0, 2 * (Y & Z).sum(axis=1) / np.maximum(sizes, 1), 1.0)))


def subset_accuracy(y_true: Any, y_pred: Any) -> float:
    """(1/n) Σ_i 1{y_i = ŷ_i}: the fraction of outputs that are predicted exactly: label sets, words, rankings.

    Rows of numbers are equal if all their entries are (NaN equals NaN), lists and arrays too, other objects by `==`.

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
    found = []
    for y in (y_true, y_pred):
        column = is_array(y) and len(y.shape) == 2 and y.shape[1] == 1 and is_numeric(y)
        found.append(keys(y[:, 0] if column else y))
    return float(np.mean([y == z for y, z in zip(*found, strict=True)]))


def top_k_accuracy(ranks: Any, k: int = 1) -> float:
    """The fraction of ranks ≤ k; ranks as from `cross_val_rank`, infinite where the truth was not a candidate.

    Examples
    --------
    >>> from iokr.metrics import top_k_accuracy
    >>> top_k_accuracy([1, 3, 2, 1], k=2)
    0.75
    """
    check_integer(k, "k", minimum=1)
    return float(np.mean(_ranks(ranks) <= k))


def mean_rank(ranks: Any) -> float:
    """The mean rank of the true outputs; 1 is best.

    Examples
    --------
    >>> from iokr.metrics import mean_rank
    >>> mean_rank([1, 3, 2])
    2.0
    """
    return float(np.mean(_ranks(ranks)))


def check_compared(y_true: Any, y_pred: Any) -> int:
    """The same number of outputs and predictions, and in frames the same columns."""
    check_frame(frame_of(y_true), y_pred, "y_pred", "y_true")
    return check_same_length(y_true, y_pred, "y_true", "y_pred")


def compared_pairs(y_true: Any, y_pred: Any, read: Callable[[Any], Iterable[Any]]) -> list[tuple[Any, Any]]:
    """(y_i, ŷ_i), each side as `read` returns its objects; errors give the side and the number of the object."""
    check_compared(y_true, y_pred)
    sides = []
    for name, y in (("y_true", y_true), ("y_pred", y_pred)):
        with error_context(name):
            sides.append(list(read(y)))
    return list(zip(*sides, strict=True))


def _ranks(ranks: Any) -> np.ndarray:
    values = check_numbers(ranks, "ranks")
    if values.ndim != 1 or len(values) == 0 or np.any(np.isnan(values)) or np.any(values < 1):
        raise ValueError(f"`ranks` must be a non-empty 1-D sequence of numbers from 1, got {ranks!r:.60}.")
    return values


def check_finite(values: np.ndarray, name: str) -> None:
    """Numbers, not NaN or infinite."""
    if not np.isfinite(values).all():
        odd = "NaN" if np.isnan(values).any() else "infinity"
        raise ValueError(f"`{name}` contains {odd}; leave such rows out.")


def _rows(y: Any, name: str) -> np.ndarray:
    values = check_numbers(y, name)
    check_finite(values, name)
    return values[:, None] if values.ndim == 1 else values


def _entries(y: Any) -> np.ndarray:
    """Numbers in their own dtype."""
    return np.asarray(y.toarray() if is_sparse(y) else as_array(y))


def _indicators(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Python sets as rows of 0 and 1, a column for each element; other outputs as they are."""
    sides = [_are_sets(y) for y in (y_true, y_pred)]
    if not any(sides):
        return y_true, y_pred
    if not all(sides):
        sets, others = ("y_true", "y_pred") if sides[0] else ("y_pred", "y_true")
        raise ValueError(
            f"`{sets}` holds sets but `{others}` does not; give both as sets, or both as rows of 0 and 1 "
            "(`sklearn.preprocessing.MultiLabelBinarizer`)."
        )
    true, predicted = list(as_objects(y_true)), list(as_objects(y_pred))
    columns = {label: j for j, label in enumerate(set().union(*true, *predicted))}
    return _membership(true, columns), _membership(predicted, columns)


def _membership(sets: list[set[Hashable]], columns: dict[Hashable, int]) -> np.ndarray:
    """1 where a set has the element of a column; one column of zeros if all sets are empty."""
    matrix = np.zeros((len(sets), max(len(columns), 1)))
    for row, elements in zip(matrix, sets, strict=True):
        row[[columns[label] for label in elements]] = 1
    return matrix


def _are_sets(y: Any) -> bool:
    if is_numeric(y):
        return False
    return all(isinstance(entry, (set, frozenset)) for entry in as_objects(y))


def _pair(y_true: Any, y_pred: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both as float matrices of the same shape."""
    check_compared(y_true, y_pred)
    y_true, y_pred = _indicators(y_true, y_pred)
    Y = _rows(y_true, "y_true")
    Z = _rows(y_pred, "y_pred")
    if Y.shape != Z.shape:
        raise ValueError(f"`y_true` has shape {Y.shape} but `y_pred` has {Z.shape}; they must be the same.")
    return Y, Z
