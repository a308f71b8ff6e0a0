"""Pairs, labels and weights that are refused, and in which words."""

import numpy as np
import pytest

from iokr import PairModel
from iokr.kernels import RBF
from pair_problems import GAMMA, network


@pytest.mark.parametrize(
    ("pairs", "y", "error", "message"),
    [
        ([[0, 1], [1, 0]], [1, -1], ValueError, r"The pair \{0, 1\} has two different labels"),
        ([[0, 14]], [1], ValueError, "`pairs` must hold row numbers of the rows of X, integers from 0 to 13, got 14"),
        ([[0, -1]], [1], ValueError, "integers from 0 to 13, got -1"),
        ([[0, 1, 2]], [1], ValueError, "`pairs` must have two columns"),
        ([[0.5, 1.0]], [1], TypeError, "`pairs` must hold row numbers of the rows of X, integers"),
        ([["a", "b"]], [1], TypeError, "`pairs` must hold row numbers"),
        ([[0, 1]], [1, 2], ValueError, "pairs has 1 objects but y has 2"),
        ([[0, 1]], [np.nan], ValueError, "`y` contains NaN"),
        ([[0, 1]], None, ValueError, "requires y to be passed"),
        ([[0, 1], [1, 2], [2, 3]], ["a", "b", "c"], ValueError, "two different labels, not 3"),
        ([[0, 1], [1, 2]], ["a", "a"], ValueError, "two different labels, not 1"),
        ([[0, 1], [1, 2]], ["a", None], TypeError, "labels of one kind, got NoneType, str"),
        ([[0, 1], [2, 3], [1, 0]], [0.5, 1.0, 2.0], ValueError, r"The pair \{0, 1\} has two different labels"),
        ([[0, np.nan]], [1], TypeError, "integers, got"),
        ([[0, np.inf]], [1], TypeError, "integers, got"),
        (
            np.array([[0, 2**63 + 1]], dtype=np.uint64),
            [1],
            ValueError,
            "integers from 0 to 13, got 9223372036854775809",
        ),
        ([[0, 1], [2]], [1, 0], ValueError, "inhomogeneous"),
        (np.empty((0, 2), dtype=int), [], ValueError, "`pairs` is empty"),
    ],
)
def test_pairs_and_labels_are_refused_in_words(pairs, y, error, message):
    with pytest.raises(error, match=message):
        PairModel(RBF(GAMMA)).fit(network()[0], pairs, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [(0.0, "weight zero"), (-1.0, "at least 0"), (np.nan, "finite numbers"), (np.inf, "finite numbers")],
)
def test_weights_that_mean_nothing_are_refused(weight, message):
    X, pairs, y, _ = network(28)
    with pytest.raises(ValueError, match=message):
        PairModel(RBF(GAMMA)).fit(X, pairs, y, sample_weight=np.append(np.ones(len(y) - 1), weight))
