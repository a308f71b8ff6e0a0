"""Kernels on sequences, position by position."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, is_array, take_rows, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_choice, check_number
from iokr.data.frames import read
from iokr.data.objects import BadObject, BadObjectType, as_objects, concat, key, n_objects
from iokr.kernels._data.counts import Counts, Vocabulary, inner, name_rows, numbered, sq_norms
from iokr.kernels.base import Kernel, check_part, fit_part
from iokr.kernels.generic import Delta
from iokr.kernels.structured.strings import letters

__all__ = ["Positional", "Positions", "counts_positions", "sequences_of"]


_ROWS = 1 << 10  # of a symmetric Gram matrix at a time


class Positions:
    """Sequences cut into positions: parts[t] represents entry t of those that have one, which where[t] finds."""

    def __init__(self, parts: list[Any], where: list[np.ndarray], lengths: np.ndarray) -> None:
        self.parts, self.where, self.lengths = parts, where, lengths
        self.shape = (len(lengths),)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> Positions:
        parts, where = [], []
        for part, places in zip(self.parts, self.where, strict=True):
            chosen = places[rows]
            kept = chosen >= 0
            if not kept.any():
                break
            parts.append(take_rows(part, chosen[kept]))
            where.append(np.where(kept, np.cumsum(kept) - 1, -1))
        return Positions(parts, where, self.lengths[rows])

    def concat(self, other: Positions) -> Positions:
        """These sequences, then those of `other`."""
        parts, where = [], []
        for t in range(max(len(self.parts), len(other.parts))):
            sides = [(side.parts[t], side.where[t]) if t < len(side.parts) else None for side in (self, other)]
            present = [side for side in sides if side is not None]
            parts.append(concat(present[0][0], present[1][0]) if len(present) == 2 else present[0][0])
            first = np.full(len(self), -1) if sides[0] is None else sides[0][1]
            second = np.full(len(other), -1) if sides[1] is None else sides[1][1]
            shift = 0 if sides[0] is None else sides[0][0].shape[0]
            where.append(np.concatenate([first, np.where(second >= 0, second + shift, -1)]))
        return Positions(parts, where, np.concatenate([self.lengths, other.lengths]))


@component
class Positional(Kernel):
    """k(x, z) = Σ_t base(x_t, z_t) + transitions Σ_t base(x_t, z_t) base(x_t+1, z_t+1), t up to the shorter length.

    `Positional(Delta())` counts the positions at which two words, or two rows of labels, agree; with transitions also
    the steps from one position to the next at which they do, so that an output is predicted with its neighbours in
    mind. A sequence is a string of letters, a list of whatever the base takes, or a matrix with a row per position. The
    cost is that of a block of the base for every position.

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
        How much a step counts, for "sum" only. Larger ties neighbours closer together.

    Examples
    --------
    Words by their letters, and the input map of Kadri et al. (2012, Section 5.2): the images of letters, each compared
    with the training letters at its position.

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

    @property
    def trusted(self) -> bool:  # type: ignore[override]
        """That of the base."""
        return check_part(self.base, "base").trusted

    @property
    def panel(self) -> int | None:  # type: ignore[override]
        """Many rows where an entry costs little: k counts."""
        return _ROWS if self._counts else None

    def fit(self, X: Any) -> Positional:
        """Fit clones of the base on the entries."""
        check_choice(self.combine, "combine", ("sum", "product"))
        check_choice(self.pooled, "pooled", (True, False))
        if check_number(self.transitions, "transitions", minimum=0.0) and self.combine == "product":
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
        """Entry t of every sequence, as the base represents it; for `Delta()`, what stands where."""
        sequences = sequences_of(X)
        if self._counts:
            return _entries(sequences, float(self.transitions))
        lengths = np.array([len(x) for x in sequences], dtype=np.intp)
        parts, where = [], []
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
        product = self.combine == "product"
        K = (R.lengths[:, None] == S.lengths[None, :]).astype(np.float64) if product else np.zeros((len(R), len(S)))
        before = None
        for t, (r, s) in enumerate(zip(R.parts, S.parts, strict=False)):
            rows, columns = np.flatnonzero(R.where[t] >= 0), np.flatnonzero(S.where[t] >= 0)
            here = to_numpy(self._base(t).block(r, s))
            if len(rows) < len(R) or len(columns) < len(S):
                there = np.full(K.shape, 1.0 if product else 0.0)
                there[np.ix_(rows, columns)] = here
                here = there
            K = K * here if product else np.add(K, here, out=K)
            if self.transitions and before is not None:
                K += self.transitions * before * here
            before = here
        return K

    def diag(self, R: Any) -> Array:
        if self._counts:
            return sq_norms(R)
        k = np.ones(len(R)) if self.combine == "product" else np.zeros(len(R))
        before = np.zeros(len(R))
        for t, part in enumerate(R.parts):
            here = to_numpy(self._base(t).diag(part))
            rows = R.where[t] >= 0
            k[rows] = k[rows] * here if self.combine == "product" else k[rows] + here
            k[rows] += self.transitions * before[rows] * here
            before[rows] = here
        return k

    @property
    def _counts(self) -> bool:
        """Whether k counts equal entries: ⟨φ(x), φ(z)⟩ with φ one 1 for each position."""
        return isinstance(self.base, Delta) and self.combine == "sum" and self.pooled

    def _base(self, t: int) -> Any:
        return self.bases_[0 if self.pooled else t]


