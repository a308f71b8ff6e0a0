"""From data to a problem, as values."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from iokr import IOKR
from iokr.estimators.outputs import encode
from iokr.estimators.regression.base import fitted_problem
from iokr.estimators.regression.posing import Data, TrainingSet, check_data, pose
from iokr.gram.operators import IdentityMatrix
from iokr.kernels import RBF, Aligned, Precomputed
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Covariance, Decomposable
from iokr.solvers import Cholesky

rng = np.random.default_rng(0)
X, U, Y = rng.normal(size=(9, 2)), rng.normal(size=(4, 2)), rng.normal(size=(9, 3))


def data(y=Y, X_unlabeled=None, **parts):
    given = check_data(IOKR(manifold=Laplacian()), X, y, None, X_unlabeled, RBF())
    return Data(given, *encode(given.y, given.weight, **parts))


def test_data_are_posed_without_change_to_anything():
    kernel, manifold = RBF(), Laplacian(0.3, n_neighbors=3)
    inputs, problem = pose(data(X_unlabeled=U), kernel, manifold)
    assert not hasattr(kernel, "gamma_")
    assert inputs.kernel.gamma_ > 0
    assert inputs.manifold is not manifold
    assert problem.gram.shape == (13, 13)
    assert (problem.alpha, problem.manifold_weight) == (1.0, 0.3)
    assert_array_equal(problem.Psi, Y)


def test_a_problem_can_be_rebuilt_from_what_is_kept():
    posed = data(X_unlabeled=U)
    inputs, problem = pose(posed, RBF(), Laplacian(0.3, n_neighbors=3))
    again = inputs.problem(posed.targets, posed.outputs.loss)
    C = rng.normal(size=(13, 3))
    assert_allclose(again.objective(C), problem.objective(C), rtol=1e-12)


def test_values_are_those_of_the_model():
    model = IOKR(RBF(0.5), alpha=0.1).fit(X, Y)
    R = model.kernel_.represent(U)
    assert_array_equal(model.inputs_.values(R, model.solution_), model.decision_function(U))
    assert fitted_problem(model).alpha == 0.1


def test_implicit_outputs_are_an_identity_that_is_said():
    _, problem = pose(data(output_kernel=RBF()), RBF())
    assert isinstance(problem.Psi, IdentityMatrix)
    assert_array_equal(problem.targets, np.eye(9))


def test_a_part_of_what_was_given():
    weight = np.array([1.0, 1, 1, 1, 2, 2, 2, 0, 0])
    given = TrainingSet(X, Y, weight, U)
    part = given.restrict(np.arange(3), pairwise=False)
    assert_array_equal(part.X, X[:3])
    assert part.weight is None  # all are one
    assert part.X_unlabeled is U
    K = X @ X.T
    assert_array_equal(TrainingSet(K, Y).restrict(np.array([2, 5]), pairwise=True).X, K[np.ix_([2, 5], [2, 5])])
    with pytest.raises(ValueError, match="zero for every row"):
        given.restrict(np.array([7, 8]), pairwise=False)


def test_kernels_that_learn_from_outputs():
    aligned = Aligned([RBF(0.1), RBF(1.0)])
    inputs, _ = pose(data(), aligned)
    assert_allclose(inputs.kernel.weights_, clone(aligned).fit(X, Y @ Y.T).weights_, rtol=1e-12)
    inputs, problem = pose(data(), Covariance(RBF(0.1)))
    assert problem.operator.matrix(3, Y).shape == (3, 3)


def test_missing_targets():
    holes = Y.copy()
    holes[:, 1] = np.nan
    with pytest.warns(UserWarning, match="Column 1"):
        pose(data(holes), RBF())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pose(data(holes), Decomposable(RBF(), np.eye(3)))
    with pytest.raises(ValueError, match="covariance of incomplete outputs"):
        pose(data(holes), Covariance(RBF()))
    holes[4] = np.nan
    with pytest.raises(ValueError, match="row 4"):
        pose(data(holes), RBF())


def test_the_memory_of_a_penalty_is_asked_before_it_is_computed(monkeypatch):
    asked = []
    monkeypatch.setattr(Cholesky, "memory", lambda self, problem: asked.append(problem.penalised) or 0.0)
    monkeypatch.setattr(Laplacian, "penalty", lambda self, R, gram: asked.append("penalty") or np.eye(9))
    pose(data(), RBF(), Laplacian(0.1), solver=Cholesky())
    assert asked == [True, "penalty"]


def test_a_gram_matrix_is_its_own_input():
    K = RBF(0.5).fit(X)(X)
    given = check_data(IOKR(Precomputed()), K, Y, None, None, Precomputed())
    _, problem = pose(Data(given, *encode(given.y)), Precomputed())
    assert_allclose(problem.gram.K.dense(), K, rtol=1e-12)
