"""Peaks of many spectra as points on a line, and sums over pairs of near peaks, for the kernels on spectra."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from iokr._system.compile import compiled

__all__ = ["PeakTable", "Places", "near_pairs_diag", "near_pairs_sums"]

_CHUNK = 1 << 17  # pairs of peaks computed together without a compiler: a few arrays of 1 MB
_PIECE = 256  # pairs whose exponentials are computed together: they stay in the first cache
_SMALLEST = -708.0  # the smallest x for which e^x is a normal number
_PER_LOG2 = 1.4426950408889634  # 1/log 2
_LOG2_HIGH = 6.93147180369123816490e-01  # log 2 in two parts
_LOG2_LOW = 1.90821492927058770002e-10
_ROUNDING = 1e-12  # relative: a reach is wider than the test of each pair, which decides
_TO_INTEGER = 6755399441055744.0  # 1.5 · 2^52
_ONE = 1023 << 52  # the bits of 1.0


@dataclass(eq=False)
class PeakTable:
    """The peaks of n spectra end to end, of each spectrum in ascending order of their places."""

    place: np.ndarray  # u_p
    variance: np.ndarray  # s_p²
    weight: np.ndarray  # w_p, with sum 1 for each spectrum
    intensity: np.ndarray  # I_p
    lengths: np.ndarray  # the number of peaks of each spectrum

    def _stored(self) -> dict[str, Any]:
        return {
            "place": self.place,
            "variance": self.variance,
            "weight": self.weight,
            "intensity": self.intensity,
            "lengths": self.lengths,
        }

    @cached_property
    def starts(self) -> np.ndarray:
        """The index of the first peak of each spectrum."""
        return np.asarray(np.cumsum(self.lengths) - self.lengths)

    @cached_property
    def by_place(self) -> tuple[np.ndarray, ...]:
        """(place, variance, weight, intensity, spectrum) of all peaks, sorted by place."""
        order = np.argsort(self.place, kind="stable")
        owner = np.repeat(np.arange(len(self.lengths), dtype=np.intp), self.lengths)
        return tuple(array[order] for array in (self.place, self.variance, self.weight, self.intensity, owner))

    @cached_property
    def largest(self) -> tuple[np.ndarray, np.ndarray]:
        """The largest variance at or below each place, and at or above it."""
        variance = self.by_place[1]
        above = np.maximum.accumulate(variance[::-1])[::-1]
        return np.maximum.accumulate(variance), above


class Places:
    """Some spectra of a table; slicing does not copy peaks."""

    def __init__(self, table: PeakTable, rows: np.ndarray) -> None:
        self.table = table
        self.rows = rows

    def _stored(self) -> dict[str, Any]:
        return {"table": self.table, "rows": self.rows}

    @property
    def shape(self) -> tuple[int]:
        """(n,)."""
        return (len(self.rows),)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> Places:
        return Places(self.table, self.rows[rows])

    def concat(self, other: Places) -> Places:
        """These spectra, then those of `other`."""
        left = self.gathered()
        right = other.gathered()
        table = PeakTable(
            np.concatenate([left.place, right.place]),
            np.concatenate([left.variance, right.variance]),
            np.concatenate([left.weight, right.weight]),
            np.concatenate([left.intensity, right.intensity]),
            np.concatenate([left.lengths, right.lengths]),
        )
        return Places(table, np.arange(len(self) + len(other)))

    def gathered(self) -> PeakTable:
        """The peaks of these spectra only."""
        lengths = self.table.lengths[self.rows]
        first = np.cumsum(lengths) - lengths
        index = np.arange(lengths.sum()) + np.repeat(self.table.starts[self.rows] - first, lengths)
        t = self.table
        return PeakTable(t.place[index], t.variance[index], t.weight[index], t.intensity[index], lengths)

    def sorted(self) -> tuple[np.ndarray, ...]:
        """(place, variance, weight, intensity, spectrum) of the peaks of these spectra, sorted by place."""
        n = len(self.table.lengths)
        if len(self) == n and np.array_equal(self.rows, np.arange(n)):
            return self.table.by_place
        number = np.full(n, -1, dtype=np.intp)
        number[self.rows] = np.arange(len(self))
        if np.count_nonzero(number >= 0) < len(self):  # a spectrum occurs twice
            return self.gathered().by_place
        *arrays, owner = self.table.by_place
        column = number[owner]
        inside = np.flatnonzero(column >= 0)
        return (*(array[inside] for array in arrays), column[inside])


def near_pairs_sums(R: Places, S: Places, cutoff: float, sharpness: float) -> np.ndarray:
    """K_ij = Σ_p Σ_q w_p w_q exp(−Δu²/(2v) − b ΔI²)/√v over the peaks p of i and q of j, v = s_p² + s_q².

    Pairs with |Δu| > c √(v/2) are left out; b is the `sharpness`. The peaks of S are sorted by place; a peak of R finds
    its window there by bisection and adds to one row of K, which stays in the cache. If the spectra of R are the last
    of S, as in the panels of a symmetric matrix, the entries above the diagonal are copied from those below.
    """
    n = len(R)
    m = len(S)
    K = np.zeros((n, m))
    first = m - n
    square = R.table is S.table and first >= 0 and np.array_equal(R.rows, S.rows[first:])
    others = S.sorted()
    if not len(others[0]):
        return K
    left = R.gathered()
    reach = _reach(left, S.table, cutoff)
    loop = compiled(_add_rows)
    if loop is None:
        _add_rows_in_chunks(left, others, reach, cutoff, sharpness, K)
        return K
    last = first + np.arange(n) if square else np.full(n, m)
    mine = (left.place, left.variance, left.weight, left.intensity, left.starts, left.lengths)
    loop(*mine, reach, *others, last, cutoff * cutoff / 2, sharpness, _one_width(left, others[1]), K)
    if square:
        corner = K[:, first:]
        upper = np.triu_indices(n, 1)
        corner[upper] = corner.T[upper]
    return K


def near_pairs_diag(R: Places, cutoff: float, sharpness: float) -> np.ndarray:
    """The diagonal of `near_pairs_sums(R, R, ...)`."""
    table = R.gathered()
    out = np.zeros(len(R))
    loop = compiled(_add_own)
    if loop is not None:
        arrays = (table.place, table.variance, table.weight, table.intensity, table.starts, table.lengths)
        loop(*arrays, cutoff * cutoff / 2, sharpness, out)
        return out
    for i in range(len(R)):
        out[i : i + 1] = near_pairs_sums(R[i : i + 1], R[i : i + 1], cutoff, sharpness)[0]
    return out


def _reach(left: PeakTable, other: PeakTable, cutoff: float) -> np.ndarray:
    """For each peak a distance beyond which no other is near: c √(v/2) for the largest s_q² within that distance."""
    place, variance = other.by_place[:2]
    below, above = other.largest
    reach = cutoff * np.sqrt((left.variance + variance.max()) / 2)
    if below[0] == variance.max() == above[-1]:  # one width
        return np.asarray(reach * (1 + _ROUNDING))
    high = np.searchsorted(place, left.place + reach, side="right") - 1
    low = np.searchsorted(place, left.place - reach)
    largest = np.minimum(below[np.clip(high, 0, None)], above[np.clip(low, None, len(place) - 1)])
    reach = cutoff * np.sqrt((left.variance + largest) / 2) * (1 + _ROUNDING)
    return np.asarray(reach, dtype=np.float64)


def _one_width(left: PeakTable, variances: np.ndarray) -> bool:
    """Whether all peaks have the same variance."""
    largest = max(left.variance.max(initial=0.0), variances.max(initial=0.0))
    smallest = min(left.variance.min(initial=np.inf), variances.min(initial=np.inf))
    return bool(smallest == largest)


def _add_rows(
    u: Any, v: Any, w: Any, I: Any, starts: Any, lengths: Any, reach: Any,  # noqa: E741
    places: Any, variances: Any, weights: Any, heights: Any, columns: Any,
    last: Any, widest: Any, sharpness: Any, same: Any, K: Any,
) -> None:  # fmt: skip
    """Add `near_pairs_sums` to K, up to the column last[i] of row i; compiled by Numba.

    A window is processed in pieces of 256 peaks. The loops over a piece have no branch and no call, so they become
    vector instructions: e^x = 2^k e^r with k = round(x/log 2), and e^r, |r| ≤ log(2)/2, is its Taylor series of degree
    13, with an error below a rounding; x is at least −708, the smallest x for which e^x is a normal number. Adding
    1.5 · 2^52 rounds to an integer and puts it into the last bits; the next loop moves it to the exponent.
    """
    n_others = len(places)
    exponents = np.empty(_PIECE)
    terms = np.empty(_PIECE)
    powers = np.empty(_PIECE)
    bits = powers.view(np.int64)
    for i in range(K.shape[0]):
        row = K[i]
        end = last[i]
        low = 0
        for p in range(starts[i], starts[i] + lengths[i]):
            here = u[p]
            width = v[p]
            height = I[p]
            weight = w[p]
            far = reach[p]
            if same:  # one variance for all peaks
                far = min(far, np.sqrt(widest * (width + variances[0])))
            # the first peak with u_q ≥ u_p − far, and the first with u_q > u_p + far
            top = n_others
            while low < top:
                middle = (low + top) // 2
                if places[middle] - here < -far:
                    low = middle + 1
                else:
                    top = middle
            high = low
            top = n_others
            while high < top:
                middle = (high + top) // 2
                if places[middle] - here <= far:
                    high = middle + 1
                else:
                    top = middle
            scale = weight / np.sqrt(width + variances[0])
            inverse = -0.5 / (width + variances[0])
            for a in range(low, high, _PIECE):
                m = min(_PIECE, high - a)
                place = places[a : a + m]
                other_height = heights[a : a + m]
                other_weight = weights[a : a + m]
                other_width = variances[a : a + m]
                column = columns[a : a + m]
                if same:
                    for j in range(m):
                        d = place[j] - here
                        h = height - other_height[j]
                        exponents[j] = max(d * d * inverse - sharpness * (h * h), _SMALLEST)
                        terms[j] = scale * other_weight[j]
                else:
                    for j in range(m):
                        d = place[j] - here
                        h = height - other_height[j]
                        variance = width + other_width[j]
                        d *= d
                        exponents[j] = max(-0.5 * d / variance - sharpness * (h * h), _SMALLEST)
                        terms[j] = weight * other_weight[j] / np.sqrt(variance) if d <= widest * variance else 0.0
                for j in range(m):
                    x = exponents[j]
                    k = x * _PER_LOG2 + _TO_INTEGER
                    powers[j] = k
                    k -= _TO_INTEGER
                    r = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
                    e = r * (1 / 6227020800) + 1 / 479001600
                    e = ((e * r + 1 / 39916800) * r + 1 / 3628800) * r + 1 / 362880
                    e = ((e * r + 1 / 40320) * r + 1 / 5040) * r + 1 / 720
                    e = ((e * r + 1 / 120) * r + 1 / 24) * r + 1 / 6
                    terms[j] *= ((e * r + 0.5) * r + 1.0) * r + 1.0
                for j in range(m):
                    bits[j] = (bits[j] << 52) + _ONE
                for j in range(m):
                    if column[j] <= end:
                        row[column[j]] += terms[j] * powers[j]


def _add_own(
    u: Any, v: Any, w: Any, I: Any, starts: Any, lengths: Any, widest: Any, sharpness: Any, out: Any  # noqa: E741
) -> None:  # fmt: skip
    """Write `near_pairs_diag` to `out`; compiled by Numba."""
    for i in range(len(out)):
        stop = starts[i] + lengths[i]
        largest = 0.0
        for p in range(starts[i], stop):
            largest = max(largest, v[p])
        total = 0.0
        for p in range(starts[i], stop):
            total += w[p] * w[p] / np.sqrt(2.0 * v[p])
            far = np.sqrt(widest * (v[p] + largest))
            for q in range(p + 1, stop):
                d = u[q] - u[p]
                if d > far:
                    break
                variance = v[p] + v[q]
                d *= d
                if d > widest * variance:
                    continue
                h = I[p] - I[q]
                total += 2.0 * w[p] * w[q] * np.exp(-0.5 * d / variance - sharpness * h * h) / np.sqrt(variance)
        out[i] = total


def _add_rows_in_chunks(
    left: PeakTable, others: Any, reach: np.ndarray, cutoff: float, sharpness: float, K: np.ndarray
) -> None:
    """`near_pairs_sums` in NumPy: peak p with the others low[p] … high[p], in chunks of pairs."""
    places, variances, weights, heights, columns = others
    owner = np.repeat(np.arange(len(left.lengths)), left.lengths)
    low = np.searchsorted(places, left.place - reach)
    high = np.searchsorted(places, left.place + reach, side="right")
    counts = np.maximum(high - low, 0)
    shared = _one_width(left, variances)
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _CHUNK, side="right")))
        n_pairs = counts[start:stop]
        p = np.repeat(np.arange(start, stop), n_pairs)
        q = np.arange(len(p)) + np.repeat(low[start:stop] - (ends[start:stop] - n_pairs - done), n_pairs)
        variance: Any = 2 * variances[0]
        if not shared:
            variance = left.variance[p] + variances[q]
        squares = np.square(left.place[p] - places[q])
        exponents = squares * (-0.5 / variance)
        if sharpness:
            exponents -= sharpness * np.square(left.intensity[p] - heights[q])
        terms = np.exp(exponents) * left.weight[p] * weights[q] / np.sqrt(variance)
        terms[squares > (cutoff * cutoff / 2) * variance] = 0.0
        if len(p):
            first = owner[p[0]]
            last = owner[p[-1]] + 1
            m = K.shape[1]
            cells = (owner[p] - first) * m + columns[q]
            K[first:last] += np.bincount(cells, terms, (last - first) * m).reshape(last - first, m)
        start = stop
