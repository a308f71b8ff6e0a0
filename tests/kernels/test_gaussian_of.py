"""The Gaussian in a feature space."""

import numpy as np
import pytest

from iokr.kernels import RBF, GaussianOf, Linear, Normalized, Polynomial, Precomputed, Spectrum, Tanimoto
from members import objects
from reference import assert_close


def test_of_the_linear_kernel_is_rbf():
    X, Z = objects("vectors", 9), objects("vectors", 4, seed=1)
    assert_close(GaussianOf(Linear(), 0.3)(X, Z), RBF(0.3)(X, Z), 1e-12)


@pytest.mark.parametrize("base", [Tanimoto(), Normalized(Polynomial(2))])
def test_of_a_normalised_kernel(base):
    X = objects("fingerprints", 9)
    assert_close(GaussianOf(base, 2.0)(X), np.exp(-4.0 * (1 - base(X))), 1e-10)


def test_small_gamma_is_one_and_large_gamma_tells_apart():
    X = objects("strings", 6)
    assert_close(GaussianOf(Spectrum(2), 1e-12)(X), np.ones((6, 6)), 1e-9)
    distinct = np.array(["aaaa", "bbbb", "cdcd"], dtype=object)
    assert_close(GaussianOf(Spectrum(2), 1e3)(distinct), np.eye(3), 1e-12)


def test_is_positive_semidefinite_for_any_base():
    B = np.random.default_rng(0).normal(size=(8, 3))
    K = GaussianOf(Precomputed(B @ B.T), 0.7)(np.arange(8))
    assert np.linalg.eigvalsh(K).min() > -1e-12


def test_gamma_is_checked():
    with pytest.raises(ValueError, match="gamma"):
        GaussianOf(Linear(), 0.0)([[1.0]])
    with pytest.raises(TypeError, match="base"):
        GaussianOf("linear")([[1.0]])
