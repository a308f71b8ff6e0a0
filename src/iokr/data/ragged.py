"""Objects of different lengths, one after the other in one array."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from iokr._system.memory import human_bytes

__all__ = ["LANES", "Ragged", "pair_tiles", "places_within", "side_by_side"]

LANES = 32  # objects that a compiled loop compares with another side by side, as independent steps of the processor

_COPIES = 4  # arrays of x · z entries that a comparison of two objects takes, about
_CELLS = 1 << 15  # entries of the arrays in which pairs of objects are compared: 256 kB, which stay in the cache


def places_within(sizes: np.ndarray) -> np.ndarray:
    """0, 1, …, size − 1 for each size in turn."""
    starts = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(int(sizes.sum())) - np.repeat(starts, sizes))


class Ragged:
    """Object i is values[starts[i] : starts[i] + lengths[i]]; slices share the values."""

    def __init__(self, values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> None:
        self.values = values
        self.starts = starts
        self.lengths = lengths
        self.shape = (len(lengths),)

    def _stored(self) -> dict[str, Any]:
        return {"values": self.values, "starts": self.starts, "lengths": self.lengths, "shape": self.shape}

    @classmethod
    def of(cls, values: np.ndarray, lengths: Sequence[int] | np.ndarray) -> Ragged:
        """Objects that lie one after the other in `values`."""
        sizes = np.asarray(lengths, dtype=np.intp)
        return cls(values, np.cumsum(sizes) - sizes, sizes)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> Ragged:
        return Ragged(self.values, self.starts[rows], self.lengths[rows])

    def concat(self, other: Ragged) -> Ragged:
        """These objects, then those of `other`."""
        return Ragged(
            np.concatenate([self.values, other.values]),
            np.concatenate([self.starts, other.starts + len(self.values)]),
            np.concatenate([self.lengths, other.lengths]),
        )

    def gathered(self) -> np.ndarray:
        """The values of these objects alone, one after the other."""
        return np.asarray(self.values[np.repeat(self.starts, self.lengths) + places_within(self.lengths)])

    def padded(self, fill: float) -> np.ndarray:
        """(n, longest, …), shorter objects filled up at their ends."""
        longest = int(self.lengths.max(initial=0))
        steps = np.arange(longest)
        inside = steps < self.lengths[:, None]
        place = np.where(inside, self.starts[:, None] + steps, 0)
        out = self.values[place] if len(self.values) else np.empty((*place.shape, *self.values.shape[1:]))
        out[~inside] = fill
        return out


def pair_tiles(
    R: Ragged, S: Ragged, compare: Callable[[Ragged, Ragged], np.ndarray], *, paired: bool = False, flat: bool = False
) -> np.ndarray:
    """The (n, m) array of k(x_i, z_j), or (n, 1) of k(x_i, z_i), from tiles of pairs of similar lengths.

    `compare(x, z)` takes the same number of objects on either side and compares them one to one, in arrays of |x| |z|
    entries for each pair, or of |x| with `flat`.
    """
    try:
        return _tiles(R, S, compare, paired, flat)
    except MemoryError:
        x = int(R.lengths.max(initial=0))
        z = int(S.lengths.max(initial=0))
        raise MemoryError(
            f"`X`: a comparison of {x} entries with {z} needs about {human_bytes(8.0 * _COPIES * x * z)}; "
            "shorten the objects."
        ) from None


def _tiles(
    R: Ragged, S: Ragged, compare: Callable[[Ragged, Ragged], np.ndarray], paired: bool, flat: bool
) -> np.ndarray:
    if paired:
        diagonal = np.empty((len(R), 1))
        for rows in _groups(R, 1, 1 if flat else int(S.lengths.max(initial=1))):
            diagonal[rows, 0] = compare(R[rows], S[rows])
        return diagonal
    K = np.empty((len(R), len(S)))
    for columns in _groups(S, 16, 1):
        others = S[columns]
        for rows in _groups(R, len(columns), 1 if flat else int(others.lengths.max())):
            left = np.repeat(rows, len(columns))
            right = np.tile(columns, len(rows))
            K[np.ix_(rows, columns)] = compare(R[left], S[right]).reshape(len(rows), len(columns))
    return K


def _groups(R: Ragged, partners: int, length: int) -> Iterator[np.ndarray]:
    """Objects in order of length, as many at a time as fill an array of `_CELLS` with their partners."""
    order = np.argsort(R.lengths, kind="stable")
    start = 0
    while start < len(order):
        shortest = max(int(R.lengths[order[start]]), 1)
        stop = start + max(1, _CELLS // (partners * length * shortest))
        longest = max(int(R.lengths[order[min(stop, len(order)) - 1]]), 1)
        stop = min(start + max(1, _CELLS // (partners * length * longest)), len(order))
        yield order[start:stop]
        start = stop


def side_by_side(R: Ragged, fill: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(order, values, lengths): objects in order of length, `LANES` side by side and padded to the longest.

    values is (sum of lengths, LANES, …): entry t of objects side by side is one row. lengths has one for each group.
    """
    order = np.argsort(R.lengths, kind="stable")
    starts = range(0, len(R), LANES)
    lengths = np.array([R.lengths[order[min(start + LANES, len(R)) - 1]] for start in starts], dtype=np.intp)
    values = np.full((int(lengths.sum()), LANES, *R.values.shape[1:]), fill, dtype=R.values.dtype)
    for start, stop, length in zip(starts, np.cumsum(lengths), lengths, strict=True):
        group = R[order[start : start + LANES]].padded(fill)
        values[stop - length : stop, : len(group)] = group.swapaxes(0, 1)
    return order, values, lengths
