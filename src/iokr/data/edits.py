"""The fewest insertions, deletions and substitutions between sequences (Levenshtein)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from iokr._array import is_array
from iokr._system.compile import compiled
from iokr.data.frames import read
from iokr.data.objects import BadObjectType, as_objects, is_sequence, key

__all__ = ["coded", "edit_matrix", "hashable_sequences"]


def hashable_sequences(Y: Any) -> list[Sequence[Hashable]]:
    """Strings, or lists of hashable stand-ins of the entries. Errors give the number of the object."""
    items = read(Y, rows=True)
    if not is_array(items):
        items = as_objects(items)
    sequences: list[Sequence[Hashable]] = []
    for i, item in enumerate(items):
        if not is_sequence(item):
            raise BadObjectType("Object", i, f" must be a string, or a list of entries, got {item!r:.60}.")
        sequences.append(item if isinstance(item, str) else [key(entry) for entry in item])
    return sequences


def coded(sequences: Sequence[Sequence[Hashable]], codes: dict[Hashable, int]) -> tuple[np.ndarray, np.ndarray]:
    """Entries as numbers, one sequence after the other, and where each begins; new entries are added to `codes`."""
    starts = np.concatenate([[0], np.cumsum([len(s) for s in sequences])]).astype(np.intp)
    flat = [codes.setdefault(entry, len(codes)) for sequence in sequences for entry in sequence]
    return np.array(flat, dtype=np.intp), starts


def edit_matrix(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Edits from each sequence of a to each of b, (n, m), all `coded`; compiled if Numba is installed."""
    n = len(a[1]) - 1
    m = len(b[1]) - 1
    out = np.zeros((n, m))
    loop = compiled(_edit_loop)
    if loop is not None:
        loop(*a, *b, out)
        return out
    lengths = np.diff(b[1])
    padded = np.full((m, int(lengths.max(initial=0))), -1)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = b[0]
    for i in range(n):
        out[i] = _edits_to_all(a[0][a[1][i] : a[1][i + 1]], padded, lengths)
    return out


def _edits_to_all(a: np.ndarray, padded: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The tables of prefixes by rows, for all sequences at once.

    Along a row an entry is the minimum over j' ≤ j of (entry j' + j − j').
    """
    steps = np.arange(padded.shape[1] + 1)
    row = np.broadcast_to(steps, (len(padded), len(steps))).copy()
    for letter in a:
        above = row + 1
        above[:, 1:] = np.minimum(above[:, 1:], row[:, :-1] + (padded != letter))
        row = np.minimum.accumulate(above - steps, axis=1) + steps
    return np.asarray(np.take_along_axis(row, lengths[:, None], axis=1)[:, 0])


def _edit_loop(
    a: np.ndarray, a_starts: np.ndarray, b: np.ndarray, b_starts: np.ndarray, out: np.ndarray
) -> None:  # pragma: no cover - compiled
    longest = 0
    for j in range(len(b_starts) - 1):
        longest = max(longest, b_starts[j + 1] - b_starts[j])
    row = np.empty(longest + 1, dtype=np.int64)
    for i in range(len(a_starts) - 1):
        for j in range(len(b_starts) - 1):
            begin = b_starts[j]
            size = b_starts[j + 1] - begin
            for t in range(size + 1):
                row[t] = t
            for s in range(a_starts[i], a_starts[i + 1]):
                corner = row[0]
                row[0] += 1
                for t in range(size):
                    change = corner if a[s] == b[begin + t] else corner + 1
                    corner = row[t + 1]
                    row[t + 1] = min(change, min(row[t], corner) + 1)
            out[i, j] = row[size]
