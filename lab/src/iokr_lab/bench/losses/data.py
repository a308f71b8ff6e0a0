"""Outputs with outliers, and what all losses share: the gap, λ, the length of the noise."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import eigsh

from iokr_lab.bench.base import Disagreement
from iokr_lab.bench.grams import Matrix, smooth_vectors

__all__ = ["NOISE", "RATIO", "TOL", "check_gap", "largest_eigenvalue", "lengths", "with_outliers"]

TOL = 1e-6  # the relative duality gap at which all contenders stop
RATIO = 800.0  # the largest eigenvalue of K over λ
NOISE = 0.3  # standard deviation of an output's noise


def with_outliers(rng: np.random.Generator, n: int, p: int, q: int) -> tuple[Matrix, Matrix]:
    """Inputs and noisy smooth outputs, to a tenth of which five times a normal vector is added."""
    X, Y = smooth_vectors(rng, n, p, q)
    outliers = rng.permutation(n)[: n // 10]
    Y[outliers] += 5.0 * rng.standard_normal((len(outliers), q))
    return X, Y


def largest_eigenvalue(K: Matrix) -> float:
    """The largest eigenvalue of K."""
    return float(eigsh(K, k=1, v0=np.ones(len(K)), return_eigenvectors=False, tol=1e-6)[0])


def lengths(R: Matrix) -> Matrix:
    """‖r_i‖."""
    lengths: Matrix = np.sqrt(np.einsum("ij,ij->i", R, R))
    return lengths


def check_gap(who: str, gap: float) -> None:
    """Raise `Disagreement` unless the gap is reached."""
    if not gap <= TOL:
        raise Disagreement(f"{who}: stopped at a relative gap of {gap:.1e}, where {TOL:g} is required.")
