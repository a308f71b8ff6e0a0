"""The only file that branches on the array library: what the Array API standard lacks.

Everything else asks `array_namespace` and uses standard calls. Matrices named `K` below are symmetric; only
their lower triangle is read, so whoever builds one need not mirror it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace as _array_namespace
from array_api_compat import device as _device
from array_api_compat import is_array_api_obj, is_cupy_namespace, is_numpy_array, is_torch_array

__all__ = [
    "Array",
    "CholeskyFactor",
    "NotPositiveDefinite",
    "TridiagonalForm",
    "array_namespace",
    "asarray_like",
    "blocks",
    "cholesky",
    "clear_upper",
    "detached",
    "eigh",
    "empty_like",
    "exp_",
    "eye_like",
    "gemm",
    "is_array",
    "is_numpy",
    "is_sparse",
    "l1_distances",
    "matmul",
    "minimum_",
    "mirror_upper",
    "pivoted_cholesky",
    "row_sq_norms",
    "same_home",
    "set_diagonal",
    "smallest_k",
    "take_rows",
    "thin_svd",
    "to_numpy",
    "top_k_columns",
    "triangular_congruence",
    "tridiagonalize",
]

Array: TypeAlias = Any

_EPS = float(np.finfo(np.float64).eps)


class NotPositiveDefinite(ArithmeticError):
    """The Cholesky factorisation broke down."""


# ---------------------------------------------------------------------------------------------------------
# Namespaces and devices


def is_sparse(x: Any) -> bool:
    """Whether `x` is a SciPy sparse matrix or array."""
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def is_array(x: Any) -> bool:
    """Whether `x` is an array of some Array API library (NumPy included, sparse not)."""
    return is_array_api_obj(x)


def array_namespace(*arrays: Any) -> Any:
    """The Array API namespace of `arrays`; sparse matrices, scalars and None count as NumPy's guests."""
    dense = [x for x in arrays if is_array_api_obj(x)]
    if not dense:
        import array_api_compat.numpy as xp

        return xp
    return _array_namespace(*dense)


def is_numpy(*arrays: Any) -> bool:
    """Whether every array is NumPy's (or sparse, or a scalar)."""
    return all(is_numpy_array(x) or not is_array_api_obj(x) for x in arrays)


def to_numpy(x: Any) -> np.ndarray:
    """`x` as a NumPy array, brought to the host if need be."""
    if is_torch_array(x):
        return np.asarray(x.detach().cpu())
    if hasattr(x, "get") and is_cupy_namespace(array_namespace(x)):
        return np.asarray(x.get())
    if hasattr(x, "to_device") and is_array_api_obj(x) and not is_numpy_array(x):
        x = x.to_device(array_namespace(x).__array_namespace_info__().default_device())
    return np.asarray(x)


def detached(x: Any) -> Any:
    """`x` outside any record of gradients."""
    return x.detach() if is_torch_array(x) else x


def same_home(x: Any, y: Any) -> bool:
    """Whether two arrays are of one library and on one device."""
    if is_sparse(x) or is_sparse(y):
        return is_numpy(x, y)
    return array_namespace(x) is array_namespace(y) and (is_numpy_array(x) or _device(x) == _device(y))


def asarray_like(x: Any, like: Any) -> Array:
    """`x` as an array of the library and on the device of `like`."""
    if is_sparse(like) or not is_array_api_obj(like):
        return to_numpy(x)
    if is_numpy_array(like):
        return to_numpy(x)
    xp = array_namespace(like)
    if is_array_api_obj(x) and not is_numpy_array(x) and array_namespace(x) is xp:
        return x if _device(x) == _device(like) else xp.asarray(x, device=_device(like))
    return xp.asarray(to_numpy(x), device=_device(like))


def eye_like(n: int, like: Any) -> Array:
    """The identity of size n, float64, beside `like`."""
    if is_numpy(like):
        return np.eye(n)
    xp = array_namespace(like)
    return xp.eye(n, dtype=xp.float64, device=_device(like))


def empty_like(shape: tuple[int, ...], like: Any) -> Array:
    """An uninitialised float64 array beside `like`."""
    if is_numpy(like):
        return np.empty(shape)
    xp = array_namespace(like)
    return xp.empty(shape, dtype=xp.float64, device=_device(like))


