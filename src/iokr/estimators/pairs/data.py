"""Pairs and their labels, checked: each pair once, two labels coded −1 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr._validation.arguments import check_same_length, check_weight
from iokr.estimators.labels import code_labels
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
    target, classes, names = code_labels(y, "pair")
    if binary and classes is None:
        found = f"all {n} labels are the same" if np.all(target == target[0]) else "there are more; use `Square()`"
        raise ValueError(f"`MaxMargin()` needs a binary `y`, two different labels, but {found}.")
    low, high = given.min(axis=1), given.max(axis=1)
    keys, first, inverse = np.unique(low * size + high, return_index=True, return_inverse=True)
    inverse = inverse.reshape(-1)
    clash = np.flatnonzero(names != names[first][inverse])
    if len(clash):
        a, b = low[clash[0]], high[clash[0]]
        raise ValueError(f"The pair {{{a}, {b}}} has two different labels in `y`; give each pair one, or their mean.")
    total = np.bincount(inverse, weights=check_weight(sample_weight, n, given), minlength=len(keys)).astype(float)
    if np.any(total == 0):
        raise ValueError("Some pairs have weight zero; leave them out.")
    distinct = np.stack([keys // size, keys % size], axis=1)
    weight = None if np.all(total == 1) else total
    return PairData(distinct, target[first], weight, classes, inverse, given[:, 0] > given[:, 1])
