"""Candidate containers: one list for all inputs, or one per input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from iokr._array import is_array, is_numpy, is_sparse, to_numpy
from iokr.data.frames import read
from iokr.data.objects import BadObjectType, as_array, as_objects, error_context, joined, n_objects

__all__ = ["CandidateSets", "SharedCandidates", "flatten_sets", "index_in_set", "shared_sequence"]


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
        n_objects(sets, "sets of candidates")
        self.sets = list(as_objects(sets))

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


def shared_sequence(candidates: Any, embedding: Any = None) -> Any:
    """The shared list, unwrapped and checked; an array where the embedding takes numbers."""
    if isinstance(candidates, SharedCandidates):
        candidates = candidates.candidates
    with error_context("candidates"):
        candidates = read(candidates, matrix=_takes_numbers(embedding))
    counted = hasattr(candidates, "__len__") or hasattr(candidates, "shape")
    if isinstance(candidates, (str, bytes, dict, set, frozenset)) or not counted:
        raise TypeError(
            "`candidates` must be a sequence or an array of outputs, or `CandidateSets`, "
            f"got {type(candidates).__name__}."
        )
    if n_objects(candidates, "candidates") == 0:
        raise ValueError("`candidates` is empty; give at least one output to choose from.")
    _check_entries(candidates, "`candidates`")
    _check_labels(candidates, embedding)
    return _as_numbers(candidates, embedding, str)


def _takes_numbers(embedding: Any) -> bool:
    """Whether outputs are vectors, or row numbers, and no other objects."""
    if embedding is None:
        return False
    kernel = embedding.kernel_
    return kernel is None or kernel.numeric or kernel.domain == "indices"


def _check_entries(candidates: Any, name: str) -> None:
    """Refuse arrays of outputs without any entry."""
    if 0 in tuple(getattr(candidates, "shape", ()))[1:]:
        raise ValueError(f"{name} has shape {tuple(candidates.shape)}: its outputs have no entries.")


def _check_labels(candidates: Any, embedding: Any) -> None:
    """Refuse lists and rows of an array, which no label equals, where all labels at fit are texts or numbers."""
    if embedding is None or embedding.kernel_ is None or embedding.kernel_.domain != "labels":
        return
    labels = embedding.S_fit_
    if not isinstance(labels, np.ndarray):
        return
    rows = is_sparse(candidates) or len(getattr(candidates, "shape", ())) > 1
    nested = rows or all(isinstance(y, (list, tuple, set, frozenset, np.ndarray)) for y in candidates)
    if nested and all(isinstance(label, (str, int, float)) for label in labels):
        raise TypeError(
            f"`candidates` must be labels such as {labels[0]!r:.40}, those of y at fit, but holds lists or rows of an "
            "array; a list of candidates for each input is `CandidateSets(candidates)`."
        )


def flatten_sets(sets: CandidateSets, m: int, embedding: Any = None) -> tuple[Any, np.ndarray]:
    """All candidates one after the other, and where each set begins (m + 1 positions)."""
    if len(sets) != m:
        raise ValueError(f"`candidates` has {len(sets)} sets but X has {m} objects; give one set for each.")
    sizes, parts = [], []
    for i, candidates in enumerate(sets.sets):
        if isinstance(candidates, (str, bytes)) or not (hasattr(candidates, "__len__") or hasattr(candidates, "shape")):
            raise TypeError(f"`candidates` set {i} must be a sequence of outputs, got {candidates!r:.40}.")
        with error_context(f"candidates (set {i})"):
            candidates = read(candidates, matrix=_takes_numbers(embedding))
        sizes.append(n_objects(candidates, f"candidates (set {i})"))
        if sizes[-1] == 0:
            raise ValueError(f"`candidates` set {i} is empty; give at least one output to choose from.")
        _check_entries(candidates, f"`candidates` set {i}")
        parts.append(candidates.tocsr() if is_sparse(candidates) else candidates)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    if all(is_sparse(part) for part in parts):
        from scipy.sparse import vstack

        return vstack(parts, format="csr"), starts
    parts = [part.toarray() if is_sparse(part) else part for part in parts]
    if all(is_array(part) for part in parts) and len({part.shape[1:] for part in parts}) == 1:
        return joined([to_numpy(part) for part in parts]), starts
    return _as_numbers(
        as_objects(item for part in parts for item in part), embedding, partial(index_in_set, starts)
    ), starts


def index_in_set(starts: np.ndarray, i: int) -> str:
    """Candidate i of all, as its index in its own set."""
    owner = int(np.searchsorted(starts, i, side="right")) - 1
    return f"{i - int(starts[owner])} of candidate set {owner}"


def _as_numbers(Y: Any, embedding: Any, number: Callable[[int], str]) -> Any:
    """Lists of numbers, or of vectors, as an array, for an embedding of such; other objects are refused by number."""
    arrays = is_sparse(Y) or (is_array(Y) and not (is_numpy(Y) and Y.dtype.kind in "OSU"))
    if arrays or not _takes_numbers(embedding):
        return Y
    rows = [_numbers(y) for y in Y]
    for i, row in enumerate(rows):
        if row is None or rows[0] is None or row.shape != rows[0].shape:
            what = (
                "a number" if rows[0] is not None and rows[0].ndim == 0 else "a vector of numbers as long as the first"
            )
            raise BadObjectType("Object", number(i), f" must be {what}, got {Y[i]!r:.60}.", "candidates")
    return np.stack([row for row in rows if row is not None])


def _numbers(y: Any) -> np.ndarray | None:
    """A number or a vector as an array; None for anything else."""
    try:
        row = as_array(y)
    except (TypeError, ValueError):
        return None
    return row if row.dtype.kind in "buif" and row.ndim < 2 else None
