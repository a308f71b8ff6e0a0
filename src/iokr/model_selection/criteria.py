"""Evidence and leave-one-out error of kernel ridge with their derivatives, by one inverse N = (K + αI)⁻¹."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsymm, dsyr, dsyrk
from scipy.linalg.lapack import dpotrf, dpotri

__all__ = ["Criterion", "evidence", "press"]

Criterion = Callable[..., tuple[float, np.ndarray | None, float]]
"""(K, Y, alpha, gradient, intercept) ↦ f, M, df/dα.

df = ⟨M, dK⟩, where M has its lower triangle alone, and is None without `gradient`.
"""


def evidence(
    K: np.ndarray, Y: np.ndarray, alpha: float, gradient: bool = True, intercept: bool = False
) -> tuple[float, np.ndarray | None, float]:
    """f = (νq/2) log σ̂² + (q/2) log det(K + αI) with N = (K + αI)⁻¹, B = NY, σ̂² = tr(YᵀB)/(νq); M = ½(qN − BBᵀ/σ̂²).

    ν = n. An intercept has a flat prior: ν = n − 1, (q/2) log 1ᵀN1 is added, and N − N11ᵀN/1ᵀN1 replaces N in B and M
    (the restricted likelihood). K is in Fortran order and kept; M has its lower triangle alone. df/dα = tr M.
    """
    n, q = Y.shape
    freedom = (n - 1) * q if intercept else n * q
    L, log_det = _factor(K, alpha)
    if L is None:
        return np.inf, None, 0.0
    if not gradient:
        Z = solve_triangular(L, Y, lower=True, check_finite=False)
        if intercept:
            u = solve_triangular(L, np.ones(n), lower=True, check_finite=False)
            log_det += np.log(u @ u)
            Z = Z - np.outer(u, (u @ Z) / (u @ u))
        return float(freedom * np.log(np.sum(Z * Z) / freedom) / 2 + q * log_det / 2), None, 0.0
    N, _ = dpotri(L, lower=1, overwrite_c=1)
    if intercept:
        N, total = _without_constant(N)
        log_det += np.log(total)
    B = dsymm(1.0, N, Y, lower=1)
    variance = float(np.sum(Y * B)) / freedom
    f = freedom * np.log(variance) / 2 + q * log_det / 2
    M = dsyrk(-1 / (2 * variance), B, beta=q / 2, c=N, lower=1, overwrite_c=1)
    return float(f), M, float(np.trace(M))


def press(
    K: np.ndarray, Y: np.ndarray, alpha: float, gradient: bool = True, intercept: bool = False
) -> tuple[float, np.ndarray | None, float]:
    """f = Σ_i ‖r_i‖² with r_i = b_i/N_ii; M = −2N diag(1/N_ii) R Bᵀ + 2N diag(‖r_i‖²/N_ii) N, symmetrised.

    With an intercept N − N11ᵀN/1ᵀN1 replaces N: it is estimated without row i, too.
    """
    L, _ = _factor(K, alpha)
    if L is None:
        return np.inf, None, 0.0
    N, _ = dpotri(L, lower=1, overwrite_c=1)
    if intercept:
        N, _ = _without_constant(N)
    N = np.tril(N) + np.tril(N, -1).T
    B, d = N @ Y, np.diagonal(N)
    r = B / d[:, None]
    squares = np.sum(r * r, axis=1)
    if not gradient:
        return float(squares.sum()), None, 0.0
    M = N @ ((squares / d)[:, None] * N) - (N @ (r / d[:, None])) @ B.T
    M = np.asfortranarray(M + M.T)
    return float(squares.sum()), M, float(np.trace(M))


def _without_constant(N: np.ndarray) -> tuple[np.ndarray, float]:
    """N − N11ᵀN/1ᵀN1 and 1ᵀN1, by the lower triangle of N, which is overwritten."""
    u = dsymm(1.0, N, np.ones((len(N), 1), order="F"), lower=1)[:, 0]
    total = float(u.sum())
    return dsyr(-1 / total, u, lower=1, a=N, overwrite_a=1), total


def _factor(K: np.ndarray, alpha: float) -> tuple[np.ndarray | None, float]:
    """L Lᵀ = K + αI, and the logarithm of the determinant; None where it is not positive definite."""
    A = K.copy(order="F")
    A.ravel(order="K")[:: len(A) + 1] += alpha
    L, info = dpotrf(A, lower=1, overwrite_a=1, clean=0)
    if info or not np.all(np.isfinite(diagonal := np.diagonal(L))):
        return None, np.inf
    return L, float(2 * np.log(diagonal).sum())
