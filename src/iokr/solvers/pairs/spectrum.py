"""Ridge on pairs of nodes from the spectrum of the nodes' kernel: exact for all pairs, otherwise a preconditioner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from iokr._array import Array, array_namespace, blocks, cholesky, eigh, is_numpy, matmul, to_numpy
from iokr.gram.pairs.gram import PairGram

__all__ = ["CompletePairs", "PairSpectrum", "low_rank_preconditioner", "pair_preconditioner"]

_NEARLY = 0.95  # fraction of the ordered pairs from which the closed form for all pairs is a good preconditioner
_CHUNK = 1 << 22  # numbers at a time in leave-one-out
_BLOCK = 1 << 17  # numbers at a time in the preconditioner, which stay in the cache
_RANK = 48  # eigenvectors of K in the preconditioner, at most
_FEATURES = 300  # products of two of them, at most
_ALONE_VECTOR = 9_000  # multiplications of a product with a vector that a BLAS does in one thread
_ALONE_MATRIX = 260_000  # the same with a matrix
_SMALL = 10**8  # below which one thread is enough


@dataclass(frozen=True, eq=False)
class PairSpectrum:
    """K = U diag(s) Uᵀ of m nodes: ridge on all m² ordered pairs, for every mix δ and shift t, in O(m³).

    The eigenvectors of the kernel on pairs are products of two columns of U, its eigenvalues E = 2(δ + (1 − δ)s)sᵀ,
    symmetrised for pairs without order. So the coefficients of the labels Y are S = U [(Uᵀ Y U) / (E + t)] Uᵀ.
    """

    s: Array
    U: Array

    @classmethod
    def of(cls, K: Array) -> PairSpectrum:
        """Negative eigenvalues, which are rounding, are zero."""
        s, U = eigh(K)
        if is_numpy(U):
            U = np.ascontiguousarray(U)
        return cls(array_namespace(s).clip(s, min=0.0), U)

    def eigenvalues(self, mix: float, *, ordered: bool = False) -> Array:
        """E, (m, m)."""
        E = (mix + (1 - mix) * self.s)[:, None] * self.s[None, :]
        return 2 * E if ordered else E + E.T

    def rotate(self, Y: Array) -> Array:
        """Uᵀ Y U."""
        return matmul(matmul(self.U.T, Y), self.U)

    def rotate_back(self, T: Array) -> Array:
        """U T Uᵀ."""
        return matmul(matmul(self.U, T), self.U.T)


class CompletePairs:
    """Ridge on pairs by `PairSpectrum`, for a Gram of pairs that has all of them, or nearly.

    `exact` when every ordered pair is observed and t = λ/w is one number, w the weight of a point: half that of a pair
    of two nodes, all of that of a self-pair; `nearly` when few are missing.
    """

    def __init__(self, gram: PairGram, shift: np.ndarray) -> None:
        self.gram = gram
        a, b = gram.left.T
        self.alone = np.ones(len(a), dtype=bool) if gram.ordered else a == b
        points = np.where(self.alone, shift, 2 * shift)
        self.t = float(np.average(points, weights=np.where(self.alone, 1.0, 2.0)))
        m = gram.nodes.shape[0]
        n_points = len(a) + int(np.count_nonzero(~self.alone))
        if n_points >= _NEARLY * m**2 and _repeats(gram):  # repeated points: fewer distinct ones
            n_points = 0
        self.nearly = n_points >= _NEARLY * m**2
        self.exact = n_points == m**2 and bool(np.ptp(points) <= 1e-12 * self.t)

    @cached_property
    def spectrum(self) -> PairSpectrum:
        """That of the nodes."""
        return PairSpectrum.of(to_numpy(self.gram.nodes))

    @cached_property
    def shifted(self) -> np.ndarray:
        """E + t."""
        return np.asarray(self.spectrum.eigenvalues(self.gram.mix, ordered=self.gram.ordered) + self.t)

    def _rotated(self, y: np.ndarray) -> np.ndarray:
        """Uᵀ Y U, y at both orders of a pair in Y."""
        a, b = self.gram.left.T
        Y = np.zeros(self.shifted.shape)
        Y[a, b] = y
        if not self.gram.ordered:
            Y[b, a] = y
        return np.asarray(self.spectrum.rotate(Y))

    def solve(self, y: np.ndarray) -> np.ndarray:
        """Coefficients of the examples."""
        S = self.spectrum.rotate_back(self._rotated(y) / self.shifted)
        a, b = self.gram.left.T
        return np.asarray(np.where(self.alone, S[a, b], 2 * S[a, b]))

    def loo_residuals(self, y: np.ndarray) -> np.ndarray:
        """y_p − f₋ₚ(p) for every pair: m² operations each."""
        U = to_numpy(self.spectrum.U)
        D = self.t / self.shifted
        R = np.asarray(self.spectrum.rotate_back(self._rotated(y) * D))
        squares = U * U
        N = matmul(matmul(squares, D), np.ascontiguousarray(squares.T))
        out = np.empty(len(y))
        for rows in blocks(len(y), max(1, _CHUNK // len(U))):
            a, b = self.gram.left[rows].T
            z = U[a] * U[b]
            c = np.einsum("pi,pi->p", matmul(z, D), z)
            if self.gram.ordered:
                # The 2 × 2 system of both orders; its mean is the residual of the mean prediction.
                det = N[a, b] * N[b, a] - c * c
                both = ((N[b, a] - c) * R[a, b] + (N[a, b] - c) * R[b, a]) / np.where(det > 0, 2 * det, 1.0)
            else:
                both = R[a, b] / (N[a, b] + c)
            out[rows] = np.where(a == b, R[a, a] / N[a, a], both)
        return out


def _repeats(gram: PairGram) -> bool:
    """Whether a point is repeated."""
    ends = gram.left if gram.ordered else np.sort(gram.left, axis=1)
    return len(np.unique(ends[:, 0] * gram.nodes.shape[0] + ends[:, 1])) < len(ends)


def pair_preconditioner(gram: PairGram, shift: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """r ↦ M⁻¹ r with M close to G + diag(shift)."""
    complete = CompletePairs(gram, shift)
    return complete.solve if complete.nearly else low_rank_preconditioner(gram, shift)


def low_rank_preconditioner(gram: PairGram, shift: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """r ↦ M⁻¹ r with M = Z Zᵀ + diag(d) as in `LowRankInverse`; at δ = 1 the diagonal alone."""
    if gram.mix < 1:
        return LowRankInverse(gram, shift)
    d = shift + to_numpy(gram.diagonal())
    return lambda r: r / d


class LowRankInverse:
    """M⁻¹ r = r/d − (1/d) Z (I + Zᵀ(1/d)Z)⁻¹ Zᵀ (r/d), M = Z Zᵀ + diag(d).

    Column (i, j) of Z is the product v_i(a) v_j(b) of two leading eigenvectors of K at the pair {a, b}, summed over
    both orders; d is the shift plus the difference of the diagonals of G and Z Zᵀ. Products with Z are those of a small
    K. δ < 1.
    """

    def __init__(self, gram: PairGram, shift: np.ndarray) -> None:
        n = gram.shape[0]
        self.gram = gram
        self.V = leading_factor(to_numpy(gram.nodes), _RANK) * (1 - gram.mix) ** 0.25
        self.Vt = np.ascontiguousarray(self.V.T)
        self.i, self.j = self._leading(int(np.clip(n // 60, min(100, n // 4), _FEATURES)))  # a few dozen suffice
        diagonal = to_numpy(gram.diagonal())
        once = self.i == self.j
        self.factor = np.full(len(once), np.sqrt(2.0)) if gram.ordered else np.where(once, np.sqrt(0.5), 1.0)
        V_i = self.V[:, self.i] * self.factor
        V_j = self.V.take(self.j, axis=1)
        self.d = np.empty(n)
        H = np.eye(len(once))
        for rows in blocks(n, max(1, _BLOCK // max(len(once), 1))):
            Z = self._features(V_i, V_j, rows)
            self.d[rows] = shift[rows] + np.clip(diagonal[rows] - np.einsum("ij,ij->i", Z, Z), 0.0, None)
            H += _quiet_matmul(Z.T, Z / self.d[rows, None])
        self.inverse = cholesky(H).solve(np.eye(len(once)))

    def __call__(self, r: np.ndarray) -> np.ndarray:
        u = r / self.d
        ordered = self.gram.ordered
        A = _quiet_matmul(self.Vt, self.gram.scatter(u) @ self.V)  # Σ_p u_p (V_a V_bᵀ), half for each order
        sums = (A if ordered else A + A.T)[self.i, self.j] * self.factor
        X = np.zeros((self.V.shape[1], self.V.shape[1]))
        X[self.i, self.j] = _quiet_matmul(self.inverse, sums[:, None])[:, 0] * self.factor
        image = self.gram.gather(_quiet_matmul(self.V, X if ordered else X + X.T), self.V)
        return np.asarray(u - image / self.d)

    def _leading(self, n_features: int) -> tuple[np.ndarray, np.ndarray]:
        """i and j of the products of two eigenvectors with the largest eigenvalues; j ≥ i for pairs without order."""
        s = (self.V * self.V).sum(axis=0)
        eigenvalues = np.outer(s, s)
        i, j = np.nonzero(eigenvalues) if self.gram.ordered else np.nonzero(np.triu(eigenvalues))
        kept = np.argsort(-eigenvalues[i, j], kind="stable")[:n_features]
        return i[kept], j[kept]

    def _features(self, V_i: np.ndarray, V_j: np.ndarray, rows: slice) -> np.ndarray:
        """Some rows of Z."""
        a, b = self.gram.left[rows].T
        Z: np.ndarray = V_i.take(a, axis=0)
        Z *= V_j.take(b, axis=0)
        if not self.gram.ordered:
            swapped = V_j.take(a, axis=0)
            swapped *= V_i.take(b, axis=0)
            Z += swapped
        return Z


def _quiet_matmul(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B; small products in parts for which a BLAS starts no threads, which would cost more than the product."""
    p, q = len(A), B.shape[1]
    if A.size * q > _SMALL:
        return np.asarray(matmul(A, B))
    if q == 1:
        return np.concatenate([A[rows] @ B for rows in blocks(p, max(1, _ALONE_VECTOR // A.shape[1]))])
    out = np.zeros((p, q))
    width = min(A.shape[1], max(32, _ALONE_MATRIX // (p * q)))
    for inner in blocks(A.shape[1], width):
        for rows in blocks(p, max(1, _ALONE_MATRIX // (width * q))):
            out[rows] += A[rows, inner] @ B[inner]
    return out


def _orthonormal(Y: np.ndarray) -> np.ndarray:
    """A basis of the columns of Y, without directions of small norm."""
    g, W = eigh(_quiet_matmul(Y.T, Y))
    there = g > 1e-10 * g[-1]
    return _quiet_matmul(Y, W[:, there] / np.sqrt(g[there]))


def leading_factor(K: np.ndarray, rank: int) -> np.ndarray:
    """V (m, r), V Vᵀ ≈ K, V Vᵀ ≤ K: the leading eigenvectors, by two steps from random ones."""
    m = len(K)
    if m <= 4 * rank:
        s, U = eigh(K)
    else:
        Q = np.random.default_rng(0).standard_normal((m, rank + 8))
        for _ in range(2):
            Q = _orthonormal(_quiet_matmul(K, Q))
        s, W = eigh(_quiet_matmul(Q.T, _quiet_matmul(K, Q)))
        U = _quiet_matmul(Q, W)
    largest = np.clip(s[::-1][:rank], 0.0, None)
    return np.ascontiguousarray(U[:, ::-1][:, :rank] * np.sqrt(largest))
