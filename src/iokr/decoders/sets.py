"""Who the candidates are: one list for all inputs, or one per input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from iokr._array import is_array, is_numpy, is_sparse, to_numpy
from iokr._objects import as_objects, n_objects

__all__ = ["CandidateSets", "SharedCandidates", "flatten_sets", "shared_sequence"]


class SharedCandidates:
    """One list of candidates for every input, wrapped so that folds do not cut it.

    Examples
    --------
    >>> from iokr import SharedCandidates
    >>> SharedCandidates(["a", "b"])
    SharedCandidates(2 candidates)
    """

    def __init__(self, candidates: Any) -> None:
        self.candidates = candidates

    def __repr__(self) -> str:
        return f"SharedCandidates({n_objects(self.candidates, 'candidates')} candidates)"


class CandidateSets:
    """A list of candidates for each input, cut by folds as the inputs are.

    Parameters
    ----------
    sets : sequence of sequences
        Set i belongs to input i.

    Examples
    --------
    >>> from iokr import CandidateSets
    >>> sets = CandidateSets([["a", "b"], ["c"]])
    >>> len(sets), sets[[1]]
    (2, CandidateSets(1 sets, 1 candidates))
    """

    def __init__(self, sets: Sequence[Any]) -> None:
        if isinstance(sets, CandidateSets):
            self.sets: list[Any] = sets.sets
            return
        if isinstance(sets, (str, bytes)) or not hasattr(sets, "__len__"):
            raise TypeError(f"`CandidateSets` takes a sequence of candidate lists, got {sets!r:.60}.")
        self.sets = list(sets)

    @property
    def shape(self) -> tuple[int]:
        """(n,), so that folds know they can cut it."""
        return (len(self.sets),)

    def __len__(self) -> int:
        return len(self.sets)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, tuple):  # scikit-learn asks for [rows, ...]
            rows = rows[0]
        if isinstance(rows, (int, np.integer)):
            return self.sets[rows]
        if isinstance(rows, slice):
            return CandidateSets(self.sets[rows])
        index = np.asarray(rows)
        if index.dtype == bool:
            index = np.flatnonzero(index)
        return CandidateSets([self.sets[int(i)] for i in index])

    def __repr__(self) -> str:
        return f"CandidateSets({len(self)} sets, {sum(n_objects(s, 'candidates') for s in self.sets)} candidates)"


def shared_sequence(candidates: Any) -> Any:
    """The shared list, unwrapped and checked."""
    if isinstance(candidates, SharedCandidates):
        candidates = candidates.candidates
    counted = hasattr(candidates, "__len__") or hasattr(candidates, "shape")
    if isinstance(candidates, (str, bytes, dict, set, frozenset)) or not counted:
        raise TypeError(
            "`candidates` must be a sequence or an array of outputs, or `CandidateSets`, "
            f"got {type(candidates).__name__}."
        )
    if n_objects(candidates, "candidates") == 0:
        raise ValueError("`candidates` is empty; give at least one output to choose from.")
    return candidates


def flatten_sets(sets: CandidateSets, m: int) -> tuple[Any, np.ndarray]:
    """All candidates one after the other, and where each set begins (m + 1 positions)."""
    if len(sets) != m:
        raise ValueError(f"`candidates` has {len(sets)} sets but X has {m} objects; give one set for each.")
    sizes = []
    for i, candidates in enumerate(sets.sets):
        if isinstance(candidates, (str, bytes)) or not (hasattr(candidates, "__len__") or hasattr(candidates, "shape")):
            raise TypeError(f"Candidate set {i} must be a sequence of outputs, got {candidates!r:.40}.")
        sizes.append(n_objects(candidates, "candidates"))
        if sizes[-1] == 0:
            raise ValueError(f"Candidate set {i} is empty; give at least one output to choose from.")
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    parts = sets.sets
    if all(is_sparse(part) for part in parts):
        from scipy.sparse import vstack

        return vstack(parts, format="csr"), starts
    if all(is_array(part) for part in parts) and len({part.shape[1:] for part in parts}) == 1:
        if all(is_numpy(part) for part in parts):
            return np.concatenate(parts), starts
        return np.concatenate([to_numpy(part) for part in parts]), starts
    return as_objects(item for part in parts for item in part), starts
