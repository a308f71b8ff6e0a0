"""Elementwise functions in place, products, norms and the smallest entries of rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from array_api_compat import is_torch_array
from scipy.linalg import blas

from iokr._array.namespaces import Array, array_namespace, eye_like, is_numpy, is_sparse


def unwarned() -> np.errstate:
    """A context without NumPy's warnings of overflow, for code that checks its results."""
    return np.errstate(over="ignore", invalid="ignore")


def exponent(largest: float) -> int:
    """k with 2ᵏ ≤ `largest` < 2ᵏ⁺¹; 0 unless `largest` is positive and finite."""
    return math.frexp(largest)[1] - 1 if 0 < largest < math.inf else 0


def power_of_two(value: float, k: int) -> float:
    """2ᵏ · value, infinite if it overflows."""
    try:
        return math.ldexp(value, k)
    except OverflowError:
        return math.copysign(math.inf, value)


def times_power(X: Array, k: int) -> Array:
    """2ᵏ X, in two steps, as 2ᵏ may overflow."""
    half = k // 2
    return X if k == 0 else X * power_of_two(1.0, half) * power_of_two(1.0, k - half)


def exp_(x: Array) -> Array:
    """exp(x), in place if the library can."""
    if is_torch_array(x):
        return x.exp_()
    if is_numpy(x):
        return np.exp(x, out=x)
    return array_namespace(x).exp(x)


def set_diagonal(K: Array, values: Array) -> Array:
    """K with this diagonal, in place if the library can."""
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

    NumPy and SciPy each have a BLAS with its own threads, which spin for a tenth of a second after a product and block
    the cores for the other; large products therefore use SciPy, as factorisations do.
    """
    if isinstance(A, np.ndarray) and isinstance(B, np.ndarray) and A.ndim == B.ndim == 2:
        if A.dtype == B.dtype == np.float64 and A.size * B.shape[1] > 1 << 16:
            # (A B)ᵀ = Bᵀ Aᵀ in Fortran order is A B in C order, without copies of the factors.
            b, trans_b = (B.T, 0) if B.flags.c_contiguous else (B, 1)
            a, trans_a = (A.T, 0) if A.flags.c_contiguous else (A, 1)
            return blas.dgemm(1.0, b, a, trans_a=trans_b, trans_b=trans_a).T
        with unwarned():
            return A @ B
    with unwarned():
        product = A @ B
    return product.toarray() if is_sparse(product) else product


def gemm(R: Any, S: Any) -> Array:
    """R Sᵀ as a dense array, for dense or sparse factors."""
    if R.shape[1] != S.shape[1]:
        raise ValueError(f"Objects have {R.shape[1]} features here and {S.shape[1]} there; they must be equal.")
    return matmul(R, S.T)


def row_sq_norms(R: Any) -> Array:
    """‖r_i‖² of every row, dense or sparse."""
    if is_numpy(R) and not is_sparse(R):
        return np.einsum("ij,ij->i", R, R)
    with unwarned():
        if is_sparse(R):
            return np.asarray(R.multiply(R).sum(axis=1)).ravel()
        return array_namespace(R).sum(R * R, axis=1)


def scale_rows(R: Any, sizes: Array) -> Any:
    """r_i / size_i, dense or sparse; 0 where the size is 0."""
    xp = array_namespace(sizes)
    sizes = xp.where(sizes > 0, sizes, 1.0)
    if not is_sparse(R):
        return R / sizes[:, None]
    R = R.copy()
    R.data /= np.repeat(sizes, np.diff(R.indptr))
    return R


def smallest_k(values: Array, k: int) -> Array:
    """Positions of the k smallest entries of each row, ascending, ties by position; (m, k) integers."""
    c = values.shape[1]
    if k >= c or not is_numpy(values):
        xp = array_namespace(values)
        return xp.argsort(values, axis=1, stable=True)[:, :k]
    columns = np.sort(np.argpartition(values, k - 1, axis=1)[:, :k], axis=1)
    picked = np.take_along_axis(values, columns, axis=1)
    threshold = picked.max(axis=1, keepdims=True)
    # Ties with the last selected entry are broken by position.
    tied = (values == threshold).sum(axis=1) > (picked == threshold).sum(axis=1)
    for row in np.flatnonzero(tied):
        columns[row] = np.sort(np.argsort(values[row], kind="stable")[:k])
        picked[row] = values[row, columns[row]]
    order = np.argsort(picked, axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)


def top_k_columns(values: Array, k: int) -> Array:
    """Positions of the k largest entries of each row, ties by position."""
    return smallest_k(-values, k)
