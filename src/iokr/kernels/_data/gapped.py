"""Subsequences of strings by explicit features, for all words of an alphabet."""

from __future__ import annotations

import numpy as np

from iokr._array import blocks
from iokr.data.ragged import Ragged, places_within

__all__ = ["word_products", "words_pay"]

_ENTRIES = 1 << 24  # entries of the features in one product, both sides together: 128 MB
_TILE = 1 << 17  # entries of the features of strings that are parsed together: 1 MB, which stay in the cache
_PARSED = 50  # entries of a product that take the time of a step of parsing


def words_pay(x: Ragged, z: Ragged, n: int, compared: float) -> bool:
    """Whether products of features take less time than n |x| |z| steps a pair, each the time of `compared` entries."""
    size = len(_shared_letters(x, z))
    x_total = int(x.lengths.sum())
    z_total = int(z.lengths.sum())
    step = float(size) ** (n - 1)
    if step > _ENTRIES:
        return False
    height = _height(size, n)
    parsed = x_total * -(-len(z) // height) + z_total * -(-len(x) // height)
    cost = _PARSED * parsed * step + len(x) * len(z) * step * size
    return cost <= compared * n * x_total * z_total


def word_products(x: Ragged, z: Ragged, n: int, decay: float) -> np.ndarray:
    """Σ_u φ_u(x_i) φ_u(z_j) over the words u of n letters that both sides have, φ_u as in `Subsequence`.

    As many strings, and first letters of words, are processed at a time as memory allows. A string x takes |x| sizeⁿ⁻¹
    steps, a product has sizeⁿ columns in all.
    """
    letters = _shared_letters(x, z)
    size = len(letters)
    K = np.zeros((len(x), len(z)))
    if not size:
        return K
    height = _height(size, n)
    for rows in blocks(len(x), height):
        left = _steps(x[rows], letters)
        for columns in blocks(len(z), height):
            right = _steps(z[columns], letters)
            strings = len(left[0]) + len(right[0])
            for first in blocks(size, max(1, _ENTRIES // (strings * size ** (n - 1)))):
                phi = _features(*left, n, size, first, decay)
                K[rows, columns] += phi @ _features(*right, n, size, first, decay).T
    K *= decay**2
    return K


def _height(size: int, n: int) -> int:
    """The number of strings of either side in one product."""
    return max(32, int(_ENTRIES / (2.0 * max(size, 1) ** (n - 1))))


def _shared_letters(x: Ragged, z: Ragged) -> np.ndarray:
    """The letters that both sides contain, sorted."""
    return np.intersect1d(x.gathered(), z.gathered())


def _steps(x: Ragged, letters: np.ndarray) -> tuple[Ragged, Ragged]:
    """(codes, gaps): each string by the numbers of its letters, others left out, and the distances between them."""
    values = x.gathered()
    rows = np.repeat(np.arange(len(x)), x.lengths)
    place = places_within(x.lengths)
    codes = np.searchsorted(letters, values)
    known = np.append(letters, -1)[codes] == values
    sizes = np.bincount(rows[known], minlength=len(x))
    gaps = np.diff(place[known], prepend=0)
    return Ragged.of(codes[known], sizes), Ragged.of(gaps, sizes)


def _features(codes: Ragged, gaps: Ragged, n: int, size: int, first: slice, decay: float) -> np.ndarray:
    """φ_u(x_i) / decay for the words u that begin with the letters `first`, (strings, sizeⁿ⁻¹ · letters).

    F_j[u], |u| = j, is the sum of decay^(p − place of its first letter) over the occurrences of u before p. A letter a
    at p multiplies all F_j by decay^gap, then adds F_{j−1}[u] to F_j[ua]. φ is F_n, which is not multiplied.
    """
    width = first.stop - first.start
    phi = np.zeros((len(codes), size ** (n - 1) * width))
    order = np.argsort(-codes.lengths, kind="stable")
    for some in blocks(len(codes), max(1, _TILE // phi.shape[1])):
        rows = order[some]
        letter = codes[rows].padded(0)
        fade = decay ** gaps[rows].padded(0).astype(np.float64)
        F = [np.zeros((len(rows), size**j * width)) for j in range(n)]
        ends = [f.reshape(len(rows), size, -1) for f in F[1:]]  # by the last letter
        alive = np.searchsorted(-codes.lengths[rows], -np.arange(letter.shape[1]))
        for t, left in enumerate(alive.tolist()):  # strings in order of length: those with a letter t come first
            here = np.arange(left)
            a = letter[:left, t]
            for f in F[:-1]:
                f[:left] *= fade[:left, t, None]
            for j in range(n - 1, 0, -1):
                ends[j - 1][here, a] += F[j - 1][:left]
            begins = (a >= first.start) & (a < first.stop)
            F[0][here[begins], a[begins] - first.start] += 1.0
        phi[rows] = F[-1]
    return phi
