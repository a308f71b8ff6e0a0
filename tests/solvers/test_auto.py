"""Auto follows the table of math.md 16 and says in words what it chose and why."""

import numpy as np
import pytest

from iokr import IOKR, IOKRCV
from iokr.kernels import RBF
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import Auto, Cholesky, Eigen, ManifoldEigen
from samples import GAMMA, OPERATORS, problem, regression


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ({}, Cholesky),
        ({"n_alphas": 9}, Cholesky),
        ({"n_alphas": 10}, Eigen),
        ({"n_alphas": 30}, Eigen),
        ({"loo": True}, Cholesky),
        ({"n_alphas": 4, "loo": True}, Cholesky),
        ({"n_alphas": 5, "loo": True}, Eigen),
    ],
    ids=str,
)
def test_supervised_without_operator(use, expected):
    auto = Auto()
    assert isinstance(auto.choose(problem()[0], **use), expected)
    assert isinstance(auto.chosen_, expected)


def test_operators_with_many_eigenvalues_want_one_eigendecomposition():
    X, Y = regression(1, n=14, d=12).X, regression(1, n=14, d=12).Y
    many = np.diag(np.arange(1.0, 13.0))
    few = 0.7 * np.eye(12) + 0.3 * np.ones((12, 12))  # two distinct eigenvalues
    for A, expected in ((many, Eigen), (few, Cholesky), (2.0 * np.eye(12), Cholesky)):
        model = IOKR(Decomposable(RBF(GAMMA), A)).fit(X, Y)
        assert isinstance(model.solver_.chosen_, expected)
        path = IOKRCV(Decomposable(RBF(GAMMA), A)).fit(X, Y)
        assert isinstance(path.solver_.chosen_, Eigen)


def test_with_unlabelled_points():
    s = regression(2, n=6, u=6)
    one = IOKR(RBF(GAMMA), manifold=Laplacian(0.5)).fit(s.X, s.Y, X_unlabeled=s.U)
    assert isinstance(one.solver_.chosen_, (Cholesky, ManifoldEigen))
    grid = IOKRCV(RBF(GAMMA), manifold=Laplacian(0.5), strengths=(0.1, 1.0)).fit(s.X, s.Y, X_unlabeled=s.U)
    assert isinstance(grid.solver_.chosen_, ManifoldEigen)


def test_default_solver_is_auto_and_explains_itself():
    s = regression(3)
    model = IOKR(RBF(GAMMA)).fit(s.X, s.Y)
    assert isinstance(model.solver_, Auto)
    words = str(model.solver_)
    assert words == model.solver_.explain()
    assert words.startswith("Cholesky()")
    assert "alpha" in words
    assert "factorisation" in words
    path = IOKRCV(RBF(GAMMA)).fit(s.X, s.Y)
    assert str(path.solver_).startswith("Eigen()")
    assert "19" in str(path.solver_)
    assert "leave-one-out" in str(path.solver_)


@pytest.mark.parametrize("kind", OPERATORS)
def test_words_for_every_operator(kind):
    auto = Auto()
    auto.choose(problem(kind)[0])
    assert repr(auto.chosen_) in str(auto)
    assert str(auto).rstrip().endswith(".")


def test_words_mention_unlabelled_points():
    auto = Auto()
    auto.choose(problem(semi=True)[0], n_alphas=3, n_strengths=4, loo=True)
    assert "unlabelled" in str(auto)
    assert "4 strengths" in str(auto)


def test_before_fitting_it_has_not_chosen():
    assert not hasattr(Auto(), "chosen_")
    assert "Auto()" in str(Auto())


def test_a_given_solver_is_used_and_says_so():
    s = regression(4)
    model = IOKR(RBF(GAMMA), solver=Eigen()).fit(s.X, s.Y)
    assert isinstance(model.solver_, Eigen)
    assert "as given" in str(model.solver_)
