"""The inverse of a symmetric positive definite matrix, in halves."""

import numpy as np
import pytest

from iokr._array import NotPositiveDefinite, cholesky, inverse
from tolerance import rounding


def symmetric(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A @ A.T + np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 3, 64, 301])
def test_inverse(n):
    K = symmetric(n)
    expected = np.linalg.inv(K + 0.5 * np.eye(n))
    pivot = np.diagonal(np.linalg.cholesky(K + 0.5 * np.eye(n))).max() ** 2
    lower = np.where(np.tri(n, dtype=bool), K, np.nan)  # only the lower triangle is read
    C, largest = inverse(lower, 0.5)
    bound = rounding(n, np.linalg.cond(K + 0.5 * np.eye(n)))
    assert np.abs(C - expected).max() <= bound * np.abs(expected).max()
    assert np.array_equal(C, C.T)
    assert largest == pytest.approx(pivot, rel=bound)


def test_inverse_overwrites():
    K = symmetric(40)
    C, _ = inverse(K)
    assert C is K


@pytest.mark.parametrize("row", [0, 39])
def test_breakdown_in_either_half(row):
    K = symmetric(40)
    K[row, row] = -1.0
    with pytest.raises(NotPositiveDefinite):
        inverse(K)


def test_the_factor_knows_its_largest_pivot():
    K = symmetric(30)
    assert cholesky(K).largest_pivot() == pytest.approx(np.diagonal(np.linalg.cholesky(K)).max() ** 2, rel=1e-12)
