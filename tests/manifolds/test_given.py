"""A penalty matrix that the user brings."""

import numpy as np
import pytest

from iokr import IOKR
from iokr.kernels import RBF
from iokr.manifolds import Given
from reference import Ridge, assert_close
from samples import GAMMA, each_intercept, regression


@each_intercept
def test_rows_are_labelled_then_unlabelled_points(intercept):
    s = regression(1, n=5, u=4)
    B = s.rng.normal(size=(9, 9))
    L = B @ B.T
    model = IOKR(RBF(GAMMA), alpha=0.1, manifold=Given(0.3, L), intercept=intercept).fit(s.X, s.Y, X_unlabeled=s.U)
    found, ridge = model.decision_function(s.X_new), Ridge(s.K, s.Y, 0.1, None, L, 0.3, intercept=intercept)
    assert_close(found, ridge.values(s.K_new), 1e-10)
    assert np.abs(ridge.at(L=L[::-1, ::-1]).values(s.K_new) - found).max() > 1e-3


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.eye(8), r"8.*9|9.*8"),
        (np.ones((9, 8)), "square"),
        (np.triu(np.ones((9, 9))), "symmetric"),
        (np.diag([1.0] * 8 + [-1.0]), r"positive|semi-definite"),
        (np.full((9, 9), np.nan), r"NaN|finite"),
    ],
    ids=["too small", "not square", "not symmetric", "indefinite", "not finite"],
)
def test_bad_matrices_are_refused(matrix, words):
    s = regression(2, n=5, u=4)
    with pytest.raises(ValueError, match=words):
        IOKR(RBF(GAMMA), manifold=Given(0.3, matrix)).fit(s.X, s.Y, X_unlabeled=s.U)
