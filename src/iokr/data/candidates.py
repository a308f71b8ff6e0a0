"""Candidates, one list for all inputs or a list for each input, and unlabelled inputs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from iokr._array import is_array, is_numpy, is_sparse, to_numpy
from iokr._state import Stateful
from iokr.data.frames import read
from iokr.data.objects import BadObjectType, as_array, as_objects, error_context, joined, keys, n_objects, take

__all__ = [
    "CandidateSets",
    "SharedCandidates",
    "Unlabeled",
    "flatten_sets",
    "index_in_set",
    "ranks_of_truth",
    "shared_sequence",
]


class SharedCandidates(Stateful):
    """One list of candidates for every input, which cross-validation passes to every fold as a whole.

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


class CandidateSets(Stateful):
    """A list of candidates for each input, which cross-validation splits as it splits the inputs.

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
        """(n,): cross-validation splits what has a shape."""
        return (len(self.sets),)

    def __len__(self) -> int:
        return len(self.sets)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, tuple):  # scikit-learn indexes by [rows, ...]
            rows = rows[0]
        if isinstance(rows, (int, np.integer)):
            return self.sets[rows]
        return CandidateSets(take(self.sets, rows))

    def __repr__(self) -> str:
        total = sum(n_objects(candidates, "candidates") for candidates in self.sets)
        return f"CandidateSets({len(self)} sets, {total} candidates)"


class Unlabeled(Stateful):
    """Unlabelled inputs, which cross-validation passes to every fold as a whole.

    Examples
    --------
    >>> from iokr import Unlabeled
    >>> Unlabeled([[0.0], [1.0]])
    Unlabeled(2 objects)
    """

    def __init__(self, X: Any) -> None:
        self.X = X

    def __repr__(self) -> str:
        return f"Unlabeled({n_objects(self.X)} objects)"


def shared_sequence(candidates: Any, embedding: Any = None) -> Any:
    """The candidates of all inputs, checked; an array where the embedding takes numbers."""
    if isinstance(candidates, SharedCandidates):
        candidates = candidates.candidates
    candidates = _checked(candidates, embedding, "candidates")
    _check_labels(candidates, embedding)
    return _as_numbers(candidates, embedding, str)


def _takes_numbers(embedding: Any) -> bool:
    """Whether outputs are vectors or row numbers."""
    if embedding is None:
        return False
    kernel = embedding.kernel_
    return kernel is None or kernel.numeric or kernel.domain == "indices"


def _checked(candidates: Any, embedding: Any, name: str) -> Any:
    """A sequence or an array of at least one output, as it is read from a table or a list."""
    with error_context(name):
        candidates = read(candidates, matrix=_takes_numbers(embedding))
    counted = hasattr(candidates, "__len__") or hasattr(candidates, "shape")
    if isinstance(candidates, (str, bytes, dict, set, frozenset)) or not counted:
        raise TypeError(
            f"`{name}` must be a sequence or an array of outputs, or `CandidateSets`, got {type(candidates).__name__}."
        )
    if n_objects(candidates, name) == 0:
        raise ValueError(f"`{name}` is empty; give at least one output to choose from.")
    if 0 in tuple(getattr(candidates, "shape", ()))[1:]:
        raise ValueError(f"`{name}` has shape {tuple(candidates.shape)}: its outputs have no entries.")
    return candidates


def _check_labels(candidates: Any, embedding: Any) -> None:
    """Reject lists and rows of an array, which no label equals, where all labels at fit are texts or numbers."""
    if embedding is None or embedding.kernel_ is None or embedding.kernel_.domain != "labels":
        return
    labels = embedding.S_fit_
    if not isinstance(labels, np.ndarray):
        return
    rows = is_sparse(candidates) or len(getattr(candidates, "shape", ())) > 1
    nested = rows or all(isinstance(y, (list, tuple, set, frozenset, np.ndarray)) for y in candidates)
    if nested and all(isinstance(label, (str, int, float)) for label in labels):
        raise TypeError(
            f"`candidates` must be labels such as {labels[0]!r:.40}, as in y at fit, but contains lists or rows of an "
            "array; for a list of candidates for each input use `CandidateSets(candidates)`."
        )


def flatten_sets(sets: CandidateSets, m: int, embedding: Any = None) -> tuple[Any, np.ndarray]:
    """All candidates one after the other, and where each set begins (m + 1 positions)."""
    if len(sets) != m:
        raise ValueError(f"`candidates` has {len(sets)} sets but X has {m} objects; give one set for each.")
    parts = [_checked(candidates, embedding, f"candidates (set {i})") for i, candidates in enumerate(sets.sets)]
    starts = np.concatenate([[0], np.cumsum([n_objects(part) for part in parts])]).astype(np.intp)
    if all(is_sparse(part) for part in parts):
        from scipy.sparse import vstack

        return vstack(parts, format="csr"), starts
    parts = [part.toarray() if is_sparse(part) else part for part in parts]
    if all(is_array(part) for part in parts) and len({part.shape[1:] for part in parts}) == 1:
        return joined([to_numpy(part) for part in parts]), starts
    everything = as_objects(item for part in parts for item in part)
    return _as_numbers(everything, embedding, partial(index_in_set, starts)), starts


def index_in_set(starts: np.ndarray, i: int) -> str:
    """Candidate i of all, as its index in its own set."""
    owner = int(np.searchsorted(starts, i, side="right")) - 1
    return f"{i - int(starts[owner])} of candidate set {owner}"


def _as_numbers(Y: Any, embedding: Any, number: Callable[[int], str]) -> Any:
    """Lists of numbers or of vectors as an array, for an embedding of these; errors give `number(i)`."""
    is_numbers = is_array(Y) and not (is_numpy(Y) and Y.dtype.kind in "OSU")
    if is_sparse(Y) or is_numbers or not _takes_numbers(embedding):
        return Y
    rows: list[np.ndarray] = []
    for i, y in enumerate(Y):
        try:
            row = as_array(y)
        except (TypeError, ValueError):
            row = np.empty((0, 0))
        if row.dtype.kind not in "buif" or row.ndim > 1 or (rows and row.shape != rows[0].shape):
            one = bool(rows) and rows[0].ndim == 0
            wanted = "a number" if one else "a vector of numbers as long as the first"
            raise BadObjectType("Object", number(i), f" must be {wanted}, got {y!r:.60}.", "candidates")
        rows.append(row)
    return np.stack(rows)


def ranks_of_truth(order: Iterable[Any], truth: Sequence[Hashable], candidates: Any) -> np.ndarray:
    """The rank of each input's output, known by its key, among candidates in this order; ∞ where it is not one."""
    own_sets = isinstance(candidates, CandidateSets)
    shared = [] if own_sets else keys(candidates)
    ranks = np.full(len(truth), np.inf)
    for i, best_first in enumerate(order):
        names = keys(candidates[i]) if own_sets else shared
        places = (rank for rank, c in enumerate(to_numpy(best_first), start=1) if names[int(c)] == truth[i])
        ranks[i] = next(places, np.inf)
    return ranks
