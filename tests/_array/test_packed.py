"""One triangle holds what the full matrix does: factor, solutions and the diagonal of the inverse."""

import numpy as np
import pytest

from iokr._array import FullPacked, NotPositiveDefinite, pack, packed_bytes
from libraries import library_of
from tolerance import rounding

SIZES = [1, 2, 3, 8, 9, 50, 101]
LIBRARIES = [("numpy", None), ("array_api_strict", "CPU_DEVICE"), ("torch", "cpu")]
CUDA = [pytest.param(name, "cuda", marks=pytest.mark.gpu) for name in ("torch", "cupy")]


def matrix(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A @ A.T + np.eye(n)


def mover(name, device):
    return np.asarray if name == "numpy" else library_of(name, device)


def packed(K, to, scale=None, **options):
    """K, asked for by blocks of the lower triangle; the diagonal of a block is not to be trusted."""
    rounded = to(K * (1 + 1e-9 * np.eye(len(K))))
    own = to(np.diagonal(K).copy())
    return pack(lambda r, c: rounded[r, c], own, None if scale is None else to(scale), **options)


def host(x):
    return np.asarray(x.get() if hasattr(x, "get") else x.cpu() if hasattr(x, "cpu") else x)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("width", [None, 1, 7, 40])
@pytest.mark.parametrize(("name", "device"), [*LIBRARIES, *CUDA])
def test_is_the_full_matrix(name, device, width, n):
    to, K = mover(name, device), matrix(n)
    S = K + 0.5 * np.eye(n)
    bound = rounding(n, np.linalg.cond(S), c=4)
    B = np.random.default_rng(1).standard_normal((n, 3))
    factor = packed(K, to, width=width).factor(0.5)
    expected = np.linalg.solve(S, B)
    assert np.abs(host(factor.solve(to(B))) - expected).max() <= bound * np.abs(expected).max()
    pivot = np.diagonal(np.linalg.cholesky(S)).max() ** 2
    assert factor.largest_pivot() == pytest.approx(pivot, rel=bound)
    own = np.diagonal(np.linalg.inv(S))
    assert np.abs(host(factor.inverse_diagonal()) - own).max() <= bound * own.max()


@pytest.mark.parametrize("n", [8, 9, 51])
@pytest.mark.parametrize("width", [None, 5])
@pytest.mark.parametrize("height", [None, 1, 4])
def test_scaled_and_by_any_panels(n, width, height):
    K, w = matrix(n), np.random.default_rng(2).uniform(0.5, 2, size=n)
    S = w[:, None] * K * w + 0.1 * np.eye(n)
    factor = packed(K, np.asarray, w, width=width, height=height).factor(0.1)
    assert np.abs(factor.solve(S) - np.eye(n)).max() <= rounding(n, np.linalg.cond(S), c=4)


@pytest.mark.parametrize("width", [None, 8])
@pytest.mark.parametrize(("name", "device"), LIBRARIES)
def test_a_copy_is_factored_apart(name, device, width):
    to, K = mover(name, device), matrix(20)
    first = packed(K, to, width=width)
    second = first.copy()
    eye = to(np.eye(20))
    for one, shift in ((second, 1.0), (first, 3.0)):
        expected = np.linalg.inv(K + shift * np.eye(20))
        assert np.abs(host(one.factor(shift).solve(eye)) - expected).max() <= 1e-12


@pytest.mark.parametrize("width", [None, 8])
def test_single_precision(width):
    K = matrix(40) / 40
    factor = packed(K, np.asarray, width=width, single=True).factor(0.1)
    S = K + 0.1 * np.eye(40)
    found = factor.solve(np.eye(40))
    assert found.dtype == np.float32
    eps = float(np.finfo(np.float32).eps)
    assert np.abs(found @ S - np.eye(40)).max() <= 40 * eps * np.linalg.cond(S)


def test_right_hand_sides_are_not_overwritten():
    K, B = matrix(20), np.asfortranarray(np.ones((20, 2)))
    for width in (None, 7):
        packed(K, np.asarray, width=width).factor().solve(B)
        assert np.array_equal(B, np.ones((20, 2)))


@pytest.mark.parametrize("row", [0, 9, 10, 19])
@pytest.mark.parametrize("width", [None, 6])
@pytest.mark.parametrize(("name", "device"), [*LIBRARIES, *CUDA])
def test_breakdown_anywhere(name, device, width, row):
    K = matrix(20)
    K[row, row] = -1.0
    with pytest.raises(NotPositiveDefinite):
        packed(K, mover(name, device), width=width).factor()


def test_full_storage_answers_alike():
    K = matrix(30)
    full, half = FullPacked(K.copy()).copy().factor(1.0), packed(K, np.asarray).factor(1.0)
    B = np.ones((30, 2))
    np.testing.assert_allclose(full.solve(B), half.solve(B), rtol=1e-12)
    assert full.largest_pivot() == pytest.approx(half.largest_pivot(), rel=1e-12)
    np.testing.assert_allclose(full.inverse_diagonal(), half.inverse_diagonal(), rtol=1e-12)


@pytest.mark.parametrize("n", [4000, 20_000, 40_000, 150_000])
def test_half_of_the_matrix(n):
    full = 8.0 * n * n
    assert 0.5 * full < packed_bytes(n, np.empty(0)) <= 0.6 * full
    torch = pytest.importorskip("torch")
    like = torch.empty(0, dtype=torch.float64)
    assert packed_bytes(n, like, single=True) <= 0.5 * packed_bytes(n, like) * 1.01
    if n >= 60_000:
        assert packed_bytes(n, like) <= 0.6 * full


@pytest.mark.parametrize("n", [*SIZES, 150])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("width", [None, 1, 7, 40, "full"])
@pytest.mark.parametrize(("name", "device"), [*LIBRARIES, *CUDA])
def test_projected_in_place(name, device, width, k, n):
    """P K P + t U Uᵀ with P = I − U Uᵀ, and K U of before."""
    to, K, k = mover(name, device), matrix(n), min(k, n)
    U = np.linalg.qr(np.random.default_rng(4).standard_normal((n, k)))[0]
    lower = np.tril(K) + (np.triu(np.full((n, n), np.nan), 1) if name == "numpy" else np.triu(K, 1))
    half = FullPacked(to(lower.copy())) if width == "full" else packed(K, to, width=width)
    scale = np.abs(K).sum(axis=1).max()
    assert np.abs(host(half.project(to(U), 2.0)) - K @ U).max() <= rounding(n, 1.0, c=16) * scale
    P = np.eye(n) - U @ U.T
    expected = P @ K @ P + 2.0 * U @ U.T
    B = np.random.default_rng(5).standard_normal((n, 2))
    assert np.abs(host(half.product(to(B))) - expected @ B).max() <= rounding(n, 1.0, c=16) * scale * np.abs(B).max()
    own = expected + 0.5 * np.eye(n)
    X = np.linalg.solve(own, B)
    assert (
        np.abs(host(half.factor(0.5).solve(to(B))) - X).max()
        <= rounding(n, np.linalg.cond(own), c=16) * np.abs(X).max()
    )
