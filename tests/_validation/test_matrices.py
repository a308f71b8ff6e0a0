"""K is positive semi-definite when λ_min(K) ≥ −1e-8 λ_max(K), in any unit and any array library."""

import numpy as np
import pytest

from iokr._validation.matrices import check_psd, check_symmetric


def spectrum(*eigenvalues, seed=0):
    """A symmetric matrix with these eigenvalues."""
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(eigenvalues), len(eigenvalues))))
    K = Q @ np.diag(eigenvalues) @ Q.T
    return (K + K.T) / 2


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1.0, 1e200])
def test_the_least_eigenvalue_decides_in_every_unit(unit):
    inside, outside = spectrum(3.0, 1.0, 0.5, -1e-9), spectrum(3.0, 1.0, 0.5, -1e-6)
    assert check_psd(unit * inside, "K") is not None
    with pytest.raises(ValueError, match=r"`K` must be positive semi-definite"):
        check_psd(unit * outside, "K")


def test_a_bare_diagonal_and_zeros():
    assert check_psd(np.zeros((3, 3)), "K").shape == (3, 3)
    with pytest.raises(ValueError, match=r"its diagonal has the entry -1"):
        check_psd(np.diag([1.0, -1.0]), "K")
    with pytest.raises(ValueError, match=r"as distances do"):
        check_psd(np.array([[0.0, 1.0], [1.0, 0.0]]), "K")


def test_rounding_across_the_diagonal_is_taken_out():
    K = spectrum(2.0, 1.0, 0.5)
    K[0, 1] += 1e-12
    found = check_symmetric(K, "K")
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, K, atol=1e-12)


@pytest.mark.parametrize(
    ("K", "words"),
    [
        (np.ones((2, 3)), r"must be square, got shape \(2, 3\)"),
        (np.zeros((0, 0)), "is empty"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), r"differ by up to 0\.1; pass `\(K \+ K\.T\) / 2`"),
    ],
)
def test_what_is_no_symmetric_matrix(K, words):
    with pytest.raises(ValueError, match=words):
        check_symmetric(K, "K")


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_array_libraries(library):
    xp = pytest.importorskip(library)
    K = xp.asarray(spectrum(2.0, 1.0, 0.5))
    assert type(check_psd(K, "K")) is type(K)
    with pytest.raises(ValueError, match=r"its eigenvalues run from -0\.6 to 1\.8"):
        check_psd(xp.asarray(np.eye(3) - 0.8 * (np.ones((3, 3)) - np.eye(3))), "K")
