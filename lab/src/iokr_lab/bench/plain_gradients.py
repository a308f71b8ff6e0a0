"""Masked problems m∘(K C A) + λC = m∘Ψ in plain NumPy: a dense system over what was seen, plain conjugate gradients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["dense_masked", "plain_gradients"]

Matrix = NDArray[np.float64]


def dense_masked(K: Matrix, A: Matrix, mask: NDArray[np.bool_], Psi: Matrix, alpha: float) -> Matrix:
    """C (n, q) by a Cholesky factor of the matrix over observed entries, K_ij A_tu."""
    from scipy.linalg import cho_factor, cho_solve

    i, t = np.nonzero(mask)
    M = K[np.ix_(i, i)]
    M *= A[np.ix_(t, t)]
    M.ravel()[:: len(i) + 1] += alpha
    C = np.zeros(mask.shape)
    C[i, t] = cho_solve(cho_factor(M, lower=True, overwrite_a=True), Psi[i, t])
    return C


def plain_gradients(
    K: Matrix, A: Matrix, mask: NDArray[np.bool_], Psi: Matrix, alpha: float, tol: float = 1e-10
) -> tuple[Matrix, int]:
    """C by conjugate gradients without a preconditioner, and the number of steps."""
    B = np.where(mask, Psi, 0.0)
    C = np.zeros_like(B)
    R = B.copy()
    P = R.copy()
    old = float(np.sum(R * R))
    goal = tol * float(np.linalg.norm(B))
    steps = 0
    while old > goal**2 and steps < 10_000:
        S = mask * (K @ P @ A) + alpha * P
        step = old / float(np.sum(P * S))
        C = C + step * P
        R = R - step * S
        new = float(np.sum(R * R))
        P = R + new / old * P
        old = new
        steps = steps + 1
    return C, steps
