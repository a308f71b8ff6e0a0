"""Checks of symmetric and of positive semi-definite matrices."""

from __future__ import annotations

import numpy as np

from iokr._array import Array, NotPositiveDefinite, array_namespace, cholesky, eigh
from iokr._validation.arguments import check_vectors

__all__ = ["check_psd", "check_symmetric"]

_USUAL = 1e140  # squares of larger entries, and of entries below its inverse, leave the range of floats
_TOL = 1e-8  # of the largest entry: the asymmetry, or the negative eigenvalue, that counts as rounding


def check_symmetric(K: Array, name: str) -> Array:
    """A square, finite, symmetric matrix of numbers, symmetrised exactly."""
    K = check_vectors(K, name, sparse=False)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"`{name}` must be square, got shape {tuple(K.shape)}.")
    if K.shape[0] == 0:
        raise ValueError(f"`{name}` is empty; at least one object is needed.")
    xp = array_namespace(K)
    size = float(xp.max(xp.abs(K)))
    gap = float(xp.max(xp.abs(K - K.T)))
    if gap > _TOL * size:
        raise ValueError(
            f"`{name}` must be symmetric, but entries across the diagonal differ by up to {gap:.3g}; "
            f"pass `({name} + {name}.T) / 2` to symmetrise it."
        )
    return K if gap == 0 else (K + K.T) / 2


def check_psd(K: Array, name: str) -> Array:
    """A symmetric matrix whose smallest eigenvalue is at least −1e-8 times the largest."""
    K = check_symmetric(K, name)
    xp = array_namespace(K)
    largest = float(xp.max(xp.abs(K)))
    if largest > 0 and not 1 / _USUAL < largest < _USUAL:
        check_psd(K / largest, name)
        return K
    diagonal = xp.linalg.diagonal(K)
    if float(xp.min(diagonal)) < 0:
        raise ValueError(_indefinite(name, f"its diagonal has the entry {float(xp.min(diagonal)):.3g}"))
    bound = xp.sqrt(diagonal)
    if bool(xp.any(xp.abs(K) > (1 + _TOL) * bound[:, None] * bound[None, :] + float(np.finfo(float).tiny))):
        raise ValueError(_indefinite(name, "|K_ij| exceeds √(K_ii K_jj) somewhere, as distances do"))
    size = float(xp.max(xp.sqrt(xp.sum(K * K, axis=1))))  # at most ‖K‖₂
    if size == 0:
        return K
    try:
        cholesky(K, _TOL * size)
    except NotPositiveDefinite:
        s, _ = eigh(K)
        if float(s[0]) < -_TOL * float(s[-1]):
            raise ValueError(
                _indefinite(name, f"its eigenvalues run from {float(s[0]):.3g} to {float(s[-1]):.3g}")
            ) from None
    return K


def _indefinite(name: str, why: str) -> str:
    return (
        f"`{name}` must be positive semi-definite, as every kernel matrix is, but {why}. "
        "Turn distances or similarities into a kernel first, for example exp(−γ·distance²)."
    )
