"""Where pairs of nodes stand in m × m matrices: coefficients scattered into S, and what is read from T = S K."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.sparse import csr_array

from iokr._array import Array, array_namespace, asarray_like, take_rows
from iokr.gram.pairs.loops import Reads

__all__ = ["Scatter", "reads"]


@dataclass(frozen=True, eq=False)
class Scatter:
    """c ↦ S (m, m): c_q/2 at both orders of q = {c, d}, c_q once for a self-pair and for points in order.

    S by rows: where rows begin, columns, from which coefficient, and its factor 1 or ½.
    """

    indptr: np.ndarray
    indices: np.ndarray
    source: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, pairs: np.ndarray, m: int, *, ordered: bool) -> Self:
        """For these pairs of m nodes."""
        c, d = pairs.T
        q = np.arange(len(c))
        rows, columns, source, factor = c, d, q, np.ones(len(q))
        if not ordered:
            two = c != d
            rows, columns = np.concatenate([c, d[two]]), np.concatenate([d, c[two]])
            source = np.concatenate([q, q[two]])
            factor = np.where(np.concatenate([two, two[two]]), 0.5, 1.0)
        order = np.lexsort((columns, rows))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=m))])
        return cls(indptr, columns[order], source[order], factor[order])

    def __call__(self, c: np.ndarray) -> csr_array:
        m = len(self.indptr) - 1
        return csr_array((c[self.source] * self.factor, self.indices, self.indptr), shape=(m, m))

    def dense(self, c: Array) -> Array | None:
        """S whole, in any array library; None where a pair is there twice."""
        m, n = len(self.indptr) - 1, len(self.source)
        where = np.repeat(np.arange(m), np.diff(self.indptr)) * m + self.indices
        if np.any(np.diff(where) == 0):
            return None
        position = np.full(m * m, n)
        position[where] = np.arange(n)
        xp, values = array_namespace(c), take_rows(c, self.source) * asarray_like(self.factor, c)
        return xp.reshape(take_rows(xp.concat([values, values[:1] * 0.0]), position), (m, m))


def reads(pairs: np.ndarray, same: np.ndarray, mix: float, *, ordered: bool) -> Reads:
    """What is read from columns b of T: rows of K (−1: none), entries for 1{·} (likewise), b, the pair; by b."""
    (a, b), pair, none = pairs.T, np.arange(len(pairs)), np.full(len(pairs), -1)
    parts = [(a if mix < 1 else none, same[a] if mix > 0 else none, b, pair)]
    if mix > 0 and not ordered:
        parts.append((none, same[b], a, pair))
    row, entry, column, pair = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((row, column))
    return row[order], entry[order], column[order], pair[order]
