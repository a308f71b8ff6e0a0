"""Boxes in the leading eigenbases: the answer of the generic loop, whichever rule balances."""

import numpy as np
import pytest

import iokr.solvers.iterative.admm_boxes as boxes
from iokr.kernels import RBF
from iokr.losses.pinball import Boxes
from iokr.operator_kernels import Decomposable
from iokr.problem import Problem
from iokr.solvers import ADMM

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(15, 1)), RNG.normal(size=(15, 3))
A = np.exp(-((np.arange(3.0)[:, None] - np.arange(3.0)) ** 2))


def posed(loss):
    kernel = Decomposable(RBF(0.1), A).fit(X, Y)
    return Problem(kernel.gram(kernel.represent(X)), Y, loss, 0.05)


class Generic(Boxes):
    """The same loss, solved by the loop of any loss."""

    boxes = False


@pytest.mark.parametrize("lo", [[-0.3, -0.5, -0.9], [-0.3, -0.5, 0.0]], ids=["two sides", "one side"])
@pytest.mark.parametrize("tol", [1e-4, 1e-9])
def test_equals_the_generic_loop(lo, tol):
    hi = np.array([0.7, 0.5, 0.1])
    ours, generic = posed(Boxes(lo, hi)), posed(Generic(lo, hi))
    found, expected = ADMM(tol).solve(ours), ADMM(1e-10).solve(generic)
    size = generic.objective(0 * expected.C)
    assert found.gap <= tol and found.converged
    assert abs(ours.objective(found.C) - generic.objective(expected.C)) <= (tol + 1e-9) * size


def test_leaving_small_eigenvalues_out_does_not_change_h(monkeypatch):
    problem = posed(Boxes([-0.3, -0.5, -0.9], [0.7, 0.5, 0.1]))
    short = problem.gram @ ADMM(1e-11).solve(problem).C
    monkeypatch.setattr(boxes, "_KEEP", 0.0)
    np.testing.assert_allclose(short, problem.gram @ ADMM(1e-11).solve(problem).C, atol=1e-5)  # √gap


def test_starts_warm():
    problem = posed(Boxes([-0.3, -0.5, -0.9], [0.7, 0.5, 0.1]))
    first = ADMM(1e-6).solve(problem)
    assert ADMM(1e-6).solve(problem, first).n_iter <= first.n_iter


def test_says_when_it_stops_early():
    with pytest.warns(UserWarning, match="duality gap"):
        assert not ADMM(1e-12, max_iter=5).solve(posed(Boxes([-0.5] * 3, [0.5] * 3))).converged
