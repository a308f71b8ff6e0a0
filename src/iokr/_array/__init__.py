"""The only package that branches on the array library: what the Array API standard lacks.

Everything else asks `array_namespace` and uses standard calls. Matrices named `K` are symmetric; only their lower
triangle is read, so whoever builds one need not mirror it.
"""

from iokr._array.distances import centered_sq_norms, far_center, l1_distances, scaled_sq_distances
from iokr._array.factorizations import (
    CholeskyFactor,
    NotPositiveDefinite,
    TridiagonalForm,
    cholesky,
    clear_upper,
    eigh,
    inverse,
    largest_eigenvalue,
    mirror_upper,
    pivoted_cholesky,
    thin_svd,
    triangular_congruence,
    tridiagonalize,
)
from iokr._array.namespaces import (
    Array,
    array_namespace,
    asarray_like,
    blocks,
    detached,
    empty_like,
    eye_like,
    is_array,
    is_numpy,
    is_sparse,
    same_home,
    take_rows,
    to_numpy,
)
from iokr._array.products import exp_, gemm, matmul, row_sq_norms, set_diagonal, smallest_k, top_k_columns

__all__ = [
    "Array",
    "CholeskyFactor",
    "NotPositiveDefinite",
    "TridiagonalForm",
    "array_namespace",
    "asarray_like",
    "blocks",
    "centered_sq_norms",
    "cholesky",
    "clear_upper",
    "detached",
    "eigh",
    "empty_like",
    "exp_",
    "eye_like",
    "far_center",
    "gemm",
    "inverse",
    "is_array",
    "is_numpy",
    "is_sparse",
    "l1_distances",
    "largest_eigenvalue",
    "matmul",
    "mirror_upper",
    "pivoted_cholesky",
    "row_sq_norms",
    "same_home",
    "scaled_sq_distances",
    "set_diagonal",
    "smallest_k",
    "take_rows",
    "thin_svd",
    "to_numpy",
    "top_k_columns",
    "triangular_congruence",
    "tridiagonalize",
]
