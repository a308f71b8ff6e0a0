"""Rows of zeros and ones, eight to a byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from iokr._state import Stateful
from iokr._validation.arguments import check_integer, check_numbers

__all__ = ["Bits"]


class Bits(Stateful):
    """A matrix of n rows of p bits, packed: row i has the bits np.unpackbits(packed[i])[:p].

    It is sliced by rows, and NumPy reads it as a matrix of zeros and ones; `Tanimoto` counts in the packed rows.

    Parameters
    ----------
    packed : array of uint8 of shape (n, bytes)
        As `numpy.packbits` returns it.
    n_bits : int, optional
        p; without it, eight times the bytes.

    Examples
    --------
    >>> from iokr.chem import Bits
    >>> bits = Bits.of([[1, 0, 1], [0, 0, 1]])
    >>> bits.shape, bits.counts.tolist()
    ((2, 3), [2.0, 1.0])
    """

    def __init__(self, packed: Any, n_bits: int | None = None) -> None:
        rows = np.asarray(packed)
        if rows.ndim != 2 or rows.dtype != np.uint8:
            raise TypeError(f"`packed` must be a matrix of uint8, as numpy.packbits makes it, got {packed!r:.60}.")
        n_bits = 8 * rows.shape[1] if n_bits is None else check_integer(n_bits, "n_bits", minimum=0)
        n_bytes = -(-n_bits // 8)  # rounded up
        if n_bytes != rows.shape[1]:
            raise ValueError(f"`n_bits` is {n_bits}, which takes {n_bytes} bytes a row, got {rows.shape[1]}.")
        self.packed = rows
        self.n_bits = n_bits
        if n_bits % 8 and np.any(rows[:, -1] & (0xFF >> n_bits % 8)):
            raise ValueError(f"`packed` has bits beyond the {n_bits} of a row; they must be zero.")

    @classmethod
    def of(cls, matrix: Any) -> Bits:
        """The rows of a matrix of zeros and ones."""
        plain = type(matrix) is np.ndarray and matrix.dtype.kind in "buif"
        values = matrix if plain else check_numbers(matrix, "matrix")
        if values.ndim != 2 or values.shape[1] == 0 or not np.all((values == 0) | (values == 1)):
            raise ValueError(f"`matrix` must be zeros and ones, a row per object, got shape {values.shape}.")
        return cls(np.packbits(values != 0, axis=1), values.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""
        return (len(self.packed), self.n_bits)

    @property
    def counts(self) -> np.ndarray:
        """The number of ones in each row."""
        return np.asarray(np.bitwise_count(self.packed).sum(axis=1, dtype=np.float64))

    def words(self) -> np.ndarray:
        """(n, words of 64 bits), filled up with zeros."""
        padded = np.pad(self.packed, ((0, 0), (0, -self.packed.shape[1] % 8)))
        return np.ascontiguousarray(padded).view(np.uint64)

    def __len__(self) -> int:
        return len(self.packed)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, (int, np.integer)):
            return np.unpackbits(self.packed[rows])[: self.n_bits]
        part = Bits.__new__(Bits)
        part.packed = self.packed[rows]
        part.n_bits = self.n_bits
        return part

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        unpacked = np.unpackbits(self.packed, axis=1)[:, : self.n_bits]
        return unpacked if dtype is None else unpacked.astype(dtype)

    def concat(self, other: Any) -> Bits:
        """These rows, then those of `other`."""
        other = other if isinstance(other, Bits) else Bits.of(other)
        if other.n_bits != self.n_bits:
            raise ValueError(f"Rows of {other.n_bits} bits cannot be joined with rows of {self.n_bits}.")
        return Bits(np.concatenate([self.packed, other.packed]), self.n_bits)

    def __repr__(self) -> str:
        return f"Bits({len(self)} rows of {self.n_bits})"
