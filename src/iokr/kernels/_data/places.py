"""Peaks of many spectra at places on a line, and the sums over near pairs that kernels on spectra are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from iokr._system.compile import compiled

__all__ = ["PeakTable", "Places", "near_pairs_diag", "near_pairs_sums"]

_CHUNK = 1 << 17  # pairs of peaks at a time without a compiler: a few arrays of 1 MB
_PIECE = 256  # pairs whose exponentials are taken together: they stay in the first cache
_SMALLEST = -708.0  # e^x is a normal number down to here
_PER_LOG2, _LOG2_HIGH, _LOG2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
_TO_INTEGER = 6755399441055744.0  # 1.5 · 2^52
_ONE = 1023 << 52  # the bits of 1.0


@dataclass(eq=False)
class PeakTable:
    """The peaks of n spectra, end to end, ascending in place inside each."""

    place: np.ndarray  # u_p
    variance: np.ndarray  # s_p²
    weight: np.ndarray  # w_p, 1 in sum for each spectrum
    intensity: np.ndarray  # I_p
    lengths: np.ndarray  # peaks of each spectrum

    @cached_property
    def starts(self) -> np.ndarray:
        """Where each spectrum begins."""
        starts: np.ndarray = np.cumsum(self.lengths) - self.lengths
        return starts

    @cached_property
    def by_place(self) -> tuple[np.ndarray, ...]:
        """(place, variance, weight, intensity, spectrum) of all peaks, ascending in place."""
        order = np.argsort(self.place, kind="stable")
        owner = np.repeat(np.arange(len(self.lengths), dtype=np.intp), self.lengths)
        return tuple(a[order] for a in (self.place, self.variance, self.weight, self.intensity, owner))

    @cached_property
    def largest(self) -> tuple[np.ndarray, np.ndarray]:
        """The largest variance at or below each place, and at or above it."""
        variance = self.by_place[1]
        above = np.maximum.accumulate(variance[::-1])[::-1]
        return np.maximum.accumulate(variance), above


class Places:
    """Some spectra of a table, sliced without copies."""

    def __init__(self, table: PeakTable, rows: np.ndarray) -> None:
        self.table, self.rows = table, rows

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
        left, right = self.gathered(), other.gathered()
        names = ("place", "variance", "weight", "intensity", "lengths")
        both = [np.concatenate([getattr(left, name), getattr(right, name)]) for name in names]
        return Places(PeakTable(*both), np.arange(len(self) + len(other)))

    def gathered(self) -> PeakTable:
        """The peaks of these spectra alone."""
        lengths = self.table.lengths[self.rows]
        first = np.cumsum(lengths) - lengths
        index = np.arange(lengths.sum()) + np.repeat(self.table.starts[self.rows] - first, lengths)
        t = self.table
        return PeakTable(t.place[index], t.variance[index], t.weight[index], t.intensity[index], lengths)

    def sorted(self) -> tuple[np.ndarray, ...]:
        """(place, variance, weight, intensity, which of these spectra) of their peaks, ascending in place."""
        n = len(self.table.lengths)
        if len(self) == n and np.array_equal(self.rows, np.arange(n)):
            return self.table.by_place
        number = np.full(n, -1, dtype=np.intp)
        number[self.rows] = np.arange(len(self))
        if np.count_nonzero(number >= 0) < len(self):  # some spectra twice
            return self.gathered().by_place
        *arrays, owner = self.table.by_place
        column = number[owner]
        kept = np.flatnonzero(column >= 0)
        return (*(a[kept] for a in arrays), column[kept])


def near_pairs_sums(R: Places, S: Places, cutoff: float, sharpness: float) -> np.ndarray:
    """K_ij = Σ_p Σ_q w_p w_q exp(−Δu²/(2v) − b ΔI²)/√v over the peaks p of i and q of j, v = s_p² + s_q².

    Pairs with |Δu| > c √(v/2) are left out. Rows are those of R, columns those of S, b the `sharpness`. The peaks of S
    are sorted by place; a peak of R finds its window there by bisection and adds to one row of K, which stays in the
    cache. Where the spectra of R are the last of S, as in the panels of a symmetric matrix, what lies above its
    diagonal is copied.
    """
    n, m = len(R), len(S)
    K = np.zeros((n, m))
    if n == 0 or m == 0:
        return K
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
    """K_ii of the sums above."""
    table = R.gathered()
    out = np.zeros(len(R))
    if not len(table.place):
        return out
    loop = compiled(_add_own)
    if loop is not None:
        arrays = (table.place, table.variance, table.weight, table.intensity, table.starts, table.lengths)
        loop(*arrays, cutoff * cutoff / 2, sharpness, out)
        return out
    owner = np.repeat(np.arange(len(R)), table.lengths)
    step = 4 * (np.ptp(table.place) + cutoff * np.sqrt(table.variance.max()) + 1.0)
    shifted = table.place + owner * step  # windows in these places hold peaks of the same spectrum alone
    wide = cutoff * np.sqrt(table.variance.max()) * (1 + 1e-6) + 1e-9 * shifted.max()
    low = np.searchsorted(shifted, shifted - wide)
    high = np.searchsorted(shifted, shifted + wide, side="right")
    others = (table.place, table.variance, table.weight, table.intensity, np.zeros(len(owner), dtype=np.intp))
    _pairs_in_chunks(table, others, owner, low, high, cutoff, sharpness, out[:, None])
    return out


def _reach(left: PeakTable, other: PeakTable, cutoff: float) -> np.ndarray:
    """A distance beyond which no peak of the other table is near: c √(v/2) for the largest s_q² that may be met."""
    place, variance = other.by_place[:2]
    below, above = other.largest
    reach = cutoff * np.sqrt((left.variance + variance.max()) / 2)
    if below[0] == variance.max() == above[-1]:  # one width
        return np.asarray(reach * (1 + 1e-12))
    high = np.searchsorted(place, left.place + reach, side="right") - 1
    low = np.searchsorted(place, left.place - reach)
    met = np.minimum(below[np.clip(high, 0, None)], above[np.clip(low, None, len(place) - 1)])
    # one rounding more than the test of each pair, which decides
    reach = cutoff * np.sqrt((left.variance + met) / 2) * (1 + 1e-12)
    return np.asarray(reach, dtype=np.float64)


def _one_width(left: PeakTable, variances: np.ndarray) -> bool:
    """Whether all peaks have the same s."""
    largest = max(left.variance.max(initial=0.0), variances.max(initial=0.0))
    return bool(min(left.variance.min(initial=np.inf), variances.min(initial=np.inf)) == largest)


def _add_rows(
    u: Any, v: Any, w: Any, I: Any, starts: Any, lengths: Any, reach: Any,  # noqa: E741
    places: Any, variances: Any, weights: Any, heights: Any, columns: Any,
    last: Any, widest: Any, sharpness: Any, same: Any, K: Any,
) -> None:  # fmt: skip
    """`near_pairs_sums` into K, which is zero, up to the column last[i] of row i; Numba compiles it.

    A window is taken in pieces of 256 peaks. The loops over a piece have no branch and no call, so that they become
    vector instructions: e^x = 2^k e^r with k = round(x/log 2) and the series of e^r, |r| ≤ log(2)/2, to degree 13,
    whose error is below a rounding; x below −708, where e^x is no normal number, counts as −708. Adding 1.5 · 2^52
    rounds to an integer, which then stands in the last bits: the next loop moves it to the exponent, the last adds.
    """
    n_others = len(places)
    exponents, terms, powers = np.empty(_PIECE), np.empty(_PIECE), np.empty(_PIECE)
    bits = powers.view(np.int64)
    for i in range(K.shape[0]):
        row, end, low = K[i], last[i], 0
        for p in range(starts[i], starts[i] + lengths[i]):
            here, width, height, weight, far = u[p], v[p], I[p], w[p], reach[p]
            if same:  # one width for all: what depends on it is known
                far = min(far, np.sqrt(widest * (width + variances[0])))
            top = n_others
            while low < top:
                middle = (low + top) // 2
                if places[middle] - here < -far:
                    low = middle + 1
                else:
                    top = middle
            high, top = low, n_others
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
                place, shape, size = places[a : a + m], heights[a : a + m], weights[a : a + m]
                spread, column = variances[a : a + m], columns[a : a + m]
                if same:
                    for j in range(m):
                        d, h = place[j] - here, height - shape[j]
                        exponents[j] = max(d * d * inverse - sharpness * (h * h), _SMALLEST)
                        terms[j] = scale * size[j]
                else:
                    for j in range(m):
                        d, h, variance = place[j] - here, height - shape[j], width + spread[j]
                        d *= d
                        exponents[j] = max(-0.5 * d / variance - sharpness * (h * h), _SMALLEST)
                        terms[j] = weight * size[j] / np.sqrt(variance) if d <= widest * variance else 0.0
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
    """`near_pairs_diag` into `out`; Numba compiles it."""
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
    """`near_pairs_sums` in NumPy."""
    low = np.searchsorted(others[0], left.place - reach)
    high = np.searchsorted(others[0], left.place + reach, side="right")
    owner = np.repeat(np.arange(len(left.lengths)), left.lengths)
    _pairs_in_chunks(left, others, owner, low, high, cutoff, sharpness, K)


def _pairs_in_chunks(
    left: PeakTable, others: Any, owner: Any, low: Any, high: Any, cutoff: float, sharpness: float, K: np.ndarray
) -> None:
    """Peak p with the others low[p] … high[p], into row owner[p] of K, some thousand pairs at a time."""
    places, variances, weights, heights, columns = others
    counts = np.maximum(high - low, 0)
    ends = np.cumsum(counts)
    shared = _one_width(left, variances)
    start = 0
    while start < len(counts):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _CHUNK, side="right")))
        some = counts[start:stop]
        mine = np.repeat(np.arange(start, stop), some)
        its = np.arange(len(mine)) + np.repeat(low[start:stop] - (ends[start:stop] - some - done), some)
        d = left.place[mine]
        d -= places[its]
        d *= d
        if shared:
            variance: Any = 2 * variances[0]
        else:
            variance = left.variance[mine] + variances[its]
        inside = d <= (cutoff * cutoff / 2) * variance
        if not inside.all():
            mine, its, d = mine[inside], its[inside], d[inside]
            variance = variance if shared else variance[inside]
        d *= -0.5 / variance
        if sharpness:
            h = left.intensity[mine]
            h -= heights[its]
            h *= h
            h *= sharpness
            d -= h
        np.exp(d, out=d)
        d *= left.weight[mine]
        d *= weights[its]
        d /= np.sqrt(variance)
        if len(mine):
            first, final = owner[mine[0]], owner[mine[-1]] + 1
            m = K.shape[1]
            cells = (owner[mine] - first) * m + columns[its]
            K[first:final] += np.bincount(cells, d, (final - first) * m).reshape(final - first, m)
        start = stop
