"""The best of all complete rankings, beside trying them all.

Tests of `iokr.decoders._search.linear` and `iokr.decoders._search.orders`.
"""

from itertools import permutations

import numpy as np
import pytest

from iokr import IOKR
from iokr.decoders import Assignment
from iokr.decoders._search.orders import best_orders, local_orders
from iokr.kernels import RBF, Delta, Kendall, Mallows, Normalized, Positional, Spearman
from reference import assert_close
from samples import vectors


def rankings(n: int, d: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(d) + 1.0 for _ in range(n)])


def everything(d: int) -> np.ndarray:
    return np.array(list(permutations(range(1, d + 1))), dtype=float)


def skew(m: int, d: int, seed: int = 0) -> np.ndarray:
    W = np.random.default_rng(seed).normal(size=(m, d, d))
    return W - W.transpose(0, 2, 1)


def value(w: np.ndarray, order) -> float:
    return sum(w[a, b] for i, a in enumerate(order) for b in order[i + 1 :])


KERNELS = [Spearman(), Kendall(), Positional(Delta()), Normalized(Spearman()), 3.0 * Normalized(Kendall())]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: " ".join(repr(kernel).split()))
@pytest.mark.parametrize("d", [2, 3, 5])
def test_is_the_nearest_of_all_rankings(kernel, d):
    X, new, Y = vectors(20, seed=1), vectors(15, seed=2), rankings(20, d)
    model = IOKR(RBF(1.0), output_kernel=kernel, alpha=0.3, decoder=Assignment()).fit(X, Y)
    distances = model.distances(new, everything(d))
    found = model.distances(new, model.predict(new))
    assert_close(np.diag(found), distances.min(axis=1), 1e-12)


@pytest.mark.parametrize("kernel", [Spearman(), Kendall()])
def test_learns_from_partial_rankings(kernel):
    X, Y = vectors(20, seed=1), rankings(20, 4)
    Y[::3, 1] = np.nan
    Y[1::4, 2] = Y[1::4, 3]
    model = IOKR(RBF(1.0), output_kernel=kernel, alpha=0.3, decoder=Assignment()).fit(X, Y)
    distances = model.distances(X, everything(4))
    assert_close(np.diag(model.distances(X, model.predict(X))), distances.min(axis=1), 1e-12)


@pytest.mark.parametrize("d", [1, 2, 4, 6])
def test_orders_beside_all_orders(d):
    W = skew(6, d)
    best = [max(value(w, order) for order in permutations(range(d))) for w in W]
    exact, _ = best_orders(W)
    assert_close([value(w, order) for w, order in zip(W, exact, strict=True)], best, 1e-12, atol=1e-15)
    near, bounds = local_orders(W)
    values = np.array([value(w, order) for w, order in zip(W, near, strict=True)])
    assert np.all(values <= np.array(best) + 1e-12)
    assert np.all(bounds >= np.array(best) - 1e-12)
    for order in near:
        assert sorted(order) == list(range(d))


def test_no_single_move_improves_a_local_order():
    W = skew(3, 9, seed=4)
    for w, order in zip(W, local_orders(W)[0], strict=True):
        here = value(w, order)
        for p in range(9):
            rest = np.delete(order, p)
            assert max(value(w, np.insert(rest, q, order[p])) for q in range(9)) <= here + 1e-9


def test_orders_without_cycles_are_found_and_proved():
    manifold_weights = np.random.default_rng(0).normal(size=(4, 30))
    W = manifold_weights[:, :, None] - manifold_weights[:, None, :]
    orders, bounds = local_orders(W)
    np.testing.assert_array_equal(orders, np.argsort(-manifold_weights, axis=1))
    assert_close(bounds, np.abs(W).sum(axis=(1, 2)) / 2, 1e-12)


@pytest.mark.parametrize("exact", [0, 12])
def test_values_and_bounds(exact):
    X, Y = vectors(15, seed=1), rankings(15, 6)
    model = IOKR(RBF(1.0), output_kernel=Kendall(), alpha=0.3, decoder=Assignment(exact)).fit(X, Y)
    H = model.decision_function(X)
    found, values, bounds = model.decoder_.solve(H, model.embedding_)
    scores = model.scores(X, everything(6))
    assert_close(values, np.diag(model.scores(X, found)), 1e-12)
    assert np.all(bounds >= scores.max(axis=1) - 1e-12)
    if exact:
        assert_close(bounds, scores.max(axis=1), 1e-12)


def test_ranks_are_those_of_the_training_rankings():
    X = np.arange(3.0)[:, None]
    zero = IOKR(RBF(2.0), output_kernel=Spearman(), alpha=1e-6, decoder=Assignment())
    np.testing.assert_array_equal(zero.fit(X, rankings(3, 4) - 1).predict(X), rankings(3, 4) - 1)
    tied = IOKR(RBF(2.0), output_kernel=Spearman(), alpha=1e-6, decoder=Assignment()).fit(X, [[5, 5, 9]] * 3)
    assert sorted(tied.predict(X)[0]) == [1, 2, 3]


def test_refusals():
    X, Y = vectors(4), rankings(4, 3)
    with pytest.raises(ValueError, match="Mallows"):
        IOKR(RBF(1.0), output_kernel=Mallows(), decoder=Assignment()).fit(X, Y)
    with pytest.raises(ValueError, match="`exact` must be at most 20, got 25"):
        IOKR(RBF(1.0), output_kernel=Kendall(), decoder=Assignment(25)).fit(X, Y)
