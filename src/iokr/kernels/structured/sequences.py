"""Kernels on sequences, by position."""

from __future__ import annotations

from collections.abc import Hashable
from functools import reduce
from itertools import chain
from operator import mul
from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, array_namespace, is_array, take_rows, to_numpy
from iokr._component import Limits, component
from iokr._validation.arguments import FLAG, NOT_NEGATIVE, one_of
from iokr.data.frames import read
from iokr.data.objects import BadObject, BadObjectType, as_objects, concat, is_sequence, key, n_objects
from iokr.data.ragged import places_within
from iokr.kernels._data.counts import Counts, Vocabulary, inner, name_rows, numbered, sq_norms
from iokr.kernels.base import Kernel, MemberKernel, fit_part
from iokr.kernels.generic import Delta
from iokr.kernels.structured.strings import letters

__all__ = ["Positional", "Positions", "counts_positions", "sequences_of"]


_ROWS = 1 << 10  # rows of a symmetric Gram matrix at a time where k counts equal entries


class Positions:
    """Sequences by position: parts[t] are the represented entries t, where[t] their places there, −1 for no entry."""

    def __init__(self, parts: list[Any], where: list[np.ndarray], lengths: np.ndarray) -> None:
        self.parts = parts
        self.where = where
        self.lengths = lengths
        self.shape = (len(lengths),)

    def _stored(self) -> dict[str, Any]:
        return {"parts": self.parts, "where": self.where, "lengths": self.lengths, "shape": self.shape}

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> Positions:
        parts: list[Any] = []
        where: list[np.ndarray] = []
        for part, places in zip(self.parts, self.where, strict=True):
            chosen = places[rows]
            present = chosen >= 0
            if not present.any():
                break
            parts.append(take_rows(part, chosen[present]))
            where.append(np.where(present, np.cumsum(present) - 1, -1))
        return Positions(parts, where, self.lengths[rows])

    def concat(self, other: Positions) -> Positions:
        """These sequences, then those of `other`."""
        longer, shorter = (self, other) if len(self.parts) >= len(other.parts) else (other, self)
        both = len(shorter.parts)
        parts = [concat(a, b) for a, b in zip(self.parts[:both], other.parts[:both], strict=True)]
        parts += longer.parts[both:]
        where: list[np.ndarray] = []
        for t in range(len(longer.parts)):
            first = self.where[t] if t < len(self.parts) else np.full(len(self), -1)
            second = other.where[t] if t < len(other.parts) else np.full(len(other), -1)
            before = int(np.count_nonzero(first >= 0))  # entries of these sequences at t
            where.append(np.concatenate([first, np.where(second >= 0, second + before, -1)]))
        return Positions(parts, where, np.concatenate([self.lengths, other.lengths]))


