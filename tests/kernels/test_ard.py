"""`ARD`: a width for each feature."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from iokr.kernels import ARD, RBF
from reference import assert_close

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(12, 3)), rng.normal(size=(5, 3))


def test_is_the_formula():
    gammas = np.array([0.5, 0.0, 2.0])
    expected = [[np.exp(-np.sum(gammas * (x - z) ** 2)) for z in Z] for x in X]
    assert_close(ARD(gammas)(X, Z), expected, 1e-12)
    assert_close(ARD(gammas.tolist()).fit(X)(csr_array(X), csr_array(Z)), expected, 1e-12)
    assert_close(ARD(gammas)(csr_array(X), csr_array(Z)), expected, 1e-12)


def test_equal_widths_are_a_gaussian_kernel():
    assert_close(ARD(0.7)(X, Z), RBF(0.7)(X, Z), 1e-12)
    assert_close(ARD([0.7] * 3)(X), RBF(0.7)(X), 1e-12)
    assert_close(ARD()(X), RBF()(X), 1e-12)


def test_far_from_the_origin():
    """Distances are from the mean at fit, so that a common shift costs no digits."""
    kernel = ARD([0.5, 1.0, 2.0])
    assert_close(kernel.fit(X + 1e6)(X + 1e6, Z + 1e6), kernel.fit(X)(X, Z), 1e-8)


def test_refusals():
    with pytest.raises(ValueError, match="X has 3 features; give one for each"):
        ARD([1.0, 2.0]).fit(X)
    with pytest.raises(ValueError, match="at least 0"):
        ARD([1.0, -2.0, 1.0]).fit(X)
    with pytest.raises(TypeError, match="`gammas` must be numbers"):
        ARD("wide").fit(X)
    with pytest.raises(ValueError, match="X has 2 features"):
        ARD(1.0).fit(X)(X[:, :2])
