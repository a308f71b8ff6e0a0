"""K = Φ Φᵀ by products with Φ."""

import numpy as np

from iokr.gram import FeatureGram, SeparableGram
from iokr.gram.operators import Symmetric
from reference import assert_close
from samples import operator, vectors


def test_product_and_parts_are_those_of_the_matrix():
    R, S, C = vectors(7, 3), vectors(5, 3, seed=1), vectors(5, 2, seed=2)
    assert_close(FeatureGram(R, S) @ C, R @ S.T @ C, 1e-14)
    gram, rows = FeatureGram(R), np.array([4, 0])
    assert_close(gram.dense(), R @ R.T, 1e-14)
    assert_close(gram.diagonal(), np.sum(R * R, axis=1), 1e-14)
    assert_close(gram.restrict(rows).dense(), R[rows] @ R[rows].T, 1e-14)


def test_only_a_symmetric_matrix_has_a_factor():
    R = vectors(7, 3)
    assert FeatureGram(R).factor is R
    assert FeatureGram(R, R).factor is None
    assert SeparableGram(FeatureGram(R), Symmetric(operator("full", 3))).factor is R