@component
class Positional(MemberKernel):
    """k(x, z) = Σ_t base(x_t, z_t) + transitions Σ_t base(x_t, z_t) base(x_t+1, z_t+1), t up to the shorter length.

    `Positional(Delta())` counts the positions at which two words, or two rows of labels, agree; with transitions also
    the steps from one position to the next at which both agree, so that predictions take neighbouring entries into
    account. A sequence is a string of letters, a list of objects of the base, or a matrix with a row per position. A
    block costs a block of the base for every position.

    Parameters
    ----------
    base : Kernel
        On single entries.
    combine : {"sum", "product"}, default="sum"
        With "product", Π_t base(x_t, z_t) for sequences of one length and 0 otherwise.
    pooled : bool, default=True
        Fit one clone of the base on the entries of all positions; else a clone for each position, and positions
        beyond the longest sequence at `fit` do not count ("sum") or count as 1 ("product").
    transitions : float, default=0.0
        The weight of a step, for "sum" only. Larger couples neighbouring entries more.

    Examples
    --------
    Words by their letters, and the input map of Kadri et al. (2012, Section 5.2), which compares the image of each
    letter with the training letters at its position.

    >>> from iokr.kernels import Delta, EmpiricalMap, Polynomial, Positional
    >>> Positional(Delta())(["house"], ["mouse", "horse", "hot"])
    array([[4., 4., 2.]])
    >>> Positional(Delta(), transitions=0.5)(["house"], ["mouse", "horse", "hot"])
    array([[5.5, 5. , 2.5]])
    >>> k = Positional(EmpiricalMap(Polynomial(3)), pooled=False)
    >>> k([[[0.0, 1.0]], [[1.0, 1.0], [1.0, 0.0]]]).shape
    (2, 2)
    """

    base: Kernel
    combine: str = "sum"
    pooled: bool = True
    transitions: float = 0.0

    domain = "sequences"
    limits: ClassVar[Limits] = {"combine": one_of("sum", "product"), "pooled": FLAG, "transitions": NOT_NEGATIVE}

    @property
    def panel(self) -> int | None:  # type: ignore[override]
        """Many rows where k counts equal entries, which costs little."""
        return _ROWS if self._counts else None

    def fit(self, X: Any) -> Positional:
        """Fit clones of the base on the entries."""
        self.check_parameters()
        if self.transitions and self.combine == "product":
            raise ValueError('`transitions` are added to a sum of positions; use `combine="sum"`.')
        sequences = sequences_of(X)
        if self._counts:
            self.bases_ = [fit_part(self.base, "base", sequences)]
            return self
        positions = _positions(sequences)
        if self.pooled:
            self.bases_ = [fit_part(self.base, "base", _joined([entries for entries, _ in positions]))]
        else:
            self.bases_ = [fit_part(self.base, "base", entries) for entries, _ in positions]
        return self

    def represent(self, X: Any) -> Positions | Counts:
        """Entry t of every sequence, as the base represents it; for `Delta()`, counts of the entries by position."""
        sequences = sequences_of(X)
        if self._counts:
            return _entries(sequences, float(self.transitions))
        lengths = np.array([len(x) for x in sequences], dtype=np.intp)
        parts: list[Any] = []
        where: list[np.ndarray] = []
        for t, (entries, rows) in enumerate(_positions(sequences)):
            if not self.pooled and t >= len(self.bases_):
                break
            parts.append(self._base(t).represent(entries))
            places = np.full(len(sequences), -1)
            places[rows] = np.arange(len(rows))
            where.append(places)
        return Positions(parts, where, lengths)

    def block(self, R: Any, S: Any) -> Array:
        if self._counts:
            return inner(R, S)
        steps = (self._step(t, R, S) for t in range(min(len(R.parts), len(S.parts))))
        if self.combine == "product":
            return reduce(mul, steps, (R.lengths[:, None] == S.lengths[None, :]).astype(np.float64))
        K = np.zeros((len(R), len(S)))
        before = None
        for here in steps:
            K += here
            if self.transitions and before is not None:
                K += self.transitions * before * here
            before = here
        return K

    def _step(self, t: int, R: Positions, S: Positions) -> np.ndarray:
        """base(x_t, z_t); 0 in a sum and 1 in a product where a sequence has no entry t."""
        here = to_numpy(self._base(t).block(R.parts[t], S.parts[t]))
        rows = np.flatnonzero(R.where[t] >= 0)
        columns = np.flatnonzero(S.where[t] >= 0)
        if len(rows) == len(R) and len(columns) == len(S):
            return np.asarray(here)
        everywhere = np.full((len(R), len(S)), 1.0 if self.combine == "product" else 0.0)
        everywhere[np.ix_(rows, columns)] = here
        return everywhere

    def diag(self, R: Any) -> Array:
        if self._counts:
            return sq_norms(R)
        product = self.combine == "product"
        k = np.ones(len(R)) if product else np.zeros(len(R))
        before = np.zeros(len(R))
        for t, part in enumerate(R.parts):
            here = to_numpy(self._base(t).diag(part))
            rows = R.where[t] >= 0
            if product:
                k[rows] *= here
            else:
                k[rows] += here
                k[rows] += self.transitions * before[rows] * here
            before[rows] = here
        return k

    @property
    def _counts(self) -> bool:
        """Whether k counts equal entries: then φ has a 1 for the entry at each position."""
        return isinstance(self.base, Delta) and self.combine == "sum" and self.pooled

    def _base(self, t: int) -> Any:
        return self.bases_[0 if self.pooled else t]


