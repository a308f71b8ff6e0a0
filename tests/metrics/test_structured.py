"""Rankings beside SciPy, strings beside the recursion of Levenshtein."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import kendalltau

from iokr.metrics import character_accuracy, edit_distance, kendall_tau


def levenshtein(y, z) -> int:
    @cache
    def table(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return i + j
        swap = table(i - 1, j - 1) + (y[i - 1] != z[j - 1])
        return min(swap, table(i - 1, j) + 1, table(i, j - 1) + 1)

    return table(len(y), len(z))


@pytest.mark.parametrize("levels", [3, 100])
def test_tau_is_scipys(levels):
    rng = np.random.default_rng(0)
    Y, Z = rng.integers(0, levels, size=(2, 20, 8))
    Y[:, :2] = Z[:, :2] = [0, 1]
    expected = np.mean([kendalltau(y, z).statistic for y, z in zip(Y, Z, strict=True)])
    assert kendall_tau(Y, Z) == pytest.approx(expected, rel=1e-13)
    assert kendall_tau([tuple(y) for y in Y], Z.tolist()) == pytest.approx(expected, rel=1e-13)


def test_tau_leaves_out_items_without_a_rank():
    y, z = np.array([[1.0, np.nan, 3.0, 2.0, 4.0]]), np.array([[1.0, 5.0, 2.0, 3.0, np.nan]])
    assert kendall_tau(y, z) == pytest.approx(kendalltau([1, 3, 2], [1, 2, 3]).statistic)
    assert kendall_tau([[1, 1, 1]], [[1, 2, 3]]) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_edits_are_levenshteins(seed):
    rng = np.random.default_rng(seed)
    Y, Z = (["".join(rng.choice(list("abc"), size=size)) for size in rng.integers(0, 9, size=12)] for _ in range(2))
    expected = [levenshtein(y, z) for y, z in zip(Y, Z, strict=True)]
    assert edit_distance(Y, Z) == pytest.approx(np.mean(expected))
    assert edit_distance([tuple(y) for y in Y], [list(z) for z in Z]) == pytest.approx(np.mean(expected))


def test_characters_at_their_places():
    assert character_accuracy(["abc", "de"], ["abd", "d"]) == 3 / 5
    assert character_accuracy(["ab"], ["abxyz"]) == 1.0
    assert character_accuracy(np.array([[1, 2], [3, 4]]), np.array([[1, 2], [4, 3]])) == 0.5


@pytest.mark.parametrize("metric", [kendall_tau, edit_distance, character_accuracy])
def test_as_many_predictions_as_truths(metric):
    with pytest.raises(ValueError, match="y_true has 2 objects but y_pred has 1"):
        metric([[1, 2], [2, 1]], [[1, 2]])
