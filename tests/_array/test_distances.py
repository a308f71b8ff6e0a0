"""Squared distances against sums of squared differences, entry by entry, wherever the points lie."""

import numpy as np
import pytest
from scipy import sparse

from iokr._array import centered_sq_norms, far_center, l1_distances, scaled_sq_distances
from libraries import library_of
from tolerance import EPS

LIBRARIES = [("torch", "cpu"), ("array_api_strict", "CPU_DEVICE"), ("array_api_strict", "device1"), ("cupy", None)]


def clouds(name, p, seed=0):
    """Two sets of points: what may be far from what."""
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(30, p)), rng.normal(size=(20, p))
    match name:
        case "an outlier":
            X[3] += 1e6
        case "two clusters":
            X[:15] += 1e4
            Z[::2] += 1e4
        case "apart":
            Z += 3e5
        case "a line":
            X, Z = rng.normal(size=(30, 1)) * np.ones(p), rng.normal(size=(20, 1)) * np.ones(p)
        case "one place":
            X, Z = X * 1e-6, Z * 1e-6
        case "one row each":
            X, Z = X[:1], Z[:1]
    return X, Z


def exact(X, Z):
    """‖x_i − z_j‖², summed entry by entry from the points as they are stored."""
    return ((np.longdouble(X)[:, None, :] - np.longdouble(Z)[None, :, :]) ** 2).sum(axis=2)


def ours(X, Z, gamma, center=None):
    return scaled_sq_distances(X, centered_sq_norms(X, center), Z, centered_sq_norms(Z, center), -gamma, center)


def within(E, X, Z, gamma):
    """max |Δ exp(−γd²)| over 8 eps p max(1, γ d²_max)."""
    D = exact(X, Z)
    bound = 8 * EPS * X.shape[1] * max(1.0, float(gamma * D.max()))
    return float(np.abs(np.exp(np.longdouble(E)) - np.exp(-gamma * D)).max()) / bound


@pytest.mark.parametrize("p", [1, 2, 3, 4, 7, 40])
@pytest.mark.parametrize("shift", [0.0, 1e3, -1e6, 1e9])
@pytest.mark.parametrize(
    "cloud", ["near", "an outlier", "two clusters", "apart", "a line", "one place", "one row each"]
)
def test_the_bound_holds_about_any_centre(cloud, shift, p):
    X, Z = clouds(cloud, p)
    X, Z = X + shift, Z + shift
    for gamma in (1e-12, 0.3, 1 / p, 1e6):
        for center in (None, far_center(X), X[0], np.full(p, -1e5)):
            for A, B in ((X, Z), (X, X)):
                E = ours(A, B, gamma, center)
                assert E.max() <= 0
                assert within(E, A, B, gamma) <= 1


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
@pytest.mark.parametrize("p", [1, 3, 6])
def test_the_bound_holds_in_every_library(library, p):
    to = library_of(*library)
    for cloud in ("near", "an outlier", "apart"):
        for shift in (0.0, 1e6, 1e9):
            X, Z = (part + shift for part in clouds(cloud, p))
            for center in (None, far_center(to(X))):
                E = to.numpy(ours(to(X), to(Z), 0.4, center))
                assert E.max() <= 0
                assert within(E, X, Z, 0.4) <= 1


@pytest.mark.parametrize("shift", [0.0, 1e6, 1e9])
@pytest.mark.parametrize("p", [1, 3, 12])
def test_the_bound_holds_for_sparse_rows(monkeypatch, p, shift):
    import iokr._array.distances

    monkeypatch.setattr(iokr._array.distances, "_ENTRIES", 70)  # a few columns at a time
    rng = np.random.default_rng(0)
    X, Z = (rng.normal(size=(n, p)) * (rng.uniform(size=(n, p)) < 0.4) + shift for n in (30, 20))
    for A, B in [(sparse.csr_matrix(X), sparse.csr_array(Z)), (X, sparse.csr_array(Z)), (sparse.csr_array(X), Z)]:
        for center in (None, far_center(X)):
            assert within(ours(A, B, 0.3, center), X, Z, 0.3) <= 1


def test_sparse_rows_stay_sparse_where_digits_are_kept(monkeypatch):
    import iokr._array.distances

    monkeypatch.setattr(iokr._array.distances, "_recentred", None)
    X = sparse.random_array((40, 1000), density=0.01, rng=np.random.default_rng(0), format="csr")
    assert far_center(X) is None
    np.testing.assert_allclose(ours(X, X, 0.5), -0.5 * exact(X.toarray(), X.toarray()).astype(float), atol=1e-13)


def test_ordinary_points_are_left_where_they_are(monkeypatch):
    import iokr._array.distances

    monkeypatch.setattr(iokr._array.distances, "_recentred", None)
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(50, 8)), rng.uniform(size=(50, 60)), rng.normal(size=(50, 8)) * 1e-9):
        center = far_center(X)
        for gamma in (1e-3, 1.0, 1e3):
            ours(X, X[:20], gamma, center)
    assert far_center(rng.normal(size=(50, 8))) is None


def test_the_layout_of_rows_does_not_matter():
    X, Z = clouds("near", 6)
    expected = ours(X, Z, 0.7)
    for A in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], np.repeat(X, 2, axis=1)[:, ::2]):
        np.testing.assert_allclose(ours(A, np.asfortranarray(Z), 0.7), expected, rtol=1e-13)
        np.testing.assert_allclose(ours(Z, A, 0.7), expected.T, rtol=1e-12)


def test_nothing_to_compare():
    assert ours(np.empty((0, 5)), np.ones((2, 5)), 1.0).shape == (0, 2)
    assert ours(np.ones((3, 5)), np.empty((0, 5)), 1.0).shape == (3, 0)
    np.testing.assert_array_equal(ours(np.ones((3, 0)), np.ones((2, 0)), 1.0), np.zeros((3, 2)))
    with pytest.raises(ValueError, match="got 3 and 2"):
        ours(np.ones((2, 3)), np.ones((2, 2)), 1.0)


@pytest.mark.parametrize("library", [("numpy", None), *LIBRARIES], ids=str)
def test_sums_of_absolute_differences(library):
    X, Z = (part + 1e9 for part in clouds("near", 5))
    expected = np.abs(X[:, None] - Z[None]).sum(axis=2)
    if library[0] == "numpy":
        found = l1_distances(X, Z)
        np.testing.assert_allclose(l1_distances(sparse.csr_array(X), sparse.csr_array(Z)), expected, rtol=5 * EPS)
    else:
        to = library_of(*library)
        found = to.numpy(l1_distances(to(X), to(Z)))
    np.testing.assert_allclose(found, expected, rtol=5 * EPS)
