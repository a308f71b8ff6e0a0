"""Cholesky factors in halves, and the inverse of a symmetric positive definite matrix."""

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


@pytest.mark.parametrize("n", [2, 3, 40, 101])
@pytest.mark.parametrize("at_once", [1, 7, 30])
@pytest.mark.parametrize("order", ["C", "F"])
def test_halves_are_the_whole(monkeypatch, n, at_once, order):
    """K = L Lᵀ, whatever the size that LAPACK gets; above the diagonal nothing is read."""
    import iokr._array.factorizations as module

    sizes, whole = [], module.lower_factor
    monkeypatch.setattr(module, "lower_factor", lambda K: sizes.append(len(K)) or whole(K))
    monkeypatch.setattr(module, "_SLAB", 100)  # several slabs
    K = symmetric(n)
    lower = np.array(np.where(np.tri(n, dtype=bool), K, np.nan), order=order)
    found = np.tril(cholesky(lower, 0.5, at_once=at_once).L)
    shifted = K + 0.5 * np.eye(n)
    bound = rounding(n, np.linalg.cond(shifted))
    assert np.abs(found - np.linalg.cholesky(shifted)).max() <= bound * np.sqrt(np.abs(shifted).max())
    assert max(sizes) <= at_once
    assert sum(sizes) == n
    assert np.array_equal(np.tril(lower), np.tril(K))  # not overwritten
    factor = cholesky(lower, 0.5, overwrite=True, at_once=at_once)
    if order == "C":
        assert factor.L is lower or np.shares_memory(factor.L, lower)
    assert np.abs(factor.solve(shifted) - np.eye(n)).max() <= bound


@pytest.mark.parametrize("row", [0, 19, 20, 39])
def test_breakdown_in_any_part(row):
    K = symmetric(40)
    K[row, row] = -1.0
    with pytest.raises(NotPositiveDefinite):
        cholesky(K, at_once=10)
