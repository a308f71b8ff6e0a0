"""A kernel on strings by their common subsequences."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, blocks
from iokr._component import Limits, component
from iokr._system.compile import compiled
from iokr._validation.arguments import COUNT, DECAY
from iokr.data.objects import Parts
from iokr.data.ragged import LANES, Ragged, pair_tiles, side_by_side
from iokr.kernels._data.counts import Counts, Vocabulary, inner, sq_norms
from iokr.kernels._data.gapped import word_products, words_pay
from iokr.kernels.base import Kernel
from iokr.kernels.structured.strings import letters, name_words

__all__ = ["Subsequence"]

_OCCURRENCES = 1 << 10  # largest number of occurrences of words in a string that are listed
_STRINGS = 1 << 10  # strings whose occurrences are listed at a time
_NUMPY = 40.0  # entries of a product that take the time of a step of the recursion in NumPy
_COMPILED = 7.0  # the same for the compiled recursion
_RANGE = 600.0  # largest logarithm of numbers that are computed without rescaling


@component
class Subsequence(Kernel):
    """k(x, z) = Σ_u φ_u(x) φ_u(z), φ_u(x) = Σ over occurrences of u in x of decay^(letters from its first to its last).

    u runs over all words of n letters, as subsequences of x: with gaps, whose letters count in the exponent. By

        A_1 = decay² M,   A_i[p, q] = M[p, q] Σ_{p' < p, q' < q} decay^(p − p' + q − q') A_{i−1}[p', q']

    with M[p, q] = 1{x_p = z_q}, k = Σ_pq A_n[p, q]: n |x| |z| steps for a pair, compiled with the `fast` extra, else
    in NumPy for many pairs at once. φ itself is used where it costs less. For short strings, with at most 1024
    occurrences of words and no more than those steps (16 letters for n = 3), φ is listed, and a block is a product of
    sparse rows. For small alphabets, with up to about 7 n |x| |z| words (50 letters for n = 3 and strings of 75; 90 in
    NumPy), φ is summed over all words, and a block is a product of dense rows. A string of fewer than n letters has
    ψ(x) = 0. Values fall as decay^(2n): wrap in `Normalized`.

    Parameters
    ----------
    n : int, default=2
        Letters of the words u.
    decay : float, default=0.5
        In (0, 1]; smaller penalises gaps more, 1 not at all.

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
    panel = 16 * LANES
    limits: ClassVar[Limits] = {"n": COUNT, "decay": DECAY}

    def represent(self, X: Any) -> Parts:
        """The letters, and φ of short strings."""
        strings = letters(X)
        listed = [self._words(strings[rows]) for rows in blocks(max(len(strings), 1), _STRINGS)]
        return Parts(strings, reduce(Counts.concat, listed))

    def block(self, R: Parts, S: Parts) -> Array:
        x, x_words = R
        z, z_words = S
        x_long = np.flatnonzero(~self._short(x))
        z_long = np.flatnonzero(~self._short(z))
        if len(x_long) == len(x) or len(z_long) == len(z):
            return self._compared(x, z)
        K = inner(x_words, z_words)
        if len(x_long):
            K[x_long] = self._compared(x[x_long], z)
        if len(z_long):
            x_short = np.flatnonzero(self._short(x))
            K[np.ix_(x_short, z_long)] = self._compared(x[x_short], z[z_long])
        return K

    def diag(self, R: Parts) -> Array:
        strings, words = R
        k = sq_norms(words)
        rest = strings[~self._short(strings)]
        k[~self._short(strings)] = pair_tiles(rest, rest, self._compare, paired=True)[:, 0]
        return k

    def _short(self, strings: Ragged) -> np.ndarray:
        """Whether the words of a string are listed, by its length."""
        sizes, owners = np.unique(strings.lengths, return_inverse=True)
        few = [comb(size, self.n) <= min(_OCCURRENCES, self.n * size * size) for size in sizes.tolist()]
        return np.array(few, dtype=bool)[owners]

    def _words(self, strings: Ragged) -> Counts:
        """φ_u(x) of short strings, from the occurrences of words in all of one length at once; 0 for the others."""
        n = self.n
        rows = [np.empty(0, dtype=np.intp)]
        grams = [np.empty((0, n), dtype=np.int64)]
        values = [np.empty(0)]
        for size in np.unique(strings.lengths[self._short(strings)]).tolist():
            positions = np.array([*combinations(range(size), n)], dtype=np.intp).reshape(-1, n)
            mine = np.flatnonzero(strings.lengths == size)
            rows.append(np.repeat(mine, len(positions)))
            grams.append(strings.values[strings.starts[mine, None, None] + positions].reshape(-1, n))
            extents = positions[:, -1] - positions[:, 0] + 1
            values.append(np.tile(float(self.decay) ** extents, len(mine)))
        names, words = name_words(np.concatenate(grams))
        found = np.concatenate(values)
        return Counts.of(np.concatenate(rows), names, len(strings), Vocabulary.of(words), values=found)

    def _compared(self, R: Ragged, S: Ragged) -> np.ndarray:
        """k(x_i, z_j) by products of features or by the recursion, whichever is faster."""
        entries = _NUMPY if compiled(_subsequence) is None else _COMPILED
        if words_pay(R, S, self.n, entries):
            return word_products(R, S, self.n, float(self.decay))
        return self._recursion(R, S)

    def _recursion(self, R: Ragged, S: Ragged) -> np.ndarray:
        """k(x_i, z_j) through A_1, …, A_n."""
        loop = compiled(_subsequence)
        if loop is None:
            return pair_tiles(R, S, self._compare)
        order, lanes, groups = side_by_side(S, -1)
        in_order = np.empty((len(R), len(S)))
        loop(R.values, R.starts, R.lengths, lanes, groups, self.n, float(self.decay), in_order)
        K = np.empty((len(R), len(S)))
        K[:, order] = in_order
        return K

    def _compare(self, X: Ragged, Z: Ragged) -> np.ndarray:
        """k(x_i, z_i) of all pairs at once, by arrays of shape (|x|, |z|, pairs).

        The sums of A_i[p, q] / decay^(p + q) have no weights; they are used where these numbers are in the range of
        floats (`fade` = 1).
        """
        x = X.padded(-1).T
        z = Z.padded(-2).T
        decay = float(self.decay)
        fade = 1.0 if -np.log(decay) * (len(x) + len(z)) < _RANGE else decay
        rows = (decay / fade) ** np.arange(float(len(x)))
        columns = (decay / fade) ** np.arange(float(len(z)))
        M = (x[:, None] == z[None]).astype(np.float64)
        A = M / rows[:, None, None]
        A /= columns[:, None]
        B = np.zeros_like(M)
        for _ in range(self.n - 1):
            _add_before(A, fade)
            _add_before(A.swapaxes(0, 1), fade)
            np.multiply(A[:-1, :-1], M[1:, 1:], out=B[1:, 1:])
            B[0] = 0.0
            B[:, 0] = 0.0
            A, B = B, A
        total = np.einsum("pqi,p,q->i", A, rows, columns, optimize=True)
        return np.asarray(decay**2 * fade ** (2 * self.n - 2) * total)


