"""Auto follows the table of math.md 16 and says in words what it chose and why."""

from dataclasses import replace

import numpy as np
import pytest

from iokr import IOKR, IOKRCV
from iokr.gram import Gram
from iokr.gram.operators import Multiple
from iokr.kernels import RBF
from iokr.losses import Huber, MaxMargin
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import (
    ADMM,
    IRLS,
    Auto,
    Cholesky,
    ConjugateGradient,
    CoordinateDescent,
    Eigen,
    ManifoldEigen,
    Use,
)
from reference import assert_close
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
    assert isinstance(auto.choose(problem()[0], Use(**use)).solver, expected)
    assert not hasattr(auto, "chosen_")  # a question changes nothing
    assert isinstance(auto.closed_form(problem()[0], **use), expected)
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
    auto.solve(problem(kind)[0])
    assert repr(auto.chosen_) in str(auto)
    assert auto.reason_ == auto.choose(problem(kind)[0]).reason
    assert str(auto).rstrip().endswith(".")


def test_words_mention_unlabelled_points():
    reason = Auto().choose(problem(semi=True)[0], Use(n_alphas=3, n_strengths=4, loo=True)).reason
    assert "unlabelled" in reason
    assert "4 strengths" in reason


def test_a_solve_decides_once(monkeypatch):
    calls = []
    plain = Auto.choose
    monkeypatch.setattr(Auto, "choose", lambda self, *rest: calls.append(rest) or plain(self, *rest))
    Auto().solve(problem("full")[0])
    assert len(calls) == 1


def test_questions_keep_nothing():
    auto = Auto()
    assert auto.refuses(problem()[0]) is None
    assert auto.memory(problem()[0]) > 0
    auto.check(problem()[0])
    assert not hasattr(auto, "chosen_")


class Products(Gram):
    """A Gram that only multiplies."""

    operator, products_only = Multiple(1.0), True

    def __init__(self, gram):
        self._gram, self.shape, self.size = gram, gram.shape, gram.size

    @property
    def K(self):
        raise AssertionError("nobody may ask for the matrix")

    def diagonal(self):
        return self._gram.diagonal()

    def restrict(self, rows):
        return Products(self._gram.restrict(rows))

    def __matmul__(self, C):
        return self._gram @ C


@pytest.mark.parametrize("semi", [False, True])
def test_a_gram_that_only_multiplies(semi):
    dense = problem(semi=semi)[0]
    posed = replace(dense, gram=Products(dense.gram))
    auto = Auto()
    solution = auto.solve(posed)
    assert isinstance(auto.chosen_, ConjugateGradient)
    assert_close(dense.gram @ solution.C, dense.gram @ Auto().solve(dense).C, 1e-7)
    for solver in (Cholesky(), Eigen(), *((ManifoldEigen(),) if semi else ())):
        with pytest.raises(ValueError, match=r"can only be multiplied with"):
            solver.solve(posed)
    with pytest.raises(ValueError, match=r"ConjugateGradient\(\) has no closed form"):
        auto.closed_form(posed, loo=True)
    for solver, loss in ((ADMM(), Huber()), (IRLS(), Huber()), (CoordinateDescent(), MaxMargin())):
        assert "can only be multiplied with" in solver.refuses(replace(posed, loss=loss))


def test_a_check_may_foresee_a_penalty(monkeypatch):
    import iokr._memory

    posed = problem()[0]
    plain, penalised = Auto().memory(posed), Auto().memory(replace(posed, awaits_penalty=True))
    assert plain < penalised
    monkeypatch.setattr(iokr._memory, "available_memory", lambda like=None: (plain + penalised) / 2)
    assert isinstance(Auto().check(posed).solver, Cholesky)
    with pytest.raises(MemoryError, match="points"):
        Auto().check(posed, penalised=True)
    with pytest.raises(MemoryError, match="points"):
        Cholesky().check(posed, penalised=True)
    with pytest.raises(ValueError, match="no manifold penalty"):
        ManifoldEigen().check(posed)


def test_before_fitting_it_has_not_chosen():
    assert not hasattr(Auto(), "chosen_")
    assert "Auto()" in str(Auto())


def test_a_given_solver_is_used_and_says_so():
    s = regression(4)
    model = IOKR(RBF(GAMMA), solver=Eigen()).fit(s.X, s.Y)
    assert isinstance(model.solver_, Eigen)
    assert "as given" in str(model.solver_)
