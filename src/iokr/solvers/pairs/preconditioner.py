"""Preconditioners of G + diag(λ/w) on pairs of nodes, from the leading eigenvectors of the nodes' kernel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from iokr._array import blocks, cholesky, eigh, matmul, to_numpy
from iokr.gram.pairs.gram import PairGram
from iokr.solvers.pairs.spectrum import CompletePairs

__all__ = ["low_rank_preconditioner", "pair_preconditioner"]

_RANK, _FEATURES = 48, 300  # eigenvectors of K and products of two of them, at most
_BLOCK = 1 << 17  # numbers at a time
_ALONE = 9_000, 260_000  # multiplications of a product with a vector, with a matrix, that a BLAS does on one thread
_SMALL = 10**8  # below which one thread is enough


def pair_preconditioner(gram: PairGram, shift: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """r ↦ M⁻¹ r with M close to G + diag(shift)."""
    complete = CompletePairs(gram, shift)
    if complete.nearly:
        return complete.solve
    return low_rank_preconditioner(gram, shift)


def _features(n: int) -> int:
    """Products of two eigenvectors that are worth it for n pairs: a few dozen do most of the work."""
    return int(np.clip(n // 60, min(100, n // 4), _FEATURES))


def low_rank_preconditioner(gram: PairGram, shift: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """M = Z Zᵀ + diag(d): Z from the products of two leading eigenvectors of K, d the shift and what Z lacks on G's
    diagonal. M⁻¹ r = r/d − (1/d) Z (I + Zᵀ(1/d)Z)⁻¹ Zᵀ (r/d), and products with Z are those of a small K.
    """
    K, n = gram.nodes, gram.shape[0]
    diagonal = to_numpy(gram.diagonal())
    if gram.mix >= 1:
        d = shift + diagonal
        return lambda r: r / d
    V = leading_factor(to_numpy(K), _RANK) * (1 - gram.mix) ** 0.25
    strength = np.outer((V * V).sum(axis=0), (V * V).sum(axis=0))
    i, j = np.nonzero(strength) if gram.ordered else np.nonzero(np.triu(strength))
    kept = np.argsort(-strength[i, j], kind="stable")[: _features(n)]
    i, j = i[kept], j[kept]
    factor = np.full(len(i), np.sqrt(2.0)) if gram.ordered else np.where(i == j, np.sqrt(0.5), 1.0)
    (a, b), Vt, V_i, V_j = gram.left.T, np.ascontiguousarray(V.T), V[:, i] * factor, V.take(j, axis=1)

    def features(rows: slice) -> np.ndarray:
        Z: np.ndarray = V_i.take(a[rows], axis=0)
        Z *= V_j.take(b[rows], axis=0)
        if not gram.ordered:
            swapped = V_j.take(a[rows], axis=0)
            swapped *= V_i.take(b[rows], axis=0)
            Z += swapped
        return Z

    d, H = np.empty(n), np.eye(len(i))
    for rows in blocks(n, max(1, _BLOCK // max(len(i), 1))):
        Z = features(rows)
        d[rows] = shift[rows] + np.clip(diagonal[rows] - np.einsum("ij,ij->i", Z, Z), 0.0, None)
        H += _quiet_matmul(Z.T, Z / d[rows, None])
    inverse = cholesky(H).solve(np.eye(len(i)))

    def apply(r: np.ndarray) -> np.ndarray:
        u = r / d
        A = _quiet_matmul(Vt, gram.scatter(u) @ V)  # Σ_p u_p (V_a V_bᵀ), both orders halved
        x = _quiet_matmul(inverse, ((A if gram.ordered else A + A.T)[i, j] * factor)[:, None])[:, 0] * factor
        X = np.zeros((V.shape[1], V.shape[1]))
        X[i, j] = x
        if not gram.ordered:
            X = X + X.T
        return np.asarray(u - gram.gather(_quiet_matmul(V, X), V) / d)

    return apply


def _quiet_matmul(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B; where it is small, in parts for which a BLAS wakes no threads, which would cost more than the product."""
    p, q = len(A), B.shape[1]
    if A.size * q > _SMALL:
        return np.asarray(matmul(A, B))
    if q == 1:
        return np.concatenate([A[rows] @ B for rows in blocks(p, max(1, _ALONE[0] // A.shape[1]))])
    out = np.zeros((p, q))
    width = min(A.shape[1], max(32, _ALONE[1] // (p * q)))
    for inner in blocks(A.shape[1], width):
        for rows in blocks(p, max(1, _ALONE[1] // (width * q))):
            out[rows] += A[rows, inner] @ B[inner]
    return out


def _orthonormal(Y: np.ndarray) -> np.ndarray:
    """A basis of the columns of Y, without directions that are hardly there."""
    g, W = eigh(_quiet_matmul(Y.T, Y))
    there = g > 1e-10 * g[-1]
    return _quiet_matmul(Y, W[:, there] / np.sqrt(g[there]))


def leading_factor(K: np.ndarray, rank: int) -> np.ndarray:
    """V (m, r), V Vᵀ close to K and below it: the leading eigenvectors, by two steps from random ones."""
    m = len(K)
    if m <= 4 * rank:
        s, U = eigh(K)
    else:
        Q = np.random.default_rng(0).standard_normal((m, rank + 8))
        for _ in range(2):
            Q = _orthonormal(_quiet_matmul(K, Q))
        s, W = eigh(_quiet_matmul(Q.T, _quiet_matmul(K, Q)))
        U = _quiet_matmul(Q, W)
    s, U = np.clip(s[::-1][:rank], 0.0, None), U[:, ::-1][:, :rank]
    return np.ascontiguousarray(U * np.sqrt(s))
