"""What a fitted model tells about itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator

from iokr import IOKR, IOKRCV
from iokr.decoders import Candidates
from iokr.embeddings import Identity, Implicit
from iokr.kernels import RBF, Linear
from iokr.manifolds import Laplacian
from iokr.solvers import Auto, Cholesky, Eigen


def problem(n=20):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, X[:, :2] ** 2 + 0.3 * rng.normal(size=(n, 2))


@pytest.mark.parametrize("make", [IOKR, IOKRCV])
def test_fitted_components_and_solution(make):
    X, Y = problem()
    model = make().fit(X, Y)
    assert isinstance(model.kernel_, BaseEstimator)
    assert isinstance(model.embedding_, Identity)
    assert model.n_features_in_ == 3
    assert model.solution_.C.shape == (20, 2)
    assert model.solution_.converged
    assert model.solution_.n_iter >= 1
    assert abs(model.solution_.gap) < 1e-9


def test_output_kernel_brings_the_kernel_trick_and_candidates():
    X, Y = problem()
    model = IOKR(output_kernel=RBF()).fit(X, Y)
    assert isinstance(model.embedding_, Implicit)
    assert isinstance(model.decoder_, Candidates)
    assert model.output_kernel_.gamma_ > 0
    assert_allclose(model.decision_function(X), model.weights(X))


def test_the_solver_reports_its_choice_and_the_reason():
    X, Y = problem()
    model = IOKR().fit(X, Y)
    assert isinstance(model.solver_, Auto)
    assert isinstance(model.solver_.chosen_, Cholesky)
    assert str(model.solver_) == model.solver_.explain()
    assert "Cholesky" in str(model.solver_)
    assert len(str(model.solver_).split()) > 5
    assert "Eigen" in str(IOKRCV().fit(X, Y).solver_)
    assert isinstance(IOKR(solver=Eigen()).fit(X, Y).solver_, Eigen)


def test_grid_axes_are_kernels_manifold_weights_and_alphas():
    X, Y = problem()
    kernels, manifold_weights, alphas = [Linear(), RBF(0.1), RBF(1.0)], (0.01, 1.0), (1e-3, 1e-2, 0.1, 1.0)
    alone = IOKRCV(kernels[1], alphas=alphas).fit(X, Y)
    assert alone.loo_errors_.shape == (4,)
    several = IOKRCV(kernels, alphas=alphas).fit(X, Y)
    assert several.loo_errors_.shape == (3, 4)
    assert_allclose(several.loo_errors_[1], alone.loo_errors_, rtol=1e-9)
    assert IOKRCV(kernels, alphas=(0.1,)).fit(X, Y).loo_errors_.shape == (3,)
    assert IOKRCV(RBF(), alphas=(0.1,)).fit(X, Y).loo_errors_.shape == ()
    X_unlabeled = X + 0.1
    graph = IOKRCV(kernels[1:], alphas=alphas, manifold=Laplacian(1.0), manifold_weights=manifold_weights)
    graph.fit(X, Y, X_unlabeled=X_unlabeled)
    assert graph.loo_errors_.shape == (2, 2, 4)


def test_the_best_of_the_grid_is_the_model():
    X, Y = problem()
    kernels, alphas = [Linear(), RBF(0.1), RBF(1.0)], (1e-3, 1e-2, 0.1, 1.0)
    model = IOKRCV(kernels, alphas=alphas).fit(X, Y)
    best = tuple(np.atleast_1d(model.best_index_))
    assert best == np.unravel_index(np.argmin(model.loo_errors_), model.loo_errors_.shape)
    assert model.alpha_ == alphas[best[1]]
    assert repr(model.kernel_) == repr(kernels[best[0]])
    again = IOKR(kernels[best[0]], alpha=model.alpha_).fit(X, Y)
    assert_allclose(model.predict(X), again.predict(X), rtol=1e-8, atol=1e-10)
    loo = np.mean(np.sum((Y - again.loo_decision_function()) ** 2, axis=1))
    assert_allclose(np.min(model.loo_errors_), loo, rtol=1e-8)


def test_the_best_manifold_weight_is_the_model():
    X, Y = problem()
    manifold_weights, alphas, X_unlabeled = (0.0, 0.01, 1.0), (1e-2, 0.1), X + 0.1
    model = IOKRCV(RBF(0.5), alphas=alphas, manifold=Laplacian(5.0), manifold_weights=manifold_weights)
    model.fit(X, Y, X_unlabeled=X_unlabeled)
    i, j = model.best_index_
    again = IOKR(RBF(0.5), alpha=alphas[j], manifold=Laplacian(manifold_weights[i]))
    again.fit(X, Y, X_unlabeled=X_unlabeled)
    assert_allclose(model.predict(X), again.predict(X), rtol=1e-8, atol=1e-10)
    assert model.alpha_ == alphas[j]


def test_folds_leave_cv_errors():
    X, Y = problem()
    model = IOKRCV(RBF(0.5), alphas=(1e-2, 0.1, 1.0), cv=4).fit(X, Y)
    assert model.cv_errors_.shape == (3,)
    assert not hasattr(model, "loo_errors_")
    assert model.alpha_ == (1e-2, 0.1, 1.0)[int(np.argmin(model.cv_errors_))]
    from sklearn.model_selection import KFold

    by_hand = []
    for train, test in KFold(4).split(X):
        part = IOKR(RBF(0.5), alpha=0.1).fit(X[train], Y[train])
        by_hand.append(np.sum((Y[test] - part.predict(X[test])) ** 2))
    assert_allclose(model.cv_errors_[1], np.sum(by_hand) / len(X), rtol=1e-9)


def test_refitting_with_folds_forgets_leave_one_out():
    X, Y = problem()
    model = IOKRCV().fit(X, Y).set_params(cv=3).fit(X, Y)
    assert hasattr(model, "cv_errors_")
    assert not hasattr(model, "loo_errors_")


def test_the_default_bandwidth_is_the_median():
    from scipy.spatial.distance import pdist

    X, Y = problem()
    assert_allclose(IOKR().fit(X, Y).kernel_.gamma_, 1 / np.median(pdist(X, "sqeuclidean")), rtol=1e-12)
