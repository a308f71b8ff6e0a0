"""Kernels between pairs of nodes, K ⊗ K on the observed pairs only: products without a matrix of pairs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from iokr._array import Array, array_namespace, asarray_like, is_numpy, matmul, take_rows
from iokr._system.memory import available_memory
from iokr.gram.pairs.loops import Reads, fused_product, has_compiler, row_dots, scatter_rows
from iokr.gram.scalar import ScalarGram

__all__ = ["PairGram", "Scatter"]

_FUSED = 64  # average number of entries in a row of S below which T is not stored
_FEW = 1000  # number of pairs up to which their matrix is always formed
_STEPS = 60  # steps of conjugate gradients in the comparison with a factorisation
# Nanoseconds of one multiplication and addition: in a product of matrices and in a factorisation; along rows and in
# inner products, compiled, then without a compiler, while K fits the cache and beyond.
_GEMM, _ENTRY = 0.04, 8.0  # nanoseconds of an entry of the matrix of pairs
_AXPY, _DOT = (0.12, 0.16), (0.13, 0.22)
_AXPY_PLAIN, _DOT_PLAIN, _CALL = (0.25, 0.7), (0.9, 1.0), 1000.0  # nanoseconds of a call
_CACHE = 1 << 20  # numbers


class PairGram(ScalarGram):
    """c ↦ f, f_p = Σ_q k_P(p, q) c_q = (G S K)_ab + (G S K)_ba for p = {a, b}, G = δI + (1 − δ)K.

    S (m, m) has c_q/2 at both orders of q = {c, d} (c_q once for a self-pair), so that k_P is the mean over orders of
    2[δ1{a=c} + (1 − δ)k(a, c)] k(b, d). With `ordered` pairs are points (a, b), S has c_q once, and f = 2 G S K. A
    product costs about 3nm multiplications for n pairs of m nodes while S is sparse, and two products of m × m matrices
    for many pairs; only `dense` forms n² numbers.

    Parameters
    ----------
    K : array of shape (m, m')
        k between the nodes of the rows and those of the columns.
    left, right : integer arrays of shape (n, 2), (n', 2)
        Pairs of positions in rows (columns) of K; without `right` the matrix is symmetric.
    mix : float
        δ.
    ordered : bool
    same : integer array of shape (m,), optional
        For each node of the rows, its position among those of the columns, or −1.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.gram import PairGram
    >>> G = PairGram(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[0, 1], [1, 1]]))
    >>> G.dense()
    array([[1.25, 1.  ],
           [1.  , 2.  ]])
    >>> G @ np.array([[1.0], [1.0]])
    array([[2.25],
           [3.  ]])
    """

    def __init__(
        self,
        K: Array,
        left: np.ndarray,
        right: np.ndarray | None = None,
        *,
        mix: float = 0.0,
        ordered: bool = False,
        same: np.ndarray | None = None,
    ) -> None:
        self.nodes, self.mix, self.ordered = K, mix, ordered
        self.same = np.arange(K.shape[0]) if same is None else same
        super().__init__(self._entries, left, right, self._pair_diagonal)
        self.left, self.right = left, self._S

    def _entries(self, R: np.ndarray, S: np.ndarray) -> Array:
        """½[G_ac K_bd + G_bd K_ac + G_ad K_bc + G_bc K_ad] for {a, b} and {c, d}; 2 G_ac K_bd for points in order."""
        xp, mix, (a, b), (c, d) = array_namespace(self.nodes), self.mix, R.T, S.T

        def k(x: np.ndarray, z: np.ndarray) -> Array:
            return xp.take(take_rows(self.nodes, x), asarray_like(z, self.nodes), axis=1)

        def g(x: np.ndarray, z: np.ndarray, k_xz: Array) -> Array:
            equal = asarray_like((self.same[x][:, None] == z[None, :]).astype(np.float64), k_xz)
            return mix * equal + (1 - mix) * k_xz

        k_ac, k_bd = k(a, c), k(b, d)
        if self.ordered:
            return 2 * (g(a, c, k_ac) if mix else k_ac) * k_bd
        k_ad, k_bc = k(a, d), k(b, c)
        if mix == 0:
            return k_ac * k_bd + k_ad * k_bc
        straight = g(a, c, k_ac) * k_bd + g(b, d, k_bd) * k_ac
        return (straight + g(a, d, k_ad) * k_bc + g(b, c, k_bc) * k_ad) / 2

    def _pair_diagonal(self, R: np.ndarray) -> Array:
        """k_P(p, p): ½[G_aa K_bb + G_bb K_aa] + G_ab K_ab; 2 G_aa K_bb for points in order."""
        xp, K, mix, (a, b) = array_namespace(self.nodes), self.nodes, self.mix, R.T
        k_aa, k_bb = (take_rows(xp.linalg.diagonal(K), x) for x in (a, b))
        k_ab = take_rows(xp.reshape(K, (-1,)), a * K.shape[1] + b)
        g_aa, g_bb = mix + (1 - mix) * k_aa, mix + (1 - mix) * k_bb
        if self.ordered:
            return 2 * g_aa * k_bb
        g_ab = mix * asarray_like((a == b).astype(np.float64), k_ab) + (1 - mix) * k_ab
        return (g_aa * k_bb + g_bb * k_aa) / 2 + g_ab * k_ab

    def restrict(self, rows: Any) -> PairGram:
        """The Gram of some of the pairs among themselves."""
        return PairGram(self.nodes, self.left[rows], mix=self.mix, ordered=self.ordered)

    # ------------------------------------------------------------------------------------------ products

    def __matmul__(self, C: Array) -> Array:
        if self._kept is not None or self._product_cost() * C.shape[1] > self._matrix_cost(C.shape[1]):
            return super().__matmul__(C)
        xp = array_namespace(C)
        return xp.stack([self.product(C[:, j]) for j in range(C.shape[1])], axis=1)

    def product(self, c: Array) -> Array:
        """f for the coefficients c (n',), by scatter, two products, gather."""
        if not is_numpy(self.nodes, c):
            return self._product_elsewhere(c)
        S, K = self.scatter(np.asarray(c)), self.nodes
        sparse_scatter, dots = self._forms
        if sparse_scatter and dots and has_compiler() and S.nnz < _FUSED * K.shape[1]:
            identity = self.mix * (2 if self.ordered else 1)
            return fused_product(S, self._columns, K, self._reads, 2 * (1 - self.mix), identity, len(self.left))
        T, (a, b, order) = scatter_rows(S, self._columns) if sparse_scatter else matmul(S.toarray(), K.T), self._sorted
        f, J = np.zeros(len(a)), self.same
        if self.mix < 1:
            # (K T)_ab; K S Kᵀ is symmetric for pairs without order.
            f = row_dots(K, np.ascontiguousarray(T.T), a, b) if dots else matmul(K, T)[a, b]
            f *= 2 * (1 - self.mix)
        if self.mix > 0:
            # (J T)_ab + (J T)_ba with J_ac = 1{a is c}; twice the first for points in order.
            one, other = (np.where(J[x] >= 0, T[J[x], z], 0.0) for x, z in ((a, b), (a, b) if self.ordered else (b, a)))
            f += self.mix * (one + other)
        out = np.empty_like(f)
        out[order] = f
        return out

    def _product_elsewhere(self, c: Array) -> Array:
        """The same with two dense products, in any array library."""
        xp, K, (a, b) = array_namespace(self.nodes), self.nodes, self.left.T
        S = self.scatter.dense(c)
        if S is None:
            return super().__matmul__(c[:, None])[:, 0]
        T = S @ K.T
        F = (1 - self.mix) * (K @ T)
        if self.mix > 0:
            known = asarray_like((self.same >= 0).astype(float), c)[:, None]
            F = F + self.mix * known * take_rows(T, np.maximum(self.same, 0))
        F = xp.reshape(F, (-1,))
        one = take_rows(F, a * K.shape[0] + b)
        return 2 * one if self.ordered else one + take_rows(F, b * K.shape[0] + a)

    @cached_property
    def scatter(self) -> Scatter:
        """c ↦ S (m', m'), sparse."""
        return Scatter(self.right, self.nodes.shape[1], ordered=self.ordered)

    def gather(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """⟨A_a, B_b⟩ for every pair {a, b} of the rows."""
        (a, b, order), f = self._sorted, np.empty(len(self.left))
        f[order] = row_dots(A, B, a, b)
        return f

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The pairs of the rows, sorted as they are read from memory, and from where."""
        order = np.lexsort((self.left[:, 1], self.left[:, 0]))
        return self.left[order, 0], self.left[order, 1], order

    @cached_property
    def _reads(self) -> Reads:
        """The reads from columns b of T: rows of K and entries for 1{·} (−1: none), b, the pair; sorted by b."""
        (a, b), pair, none = self.left.T, np.arange(len(self.left)), np.full(len(self.left), -1)
        parts = [(a if self.mix < 1 else none, self.same[a] if self.mix > 0 else none, b, pair)]
        if self.mix > 0 and not self.ordered:
            parts.append((none, self.same[b], a, pair))
        row, entry, column, pair = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((row, column))
        return row[order], entry[order], column[order], pair[order]

    @cached_property
    def _columns(self) -> np.ndarray:
        """Kᵀ with contiguous rows."""
        return self.nodes if self.symmetric and self.nodes.flags.c_contiguous else np.ascontiguousarray(self.nodes.T)

    # --------------------------------------------------------------------------------------------- costs

    @property
    def _costs(self) -> tuple[float, float, float, float]:
        """Nanoseconds of the scatter as a sparse and a dense product, and of the gather by entries and as a product."""
        rows, columns = self.nodes.shape
        fast, beyond = has_compiler(), int(rows * columns > _CACHE)
        axpy, dot = (_AXPY[beyond], _DOT[beyond]) if fast else (_AXPY_PLAIN[beyond], _DOT_PLAIN[beyond])
        sparse = len(self.right) * (1 if self.ordered else 2) * rows * axpy
        dots = len(self.left) * columns * dot + (0.0 if fast else _CALL * rows)
        return sparse, columns * columns * rows * _GEMM, dots, rows * rows * columns * _GEMM

    @property
    def _forms(self) -> tuple[bool, bool]:
        """Whether S is sparse, and whether entries are gathered one by one."""
        sparse, dense, dots, gemm = self._costs
        return sparse <= dense, dots <= gemm

    def _product_cost(self) -> float:
        sparse, dense, dots, gemm = self._costs
        return min(sparse, dense) + min(dots, gemm) if is_numpy(self.nodes) else dense + gemm

    def _matrix_cost(self, q: int) -> float:
        """Nanoseconds of a product of the matrix of pairs, evaluated as needed, with q columns."""
        return self.shape[0] * self.shape[1] * (_ENTRY * (2 if self.mix > 0 else 1) + q * _GEMM)

    @property
    def prefers_products(self) -> bool:  # type: ignore[override]
        """Whether products cost less than the matrix and its factor, or the matrix exceeds memory."""
        n = self.shape[0]
        if n <= _FEW:
            return False
        free = available_memory(self.nodes)
        if free is not None and 8.0 * n * n > free / 4:
            return True
        return self._matrix_cost(1) + n**3 / 6 * _GEMM > _STEPS * self._product_cost()


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
        """S as a dense array, in any library; None if a pair is repeated."""
        m, n = self.m, len(self.source)
        where = np.repeat(np.arange(m), np.diff(self.indptr)) * m + self.indices
        if np.any(np.diff(where) == 0):
            return None
        position = np.full(m * m, n)
        position[where] = np.arange(n)
        xp, values = array_namespace(c), take_rows(c, self.source) * asarray_like(self.factor, c)
        return xp.reshape(take_rows(xp.concat([values, values[:1] * 0.0]), position), (m, m))
