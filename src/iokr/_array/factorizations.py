"""Eigenvalues, Cholesky factors, tridiagonal forms. Only the lower triangle of matrices named `K` is read."""

from __future__ import annotations

from contextlib import suppress
from mmap import mmap
from typing import Any

import numpy as np
from array_api_compat import is_cupy_namespace, is_torch_array
from scipy import linalg
from scipy.linalg import blas, lapack
from scipy.sparse.linalg import ArpackError, eigsh

from iokr._array.namespaces import Array, array_namespace, blocks, eye_like, is_numpy

_COLUMNS = 1024  # of an inverse, whose squares are summed
_AT_ONCE = 12_000  # largest number of rows that LAPACK factors in one call
_SLAB = 1 << 24  # entries of a block that is copied from a matrix: 128 MB
_EPS = float(np.finfo(np.float64).eps)


class NotPositiveDefinite(ArithmeticError):
    """The Cholesky factorisation broke down."""


def eigh(K: Array, *, overwrite: bool = False, graded: bool = False) -> tuple[Array, Array]:
    """K = U diag(s) Uᵀ, s ascending, by divide and conquer.

    `graded`: K is full and its entries fall from the top left to the bottom right by many orders of magnitude.
    The reduction of LAPACK is accurate for the small ones only if it starts from the large ones, as its lower variant.
    """
    if is_numpy(K):
        # K.T is in Fortran order, which LAPACK uses without a copy; its upper triangle is our lower one.
        return linalg.eigh(K.T, lower=graded, driver="evd", overwrite_a=overwrite, check_finite=False)
    s, U = array_namespace(K).linalg.eigh(K)
    return s, U


def eigh_arrays(like: Array) -> float:
    """Arrays of the size of K that `eigh(K, overwrite=True)` holds at its peak, K included.

    LAPACK overwrites K and has a workspace of two; 6.03 was measured for torch on CUDA.
    """
    return 3.0 if is_numpy(like) else 6.3


def cholesky_arrays(like: Array) -> float:
    """Arrays of the size of K that `cholesky(K, overwrite=True)` holds at its peak, K included.

    LAPACK works in place; torch has a copy, in spite of `out`; others form K + shift·I, too.
    """
    return 1.1 if is_numpy(like) else 2.1 if is_torch_array(like) else 4.1


def largest_eigenvalue(K: Array) -> float:
    """The largest eigenvalue of a symmetric matrix."""
    n = K.shape[0]
    if is_numpy(K) and n > 200:
        with suppress(ArpackError):
            return float(eigsh(K, k=1, which="LA", v0=np.cos(np.arange(n)), return_eigenvectors=False)[0])
    return float(array_namespace(K).linalg.eigvalsh(K)[-1])


def thin_svd(X: Array) -> tuple[Array, Array]:
    """(V, σ) of X = V diag(σ) Qᵀ, V of the shape of X if X is tall."""
    if is_numpy(X):
        V, sigma, _ = linalg.svd(X, full_matrices=False, check_finite=False)
    else:
        V, sigma, _ = array_namespace(X).linalg.svd(X, full_matrices=False)
    return V, sigma


