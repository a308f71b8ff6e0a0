"""Values of a path at new inputs, without its coefficients, are those of the fitted model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr import IOKR
from iokr.estimators.regression.base import fitted_problem
from iokr.kernels import RBF
from iokr.manifolds import Laplacian
from iokr.operator_kernels import ConditionalCovariance, Covariance, Decomposable
from iokr.solvers import Eigen

rng = np.random.default_rng(0)
X, Y, X_new = rng.normal(size=(25, 3)), rng.normal(size=(25, 2)), rng.normal(size=(6, 3))
WEIGHT = np.concatenate([np.zeros(2), rng.uniform(0.5, 2.0, size=23)])
A = np.array([[1.0, 0.4], [0.4, 0.5]])
MODELS = {
    "identity": IOKR(RBF(0.3), intercept=False),
    "full": IOKR(Decomposable(RBF(0.3), A), intercept=False),
    "identity, intercept": IOKR(RBF(0.3)),
    "full, intercept": IOKR(Decomposable(RBF(0.3), A)),
    "covariance": IOKR(Covariance(RBF(0.3)), output_kernel=RBF(0.4)),
    "conditional": IOKR(ConditionalCovariance(RBF(0.3)), output_kernel=RBF(0.4)),
}


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", MODELS)
def test_values_are_those_of_the_model_at_every_alpha(name, weight):
    model = MODELS[name].set_params(solver=Eigen())
    problem = fitted_problem(model.fit(X, Y, sample_weight=weight))
    path = Eigen().path(problem)
    for alpha in (0.01, 1.0, 0.01):
        expected = model.set_params(alpha=alpha).fit(X, Y, sample_weight=weight).decision_function(X_new)
        assert_allclose(path.values(RBF(0.3)(X_new, X), problem.Psi, alpha), expected, atol=1e-10)


def test_values_with_unlabelled_points():
    model = IOKR(RBF(0.3), alpha=0.1, manifold=Laplacian(0.5), solver=Eigen()).fit(X[:15], Y[:15], X_unlabeled=X[15:])
    problem = fitted_problem(model)
    values = Eigen().path(problem).values(RBF(0.3)(X_new, X), problem.Psi, 0.1)
    assert_allclose(values, model.decision_function(X_new), atol=1e-10)


def test_other_targets_are_projected_anew():
    problem = fitted_problem(MODELS["full"].fit(X, Y))
    path = Eigen().path(problem)
    first, other = path.coefficients(Y, 0.1), path.coefficients(2 * Y, 0.1)
    assert_allclose(other, 2 * first)
    again = path.with_operator(fitted_problem(MODELS["identity"].fit(X, Y)))
    assert_allclose(again.coefficients(Y, 0.1), np.linalg.solve(RBF(0.3)(X) + 0.1 * np.eye(25), Y), atol=1e-10)
