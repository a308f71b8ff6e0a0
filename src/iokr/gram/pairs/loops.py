"""Sums over observed pairs of nodes: T = S K for a sparse S, and entries of K T; compiled if Numba is installed.

Rows of K and of Tᵀ are contiguous in memory; both routes return the same numbers up to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from iokr._array import blocks
from iokr._system.compile import compiled

__all__ = ["Reads", "fused_product", "has_compiler", "row_dots", "scatter_rows"]

_ROWS, _FEW, _NARROW = 2048, 4, 200  # rows of both factors gathered at a time without a compiler, and their length
_PANEL, _STRIP = 512, 128  # columns of K at a time in the compiled scatter, and of T = S K if it is not stored

Reads = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # rows of K, entries, columns of T, pairs


def has_compiler() -> bool:
    """Whether loops are compiled."""
    return compiled(_dots, reorder=True) is not None


def scatter_rows(S: csr_array, K: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """S K, a dense array: row c is Σ_d S_cd K_d; compiled, into `out` if given."""
    loop = compiled(_scatter, reorder=True)
    if loop is None:
        return np.asarray(S @ K)
    T = np.empty((S.shape[0], K.shape[1])) if out is None else out
    loop(S.indptr, S.indices, S.data, K, T)
    return T


def row_dots(A: np.ndarray, B: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """⟨A_a, B_b⟩ for every listed pair of rows; quick when `a` is sorted."""
    out = np.empty(len(a))
    loop = compiled(_dots, reorder=True)
    if loop is not None:
        loop(A, B, a, b, out)
        return out
    if A.shape[1] <= _NARROW:
        for rows in blocks(len(a), _ROWS):
            out[rows] = np.einsum("ij,ij->i", A.take(a[rows], axis=0), B.take(b[rows], axis=0))
        return out
    # Rows of B for a few rows of A at a time: one product of all their pairings, of which the listed ones are used.
    starts = np.concatenate([[0], np.flatnonzero(np.diff(a)) + 1, [len(a)]])
    group = np.repeat(np.arange(len(starts) - 1) % _FEW, np.diff(starts))
    for first in range(0, len(starts) - 1, _FEW):
        last = min(first + _FEW, len(starts) - 1)
        left = A[a[starts[first:last]]].T
        for rows in blocks(int(starts[last] - starts[first]), _ROWS):
            here = slice(int(starts[first]) + rows.start, int(starts[first]) + rows.stop)
            products = B[b[here]] @ left
            out[here] = products[np.arange(len(products)), group[here]]
    return out


def fused_product(
    S: csr_array, columns: np.ndarray, K: np.ndarray, reads: Reads, scale: float, identity: float, n: int
) -> np.ndarray:
    """Σ over the reads of a pair of scale ⟨K_row, T_column⟩ + identity T_entry,column, T = S columns; needs a compiler.

    T is computed for a strip of columns at a time, in the cache; reads are sorted by column.
    """
    loop = compiled(_fused, reorder=True)
    assert loop is not None
    m, out = columns.shape[1], np.zeros(n)
    starts = np.searchsorted(reads[2], np.arange(0, m + _STRIP, _STRIP))
    sparse, strip = (S.indptr, S.indices, S.data), np.empty((_STRIP, S.shape[0]))
    loop(sparse, columns, K, reads, starts, scale, identity, strip, out)
    return out


def _scatter(indptr: Any, indices: Any, data: Any, K: Any, T: Any) -> None:
    """By rows within a panel of columns that fits the cache, eight rows of K at a time."""
    m = K.shape[1]
    for first in range(0, m, _PANEL):
        columns = slice(first, min(first + _PANEL, m))
        for c in range(len(indptr) - 1):
            out, t, end = T[c, columns], indptr[c], indptr[c + 1]
            for j in range(len(out)):
                out[j] = 0.0
            while t + 8 <= end:
                v0, v1, v2, v3 = data[t], data[t + 1], data[t + 2], data[t + 3]
                v4, v5, v6, v7 = data[t + 4], data[t + 5], data[t + 6], data[t + 7]
                k0, k1 = K[indices[t], columns], K[indices[t + 1], columns]
                k2, k3 = K[indices[t + 2], columns], K[indices[t + 3], columns]
                k4, k5 = K[indices[t + 4], columns], K[indices[t + 5], columns]
                k6, k7 = K[indices[t + 6], columns], K[indices[t + 7], columns]
                for j in range(len(out)):
                    one = (v0 * k0[j] + v1 * k1[j]) + (v2 * k2[j] + v3 * k3[j])
                    out[j] += one + ((v4 * k4[j] + v5 * k5[j]) + (v6 * k6[j] + v7 * k7[j]))
                t += 8
            while t < end:
                v0, k0 = data[t], K[indices[t], columns]
                for j in range(len(out)):
                    out[j] += v0 * k0[j]
                t += 1


def _dots(A: Any, B: Any, a: Any, b: Any, out: Any) -> None:
    """Inner products, four at a time if four consecutive pairs share `a`."""
    m, p = A.shape[1], 0
    while p < len(a):
        i = a[p]
        if p + 4 <= len(a) and a[p + 1] == i and a[p + 2] == i and a[p + 3] == i:
            j0, j1, j2, j3 = b[p], b[p + 1], b[p + 2], b[p + 3]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            for k in range(m):
                x = A[i, k]
                s0 += x * B[j0, k]
                s1 += x * B[j1, k]
                s2 += x * B[j2, k]
                s3 += x * B[j3, k]
            out[p], out[p + 1], out[p + 2], out[p + 3] = s0, s1, s2, s3
            p += 4
        else:
            j0, s0 = b[p], 0.0
            for k in range(m):
                s0 += A[i, k] * B[j0, k]
            out[p] = s0
            p += 1


def _fused(
    S: Any, columns: Any, K: Any, reads: Any, starts: Any, scale: float, identity: float, strip: Any, out: Any
) -> None:
    """A strip of Tᵀ by sums of rows of K, then all reads from it."""
    (indptr, indices, data), (row, entry, column, pair) = S, reads
    width, m = strip.shape
    sums = np.empty(width)
    for number in range(len(starts) - 1):
        first = number * width
        here = slice(first, min(first + width, columns.shape[1]))
        w = here.stop - here.start
        for c in range(m):
            t, end = indptr[c], indptr[c + 1]
            for j in range(w):
                sums[j] = 0.0
            while t + 4 <= end:
                v0, v1, v2, v3 = data[t], data[t + 1], data[t + 2], data[t + 3]
                k0, k1 = columns[indices[t], here], columns[indices[t + 1], here]
                k2, k3 = columns[indices[t + 2], here], columns[indices[t + 3], here]
                for j in range(w):
                    sums[j] += (v0 * k0[j] + v1 * k1[j]) + (v2 * k2[j] + v3 * k3[j])
                t += 4
            while t < end:
                v0, k0 = data[t], columns[indices[t], here]
                for j in range(w):
                    sums[j] += v0 * k0[j]
                t += 1
            for j in range(w):
                strip[j, c] = sums[j]
        q, last = starts[number], starts[number + 1]
        while q < last:
            T = strip[column[q] - first]
            if q + 4 <= last and column[q] == column[q + 3] and row[q] >= 0:  # rows are sorted: −1 comes first
                k0, k1, k2, k3 = K[row[q]], K[row[q + 1]], K[row[q + 2]], K[row[q + 3]]
                s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
                for c in range(m):
                    s0 += T[c] * k0[c]
                    s1 += T[c] * k1[c]
                    s2 += T[c] * k2[c]
                    s3 += T[c] * k3[c]
                out[pair[q]] += scale * s0
                out[pair[q + 1]] += scale * s1
                out[pair[q + 2]] += scale * s2
                out[pair[q + 3]] += scale * s3
                done = 4
            else:
                done = 1
                if row[q] >= 0:
                    k0, s0 = K[row[q]], 0.0
                    for c in range(m):
                        s0 += T[c] * k0[c]
                    out[pair[q]] += scale * s0
            for i in range(q, q + done):
                if entry[i] >= 0:
                    out[pair[i]] += identity * T[entry[i]]
            q += done
