"""L² norms in coordinates, and expansions in functions that need not be orthogonal.

Tests of `iokr.embeddings.basis`.
"""

import numpy as np
import pytest

from iokr.embeddings import Basis, Curves

RNG = np.random.default_rng(0)
Y, T = RNG.normal(size=(6, 30)), np.sort(RNG.uniform(size=30))


def test_norms_are_integrals():
    embedding = Curves(T, intercept=False)
    Psi = embedding.fit_transform(Y)
    np.testing.assert_allclose((Psi**2).sum(axis=1), np.trapezoid(Y**2, T) / (T[-1] - T[0]), rtol=1e-12)
    np.testing.assert_allclose(embedding.vectors(Psi), Y, rtol=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_with_the_residual_norms_are_those_of_the_curves(intercept):
    """Less the part of their mean outside of the span, which belongs to every prediction."""
    for basis in (Basis.bsplines(6), Basis.fourier(5), Basis.principal(2), Basis(RNG.normal(size=(30, 3)))):
        whole, short = Curves(T), Curves(T, basis, intercept=intercept)
        Psi = short.fit_transform(Y)
        inside = short.vectors(Psi)  # a projection: once more changes nothing
        np.testing.assert_allclose(short.vectors(short.represent(inside)), inside, atol=1e-10)
        norms = (whole.fit_transform(Y - short.mean_) ** 2).sum(axis=1)
        np.testing.assert_allclose((Psi**2).sum(axis=1) + short.outside() ** 2, norms, rtol=1e-10)
        np.testing.assert_allclose((short.represent(Y) ** 2).sum(axis=1), norms, rtol=1e-10)
        mean = short.vectors(short.represent(Y.mean(axis=0)[None]))[0] if intercept else 0.0
        np.testing.assert_allclose(mean, Y.mean(axis=0) if intercept else 0.0, atol=1e-10)


def test_fourier_is_orthonormal_over_a_period():
    t = np.arange(64) / 64
    Phi = Basis.fourier(7, 1.0).fitted(t)(t, 0)
    np.testing.assert_allclose(Phi.T @ Phi / 64, np.eye(7), atol=1e-12)


def test_at_agrees_with_the_nodes():
    for basis in (None, Basis.bsplines(6), Basis.principal(2)):
        embedding = Curves(T, basis)
        Psi = embedding.fit_transform(Y)
        np.testing.assert_allclose(embedding.at(Psi, T), embedding.vectors(Psi), atol=1e-10)


def test_the_intercept_of_sparse_curves_is_smooth():
    """By least squares on all observations, a combination of `mean_shapes`."""
    t = np.linspace(0, 1, 60)
    seen = RNG.uniform(size=(40, 60)) < 0.05
    seen[np.arange(40), RNG.integers(60, size=40)] = True
    noisy = np.where(seen, np.sin(4 * t) + 0.1 * RNG.normal(size=(40, 60)), np.nan)
    embedding = Curves(t)
    Psi, shapes = embedding.fit_transform(noisy), embedding.mean_shapes(seen, None)
    beta = np.linalg.lstsq(shapes.T[np.nonzero(seen)[1]], Psi[seen])[0]
    assert np.abs(embedding.vectors((beta @ shapes)[None])[0] - np.sin(4 * t)).max() < 0.15
