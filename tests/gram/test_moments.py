"""Moments add, give the error of any D, and stand for their rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr.gram.moments import moments_of, squares, total

rng = np.random.default_rng(0)
Phi, Psi, W = rng.normal(size=(50, 6)), rng.normal(size=(50, 3)), rng.uniform(0.2, 2.0, size=50)
ALPHA = 0.3


@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
def test_are_those_of_all_rows_however_they_are_cut(weight):
    whole = moments_of(Phi, Psi, weight)
    parts = [slice(0, 7), slice(7, 30), slice(30, 50)]
    summed = total([moments_of(Phi[p], Psi[p], None if weight is None else weight[p]) for p in parts])
    w = np.ones(50) if weight is None else weight
    assert_allclose(whole.G, (Phi.T * w) @ Phi, atol=1e-12)
    assert_allclose(whole.B, (Phi.T * w) @ Psi, atol=1e-12)
    for name in ("G", "B", "s", "n", "weight"):
        assert_allclose(getattr(summed, name), getattr(whole, name), rtol=1e-13, atol=1e-12)


def test_error_of_any_coefficients():
    D = rng.normal(size=(6, 3))
    assert moments_of(Phi, Psi, W).error(D) == pytest.approx(np.sum(W[:, None] * (Psi - Phi @ D) ** 2), rel=1e-12)


@pytest.mark.parametrize("dependent", [False, True])
def test_few_rows_stand_for_all(dependent):
    F = np.concatenate([Phi, Phi[:, :2] @ rng.normal(size=(2, 2))], axis=1) if dependent else Phi
    found = moments_of(F, Psi, W)
    few, targets = found.rows()
    assert few.shape == (6, F.shape[1])
    assert_allclose(few.T @ few, found.G, atol=1e-11)
    assert_allclose(few.T @ targets, found.B, atol=1e-11)
    solve = np.linalg.solve
    D = solve((F.T * W) @ F + ALPHA * np.eye(F.shape[1]), (F.T * W) @ Psi)
    assert_allclose(solve(few.T @ few + ALPHA * np.eye(F.shape[1]), few.T @ targets), D, atol=1e-12)


def test_a_triangle_of_rows_stands_for_all_unless_digits_would_be_lost():
    found = moments_of(Phi, Psi, W)
    L, targets = found.triangular_rows()
    assert_allclose(L @ L.T, found.G, atol=1e-12)
    assert_allclose(L @ targets, found.B, atol=1e-12)
    assert np.array_equal(L, np.tril(L))
    nearly = np.concatenate([Phi, Phi[:, :1] + 1e-6 * rng.normal(size=(50, 1))], axis=1)
    assert moments_of(nearly, Psi, W).triangular_rows() is None
    assert moments_of(np.concatenate([Phi, Phi], axis=1), Psi).triangular_rows() is None


def test_one_triangle_is_mirrored_in_either_order():
    for rows in (Phi, np.asfortranarray(Phi), Phi[::2]):
        assert_allclose(squares(rows), rows.T @ rows, atol=1e-13)
        assert np.array_equal(squares(rows), squares(rows).T)


def test_in_the_library_of_the_features():
    torch = pytest.importorskip("torch")
    found = moments_of(torch.asarray(Phi), torch.asarray(Psi), W)
    assert isinstance(found.G, torch.Tensor)
    assert_allclose(found.G.numpy(), moments_of(Phi, Psi, W).G, atol=1e-12)
    assert_allclose(found.rows()[1].numpy() ** 2, moments_of(Phi, Psi, W).rows()[1] ** 2, atol=1e-10)