def counts_positions(kernel: Any) -> Positional | None:
    """The kernel if it counts the positions (and steps) at which sequences agree, as `Positional(Delta())` does."""
    if isinstance(kernel, Positional) and isinstance(kernel.base, Delta) and kernel.combine == "sum":
        return kernel
    return None


def sequences_of(X: Any) -> list[Any]:
    """The sequences; what is none, or empty, is refused by its number."""
    n_objects(X)
    X = read(X, rows=True)
    sequences = list(X) if is_array(X) else as_objects(X).tolist()
    for i, x in enumerate(sequences):
        if type(x) is str and x:
            continue
        if not hasattr(x, "__len__") or isinstance(x, (dict, set, frozenset)):
            raise BadObjectType(
                "Object", i, f" must be a sequence (a string, a list, rows of a matrix), got {x!r:.60}."
            )
        if getattr(x, "shape", None) == ():
            raise BadObjectType("Object", i, f" must be a sequence, got the array {x!r:.60} without a dimension.")
        if len(x) == 0:
            raise BadObject("Sequence", i, " is empty; it needs at least one entry.")
        if _has_nan(x):
            raise BadObject("Sequence", i, " contains NaN, which equals nothing; remove or impute these entries.")
    return sequences


def _has_nan(x: Any) -> bool:
    """Whether an entry, or a coordinate of one, is NaN."""
    if is_array(x):
        values = to_numpy(x)
        if values.dtype.kind in "fc":
            return bool(np.isnan(values).any())
        return values.dtype.kind == "O" and _has_nan(values.ravel().tolist())
    if isinstance(x, (list, tuple)):
        return any(
            _has_nan(entry)
            if isinstance(entry, (list, tuple)) or is_array(entry)
            else entry is not None and isinstance(entry, (float, np.floating)) and entry != entry
            for entry in x
        )
    return False


def _entries(sequences: list[Any], transitions: float) -> Counts:
    """One (position, entry) after the other, then one (position, entry, next entry)."""
    entries, codes = _numbered_entries(sequences)
    sizes = np.array([len(x) for x in sequences])
    places = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    largest = max(int(sizes.max()), len(entries))
    names, first = name_rows(np.stack([places, codes], axis=1), largest)
    where, what = places[first].tolist(), codes[first].tolist()
    columns: dict[Hashable, int] = {(t, entries[c]): j for j, (t, c) in enumerate(zip(where, what, strict=True))}
    if not transitions:
        return Counts.sets(names, sizes, Vocabulary(columns))
    rows = np.repeat(np.arange(len(sizes)), sizes)
    steps = np.flatnonzero(rows[:-1] == rows[1:])
    pairs, first = name_rows(np.stack([places[steps], codes[steps], codes[steps + 1]], axis=1), largest)
    singles = len(columns)
    for j, k in enumerate(steps[first].tolist()):
        columns[int(places[k]), entries[codes[k]], entries[codes[k + 1]]] = singles + j
    weight = np.repeat([1.0, transitions], [singles, len(columns) - singles])
    every, whose = np.concatenate([names, singles + pairs]), np.concatenate([rows, rows[steps]])
    return Counts.of(whose, every, len(sizes), Vocabulary(columns), weight)


def _numbered_entries(sequences: list[Any]) -> tuple[list[Hashable], np.ndarray]:
    """(entries, codes): the distinct entries, and which of them stand one after the other."""
    if sequences and all(isinstance(x, str) for x in sequences):
        points = letters(sequences).values
        codes, first = name_rows(points[:, None], int(points.max()) + 1)
        return [chr(point) for point in points[first].tolist()], codes
    numbers, codes = numbered([key(entry) for entry in chain.from_iterable(sequences)])
    return list(numbers), codes


def _positions(sequences: list[Any]) -> list[tuple[Any, np.ndarray]]:
    """For each position the entries there, and whose they are."""
    lengths = np.array([len(x) for x in sequences])
    positions = []
    for t in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > t)
        positions.append((_joined([sequences[i][t : t + 1] for i in rows]), rows))
    return positions


def _joined(parts: list[Any]) -> Any:
    """Pieces of sequences end to end: arrays stay arrays, letters and other objects become a list."""
    if all(is_array(part) and (part.ndim > 1 or to_numpy(part).dtype.kind in "buif") for part in parts):
        return array_namespace(*parts).concat(parts, axis=0)
    return list(chain.from_iterable(parts))
