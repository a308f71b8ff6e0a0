"""Strings compared by the words that stand in them with gaps."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array
from iokr._component import component
from iokr._validation import check_integer, check_number
from iokr.kernels.base import Kernel
from iokr.kernels.compiled import compiled
from iokr.kernels.ragged import LANES, Ragged, pair_tiles, side_by_side
from iokr.kernels.strings import letters

__all__ = ["Subsequence"]


@component
class Subsequence(Kernel):
    """k(x, z) = Σ_u φ_u(x) φ_u(z), φ_u(x) = Σ over places of u in x of decay^(letters from its first to its last).

    u runs over all words of n letters, which may stand in x with gaps; a gap costs a factor. By

        A_1 = decay² M,   A_i[p, q] = M[p, q] Σ_{p' < p, q' < q} decay^(p − p' + q − q') A_{i−1}[p', q']

    with M[p, q] = 1{x_p = z_q}, k = Σ_pq A_n[p, q]: n |x| |z| steps for a pair, compiled with the `fast` extra, else
    in NumPy over many pairs at once. A string of fewer than n letters has ψ(x) = 0. Values shrink as decay^(2n): wrap
    in `Normalized`.

    Parameters
    ----------
    n : int, default=2
        Letters of the words u.
    decay : float, default=0.5
        In (0, 1]; smaller punishes gaps more, with 1 they are free.

    Examples
    --------
    >>> from iokr.kernels import Subsequence
    >>> Subsequence(2, 0.5)(["cat"], ["cat", "car"])
    array([[0.140625, 0.0625  ]])

    References
    ----------
    Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins, "Text classification using string kernels", JMLR 2002.
    """

    n: int = 2
    decay: float = 0.5

    domain = "strings"

    def fit(self, X: Any) -> Subsequence:
        """Check n and decay."""
        check_integer(self.n, "n", minimum=1)
        if check_number(self.decay, "decay", minimum=0.0, strict=True) > 1:
            raise ValueError(f"`decay` must be a number above 0 and at most 1, got {self.decay!r}.")
        return self

    def represent(self, X: Any) -> Ragged:
        """The letters."""
        self.fit(X)
        return letters(X)

    def block(self, R: Ragged, S: Ragged) -> Array:
        """The (n, m) array of k(x_i, z_j)."""
        loop = compiled(_subsequence)
        if loop is None:
            return pair_tiles(R, S, self._compare)
        order, lanes, groups = side_by_side(S, -1)
        K, sorted_K = np.empty((len(R), len(S))), np.empty((len(R), len(S)))
        loop(R.values, R.starts, R.lengths, lanes, groups, self.n, float(self.decay), sorted_K)
        K[:, order] = sorted_K
        return K

    def diag(self, R: Ragged) -> Array:
        """The (n,) array of k(x_i, x_i)."""
        return pair_tiles(R, R, self._compare, paired=True)[:, 0]

    def _compare(self, X: Ragged, Z: Ragged) -> np.ndarray:
        """k(x_i, z_i), all pairs at once: arrays are (|x|, |z|, pairs)."""
        x, z = X.padded(-1).T, Z.padded(-2).T
        M = (np.ascontiguousarray(x)[:, None] == np.ascontiguousarray(z)[None]).astype(np.float64)
        A = self.decay**2 * M
        C = np.empty_like(A)
        for _ in range(self.n - 1):
            C[:, 0] = 0.0
            for q in range(1, A.shape[1]):  # C[·, q] = Σ_{q' < q} decay^(q − q') A[·, q']
                np.add(C[:, q - 1], A[:, q - 1], out=C[:, q])
                C[:, q] *= self.decay
            A[0] = 0.0
            for p in range(1, A.shape[0]):  # the same over p' < p
                np.add(A[p - 1], C[p - 1], out=A[p])
                A[p] *= self.decay
            A *= M
        k: np.ndarray = A.sum(axis=(0, 1))
        return k


def _subsequence(x: Any, starts: Any, lengths: Any, z: Any, groups: Any, n: Any, decay: Any, K: Any) -> None:
    """K[i, j] = k(x_i, z_j) for z in lanes; Numba compiles it.

    When row p is reached, G[i, q] is Σ_{p' < p, q' < q} decay^(p − p' + q − q') A_{i+1}[p', q'].
    """
    longest = 1
    for g in range(len(groups)):
        longest = max(longest, groups[g])
    G, before = np.empty((max(n - 1, 1), longest, LANES)), np.empty((max(n - 1, 1), LANES))
    same, total = np.empty(LANES), np.empty(LANES)
    square = decay * decay
    for i in range(len(lengths)):
        offset = 0
        for g in range(len(groups)):
            G[:], total[:] = 0.0, 0.0
            for p in range(starts[i], starts[i] + lengths[i]):
                before[:] = 0.0
                for q in range(groups[g]):
                    for w in range(LANES):
                        same[w] = 1.0 if z[offset + q, w] == x[p] else 0.0
                    for w in range(LANES):
                        total[w] += same[w] * (square if n == 1 else G[n - 2, q, w])
                    for level in range(n - 2, 0, -1):  # the longest first: G[level − 1] is still that of row p
                        for w in range(LANES):
                            new, old = same[w] * G[level - 1, q, w], before[level, w]
                            G[level, q, w] = decay * (G[level, q, w] + old)
                            before[level, w] = decay * (old + new)
                    if n > 1:
                        for w in range(LANES):
                            old = before[0, w]
                            G[0, q, w] = decay * (G[0, q, w] + old)
                            before[0, w] = decay * (old + square * same[w])
            for w in range(LANES):
                if g * LANES + w < K.shape[1]:
                    K[i, g * LANES + w] = total[w]
            offset += groups[g]
