"""The Tanimoto kernel in the features of any kernel."""

import numpy as np

from iokr.kernels import Linear, Spectrum, Tanimoto, TanimotoOf
from reference import assert_close


def test_of_linear_is_tanimoto():
    X = np.random.default_rng(0).integers(0, 3, size=(9, 5)).astype(float)
    X[0] = 0.0  # two empty rows: 1
    assert_close(TanimotoOf(Linear())(X, X), Tanimoto()(X, X), 1e-12)


def test_positive_semi_definite_also_where_features_are_negative():
    X = np.random.default_rng(1).normal(size=(30, 3))
    assert np.linalg.eigvalsh(TanimotoOf(Linear())(X)).min() > -1e-10


def test_strings_by_their_letters():
    K = TanimotoOf(Spectrum(2))(["aab", "a"], ["ab", "b"])  # aa, ab; none
    assert_close(K, [[1 / (2 + 1 - 1), 0.0], [0.0, 1.0]], 1e-12)
