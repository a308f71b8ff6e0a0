"""Kernels between pairs of nodes, K ⊗ K on the observed pairs only: products without a matrix of pairs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from iokr._array import Array, array_namespace, asarray_like, is_numpy, matmul, take_rows
from iokr._memory import available_memory
from iokr.gram.pairs.costs import ProductCosts, matrix_cost, product_costs
from iokr.gram.pairs.loops import fused_product, has_compiler, row_dots, scatter_rows
from iokr.gram.scalar import ScalarGram

__all__ = ["PairGram", "pair_diagonal", "pair_entries"]

_FUSED = 64  # entries of S in a row, on average, below which T is not written to memory
_FEW = 1000  # pairs whose matrix is always formed
_STEPS = 60  # of conjugate gradients, to weigh them against a factorisation
_FACTOR = 0.04  # nanoseconds of a multiplication and addition in a factorisation


class PairGram(ScalarGram):
    """c ↦ f, f_p = Σ_q k_P(p, q) c_q = (G S K)_ab + (G S K)_ba for p = {a, b}, G = δI + (1 − δ)K.

    S (m, m) holds c_q/2 at both orders of q = {c, d} (c_q once for a self-pair), so that k_P is the mean over orders of
    2[δ1{a=c} + (1 − δ)k(a, c)] k(b, d). With `ordered` pairs are points (a, b), S holds c_q once, and f = 2 G S K. A
    product costs about 3nm multiplications for n pairs of m nodes while S is sparse, and two products of m × m matrices
    when pairs are many; there are no n² numbers unless `dense` is called.

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
        For each node of the rows, its position among those of the columns, −1 if it is not there.

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
        self.left, self.right = left, left if right is None else right

    def _entries(self, R: np.ndarray, S: np.ndarray) -> Array:
        return pair_entries(self.nodes, R, S, mix=self.mix, ordered=self.ordered, same=self.same)

    def _pair_diagonal(self, R: np.ndarray) -> Array:
        return pair_diagonal(self.nodes, R, mix=self.mix, ordered=self.ordered)

    def restrict(self, rows: Any) -> PairGram:
        """The Gram of some of the pairs among themselves."""
        return PairGram(self.nodes, self.left[rows], mix=self.mix, ordered=self.ordered)

    # ------------------------------------------------------------------------------------------ products

    def __matmul__(self, C: Array) -> Array:
        if self._kept is not None or self.product_cost() * C.shape[1] > self._matrix_cost(C.shape[1]):
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
        a, b = self._sorted_left
        T = scatter_rows(S, self._columns) if sparse_scatter else matmul(S.toarray(), K.T)
        f = np.zeros(len(a))
        if self.mix < 1:
            # (K T)_ab; K S Kᵀ is symmetric for pairs without order.
            f = row_dots(K, np.ascontiguousarray(T.T), a, b) if dots else matmul(K, T)[a, b]
            f *= 2 * (1 - self.mix)
        if self.mix > 0:
            f += self.mix * self._identity_part(T, a, b)
        out = np.empty_like(f)
        out[self._order] = f
        return out

    def _identity_part(self, T: Array, a: np.ndarray, b: np.ndarray) -> Array:
        """(J T)_ab + (J T)_ba with J_ac = 1{a is c}; twice the first for points in order."""
        one = np.where(self.same[a] >= 0, T[self.same[a], b], 0.0)
        other = one if self.ordered else np.where(self.same[b] >= 0, T[self.same[b], a], 0.0)
        return one + other

    def scatter(self, c: np.ndarray) -> csr_array:
        """S (m', m'), sparse."""
        indptr, indices, source, factor = self._pattern
        m = self.nodes.shape[1]
        return csr_array((c[source] * factor, indices, indptr), shape=(m, m))

    def gather(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """⟨A_a, B_b⟩ for every pair {a, b} of the rows."""
        f = np.empty(len(self.left))
        f[self._order] = row_dots(A, B, *self._sorted_left)
        return f

    def _product_elsewhere(self, c: Array) -> Array:
        """The same with two dense products, in any array library."""
        xp, K = array_namespace(self.nodes), self.nodes
        m, (a, b) = K.shape[1], self.left.T
        indptr, indices, source, factor = self._pattern
        where = np.repeat(np.arange(m), np.diff(indptr)) * m + indices
        if np.any(np.diff(where) == 0):  # a pair twice
            return super().__matmul__(c[:, None])[:, 0]
        place = np.full(m * m, len(source))
        place[where] = np.arange(len(source))
        values = take_rows(c, source) * asarray_like(factor, c)
        S = xp.reshape(take_rows(xp.concat([values, values[:1] * 0.0]), place), (m, m))
        T = S @ K.T
        F = (1 - self.mix) * (K @ T)
        if self.mix > 0:
            known = asarray_like((self.same >= 0).astype(float), c)[:, None]
            F = F + self.mix * known * take_rows(T, np.maximum(self.same, 0))
        F = xp.reshape(F, (-1,))
        one = take_rows(F, a * K.shape[0] + b)
        return 2 * one if self.ordered else one + take_rows(F, b * K.shape[0] + a)

    @cached_property
    def _sorted_left(self) -> tuple[np.ndarray, np.ndarray]:
        return self.left[self._order, 0], self.left[self._order, 1]

    @cached_property
    def _reads(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What is read from columns b of T: rows of K (−1: none), entries for 1{·} (likewise), b, the pair; by b."""
        (a, b), pair, none = self.left.T, np.arange(len(self.left)), np.full(len(self.left), -1)
        reads = [(a if self.mix < 1 else none, self.same[a] if self.mix > 0 else none, b, pair)]
        if self.mix > 0 and not self.ordered:
            reads.append((none, self.same[b], a, pair))
        row, entry, column, pair = (np.concatenate(parts) for parts in zip(*reads, strict=True))
        order = np.lexsort((row, column))
        return row[order], entry[order], column[order], pair[order]

    @cached_property
    def _order(self) -> np.ndarray:
        return np.lexsort((self.left[:, 1], self.left[:, 0]))

    @cached_property
    def _columns(self) -> np.ndarray:
        """Kᵀ with rows that lie together in memory."""
        return self.nodes if self.symmetric and self.nodes.flags.c_contiguous else np.ascontiguousarray(self.nodes.T)

    @cached_property
    def _pattern(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of S by rows: where rows begin, columns, from which coefficient, and its factor 1 or ½."""
        c, d = self.right.T
        q = np.arange(len(c))
        if self.ordered:
            rows, columns, source, factor = c, d, q, np.ones(len(q))
        else:
            two = c != d
            rows, columns = np.concatenate([c, d[two]]), np.concatenate([d, c[two]])
            source = np.concatenate([q, q[two]])
            factor = np.where(np.concatenate([two, two[two]]), 0.5, 1.0)
        order = np.lexsort((columns, rows))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=self.nodes.shape[1]))])
        return indptr, columns[order], source[order], factor[order]

    # --------------------------------------------------------------------------------------------- costs

    @property
    def _costs(self) -> ProductCosts:
        return product_costs(self.nodes.shape, len(self.left), len(self.right) * (1 if self.ordered else 2))

    @property
    def _forms(self) -> tuple[bool, bool]:
        return self._costs.forms

    def _matrix_cost(self, q: int) -> float:
        return matrix_cost(self.shape, q, mixed=self.mix > 0)

    def product_cost(self) -> float:
        """Nanoseconds of `product`, about."""
        return self._costs.total(dense=not is_numpy(self.nodes))

    @property
    def prefers_products(self) -> bool:  # type: ignore[override]
        """Whether products alone are cheaper than the matrix and its factor, or the matrix does not fit."""
        n = self.shape[0]
        if n <= _FEW:
            return False
        free = available_memory(self.nodes)
        if free is not None and 8.0 * n * n > free / 4:
            return True
        return self._matrix_cost(1) + n**3 / 6 * _FACTOR > _STEPS * self.product_cost()


