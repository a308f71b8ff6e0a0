"""Auto follows the table of math.md 16 and says in words what it chose and why."""

from dataclasses import replace

import numpy as np
import pytest

from iokr import IOKR, IOKRCV
from iokr.gram import Gram
from iokr.gram.operators import Multiple
from iokr.kernels import RBF
from iokr.losses import Huber, MaxMargin, Square
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from iokr.problem import Problem
from iokr.solvers import (
    ADMM,
    IRLS,
    Auto,
    Cholesky,
    ConjugateGradient,
    CoordinateDescent,
    Eigen,
    ManifoldEigen,
    MixedPrecision,
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
    grid = IOKRCV(RBF(GAMMA), manifold=Laplacian(0.5), manifold_weights=(0.1, 1.0)).fit(s.X, s.Y, X_unlabeled=s.U)
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
    reason = Auto().choose(problem(semi=True)[0], Use(n_alphas=3, n_manifold_weights=4, loo=True)).reason
    assert "unlabelled" in reason
    assert "4 manifold weights" in reason


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
        with pytest.raises(ValueError, match=r"has products only"):
            solver.solve(posed)
    with pytest.raises(ValueError, match=r"ConjugateGradient\(\) has no closed form"):
        auto.closed_form(posed, loo=True)
    for solver, loss in ((ADMM(), Huber()), (IRLS(), Huber()), (CoordinateDescent(), MaxMargin())):
        assert "has products only" in solver.refuses(replace(posed, loss=loss))


def test_a_check_may_foresee_a_penalty(monkeypatch):
    import iokr._system.memory

    posed = problem()[0]
    plain, penalised = Auto().memory(posed), Auto().memory(replace(posed, awaits_penalty=True))
    assert plain < penalised
    monkeypatch.setattr(iokr._system.memory, "available_memory", lambda like=None: (plain + penalised) / 2)
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


@pytest.fixture
def cuda(monkeypatch):
    """As if arrays were on a CUDA device with so many bytes free."""
    import iokr.solvers.auto as module

    def pretend(free=10**15, slow=False):
        monkeypatch.setattr(module, "is_cuda", lambda like: True)
        monkeypatch.setattr(module, "slow_double", lambda like: slow)
        monkeypatch.setattr(module, "available_memory", lambda like=None: free)
        monkeypatch.setattr(module, "expected_time", lambda flops, like: "in no time")

    return pretend


def large(n, q=2):
    """A problem whose arrays take no memory."""
    zeros = np.broadcast_to(0.0, (n, q))
    return Problem(RBF(1.0).gram(zeros), zeros, Square(), 1.0)


HOST = [(9, False, Cholesky), (10, False, Eigen), (4, True, Cholesky), (5, True, Eigen)]
CUDA = [(40, False, Cholesky), (41, False, Eigen), (20, True, Cholesky), (21, True, Eigen)]


@pytest.mark.parametrize(("alphas", "loo", "expected"), HOST)
def test_alphas_on_the_host(alphas, loo, expected):
    assert type(Auto().choose(large(300), Use(alphas, loo=loo)).solver) is expected


@pytest.mark.parametrize(("alphas", "loo", "expected"), CUDA)
def test_alphas_on_cuda(cuda, alphas, loo, expected):
    cuda()
    assert type(Auto().choose(large(30_000), Use(alphas, loo=loo)).solver) is expected


def test_eigenvectors_that_do_not_fit(cuda):
    cuda(free=8 * 30_000**2)  # a triangle fits, 6.3n² or 3n² do not
    choice = Auto().choose(large(30_000), Use(50, loo=True))
    assert type(choice.solver) is Cholesky
    assert "GB" in choice.reason
    assert "in no time" in choice.reason


@pytest.mark.parametrize(
    ("n", "squares", "use", "expected"),
    [
        (60_000, 1.0, Use(), Cholesky),
        (60_000, 0.45, Use(), MixedPrecision),
        (60_000, 0.45, Use(loo=True), Cholesky),  # which is then refused: no digits are given up silently
        (60_000, 0.45, Use(2), Cholesky),
        (60_000, 0.1, Use(), Cholesky),
        (40_000, 0.45, Use(), Cholesky),
    ],
)
def test_float32_only_where_float64_does_not_fit(cuda, n, squares, use, expected):
    cuda(free=8 * squares * n * n)
    assert type(Auto().choose(large(n), use).solver) is expected


@pytest.mark.parametrize(
    ("n", "use", "expected"),
    [(20_000, Use(), MixedPrecision), (19_000, Use(), Cholesky), (20_000, Use(loo=True), Cholesky)],
)
def test_a_device_with_slow_float64(cuda, n, use, expected):
    cuda(slow=True)
    assert type(Auto().choose(large(n), use).solver) is expected


def test_what_was_found_is_said():
    s = regression(4)
    auto = Auto()
    auto.chosen_, auto.reason_ = MixedPrecision(), "because."
    IOKR(RBF(GAMMA), solver=auto.chosen_).fit(s.X, s.Y)
    auto.chosen_.outcome_ = "residual 1e-12."
    assert auto.explain() == "MixedPrecision(): because. Found: residual 1e-12."
