"""A Gram matrix evaluated in blocks is the Gram matrix.

Tests of `iokr.gram.base`.
"""

import numpy as np
import pytest

import reference
from iokr.gram import ScalarGram
from iokr.kernels import RBF, Polynomial
from reference import assert_close
from samples import vectors
from tolerance import rounding


def grams(n: int, m: int | None = None, kernel=None) -> ScalarGram:
    kernel = (kernel or RBF(0.4)).fit(vectors(4))
    R = kernel.represent(vectors(n, seed=1))
    return kernel.gram(R, None if m is None else kernel.represent(vectors(m, seed=2)))


@pytest.mark.parametrize("n", [1, 7, 700])  # 700 is more than one panel
def test_symmetric_matrix(n):
    K = grams(n).dense()
    X = vectors(n, seed=1)
    direct = np.exp(-0.4 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    assert_close(K, direct, 1e-13)
    squares = 2 * float(np.max(np.sum(X**2, axis=1)))  # γ (‖x‖² + ‖z‖² − 2⟨x, z⟩) cancels
    assert_close(K, K.T, rounding(3, 0.4 * 2 * squares))
    np.testing.assert_array_equal(np.diag(K), np.ones(n))


@pytest.mark.parametrize("n", [1, 7, 700])
def test_lower_triangle_alone(n):
    lower = np.tril(grams(n).detach(lower=True))
    assert_close(lower, np.tril(grams(n).dense()), 1e-16)


@pytest.mark.parametrize(("n", "m"), [(5, 3), (1, 1), (600, 500), (2000, 3)])
def test_rectangular_matrix_and_products(n, m):
    X, Z, C = vectors(n, seed=1), vectors(m, seed=2), vectors(m, 4, seed=3)
    direct = np.exp(-0.4 * np.sum((X[:, None] - Z[None]) ** 2, axis=2))
    gram = grams(n, m)
    assert gram.shape == (n, m)
    assert_close(gram @ C, direct @ C, 1e-12)
    assert_close(gram.dense(), direct, 1e-13)
    assert_close(gram @ C, direct @ C, 1e-12)  # once more, from the kept matrix


def test_a_detached_matrix_may_be_overwritten():
    gram = grams(20)
    kept = gram.dense().copy()
    K = gram.detach()
    K[:] = np.nan
    assert_close(gram.dense(), kept, 1e-16)
    assert_close(gram @ np.ones((20, 1)), kept.sum(axis=1)[:, None], 1e-13)


@pytest.mark.parametrize("kept", [False, True])
def test_rows_diagonal_and_restriction(kept):
    gram = grams(12, kernel=Polynomial(2, 1.0, 1.0))
    K = reference.gram(reference.polynomial(2, 1.0, 1.0), vectors(12, seed=1))
    if kept:
        gram.dense()
    rows = np.array([3, 0, 11])
    assert_close(gram.rows(rows), K[rows], 1e-13)
    assert_close(gram.rows(slice(2, 5)), K[2:5], 1e-13)
    assert_close(gram.diagonal(), np.diag(K), 1e-13)
    assert_close(gram.restrict(rows).dense(), K[np.ix_(rows, rows)], 1e-13)


@pytest.mark.parametrize("panel", [1, 5, 12, 100])
def test_panels_that_the_kernel_asks_for(panel):
    """The same matrix, and above the diagonal nothing but the panels' corners is evaluated."""
    X, evaluated = vectors(12, seed=1), []

    def block(R, S):
        evaluated.append(len(R) * len(S))
        return R @ S.T

    gram = ScalarGram(block, X, panel=panel)
    assert_close(gram.dense(), X @ X.T, 1e-14)
    heights = [min(panel, 12 - start) for start in range(0, 12, panel)]
    assert sum(evaluated) == (144 + sum(h * h for h in heights)) // 2
    rows = np.array([3, 0, 11])
    assert_close(gram.restrict(rows).dense(), (X @ X.T)[np.ix_(rows, rows)], 1e-14)


def test_many_rows_are_multiplied_in_panels(monkeypatch):
    """What is held beside the answer does not grow with the rows."""
    import tracemalloc

    monkeypatch.setattr("iokr.gram.scalar._PRODUCT", 1 << 14)
    rng = np.random.default_rng(0)
    S, C = rng.normal(size=(64, 3)), rng.normal(size=(64, 2))
    held = []
    for rows in (2000, 40_000):
        R = rng.normal(size=(rows, 3))
        gram = ScalarGram(lambda A, B: A @ B.T, R, S)
        tracemalloc.start()
        H = gram @ C
        held.append(tracemalloc.get_traced_memory()[1] - 2 * H.nbytes)
        tracemalloc.stop()
        np.testing.assert_allclose(H, R @ S.T @ C)
    assert held[1] < 3 * 8 * (1 << 14) + held[0]