def pair_entries(
    K: Array,
    R: np.ndarray,
    S: np.ndarray,
    *,
    mix: float = 0.0,
    ordered: bool = False,
    same: np.ndarray | None = None,
) -> Array:
    """½[G_ac K_bd + G_bd K_ac + G_ad K_bc + G_bc K_ad] for pairs {a, b}, {c, d}; 2 G_ac K_bd for points in order."""
    (a, b), (c, d) = R.T, S.T
    ids = np.arange(K.shape[0]) if same is None else same

    def k(x: np.ndarray, z: np.ndarray) -> Array:
        rows = take_rows(K, x)
        if isinstance(rows, np.ndarray):
            return np.take(rows, z, axis=1)
        xp = array_namespace(rows)
        return xp.take(rows, asarray_like(z, rows), axis=1)

    def g(x: np.ndarray, z: np.ndarray, base: Array) -> Array:
        if mix == 0:
            return base
        equal = asarray_like((ids[x][:, None] == z[None, :]).astype(np.float64), base)
        return mix * equal + (1 - mix) * base

    k_ac, k_bd = k(a, c), k(b, d)
    if ordered:
        return 2 * g(a, c, k_ac) * k_bd
    k_ad, k_bc = k(a, d), k(b, c)
    if mix == 0:
        return k_ac * k_bd + k_ad * k_bc
    straight = g(a, c, k_ac) * k_bd + g(b, d, k_bd) * k_ac
    return (straight + g(a, d, k_ad) * k_bc + g(b, c, k_bc) * k_ad) / 2


def pair_diagonal(K: Array, R: np.ndarray, *, mix: float = 0.0, ordered: bool = False) -> Array:
    """k_P(p, p): ½[G_aa K_bb + G_bb K_aa] + G_ab K_ab; 2 G_aa K_bb for points in order."""
    xp, (a, b) = array_namespace(K), R.T
    diagonal = xp.linalg.diagonal(K)
    k_aa, k_bb = take_rows(diagonal, a), take_rows(diagonal, b)
    k_ab = take_rows(xp.reshape(K, (-1,)), a * K.shape[1] + b)
    g_aa, g_bb = mix + (1 - mix) * k_aa, mix + (1 - mix) * k_bb
    if ordered:
        return 2 * g_aa * k_bb
    g_ab = mix * asarray_like((a == b).astype(np.float64), k_ab) + (1 - mix) * k_ab
    return (g_aa * k_bb + g_bb * k_aa) / 2 + g_ab * k_ab
