"""I − exp(−βL), and exp(−βL) as it is printed in the papers."""

import numpy as np
import pytest

import reference
from iokr import IOKR
from iokr.kernels import RBF
from iokr.manifolds import Heat
from reference import assert_close
from samples import vectors


def penalty(manifold, X) -> np.ndarray:
    kernel = RBF(0.5).fit(X)
    R = kernel.represent(X)
    return manifold.penalty(R, kernel.gram(R))


@pytest.mark.parametrize("beta", [1e-3, 0.2, 3.0])
def test_heat_equals_the_series(beta):
    X = vectors(9, seed=1)
    heat = reference.exponential(-beta * reference.graph_laplacian(reference.gram(reference.rbf(0.5), X)))
    assert_close(penalty(Heat(1.0, beta), X), np.eye(9) - heat, 1e-11, atol=1e-13)
    assert_close(penalty(Heat(1.0, beta, literal=True), X), heat, 1e-12)


def test_smoothing_version_leaves_constants_alone_and_the_literal_one_penalises_them_most():
    X = vectors(9, seed=2)
    one = np.ones(9) / 3
    assert abs(one @ penalty(Heat(1.0, 0.5), X) @ one) < 1e-13
    literal = penalty(Heat(1.0, 0.5, literal=True), X)
    assert_close(one @ literal @ one, 1.0, 1e-13)
    assert np.linalg.eigvalsh(literal).max() <= 1 + 1e-13


def test_eigenvalues_lie_between_zero_and_one():
    values = np.linalg.eigvalsh(penalty(Heat(1.0, 0.5), vectors(9, seed=3)))
    assert values.min() > -1e-14
    assert values.max() <= 1.0


def test_small_beta_is_the_laplacian_without_cancellation():
    X = vectors(7, seed=4)
    L = reference.graph_laplacian(reference.gram(reference.rbf(0.5), X))
    assert_close(penalty(Heat(1.0, 1e-11), X) / 1e-11, L, 1e-9)


@pytest.mark.parametrize("beta", [0.0, -1.0, np.inf])
def test_bad_beta(beta):
    with pytest.raises(ValueError, match="beta"):
        IOKR(RBF(0.5), manifold=Heat(1.0, beta)).fit(vectors(5), vectors(5))
