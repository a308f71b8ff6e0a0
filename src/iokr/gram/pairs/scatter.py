"""Coefficients of pairs of nodes scattered into an m × m matrix."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from iokr._array import Array, array_namespace, asarray_like, take_rows

__all__ = ["Scatter"]


class Scatter:
    """c ↦ S (m, m): c_q/2 at both orders of q = {c, d}, c_q once for a self-pair and for points in order.

    S by rows: where rows begin, columns, from which coefficient, and its factor 1 or ½.
    """

    def __init__(self, pairs: np.ndarray, m: int, *, ordered: bool) -> None:
        c, d = pairs.T
        q = np.arange(len(c))
        rows, columns, source, factor = c, d, q, np.ones(len(q))
        if not ordered:
            two = c != d
            rows, columns = np.concatenate([c, d[two]]), np.concatenate([d, c[two]])
            source = np.concatenate([q, q[two]])
            factor = np.where(np.concatenate([two, two[two]]), 0.5, 1.0)
        order = np.lexsort((columns, rows))
        self.m, self.indptr = m, np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=m))])
        self.indices, self.source, self.factor = columns[order], source[order], factor[order]

    def __call__(self, c: np.ndarray) -> csr_array:
        return csr_array((c[self.source] * self.factor, self.indices, self.indptr), shape=(self.m, self.m))

    def dense(self, c: Array) -> Array | None:
        """S whole, in any array library; None where a pair is there twice."""
        m, n = self.m, len(self.source)
        where = np.repeat(np.arange(m), np.diff(self.indptr)) * m + self.indices
        if np.any(np.diff(where) == 0):
            return None
        position = np.full(m * m, n)
        position[where] = np.arange(n)
        xp, values = array_namespace(c), take_rows(c, self.source) * asarray_like(self.factor, c)
        return xp.reshape(take_rows(xp.concat([values, values[:1] * 0.0]), position), (m, m))