def counts_positions(kernel: Any) -> Positional | None:
    """The kernel if it counts the positions (and steps) at which sequences agree, as `Positional(Delta())` does."""
    if isinstance(kernel, Positional) and isinstance(kernel.base, Delta) and kernel.combine == "sum":
        return kernel
    return None


def sequences_of(X: Any) -> list[Any]:
    """The sequences, none empty. Errors give the number of the object."""
    n_objects(X)
    X = read(X, rows=True)
    sequences = list(X) if is_array(X) else as_objects(X).tolist()
    for i, x in enumerate(sequences):
        if type(x) is str and x:
            continue
        if not is_sequence(x):
            raise BadObjectType(
                "Object", i, f" must be a sequence (a string, a list, rows of a matrix), got {x!r:.60}."
            )
        if len(x) == 0:
            raise BadObject("Sequence", i, " is empty; it needs at least one entry.")
        if _has_nan(x):
            raise BadObject("Sequence", i, " contains NaN; remove or impute these entries.")
    return sequences


def _has_nan(x: Any) -> bool:
    """Whether an entry, or a coordinate of one, is NaN."""
    if is_array(x):
        values = to_numpy(x)
        if values.dtype.kind in "fc":
            return bool(np.isnan(values).any())
        return values.dtype.kind == "O" and _has_nan(values.ravel().tolist())
    if isinstance(x, (list, tuple)):
        return any(map(_has_nan, x))
    return isinstance(x, (float, np.floating)) and bool(x != x)


def _entries(sequences: list[Any], transitions: float) -> Counts:
    """Counts of (position, entry), and with transitions of (position, entry, next entry)."""
    entries, codes = _numbered_entries(sequences)
    sizes = np.array([len(x) for x in sequences])
    places = places_within(sizes)
    largest = max(int(sizes.max()), len(entries))
    names, first = name_rows(np.stack([places, codes], axis=1), largest)
    pairs = zip(places[first].tolist(), codes[first].tolist(), strict=True)
    columns: dict[Hashable, int] = {(t, entries[code]): j for j, (t, code) in enumerate(pairs)}
    if not transitions:
        return Counts.sets(names, sizes, Vocabulary(columns))
    rows = np.repeat(np.arange(len(sizes)), sizes)
    steps = np.flatnonzero(rows[:-1] == rows[1:])
    moves, first = name_rows(np.stack([places[steps], codes[steps], codes[steps + 1]], axis=1), largest)
    singles = len(columns)
    for j, k in enumerate(steps[first].tolist()):
        columns[int(places[k]), entries[codes[k]], entries[codes[k + 1]]] = singles + j
    weight = np.repeat([1.0, transitions], [singles, len(columns) - singles])
    owners = np.concatenate([rows, rows[steps]])
    return Counts.of(owners, np.concatenate([names, singles + moves]), len(sizes), Vocabulary(columns), weight)


def _numbered_entries(sequences: list[Any]) -> tuple[list[Hashable], np.ndarray]:
    """(entries, codes): the distinct entries, and the number of each entry of one sequence after the other."""
    if sequences and all(isinstance(x, str) for x in sequences):
        points = letters(sequences).values
        codes, first = name_rows(points[:, None], int(points.max()) + 1)
        return [chr(point) for point in points[first].tolist()], codes
    numbers, codes = numbered([key(entry) for entry in chain.from_iterable(sequences)])
    return list(numbers), codes


def _positions(sequences: list[Any]) -> list[tuple[Any, np.ndarray]]:
    """For each position the entries there, and the numbers of their sequences."""
    lengths = np.array([len(x) for x in sequences])
    positions = []
    for t in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > t)
        positions.append((_joined([sequences[i][t : t + 1] for i in rows]), rows))
    return positions


def _joined(parts: list[Any]) -> Any:
    """Parts of sequences one after the other: an array of arrays, a list of letters and other objects."""
    if all(is_array(part) and (part.ndim > 1 or to_numpy(part).dtype.kind in "buif") for part in parts):
        return array_namespace(*parts).concat(parts, axis=0)
    return list(chain.from_iterable(parts))
