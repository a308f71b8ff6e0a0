"""Solvers refuse in words what they cannot solve."""

from dataclasses import replace

import numpy as np
import pytest

from iokr import IOKR
from iokr.kernels import RBF, FromFunction
from iokr.losses import Loss
from iokr.problem import Solution
from iokr.solvers import ADMM, LBFGS, Auto, Cholesky, Eigen, ManifoldEigen, Solver
from loss_samples import AbsoluteCoordinates
from samples import GAMMA, problem, regression


class Absolute(Loss):
    """ℓ(h, ψ) = ‖h − ψ‖: convex, not quadratic."""

    quadratic = False
    smooth = False

    def value(self, H, Psi):
        return np.linalg.norm(H - Psi, axis=1)

    def gradient(self, H, Psi):
        return (H - Psi) / np.linalg.norm(H - Psi, axis=1, keepdims=True)


@pytest.mark.parametrize("solver", [Eigen(), Cholesky()], ids=repr)
def test_closed_forms_need_a_quadratic_loss(solver):
    s = regression(1)
    with pytest.raises(ValueError, match=r"cannot solve this problem: `loss` must be quadratic, got Absolute\(\)"):
        IOKR(RBF(GAMMA), loss=Absolute(), solver=solver).fit(s.X, s.Y)


def test_auto_refuses_what_none_of_its_solvers_can_do():
    s = regression(2)
    with pytest.raises(ValueError, match=r"cannot solve this problem: .*(quadratic|prox)"):
        IOKR(RBF(GAMMA), loss=Absolute(), solver=Auto()).fit(s.X, s.Y)


def test_manifold_eigen_needs_a_manifold():
    s = regression(3)
    with pytest.raises(ValueError, match=r"ManifoldEigen\(\) cannot solve this problem: .*manifold"):
        IOKR(RBF(GAMMA), solver=ManifoldEigen()).fit(s.X, s.Y)


@pytest.mark.parametrize("solver", [Auto(), Eigen(), Cholesky()], ids=repr)
def test_refuses_is_none_when_nothing_is_in_the_way(solver):
    assert solver.refuses(problem()[0]) is None


def test_unknown_form_of_manifold_eigen():
    with pytest.raises(ValueError, match="form"):
        ManifoldEigen("other").solve(problem(semi=True)[0])


@pytest.mark.parametrize("solver", [Eigen(), Cholesky()], ids=repr)
def test_an_indefinite_kernel_is_noticed(solver):
    """f is not positive semi-definite: eigenvalues of the Gram matrix are far below −1e-8 of the largest."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    distance = FromFunction(lambda x, z: float(np.sum((x - z) ** 2)))
    with pytest.raises(ValueError, match=r"positive semi-definite"):
        IOKR(distance, alpha=1e-3, solver=solver).fit(X, Y)


def test_a_fit_that_needs_more_memory_than_there_is(monkeypatch):
    import iokr._system.memory

    monkeypatch.setattr(iokr._system.memory, "available_memory", lambda like=None: 1000)
    s = regression(4, n=20)
    with pytest.raises(MemoryError, match=r"bytes.*1000 bytes.*To reduce memory"):
        IOKR(RBF(GAMMA)).fit(s.X, s.Y)


class SmoothAbsoluteCoordinates(AbsoluteCoordinates):
    """The same, declared smooth."""

    smooth = True


def test_an_intercept_needs_the_domain_of_the_dual():
    """Multipliers with Σ_i W_i = 0 must still be feasible: without `feasible` the gap would not bound the distance."""
    s = regression(5)
    with pytest.raises(ValueError, match=r"AbsoluteCoordinates\(\) has no `feasible`, which an intercept needs"):
        IOKR(RBF(GAMMA), loss=AbsoluteCoordinates(), solver=ADMM()).fit(s.X, s.Y)
    assert isinstance(IOKR(RBF(GAMMA), loss=AbsoluteCoordinates(), intercept=False).fit(s.X, s.Y).solver_.chosen_, ADMM)


@pytest.mark.parametrize(("intercept", "solver"), [(True, LBFGS), (False, ADMM)])
def test_auto_takes_the_solver_that_a_smooth_loss_allows(intercept, solver):
    ours = problem(intercept=intercept)[0]
    assert isinstance(Auto().choose(replace(ours, loss=SmoothAbsoluteCoordinates())).solver, solver)


class WithoutIntercept(Solver):
    """Returns C only."""

    def refuses(self, problem):
        return None

    def memory(self, problem):
        return 0.0

    def _solve(self, problem, start):
        return Solution(problem.Psi)


def test_a_solver_that_finds_no_intercept_is_an_error():
    s = regression(6)
    with pytest.raises(ValueError, match=r"WithoutIntercept\(\) returns no intercept; set `intercept=False`"):
        IOKR(RBF(GAMMA), solver=WithoutIntercept()).fit(s.X, s.Y)
    assert IOKR(RBF(GAMMA), solver=WithoutIntercept(), intercept=False).fit(s.X, s.Y).solution_.intercept is None
