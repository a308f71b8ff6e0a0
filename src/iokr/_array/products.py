"""Elementwise functions in place, products, norms and the smallest entries of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import is_torch_array

from iokr._array.namespaces import Array, array_namespace, eye_like, is_numpy, is_sparse


def exp_(x: Array) -> Array:
    """exp(x), in place where the library can."""
    if is_torch_array(x):
        return x.exp_()
    if is_numpy(x):
        return np.exp(x, out=x)
    return array_namespace(x).exp(x)


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
    if R.shape[1] != S.shape[1]:
        raise ValueError(f"Objects have {R.shape[1]} features here and {S.shape[1]} there; they must have as many.")
    return matmul(R, S.T)


def row_sq_norms(R: Any) -> Array:
    """‖r_i‖² of every row, dense or sparse."""
    if is_sparse(R):
        return np.asarray(R.multiply(R).sum(axis=1)).ravel()
    if is_numpy(R):
        return np.einsum("ij,ij->i", R, R)
    return array_namespace(R).sum(R * R, axis=1)


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
