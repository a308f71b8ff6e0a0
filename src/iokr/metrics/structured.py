"""Losses between rankings and between strings or other sequences."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from iokr._array import is_array
from iokr._objects import BadObjectType, as_objects, error_context, key
from iokr._tables import read
from iokr._validation import check_same_length
from iokr.kernels.structured.rankings import check_rankings
from iokr.kernels.structured.sequences import sequences_of

__all__ = ["character_accuracy", "edit_distance", "kendall_tau"]


def kendall_tau(y_true: Any, y_pred: Any) -> float:
    """mean over rankings of (concordant − discordant) / √(pairs not tied in y · pairs not tied in ŷ): Kendall's τ_b.

    Rankings are rank vectors, as for the kernel `Kendall`: the lowest is the best, equal numbers are ties. Pairs with
    an item that has no rank (NaN) in either ranking are left out; a ranking without any untied pair counts 0.

    Parameters
    ----------
    y_true, y_pred : n rank vectors of d items

    Examples
    --------
    >>> from iokr.metrics import kendall_tau
    >>> round(kendall_tau([[1, 2, 3], [1, 2, 3]], [[1, 2, 3], [2, 1, 3]]), 4)
    0.6667
    """
    check_same_length(y_true, y_pred, "y_true", "y_pred")
    Y = check_rankings(y_true)
    Z = check_rankings(y_pred, Y.shape[1])
    first, second = np.triu_indices(Y.shape[1], 1)
    with np.errstate(invalid="ignore"):
        a, b = (np.sign(ranks[:, first] - ranks[:, second]) for ranks in (Y, Z))
    known = ~np.isnan(a) & ~np.isnan(b)
    a, b = np.where(known, a, 0.0), np.where(known, b, 0.0)
    untied = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return float(np.mean((a * b).sum(axis=1) / np.where(untied > 0, untied, 1.0)))


def edit_distance(y_true: Any, y_pred: Any) -> float:
    """mean over pairs of the fewest insertions, deletions and substitutions that turn y into ŷ (Levenshtein).

    Parameters
    ----------
    y_true, y_pred : n strings, or sequences of hashable entries; empty ones are allowed

    Examples
    --------
    >>> from iokr.metrics import edit_distance
    >>> edit_distance(["kitten", "cat"], ["sitting", "cat"])
    1.5
    """
    check_same_length(y_true, y_pred, "y_true", "y_pred")
    pairs = zip(_sequences(y_true, "y_true"), _sequences(y_pred, "y_pred"), strict=True)
    return float(np.mean([_edits(y, z) for y, z in pairs]))


def _sequences(y: Any, name: str) -> list[Sequence[Hashable]]:
    """Strings, or lists of hashable stand-ins of the entries; what is no sequence is refused by its number."""
    with error_context(name):
        items = read(y, rows=True)
        found: list[Sequence[Hashable]] = []
        for i, item in enumerate(items if is_array(items) else as_objects(items)):
            if isinstance(item, str):
                found.append(item)
                continue
            if (
                not hasattr(item, "__len__")
                or isinstance(item, (dict, set, frozenset))
                or getattr(item, "shape", None) == ()
            ):
                raise BadObjectType("Object", i, f" must be a string, or a list of entries, got {item!r:.60}.")
            found.append([key(entry) for entry in item])
    return found


def _edits(y: Sequence[Any], z: Sequence[Any]) -> int:
    """Row by row of the table of prefixes; along a row, min_j' ≤ j of (entry j' + j − j')."""
    codes: dict[Any, int] = {}
    a, b = (np.array([codes.setdefault(entry, len(codes)) for entry in side], dtype=np.intp) for side in (y, z))
    steps = np.arange(len(b) + 1)
    row = steps.copy()
    for letter in a:
        above = row + 1
        above[1:] = np.minimum(above[1:], row[:-1] + (b != letter))
        row = np.minimum.accumulate(above - steps) + steps
    return int(row[-1])


def character_accuracy(y_true: Any, y_pred: Any) -> float:
    """Σ_i #{t : y_it = ŷ_it} / Σ_i |y_i|: fraction of the letters that are right at their positions.

    Parameters
    ----------
    y_true, y_pred : n strings, or sequences

    Examples
    --------
    >>> from iokr.metrics import character_accuracy
    >>> round(character_accuracy(["house", "hot"], ["mouse", "hotel"]), 4)
    0.875
    """
    check_same_length(y_true, y_pred, "y_true", "y_pred")
    with error_context("y_true"):
        sequences_of(y_true)  # none is empty
    pairs = list(zip(_sequences(y_true, "y_true"), _sequences(y_pred, "y_pred"), strict=True))
    right = sum(a == b for y, z in pairs for a, b in zip(y, z, strict=False))
    return float(right / sum(len(y) for y, _ in pairs))
