"""Global alignment beside its recursion, compiled and in NumPy, and beside tslearn."""

import numpy as np
import pytest

from iokr._system.compile import compiled, compiling
from iokr.kernels import GlobalAlignment
from iokr.kernels.structured import series as module
from reference import assert_close


@pytest.fixture(params=["compiled", "numpy"])
def route(request):
    if request.param == "compiled":
        pytest.importorskip("numba")
    with compiling(request.param == "compiled"):
        assert (compiled(module._align) is not None) == (request.param == "compiled")
        yield request.param


def walks(n: int, longest: int, channels: int = 2, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(size, channels)).cumsum(axis=0) for size in rng.integers(1, longest + 1, size=n)]


def alignments(x: np.ndarray, z: np.ndarray, sigma: float) -> float:
    M = np.zeros((len(x) + 1, len(z) + 1))
    M[0, 0] = 1.0
    for p in range(len(x)):
        for q in range(len(z)):
            g = np.exp(-np.sum((x[p] - z[q]) ** 2) / (2 * sigma**2))
            M[p + 1, q + 1] = g / (2 - g) * (M[p, q + 1] + M[p + 1, q] + M[p, q])
    return M[-1, -1]


def naive(X, Z, sigma):
    def k(x, z):
        return alignments(x, z, sigma) / np.sqrt(alignments(x, x, sigma) * alignments(z, z, sigma))

    return [[k(x, z) for z in Z] for x in X]


@pytest.mark.parametrize("channels", [1, 2])
def test_equals_the_recursion(channels, route):
    X, Z = walks(13, 9, channels), walks(7, 9, channels, seed=1)
    k = GlobalAlignment(1.3).fit(X)
    assert_close(k(X, Z), naive(X, Z, 1.3), 1e-12)
    assert_close(k(X), naive(X, X, 1.3), 1e-12)


def test_without_gaps_of_time_it_sums_over_all_alignments():
    """Series that stand still have κ = 1 everywhere: K counts alignments, the Delannoy numbers."""
    still = [np.zeros(4), np.zeros(3)]
    delannoy = {(3, 3): 13, (4, 4): 63, (4, 3): 25}
    expected = delannoy[4, 3] / np.sqrt(delannoy[4, 4] * delannoy[3, 3])
    assert GlobalAlignment(1.0)(still)[0, 1] == pytest.approx(expected, rel=1e-12)


def test_long_series_neither_underflow_nor_overflow(route):
    rng = np.random.default_rng(0)
    X = [np.sin(np.linspace(0, 20, 700)) + 0.01 * rng.normal(size=700) for _ in range(3)]
    X += [np.full(650, 100.0)]  # κ is so small that the plain recursion is 0
    K = GlobalAlignment(0.5)(X)
    assert np.isfinite(K).all()
    assert_close(np.diag(K), np.ones(4), 1e-12)
    assert K[0, 1] > 0.5
    assert K[0, 3] == 0.0


def test_panels_cover_the_block(monkeypatch):
    pytest.importorskip("numba")
    X = walks(12, 9)
    whole = GlobalAlignment(1.0)(X)
    monkeypatch.setattr(module, "_POINTS", 400)
    assert_close(GlobalAlignment(1.0)(X), whole, 1e-14)


def test_bandwidth_from_the_data():
    X = [np.array([0.0, 1.0]), np.array([3.0, 3.0, 0.0]), np.array([1.0, 0.0])]
    assert GlobalAlignment().fit(X).sigma_ == pytest.approx(2.0 * np.sqrt(2.0))  # distances 1, 2, 3; lengths 2, 2, 3
    assert GlobalAlignment().fit([np.zeros(3)]).sigma_ == 1.0


def test_bad_series_are_named():
    good = np.arange(3.0)
    for bad, error, message in [
        (np.zeros((0, 1)), ValueError, "Series 1 must have shape"),
        ("abc", TypeError, "Series 1 must be an array of numbers"),
        (np.array([1.0, np.nan]), ValueError, "Series 1 contains NaN"),
        (np.zeros((3, 2)), ValueError, "Series 1 has 2 channels where others have 1"),
    ]:
        with pytest.raises(error, match=message):
            GlobalAlignment(1.0)([good, bad])
    with pytest.raises(ValueError, match="`sigma` must be a positive number"):
        GlobalAlignment(0.0).fit([good])


@pytest.mark.optional
def test_agrees_with_tslearn():
    metrics = pytest.importorskip("tslearn.metrics")
    X = np.random.default_rng(0).normal(size=(8, 20, 2)).cumsum(axis=1)
    assert_close(GlobalAlignment(3.0)(X), metrics.cdist_gak(X, sigma=3.0), 1e-10)