class CholeskyFactor:
    """K = L Lᵀ: `solve(B)` is K⁻¹ B, `inverse_diagonal()` the diagonal of K⁻¹."""

    def __init__(self, L: Array) -> None:
        self.L = L  # lower triangular; under NumPy the strict upper triangle is undefined

    def _stored(self) -> dict[str, Any]:
        return {"L": self.L}

    def solve(self, B: Array) -> Array:
        """K⁻¹ B by two triangular solves."""
        if is_numpy(self.L):
            X, info = lapack.dpotrs(self.L.T, B, lower=0)
            if info:
                raise ValueError(f"dpotrs refused argument {-info}")
            return X
        if is_torch_array(self.L):
            return array_namespace(self.L).cholesky_solve(B, self.L)
        return self.solve_lower(self.solve_lower(B), transpose=True)

    def solve_lower(self, B: Array, *, transpose: bool = False) -> Array:
        """L⁻¹ B, or L⁻ᵀ B."""
        xp = array_namespace(self.L)
        if is_numpy(self.L):
            return linalg.solve_triangular(self.L.T, B, lower=False, trans=0 if transpose else 1, check_finite=False)
        L = self.L.T if transpose else self.L
        if is_torch_array(L):
            return xp.linalg.solve_triangular(L, B, upper=transpose)
        if is_cupy_namespace(xp):
            from cupyx.scipy.linalg import solve_triangular

            return solve_triangular(L, B, lower=not transpose)
        return xp.linalg.solve(L, B)

    def solve_rows(self, B: Array, out: Array | None = None) -> Array:
        """B L⁻ᵀ, each row b as L⁻¹b; torch allocates nothing if it writes to an array in C order."""
        if out is not None and is_torch_array(B):
            array_namespace(B).linalg.solve_triangular(self.L, B.T, upper=False, out=out.T)
            return out
        if out is not None:
            out[...] = self.solve_rows(B)
            return out
        if is_numpy(self.L, B) and B.size:
            # Bᵀ is in Fortran order, and so is the upper triangle Lᵀ.
            return blas.dtrsm(1.0, self.L.T, B.T, trans_a=1).T
        return self.solve_lower(B.T).T

    def largest_pivot(self) -> float:
        """max L_ii²: a lower bound of the largest eigenvalue of K."""
        xp = array_namespace(self.L)
        return float(xp.max(xp.linalg.diagonal(self.L))) ** 2

    def inverse_diagonal(self) -> Array:
        """diag(K⁻¹) = column sums of squares of L⁻¹; the factor is overwritten."""
        if is_numpy(self.L):
            inverse, _ = lapack.dtrtri(self.L.T, lower=0, overwrite_c=1)  # L⁻ᵀ, in Fortran order
            rows = inverse.T  # L⁻¹; above its diagonal it is undefined
            diagonal = np.zeros(rows.shape[0])
            for block in blocks(rows.shape[0], 512):
                part = np.tril(rows[block, : block.stop], k=block.start)
                diagonal[: block.stop] += np.einsum("ij,ij->j", part, part)
            return diagonal
        xp, n = array_namespace(self.L), self.L.shape[0]
        parts = []
        for block in blocks(n, _COLUMNS):  # of L⁻¹, zero above its diagonal, some columns at a time
            rest = CholeskyFactor(self.L[block.start :, block.start :])
            ones = xp.eye(n - block.start, block.stop - block.start, dtype=xp.float64, device=self.L.device)
            columns = rest.solve_lower(ones)
            parts.append(xp.sum(columns * columns, axis=0))
        return xp.concat(parts)


def cholesky(K: Array, shift: float = 0.0, *, overwrite: bool = False, at_once: int = _AT_ONCE) -> CholeskyFactor:
    """The Cholesky factor of K + shift·I; raises `NotPositiveDefinite`.

    Under NumPy a matrix of more than `at_once` rows is factored in halves: with two threads `dpotrf` of OpenBLAS 0.3.31
    for AVX-512 ended the process from 16 000 rows on, and not at 12 000.
    """
    if is_numpy(K):
        K = K if overwrite else K.copy()
        if shift:
            K.flat[:: K.shape[0] + 1] += shift
        return CholeskyFactor(_in_halves(K, at_once))
    xp = array_namespace(K)
    if is_torch_array(K):
        K = K if overwrite else K.clone()
        if shift:
            K.diagonal().add_(shift)
        L, info = xp.linalg.cholesky_ex(K, out=(K, xp.empty((), dtype=xp.int32, device=K.device)))
        if int(info):
            raise NotPositiveDefinite
        return CholeskyFactor(L)
    try:
        L = xp.linalg.cholesky(K + shift * eye_like(K.shape[0], K) if shift else K)
    except np.linalg.LinAlgError as error:
        raise NotPositiveDefinite from error
    if not bool(xp.all(xp.isfinite(L))):  # CuPy does not raise
        raise NotPositiveDefinite
    return CholeskyFactor(L)


