"""Solvers refuse in words what they cannot solve."""

import numpy as np
import pytest

from iokr import IOKR
from iokr.kernels import RBF, FromFunction
from iokr.losses import Loss
from iokr.solvers import Auto, Cholesky, Eigen, ManifoldEigen
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
