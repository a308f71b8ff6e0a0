"""Pairs and their labels, checked: each pair once, two labels coded −1 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from iokr._objects import as_array, distinct, error_context
from iokr._tables import read
from iokr._validation import check_numbers, check_same_length, check_weight
from iokr.estimators.outputs import require_y
from iokr.kernels.pairs import check_pairs

__all__ = ["Examples", "PairData", "check_pair_data"]


@dataclass(frozen=True, eq=False)
class PairData:
    """Distinct pairs, smaller number first, with targets and weights.

    `inverse` says which of them each given pair is, `swapped` whether it was given the other way round.
    """

    pairs: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    classes: np.ndarray | None
    inverse: np.ndarray
    swapped: np.ndarray


@dataclass(frozen=True, eq=False)
class Examples:
    """Points (a, b) to learn from, the pairs first; `second` is the row of (b, a) for each pair, −1: there is none."""

    points: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    second: np.ndarray


def check_pair_data(pairs: Any, y: Any, sample_weight: Any, size: int, *, binary: bool) -> PairData:
    """Pairs of row numbers below `size` with one label each; those given twice once, with the sum of their weights."""
    given = check_pairs(pairs, size, where="rows of X")
    require_y(y)
    n = check_same_length(given, y, "pairs")
    target, classes, names = _code(y)
    if binary and classes is None:
        found = f"all {n} labels are the same" if np.all(target == target[0]) else "there are more; use `Square()`"
        raise ValueError(f"`MaxMargin()` needs a binary `y`, two different labels, but {found}.")
    low, high = given.min(axis=1), given.max(axis=1)
    keys, first, inverse = np.unique(low * size + high, return_index=True, return_inverse=True)
    inverse = inverse.reshape(-1)
    clash = np.flatnonzero(names != names[first][inverse])
    if len(clash):
        a, b = low[clash[0]], high[clash[0]]
        raise ValueError(f"The pair {{{a}, {b}}} has two different labels; give each pair one, or their mean.")
    total = np.bincount(inverse, weights=check_weight(sample_weight, n, given), minlength=len(keys)).astype(float)
    if np.any(total == 0):
        raise ValueError("Some pairs have weight zero; leave them out.")
    distinct = np.stack([keys // size, keys % size], axis=1)
    weight = None if np.all(total == 1) else total
    return PairData(distinct, target[first], weight, classes, inverse, given[:, 0] > given[:, 1])


def _code(y: Any) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Numbers to learn, the two labels where there are two, and which of the distinct labels each is."""
    with error_context("y"):
        values = read(y)
    try:
        values = as_array(values)
    except ValueError:
        raise ValueError("`y` must be one label per pair, a 1-D array; some entries are sequences.") from None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"`y` must be one label per pair, a 1-D array, got shape {values.shape}.")
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: `y` must hold real numbers, or two different labels.")
    if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
        raise ValueError("`y` contains NaN or infinity; leave such pairs out.")
    chosen, names = distinct(values)
    try:
        classes = values[chosen] if len(chosen) > 2 else np.sort(values[chosen])
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in values.tolist()}))
        raise TypeError(f"`y` must hold labels of one kind, got {kinds}; leave pairs without a label out.") from None
    if len(classes) == 2:
        second = 0 if classes[0] != values[chosen[0]] else 1  # which of the distinct labels is the larger one
        return np.where(names == second, 1.0, -1.0), classes, names
    if values.dtype.kind not in "buifO" or not all(isinstance(label, Real) for label in values.tolist()):
        raise ValueError(f"`y` must hold numbers, or two different labels, not {len(classes)}.")
    return check_numbers(values, "y"), None, names
