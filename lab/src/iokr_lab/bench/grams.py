"""Gaussian Gram matrices as one would write them by hand, and vectors to make them of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm

__all__ = ["PANEL", "Matrix", "gram", "lower_gram", "rbf_factors", "smooth_vectors"]

PANEL = 64  # columns of the Gram matrix made at a time: they stay in the cache until exp has seen them

Matrix = NDArray[np.float64]


def lower_gram(X: Matrix, gamma: float) -> Matrix:
    """exp(−γ‖x_i − x_j‖²) for i ≥ j, in one array in Fortran order; above the diagonal nothing is written."""
    left, right = rbf_factors(X, X, gamma)
    K = np.empty((len(X), len(X)), order="F")
    for j in range(0, len(X), PANEL):
        np.exp(dgemm(1.0, left[:, j:], right[:, j : j + PANEL], trans_a=1), out=K[j:, j : j + PANEL])
    return K


def gram(X: Matrix, Z: Matrix, gamma: float) -> Matrix:
    """exp(−γ‖x_i − z_j‖²), in Fortran order."""
    left, right = rbf_factors(X, Z, gamma)
    K = np.empty((len(X), len(Z)), order="F")
    for j in range(0, len(Z), PANEL):
        np.exp(dgemm(1.0, left, right[:, j : j + PANEL], trans_a=1), out=K[:, j : j + PANEL])
    return K


def rbf_factors(X: Matrix, Z: Matrix, gamma: float) -> tuple[Matrix, Matrix]:
    """Columns a_i, b_j with ⟨a_i, b_j⟩ = −γ‖x_i − z_j‖²: the norms are folded into the product."""
    x = np.einsum("ij,ij->i", X, X)
    z = np.einsum("ij,ij->i", Z, Z)
    left = np.hstack([2 * gamma * X, -gamma * x[:, None], np.full((len(X), 1), -gamma)])
    right = np.hstack([Z, np.ones((len(Z), 1)), z[:, None]])
    return left.T, right.T


def smooth_vectors(rng: np.random.Generator, n: int, p: int, q: int) -> tuple[Matrix, Matrix]:
    """Inputs, and smooth functions of them with noise."""
    X = rng.standard_normal((n, p))
    return X, np.sin(X @ rng.standard_normal((p, q)) / np.sqrt(p)) + 0.3 * rng.standard_normal((n, q))