def _add_before(A: np.ndarray, fade: float) -> None:
    """A[p] ← Σ_{p' ≤ p} fade^(p − p') A[p']."""
    for p in range(1, len(A)):
        A[p] += A[p - 1] if fade == 1.0 else fade * A[p - 1]


def _subsequence(x: Any, starts: Any, lengths: Any, z: Any, groups: Any, n: Any, decay: Any, K: Any) -> None:
    """K[i, j] = k(x_i, z_j) for z in lanes; Numba compiles it.

    At row p, G[i, q] is Σ_{p' < p, q' < q} decay^(p − p' + q − q') A_{i+1}[p', q'].
    """
    longest = 1
    for g in range(len(groups)):
        longest = max(longest, groups[g])
    G = np.empty((max(n - 1, 1), longest, LANES))
    before = np.empty((max(n - 1, 1), LANES))
    same = np.empty(LANES)
    total = np.empty(LANES)
    square = decay * decay
    for i in range(len(lengths)):
        offset = 0
        for g in range(len(groups)):
            G[:] = 0.0
            total[:] = 0.0
            for p in range(starts[i], starts[i] + lengths[i]):
                before[:] = 0.0
                for q in range(groups[g]):
                    for w in range(LANES):
                        same[w] = 1.0 if z[offset + q, w] == x[p] else 0.0
                    for w in range(LANES):
                        total[w] += same[w] * (square if n == 1 else G[n - 2, q, w])
                    for level in range(n - 2, 0, -1):  # from the longest: G[level − 1] is still that of row p
                        for w in range(LANES):
                            new = same[w] * G[level - 1, q, w]
                            old = before[level, w]
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
