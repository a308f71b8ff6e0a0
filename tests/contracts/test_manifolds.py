"""Every manifold gives a symmetric positive semi-definite penalty over all points.

Tests of `iokr.manifolds.base`.
"""

import numpy as np
import pytest

from iokr import IOKR
from iokr.kernels import RBF
from members import MANIFOLDS
from reference import Ridge, assert_close
from samples import GAMMA, regression

INSTANCES = [manifold for rows in MANIFOLDS.values() for manifold in rows]


@pytest.mark.parametrize("manifold", INSTANCES, ids=lambda m: " ".join(repr(m).split())[:40])
class TestManifold:
    def test_penalty_is_symmetric_and_positive_semidefinite(self, manifold):
        s = regression(1, n=7, u=5)
        kernel = RBF(GAMMA).fit(s.X)
        R = kernel.represent(np.vstack([s.X, s.U]))
        L = manifold.penalty(R, kernel.gram(R))
        assert L.shape == (12, 12)
        assert_close(L, L.T, 1e-14)
        assert np.linalg.eigvalsh(L).min() >= -1e-12 * np.trace(L)
        assert np.trace(L) > 0

    @pytest.mark.parametrize("intercept", [False, True])
    def test_in_a_model(self, manifold, intercept):
        s = regression(2, n=7, u=5)
        kernel = RBF(GAMMA).fit(s.X)
        R = kernel.represent(np.vstack([s.X, s.U]))
        L = manifold.penalty(R, kernel.gram(R))
        ridge = Ridge(s.K, s.Y, 0.1, None, L, manifold.weight, intercept=intercept)
        model = IOKR(RBF(GAMMA), alpha=0.1, manifold=manifold, intercept=intercept)
        model.fit(s.X, s.Y, X_unlabeled=s.U)
        assert_close(model.decision_function(s.X_new), ridge.values(s.K_new), 1e-9)
        assert_close(model.loo_decision_function(), ridge.leave_one_out(), 1e-9)
