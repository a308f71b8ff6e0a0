"""Kernels on rankings beside SciPy's coefficients, and beside means over complete rankings."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import kendalltau, rankdata, spearmanr

from iokr import IOKR
from iokr.kernels import Kendall, Mallows, Normalized, Spearman, order_ranks
from iokr.kernels.structured.rankings import midranks
from reference import assert_close

PARTIAL = np.array(
    [
        [1, 2, np.nan, 2],
        [np.nan, 2, 1, np.nan],
        [4, 3, 2, 1],
        [np.nan, np.nan, np.nan, 5],
        [1, 1, np.nan, 1],
        [7, 7, 7, 7],
    ]
)


def complete(n: int, d: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(d) for _ in range(n)])


def tied(n: int, d: int, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).integers(0, 3, size=(n, d))
    X[:, :2] = [0, 2]
    return X


def agreeing(x: np.ndarray) -> np.ndarray:
    """All complete rankings that put no item above another that x puts above it."""
    d = len(x)
    above = [(a, b) for a in range(d) for b in range(d) if x[a] < x[b]]
    return np.array([p for p in permutations(range(1, d + 1)) if all(p[a] < p[b] for a, b in above)])


def discordant(x: np.ndarray, z: np.ndarray) -> int:
    return sum((x[a] - x[b]) * (z[a] - z[b]) < 0 for a in range(len(x)) for b in range(a))


def test_complete_rankings_give_tau_and_rho():
    X = complete(8, 6)
    assert_close(Kendall()(X), [[kendalltau(x, z).statistic for z in X] for x in X], 1e-14)
    assert_close(Spearman()(X), [[spearmanr(x, z).statistic for z in X] for x in X], 1e-14)


def test_ties_give_tau_b_and_rho_when_normalised():
    X = tied(8, 7)
    assert_close(Normalized(Kendall())(X), [[kendalltau(x, z).statistic for z in X] for x in X], 1e-14)
    assert_close(Normalized(Spearman())(X), [[spearmanr(x, z).statistic for z in X] for x in X], 1e-14)


@pytest.mark.parametrize("kernel", [Kendall(), Spearman()])
def test_a_partial_ranking_is_the_mean_of_the_complete_ones_that_agree(kernel):
    fitted = kernel.fit(PARTIAL)
    expected = [[fitted(agreeing(x), agreeing(z)).mean() for z in PARTIAL] for x in PARTIAL]
    assert_close(fitted(PARTIAL), expected, 1e-14, atol=1e-15)


def test_mallows_counts_discordant_pairs():
    X, Z = complete(7, 6), complete(5, 6, seed=1)
    assert_close(Mallows(0.3)(X, Z), [[np.exp(-0.3 * discordant(x, z)) for z in Z] for x in X], 1e-13)


def test_mallows_of_partial_rankings_is_gaussian_in_the_features_of_kendall():
    K = 6 * Kendall()(PARTIAL)
    D = np.diag(K)[:, None] - 2 * K + np.diag(K)
    assert_close(Mallows(0.4)(PARTIAL), np.exp(-0.1 * D), 1e-13)


@pytest.mark.parametrize("kernel", [Kendall(), Spearman(), Mallows(0.2)])
class TestAny:
    def test_only_the_order_of_the_numbers_counts(self, kernel):
        X = complete(6, 5)
        assert_close(kernel(np.exp(X) - 3), kernel(X), 1e-14)

    def test_lists_tuples_and_matrices(self, kernel):
        X = complete(6, 5)
        assert_close(kernel([tuple(x) for x in X], X.tolist()), kernel(X), 1e-14)

    def test_bad_rankings_are_named(self, kernel):
        for X, error, message in [
            ([[1, 2], [1, 2, 3]], ValueError, "Ranking 1 has 3 entries but ranking 0 has 2"),
            ([[1, 2], ["a", "b"]], TypeError, "Ranking 1 must be a vector of ranks.*order_ranks"),
            ([[1, 2], [np.nan, np.nan]], ValueError, "Ranking 1 ranks no item"),
            ([[1, np.inf], [1, 2]], ValueError, "Ranking 0 has an infinite rank"),
            ([[1], [2]], ValueError, "Ranking 0 must rank at least two items"),
        ]:
            with pytest.raises(error, match=message):
                kernel(X)

    def test_another_number_of_items_is_refused(self, kernel):
        with pytest.raises(ValueError, match="Ranking 0 has 4 entries but rankings had 5 items at fit"):
            kernel.fit(complete(3, 5))(complete(3, 4))

    def test_unknown_items_in_outputs(self, kernel):
        X = np.arange(6.0)[:, None]
        model = IOKR(output_kernel=kernel, alpha=1e-6).fit(X, PARTIAL)
        np.testing.assert_array_equal(model.predict(X[2:4]), PARTIAL[2:4])


def test_midranks_are_scipys():
    X = np.concatenate([tied(5, 7), complete(4, 7)]).astype(float)
    np.testing.assert_array_equal(midranks(X), [rankdata(x) for x in X])
    np.testing.assert_array_equal(midranks(np.array([[3.0, np.nan, 3.0, 1.0]])), [[2.5, np.nan, 2.5, 1.0]])


def test_orders_become_ranks():
    ranks = order_ranks([["b", "a"], ["c"]], items="abc")
    np.testing.assert_array_equal(ranks, [[2, 1, np.nan], [np.nan, np.nan, 1]])
    with pytest.raises(ValueError, match="Order 1 contains 'a' twice"):
        order_ranks([["a", "b"], ["a", "b", "a"]])
    with pytest.raises(ValueError, match="Order 0 contains 'x', which is not among `items`"):
        order_ranks([["x"]], items="ab")
    with pytest.raises(ValueError, match="`items` contains an item twice"):
        order_ranks([["a"]], items="aa")


def test_lam_must_be_positive():
    with pytest.raises(ValueError, match="`lam` must be a positive number"):
        Mallows(0.0).fit(complete(3, 4))
