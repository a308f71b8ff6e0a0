"""Sums over observed pairs of nodes: T = S K for a sparse S, and entries of K T; compiled by Numba where it is there.

Rows of K and of Tᵀ are read as they lie in memory; both routes give the same numbers up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from iokr._array import blocks

__all__ = ["compiled", "has_compiler", "row_dots", "scatter_rows"]

_ROWS = 2048  # of one factor gathered at a time without a compiler


@cache
def compiled(loop: Callable[..., Any]) -> Callable[..., Any] | None:
    """`loop` in machine code that may reorder sums, or None without Numba (the `fast` extra)."""
    try:
        from numba import njit
    except ImportError:
        return None
    machine_code: Callable[..., Any] = njit(cache=True, nogil=True, fastmath=True)(loop)
    return machine_code


def has_compiler() -> bool:
    """Whether loops are compiled."""
    return compiled(_dots) is not None


def scatter_rows(S: csr_array, K: np.ndarray) -> np.ndarray:
    """S K, a dense array: row c is Σ_d S_cd K_d."""
    loop = compiled(_scatter)
    if loop is None:
        return np.asarray(S @ K)
    T = np.empty((S.shape[0], K.shape[1]))
    loop(S.indptr, S.indices, S.data, K, T)
    return T


def row_dots(A: np.ndarray, B: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """⟨A_a, B_b⟩ for every listed pair of rows; quick when `a` is sorted."""
    out = np.empty(len(a))
    loop = compiled(_dots)
    if loop is not None:
        loop(A, B, a, b, out)
        return out
    # Rows of B for a few rows of A at a time: one product gives all their pairings, of which the listed ones are kept.
    starts = np.concatenate([[0], np.flatnonzero(np.diff(a)) + 1, [len(a)]])
    few = 4 if A.shape[1] > 200 else 16
    group = np.repeat(np.arange(len(starts) - 1) % few, np.diff(starts))
    for first in range(0, len(starts) - 1, few):
        last = min(first + few, len(starts) - 1)
        left = A[a[starts[first:last]]].T
        for rows in blocks(int(starts[last] - starts[first]), _ROWS):
            here = slice(int(starts[first]) + rows.start, int(starts[first]) + rows.stop)
            products = B[b[here]] @ left
            out[here] = products[np.arange(len(products)), group[here]]
    return out


def _scatter(indptr: Any, indices: Any, data: Any, K: Any, T: Any) -> None:
    """Row by row, four rows of K at a time: T is written a quarter as often."""
    m = K.shape[1]
    for c in range(len(indptr) - 1):
        for j in range(m):
            T[c, j] = 0.0
        t = indptr[c]
        while t + 4 <= indptr[c + 1]:
            d0, d1, d2, d3 = indices[t], indices[t + 1], indices[t + 2], indices[t + 3]
            v0, v1, v2, v3 = data[t], data[t + 1], data[t + 2], data[t + 3]
            for j in range(m):
                T[c, j] += (v0 * K[d0, j] + v1 * K[d1, j]) + (v2 * K[d2, j] + v3 * K[d3, j])
            t += 4
        while t < indptr[c + 1]:
            d0, v0 = indices[t], data[t]
            for j in range(m):
                T[c, j] += v0 * K[d0, j]
            t += 1


def _dots(A: Any, B: Any, a: Any, b: Any, out: Any) -> None:
    """Inner products, four at a time where four pairs in a row share `a`."""
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
