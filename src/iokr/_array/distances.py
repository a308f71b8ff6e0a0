"""Accurate squared distances of points at any offset, and sums of absolute differences.

‖x − z‖² = ‖x‖² + ‖z‖² − 2⟨x, z⟩ is one product, but cancels the digits of ‖x‖ and ‖z‖ above ‖x − z‖. With p
coordinates, u = eps/2, and ρ = max ‖x‖ + max ‖z‖, the error of an entry is at most (p + 5) u ρ²: p + 1 for the product
and the norms, 2 for the sums, 2 for a translation of the points before, to a centre for all blocks. Whether this is
small is checked for each block: the row and the column of the points farthest from the centre contain a distance δ. If
ρ² is much larger than δ², the block has its own centre, the mean of the two means. Then ρ² ≤ 5.9 d², d the largest
distance between the two sets (the squares of the diagonals of a quadrilateral sum to at most those of its sides), so
that the error is below 8 eps p d² for p ≥ 4. With fewer coordinates differences are computed instead, and with one
always, as they cost no more than the product.

An error that is small compared with the largest distance may be large compared with a small one: if |s|ρ² is so large
that it would matter in exp(s‖x − z‖²), differences are computed for the few pairs that are not far apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import is_cupy_array, is_torch_array
from scipy.linalg import blas

from iokr._array.namespaces import (
    Array,
    array_namespace,
    asarray_like,
    blocks,
    is_numpy,
    is_sparse,
    take_rows,
    to_numpy,
)
from iokr._array.products import gemm, row_sq_norms

_FEW = 3  # number of coordinates up to which differences are computed if the product loses digits
_ENTRIES = 1 << 20  # entries of sparse rows that are made dense at a time, and of differences
_SHOWN = 1e-9  # error of an exponent from which on small distances are recomputed
_GONE = 750.0  # exponent at which exp(−x) is 0
_EPS = float(np.finfo(float).eps)


def far_center(X: Any) -> Array | None:
    """The mean of dense rows, if it is farther from 0 than they are from it on average; else None."""
    if is_sparse(X) or X.shape[0] == 0 or X.shape[1] == 1:
        return None
    xp = array_namespace(X)
    center = xp.mean(X, axis=0)
    size = float(xp.sum(center * center))
    return center if 2 * size > float(xp.mean(row_sq_norms(X))) else None


def centered_sq_norms(X: Any, center: Array | None = None) -> Array:
    """‖x_i − c‖² of every row."""
    return row_sq_norms(X if center is None else _moved(X, center))


def scaled_sq_distances(
    X: Any, x_norms: Array, Z: Any, z_norms: Array, scale: float, center: Array | None = None
) -> Array:
    """s‖x_i − z_j‖² for s < 0, none above 0, from rows, dense or sparse, and their squared norms about the centre.

    Each is off by at most 8 eps p max(1, |s| d²), d the largest distance between a row of X and one of Z; those above
    −750 to within 1e-9, or 2 eps p relative.
    """
    p = int(X.shape[1])
    if Z.shape[1] != p:
        raise ValueError(f"`X` must have the same number of columns as at fit, got {p} and {int(Z.shape[1])}.")
    if p != 1:
        A, B = (X, Z) if center is None else (_moved(X, center), _moved(Z, center))
        reach = _reach(x_norms, z_norms, scale)  # before the product, to avoid waiting for the device after it
        E = _from_product(A, x_norms, B, z_norms, scale)
        # the largest ρ²/max(1/|s|, δ²) with an error below 8 eps p, for rows with this number of non-zero entries
        slack = (15.6 * p - 3.5) / (min(_width(A), _width(B)) + 5)
        if not _cancels(E, x_norms, z_norms, reach, slack):
            return _resolved(_at_most_zero(E), X, Z, scale, reach)
    if p <= _FEW:
        return _from_differences(X, Z, scale)
    E = _at_most_zero(_recentred(X, Z, scale))
    return _resolved(E, X, Z, scale, -float(array_namespace(E).min(E)) if 0 not in E.shape else 0.0)


def _reach(x_norms: Array, z_norms: Array, scale: float) -> float:
    """|s|ρ²."""
    if 0 in (x_norms.shape[0], z_norms.shape[0]):
        return 0.0
    xp = array_namespace(x_norms)
    rho = float(xp.sqrt(xp.max(x_norms)) + xp.sqrt(xp.max(z_norms)))
    return -scale * rho * rho  # a power would raise `OverflowError`


def _resolved(E: Array, X: Any, Z: Any, scale: float, reach: float) -> Array:
    """E with differences for the pairs of exp(E) > 0, where rounding of the largest distances, |s|ρ², matters."""
    p = int(X.shape[1])
    error = 8 * p * _EPS * reach
    if not error > _SHOWN:
        return E
    if not (is_numpy(E) or is_torch_array(E) or is_cupy_array(E)):  # entries cannot be set
        values = np.array(to_numpy(E))
        return asarray_like(_resolved(values, to_numpy(X), to_numpy(Z), scale, reach), E)
    xp = array_namespace(E)
    for rows in blocks(E.shape[0], max(1, _ENTRIES // E.shape[1])):
        part = E[rows, :]
        i, j = xp.nonzero(part > -_GONE - error)
        for some in blocks(int(i.shape[0]), max(1, _ENTRIES // p)):
            x, z = (take_rows(R, at) for R, at in ((X, i[some] + rows.start), (Z, j[some])))
            x, z = (R.toarray() if is_sparse(R) else R for R in (x, z))
            part[i[some], j[some]] = scale * row_sq_norms(x - z)
    return E


def _moved(X: Any, center: Array) -> Array:
    """x_i − c."""
    X = X.toarray() if is_sparse(X) else X
    return X - asarray_like(center, X)[None, :]


def _from_differences(X: Any, Z: Any, scale: float) -> Array:
    X, Z = (R.toarray() if is_sparse(R) else R for R in (X, Z))
    total = _squares(X, Z, 0)
    for k in range(1, X.shape[1]):
        total += _squares(X, Z, k)
    total *= scale
    return total


def _squares(X: Array, Z: Array, k: int) -> Array:
    """(x_ik − z_jk)²."""
    apart = X[:, k][:, None] - Z[:, k][None, :]
    apart *= apart
    return apart


def _from_product(X: Any, x_norms: Array, Z: Any, z_norms: Array, scale: float) -> Array:
    """s(‖x‖² + ‖z‖² − 2⟨x, z⟩)."""
    if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray) and X.size and Z.size:
        # The product is added to the norms in place, all transposed in Fortran order, see `matmul`.
        E = np.add.outer(scale * x_norms, scale * z_norms)
        z, trans_z = (Z.T, 1) if Z.flags.c_contiguous else (Z, 0)
        x, trans_x = (X.T, 0) if X.flags.c_contiguous else (X, 1)
        return blas.dgemm(-2 * scale, z, x, 1.0, E.T, trans_a=trans_z, trans_b=trans_x, overwrite_c=1).T
    E = gemm((-2 * scale) * X, Z)
    E += (scale * x_norms)[:, None]
    E += (scale * z_norms)[None, :]
    return E


def _width(X: Any) -> int:
    """The largest number of non-zero entries in a row."""
    return int(np.diff(X.indptr).max(initial=0)) if is_sparse(X) else int(X.shape[1])


def _cancels(E: Array, x_norms: Array, z_norms: Array, reach: float, slack: float) -> bool:
    """Whether the points are so far from 0, |s|ρ² at most, for their distances that too many digits cancel."""
    if 0 in E.shape or reach <= slack:
        return False
    xp = array_namespace(E)
    i, j = (xp.reshape(xp.argmax(norms), (1,)) for norms in (x_norms, z_norms))
    nearest = float(xp.minimum(xp.min(xp.take(E, i, axis=0)), xp.min(xp.take(E, j, axis=1))))  # −|s|δ²
    return not reach <= -slack * nearest


def _recentred(X: Any, Z: Any, scale: float) -> Array:
    """s‖x − z‖² about the mean of the two means; sparse rows some columns at a time."""
    if not is_sparse(X) and not is_sparse(Z):
        return _about_middle(X, Z, scale)
    X, Z = (R.tocsc() if is_sparse(R) else R for R in (X, Z))
    E = np.zeros((X.shape[0], Z.shape[0]))
    for columns in blocks(X.shape[1], max(1, _ENTRIES // max(E.shape))):
        x, z = (R[:, columns].toarray() if is_sparse(R) else R[:, columns] for R in (X, Z))
        E += _about_middle(x, z, scale)
    return E


def _about_middle(X: Array, Z: Array, scale: float) -> Array:
    xp = array_namespace(X, Z)
    center = (xp.mean(X, axis=0) + xp.mean(Z, axis=0)) / 2
    X, Z = X - center[None, :], Z - center[None, :]
    return _from_product(X, row_sq_norms(X), Z, row_sq_norms(Z), scale)


def _at_most_zero(E: Array) -> Array:
    """min(E, 0), in place if the library can."""
    if is_torch_array(E):
        return E.clamp_(max=0.0)
    if is_numpy(E):
        return np.minimum(E, 0.0, out=E)
    return array_namespace(E).clip(E, max=0.0)


def _narrow(R: Any) -> Any:
    """A sparse matrix with indices of 32 bits, which some compiled loops require."""
    if not is_sparse(R):
        return R
    if max(R.nnz, *R.shape) > np.iinfo(np.int32).max:
        raise ValueError(
            "`X` has more than 2**31 entries, which exceeds the indices of this kernel; use fewer rows at a time."
        )
    R = R.tocsr()
    return type(R)((R.data, R.indices.astype(np.int32), R.indptr.astype(np.int32)), shape=R.shape)


def l1_distances(R: Any, S: Any) -> Array:
    """Σ_k |r_ik − s_jk|."""
    if is_sparse(R) or is_sparse(S):
        from sklearn.metrics.pairwise import manhattan_distances

        return manhattan_distances(_narrow(R), _narrow(S))
    if is_numpy(R, S):
        from scipy.spatial.distance import cdist

        return cdist(R, S, "cityblock")
    xp = array_namespace(R, S)
    if is_torch_array(R):
        return xp.cdist(R, S, p=1.0)
    total = xp.zeros((R.shape[0], S.shape[0]), dtype=xp.float64, device=R.device)
    for k in range(R.shape[1]):
        total += xp.abs(R[:, k][:, None] - S[:, k][None, :])
    return total