def lower_factor(K: np.ndarray) -> np.ndarray:
    """L of K = L Lᵀ by one call of LAPACK, in place if K is in C order."""
    U, info = lapack.dpotrf(K.T, lower=0, clean=0, overwrite_a=1)
    if info:
        raise NotPositiveDefinite
    return np.asarray(U.T)


def _in_halves(K: np.ndarray, at_once: int) -> np.ndarray:
    """L in the lower triangle of K: [L 0; M N] with M = B L⁻ᵀ and N Nᵀ = D − M Mᵀ, a quarter of K more."""
    n, h = K.shape[0], K.shape[0] // 2
    if n <= max(at_once, 1):
        return lower_factor(K)
    # Copies in C order; BLAS gets their transposes, in Fortran order, so that "lower" and "upper" are exchanged.
    half = _scratch(K[:h, :h])
    K[:h, :h] = half = _in_halves(half, at_once)
    for rows in blocks(n - h, max(1, _SLAB // h)):
        low = _scratch(K[h + rows.start : h + rows.stop, :h])
        blas.dtrsm(1.0, half.T, low.T, trans_a=1, overwrite_b=1)
        K[h + rows.start : h + rows.stop, :h] = low
    half = _scratch(K[h:, h:])
    for columns in blocks(h, max(1, _SLAB // (n - h))):
        low = _scratch(K[h:, columns])
        blas.dsyrk(-1.0, low.T, 1.0, half.T, trans=1, overwrite_c=1)
    K[h:, h:] = _in_halves(half, at_once)
    return K


def inverse(K: Array, shift: float = 0.0) -> tuple[Array, float]:
    """(K + shift·I)⁻¹ and the largest pivot of K + shift·I = R Rᵀ; K is overwritten.

    In halves: with R = [L 0; M N] and W = −N⁻¹ M L⁻¹ the blocks of the inverse are

        (L Lᵀ)⁻¹ + WᵀW   and, below it,   N⁻ᵀ W,  (N Nᵀ)⁻¹.

    This takes n³ flops instead of the 7n³/3 of solves with the identity, and half of the LAPACK work space that its
    library never frees; two n × n arrays at most.
    """
    if not is_numpy(K) or K.shape[0] == 1:
        factor = cholesky(K, shift, overwrite=True)
        return factor.solve(eye_like(K.shape[0], K)), factor.largest_pivot()
    h = K.shape[0] // 2
    # Copies in C order; BLAS gets their transposes, in Fortran order, so that "lower" and "upper" are exchanged.
    top, low, end = _scratch(K[:h, :h]), _scratch(K[h:, :h]), _scratch(K[h:, h:])
    first = cholesky(top, shift, overwrite=True)
    blas.dtrsm(1.0, first.L.T, low.T, trans_a=1, overwrite_b=1)  # M = B L⁻ᵀ
    blas.dsyrk(-1.0, low.T, 1.0, end.T, trans=1, overwrite_c=1)  # D − M Mᵀ
    second = cholesky(end, shift, overwrite=True)
    pivot = max(first.largest_pivot(), second.largest_pivot())
    blas.dtrsm(1.0, first.L.T, low.T, overwrite_b=1)  # M L⁻¹
    low = _scratch(low.T)  # solves from the left use less memory than solves from the right
    blas.dtrsm(-1.0, second.L.T, low.T, trans_a=1, overwrite_b=1)  # W
    lapack.dpotri(first.L.T, overwrite_c=1)
    blas.dsyrk(1.0, low.T, 1.0, top.T, trans=1, overwrite_c=1)
    blas.dtrsm(1.0, second.L.T, low.T, overwrite_b=1)
    lapack.dpotri(second.L.T, overwrite_c=1)
    K[:h, :h], K[h:, :h], K[h:, h:] = top, low.T, end
    mirror_upper(K.T, np.diagonal(K).copy())  # what Kᵀ has above its diagonal, K has below
    return K, pivot


def _scratch(block: np.ndarray) -> np.ndarray:
    """A copy in C order, in memory that is returned to the system afterwards."""
    copy = np.frombuffer(mmap(-1, block.nbytes)).reshape(block.shape)
    copy[...] = block
    return copy


def clear_upper(L: np.ndarray) -> None:
    """Zeros above the diagonal, in place."""
    for rows in blocks(L.shape[0], 256):
        L[rows, rows.stop :] = 0.0
        L[rows, rows] = np.tril(L[rows, rows])


def mirror_upper(K: np.ndarray, diagonal: np.ndarray) -> None:
    """A symmetric matrix from its entries above the diagonal, in place."""
    for rows in blocks(K.shape[0], 256):
        K[rows, : rows.start] = K[: rows.start, rows].T
        corner = np.triu(K[rows, rows], k=1)
        K[rows, rows] = corner + corner.T
    K.flat[:: K.shape[0] + 1] = diagonal


def pivoted_cholesky(K: np.ndarray, *, overwrite: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """K = R Rᵀ with R (n, r), r the numerical rank, and the r pivot rows, on which R is lower triangular."""
    n = K.shape[0]
    tol = n * _EPS * float(np.max(np.diagonal(K), initial=0.0))
    c, piv, rank, _ = lapack.dpstrf(K.T if overwrite else K.T.copy(order="F"), tol=tol, lower=0, overwrite_a=1)
    piv = piv - 1
    R = np.empty((n, rank))
    R[piv] = np.triu(c)[:rank].T
    return R, piv[:rank]


class TridiagonalForm:
    """A = Q T Qᵀ with T tridiagonal: shifted solves with T cost O(n) a column."""

    def __init__(self, diagonal: np.ndarray, off: np.ndarray, reflectors: np.ndarray, tau: np.ndarray) -> None:
        self.diagonal, self.off, self._reflectors, self._tau = diagonal, off, reflectors, tau

    def largest(self) -> float:
        """The largest eigenvalue of A."""
        n = len(self.diagonal)
        return float(linalg.eigvalsh_tridiagonal(self.diagonal, self.off, select="i", select_range=(n - 1, n - 1))[0])

    def solve(self, a: float, b: float, B: np.ndarray) -> np.ndarray:
        """(a I + b T)⁻¹ B for a > 0, b ≥ 0, A positive semi-definite."""
        _, _, X, info = lapack.dptsv(a + b * self.diagonal, b * self.off, B)
        if info:
            raise NotPositiveDefinite
        return np.asarray(X)

    def rotate(self, B: np.ndarray, *, transpose: bool) -> np.ndarray:
        """Qᵀ B (transpose) or Q B."""
        if not len(self._tau):
            return np.array(B)
        # The reflectors leave row 0 alone; with it at the end they are a plain array, see `tridiagonalize`.
        out = np.asfortranarray(np.roll(B, -1, axis=0))
        work = max(64 * out.shape[1], 1)
        out, _, _ = lapack.dormqr("L", "T" if transpose else "N", self._reflectors, self._tau, out, work, overwrite_c=1)
        return np.roll(out, 1, axis=0)


def triangular_congruence(R: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Rᵀ B for lower triangular R when the product is symmetric, in half the time of a full one; B is overwritten."""
    # (Rᵀ B)ᵀ = Bᵀ R, and Bᵀ is in Fortran order when B is in C order.
    return np.asarray(blas.dtrmm(1.0, R.T, B.T, side=1, lower=0, trans_a=1, overwrite_b=1))


def tridiagonalize(A: np.ndarray) -> TridiagonalForm:
    """Householder reduction of a symmetric NumPy matrix, which is overwritten."""
    n = A.shape[0]
    lwork, _ = lapack.dsytrd_lwork(n, lower=1)
    c, d, e, tau, _ = lapack.dsytrd(A.T, lower=1, lwork=int(lwork), overwrite_a=1)
    # The reflectors of the lower form are those of a QR factorisation of the block below the diagonal, c[1:, :-1]. As
    # LAPACK wants whole columns, take each with the entry that follows it in memory, c[0, j + 1], set to zero.
    c[0, 1:] = 0.0
    columns = c.T.reshape(-1)[1 : 1 + n * (n - 1)].reshape(n - 1, n).T
    return TridiagonalForm(d, e, columns, tau)
