"""Products of sparse counts beside dense ones, compiled and not, whatever the columns hold."""

import numpy as np
import pytest

from iokr._system.compile import compiled, compiling
from iokr.kernels._data import counts
from iokr.kernels._data.counts import Counts, Vocabulary, inner, name_rows, sq_norms
from reference import assert_close


@pytest.fixture(params=["compiled", "numpy"])
def route(request):
    if request.param == "compiled":
        pytest.importorskip("numba")
    with compiling(request.param == "compiled"):
        assert (compiled(counts._add_rows) is not None) == (request.param == "compiled")
        yield request.param


def table(n: int, words: str, density: float, seed: int = 0) -> tuple[Counts, dict[str, np.ndarray]]:
    """Counts over the letters of `words`, and the same as columns by letter."""
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, 4, size=(n, len(words))) * (rng.random((n, len(words))) < density)
    dense[:, 0] = rng.integers(1, 4, size=n)  # a column that all objects have
    where = dense.nonzero()
    rows, columns = (np.repeat(side, dense[where]) for side in where)
    found = Counts.of(rows, columns, n, Vocabulary({w: i for i, w in enumerate(words)}))
    return found, dict(zip(words, dense.T, strict=True))


def expected(x: dict[str, np.ndarray], z: dict[str, np.ndarray]) -> np.ndarray:
    return sum(np.outer(x[w], z[w]) for w in x.keys() & z.keys())


@pytest.mark.parametrize("density", [0.02, 0.2, 0.9])
def test_inner_products(density, route):
    R, x = table(30, "abcdefghijkl", density)
    S, z = table(20, "lkaxyzbm", density, seed=1)
    np.testing.assert_array_equal(inner(R, S), expected(x, z))
    np.testing.assert_array_equal(inner(R, R), expected(x, x))
    np.testing.assert_array_equal(inner(S[3:9], R[np.array([5, 1])]), expected(z, x)[3:9][:, [5, 1]])
    np.testing.assert_array_equal(sq_norms(R), np.diag(expected(x, x)))


def test_nothing_in_common(route):
    R, _ = table(4, "abc", 0.5)
    S, _ = table(3, "xyz", 0.5)
    np.testing.assert_array_equal(inner(R, S), np.zeros((4, 3)))


def test_weights(route):
    R, x = table(9, "abcdef", 0.4)
    w = np.array([1.0, -2.0, 3.0, 0.5, 0.0, 7.0])
    weighted = Counts(R.matrix, R.vocabulary, w)
    X = np.stack(list(x.values()), axis=1)
    assert_close(inner(weighted, weighted), X * w @ X.T, 1e-14)
    assert_close(sq_norms(weighted), np.diag(X * w @ X.T), 1e-14)
    both = weighted.concat(weighted)
    assert_close(inner(both, both)[:9, 9:], X * w @ X.T, 1e-14)


def test_rows_of_integers_are_named_exactly():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 1000, size=(50, 12))
    rows = np.concatenate([rows, rows[::-1]])  # twelve digits below 1000 need 120 bits
    names, first = name_rows(rows, 1000)
    assert len(first) == len(np.unique(rows, axis=0)) == 50
    np.testing.assert_array_equal(rows[first[names]], rows)