def take_rows(R: Any, rows: Any) -> Any:
    """R[rows] for a slice, integers (NumPy) or a list of them; `R` an array, sparse, or sliceable itself."""
    if not is_array_api_obj(R) or is_numpy_array(R):
        return R[rows]
    if isinstance(rows, slice):
        return R[rows, ...]
    xp = array_namespace(R)
    return xp.take(R, xp.asarray(np.asarray(rows), device=_device(R)), axis=0)


def blocks(n: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most `size` that cover range(n)."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


# ---------------------------------------------------------------------------------------------------------
# Elementwise, products


def exp_(x: Array) -> Array:
    """exp(x), in place where the library can."""
    if is_torch_array(x):
        return x.exp_()
    if is_numpy(x):
        return np.exp(x, out=x)
    return array_namespace(x).exp(x)


def minimum_(x: Array, bound: float) -> Array:
    """min(x, bound), in place where the library can."""
    if is_torch_array(x):
        return x.clamp_(max=bound)
    if is_numpy(x):
        return np.minimum(x, bound, out=x)
    return array_namespace(x).clip(x, max=bound)


def set_diagonal(K: Array, values: Array) -> Array:
    """K with this diagonal, in place where the library can."""
    if is_numpy(K):
        K.flat[:: K.shape[0] + 1] = values
        return K
    xp = array_namespace(K)
    if is_torch_array(K):
        K.diagonal().copy_(values)
        return K
    return xp.where(eye_like(K.shape[0], K) > 0, values[:, None], K)


def matmul(A: Any, B: Any) -> Array:
    """A B as a dense array, for dense or sparse factors.

    NumPy and SciPy each bring a BLAS with threads of its own, and those of one spin for a tenth of a second after a
    product while the other wants the cores; so large products go where the factorisations are, to SciPy's.
    """
    if isinstance(A, np.ndarray) and isinstance(B, np.ndarray) and A.ndim == B.ndim == 2:
        if A.dtype == B.dtype == np.float64 and A.size * B.shape[1] > 1 << 16:
            from scipy.linalg.blas import dgemm

            # (A B)ᵀ = Bᵀ Aᵀ in Fortran order is A B in C order, and no factor is copied.
            b, trans_b = (B.T, 0) if B.flags.c_contiguous else (B, 1)
            a, trans_a = (A.T, 0) if A.flags.c_contiguous else (A, 1)
            return dgemm(1.0, b, a, trans_a=trans_b, trans_b=trans_a).T
        return A @ B
    product = A @ B
    return product.toarray() if is_sparse(product) else product


def gemm(R: Any, S: Any) -> Array:
    """R Sᵀ as a dense array, for dense or sparse factors."""
    return matmul(R, S.T)


def row_sq_norms(R: Any) -> Array:
    """‖r_i‖² of every row, dense or sparse."""
    if is_sparse(R):
        return np.asarray(R.multiply(R).sum(axis=1)).ravel()
    if is_numpy(R):
        return np.einsum("ij,ij->i", R, R)
    return array_namespace(R).sum(R * R, axis=1)


def l1_distances(R: Any, S: Any) -> Array:
    """Σ_k |r_ik − s_jk|."""
    if is_sparse(R) or is_sparse(S):
        from sklearn.metrics.pairwise import manhattan_distances

        return manhattan_distances(R, S)
    if is_numpy(R, S):
        from scipy.spatial.distance import cdist

        return cdist(R, S, "cityblock")
    xp = array_namespace(R, S)
    if is_torch_array(R):
        return xp.cdist(R, S, p=1.0)
    total = empty_like((R.shape[0], S.shape[0]), R) * 0.0
    for k in range(R.shape[1]):
        total += xp.abs(R[:, k][:, None] - S[:, k][None, :])
    return total


# ---------------------------------------------------------------------------------------------------------
# Factorisations


def eigh(K: Array, *, overwrite: bool = False, graded: bool = False) -> tuple[Array, Array]:
    """K = U diag(s) Uᵀ, s ascending, by divide and conquer.

    `graded`: K is full and its entries fall from the top left to the bottom right over many orders of magnitude.
    LAPACK's reduction keeps the small ones only if it starts from the large ones, which its lower variant does.
    """
    if is_numpy(K):
        from scipy.linalg import eigh as scipy_eigh

        # K.T is in Fortran order, so LAPACK takes it without a copy; its upper triangle is our lower one.
        return scipy_eigh(K.T, lower=graded, driver="evd", overwrite_a=overwrite, check_finite=False)
    s, U = array_namespace(K).linalg.eigh(K)
    return s, U


def largest_eigenvalue(K: Array) -> float:
    """The largest eigenvalue of a symmetric matrix."""
    n = K.shape[0]
    if is_numpy(K) and n > 200:
        from scipy.sparse.linalg import ArpackError, eigsh

        try:
            return float(eigsh(K, k=1, which="LA", v0=np.cos(np.arange(n)), return_eigenvectors=False)[0])
        except ArpackError:
            pass
    return float(array_namespace(K).linalg.eigvalsh(K)[-1])


def thin_svd(X: Array) -> tuple[Array, Array]:
    """(V, σ) of X = V diag(σ) Qᵀ, V of the shape of X when that is tall."""
    if is_numpy(X):
        from scipy.linalg import svd

        V, sigma, _ = svd(X, full_matrices=False, check_finite=False)
        return V, sigma
    V, sigma, _ = array_namespace(X).linalg.svd(X, full_matrices=False)
    return V, sigma


class CholeskyFactor:
    """K = L Lᵀ: `solve(B)` is K⁻¹ B, `inverse_diagonal()` the diagonal of K⁻¹."""

    def __init__(self, L: Array) -> None:
        self.L = L  # lower triangular; under NumPy the strict upper triangle holds rubbish

    def solve(self, B: Array) -> Array:
        """K⁻¹ B by two triangular solves."""
        if is_numpy(self.L):
            from scipy.linalg.lapack import dpotrs

            X, info = dpotrs(self.L.T, B, lower=0)
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
            from scipy import linalg

            return linalg.solve_triangular(self.L.T, B, lower=False, trans=0 if transpose else 1, check_finite=False)
        L = self.L.T if transpose else self.L
        if is_torch_array(L):
            return xp.linalg.solve_triangular(L, B, upper=transpose)
        if is_cupy_namespace(xp):
            from cupyx.scipy.linalg import solve_triangular

            return solve_triangular(L, B, lower=not transpose)
        return xp.linalg.solve(L, B)

    def inverse(self) -> Array:
        """K⁻¹, only for its blocks (leave-out formulas)."""
        return self.solve(eye_like(self.L.shape[0], self.L))

    def inverse_diagonal(self) -> Array:
        """diag(K⁻¹) = column sums of squares of L⁻¹; the factor is spent."""
        if is_numpy(self.L):
            from scipy.linalg.lapack import dtrtri

            inverse, _ = dtrtri(self.L.T, lower=0, overwrite_c=1)  # L⁻ᵀ, in Fortran order
            rows = inverse.T  # L⁻¹; above its diagonal is rubbish
            diagonal = np.zeros(rows.shape[0])
            for block in blocks(rows.shape[0], 512):
                part = np.tril(rows[block, : block.stop], k=block.start)
                diagonal[: block.stop] += np.einsum("ij,ij->j", part, part)
            return diagonal
        inverse = self.solve_lower(eye_like(self.L.shape[0], self.L))
        return array_namespace(inverse).sum(inverse * inverse, axis=0)


def cholesky(K: Array, shift: float = 0.0, *, overwrite: bool = False) -> CholeskyFactor:
    """The Cholesky factor of K + shift·I; raises `NotPositiveDefinite`."""
    if is_numpy(K):
        from scipy.linalg.lapack import dpotrf

        K = K if overwrite else K.copy()
        if shift:
            K.flat[:: K.shape[0] + 1] += shift
        U, info = dpotrf(K.T, lower=0, clean=0, overwrite_a=1)
        if info:
            raise NotPositiveDefinite
        return CholeskyFactor(U.T)
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


def clear_upper(L: np.ndarray) -> None:
    """Zeros above the diagonal, in place."""
    for rows in blocks(L.shape[0], 256):
        L[rows, rows.stop :] = 0.0
        L[rows, rows] = np.tril(L[rows, rows])


def mirror_upper(K: np.ndarray, diagonal: np.ndarray) -> None:
    """A symmetric matrix from what stands above its diagonal, in place."""
    for rows in blocks(K.shape[0], 256):
        K[rows, : rows.start] = K[: rows.start, rows].T
        corner = np.triu(K[rows, rows], k=1)
        K[rows, rows] = corner + corner.T
    K.flat[:: K.shape[0] + 1] = diagonal


def pivoted_cholesky(K: np.ndarray, *, overwrite: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """K = R Rᵀ with R (n, r), r the numerical rank, and the r pivot rows, on which R is lower triangular."""
    from scipy.linalg.lapack import dpstrf

    n = K.shape[0]
    tol = n * _EPS * float(np.max(np.diagonal(K), initial=0.0))
    c, piv, rank, _ = dpstrf(K.T if overwrite else K.T.copy(order="F"), tol=tol, lower=0, overwrite_a=1)
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
        from scipy.linalg import eigvalsh_tridiagonal

        n = len(self.diagonal)
        return float(eigvalsh_tridiagonal(self.diagonal, self.off, select="i", select_range=(n - 1, n - 1))[0])

    def solve(self, a: float, b: float, B: np.ndarray) -> np.ndarray:
        """(a I + b T)⁻¹ B for a > 0, b ≥ 0, A positive semi-definite."""
        from scipy.linalg.lapack import dptsv

        _, _, X, info = dptsv(a + b * self.diagonal, b * self.off, B)
        if info:
            raise NotPositiveDefinite
        return np.asarray(X)

    def rotate(self, B: np.ndarray, *, transpose: bool) -> np.ndarray:
        """Qᵀ B (transpose) or Q B."""
        from scipy.linalg.lapack import dormqr

        if not len(self._tau):
            return np.array(B)
        # The reflectors leave row 0 alone; with it at the end they are a plain array, see `tridiagonalize`.
        out = np.asfortranarray(np.roll(B, -1, axis=0))
        work = max(64 * out.shape[1], 1)
        out, _, _ = dormqr("L", "T" if transpose else "N", self._reflectors, self._tau, out, work, overwrite_c=1)
        return np.roll(out, 1, axis=0)


def triangular_congruence(R: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Rᵀ B for lower triangular R when the product is symmetric, in half the time of a full one; B is overwritten."""
    from scipy.linalg.blas import dtrmm

    # (Rᵀ B)ᵀ = Bᵀ R, and Bᵀ is in Fortran order when B is in C order.
    return np.asarray(dtrmm(1.0, R.T, B.T, side=1, lower=0, trans_a=1, overwrite_b=1))


def tridiagonalize(A: np.ndarray) -> TridiagonalForm:
    """Householder reduction of a symmetric NumPy matrix, which is overwritten."""
    from scipy.linalg.lapack import dsytrd, dsytrd_lwork

    n = A.shape[0]
    lwork, _ = dsytrd_lwork(n, lower=1)
    c, d, e, tau, _ = dsytrd(A.T, lower=1, lwork=int(lwork), overwrite_a=1)
    # The reflectors of the lower form are those of a QR factorisation of the block below the diagonal, c[1:, :-1]. As
    # LAPACK wants whole columns, take each with the entry that follows it in memory, c[0, j + 1], set to zero.
    c[0, 1:] = 0.0
    columns = c.T.reshape(-1)[1 : 1 + n * (n - 1)].reshape(n - 1, n).T
    return TridiagonalForm(d, e, columns, tau)


# ---------------------------------------------------------------------------------------------------------
# Order statistics


def smallest_k(values: Array, k: int) -> Array:
    """Positions of the k smallest entries of each row, ascending, ties by position; (m, k) integers."""
    c = values.shape[1]
    if k >= c or not is_numpy(values):
        xp = array_namespace(values)
        return xp.argsort(values, axis=1, stable=True)[:, :k]
    columns = np.sort(np.argpartition(values, k - 1, axis=1)[:, :k], axis=1)
    picked = np.take_along_axis(values, columns, axis=1)
    threshold = picked.max(axis=1, keepdims=True)
    # Where entries left out tie with the last one picked, position decides.
    tied = (values == threshold).sum(axis=1) > (picked == threshold).sum(axis=1)
    for row in np.flatnonzero(tied):
        columns[row] = np.sort(np.argsort(values[row], kind="stable")[:k])
        picked[row] = values[row, columns[row]]
    order = np.argsort(picked, axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)


def top_k_columns(values: Array, k: int) -> Array:
    """Positions of the k largest entries of each row, ties by position."""
    return smallest_k(-values, k)
