"""Boxes in the leading eigenbases: the answer of the generic loop, whichever rule balances."""

import numpy as np
import pytest

import iokr.solvers.iterative.admm_boxes as boxes
from iokr import IOKR
from iokr.kernels import RBF
from iokr.losses import Pinball
from iokr.losses.pinball import Boxes
from iokr.operator_kernels import Decomposable
from iokr.problem import Problem
from iokr.solvers import ADMM
from samples import each_intercept

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(15, 1)), RNG.normal(size=(15, 3))
A = np.exp(-((np.arange(3.0)[:, None] - np.arange(3.0)) ** 2))


def posed(loss, constants=None):
    kernel = Decomposable(RBF(0.1), A).fit(X, Y)
    return Problem(kernel.gram(kernel.represent(X)), Y, loss, 0.05, constants=constants)


class Generic(Boxes):
    """The same loss, solved by the loop of any loss."""

    boxes = False


@each_intercept
@pytest.mark.parametrize("lo", [[-0.3, -0.5, -0.9], [-0.3, -0.5, 0.0]], ids=["two sides", "one side"])
@pytest.mark.parametrize("tol", [1e-4, 1e-9])
def test_equals_the_generic_loop(lo, tol, intercept):
    hi, ones = np.array([0.7, 0.5, 0.1]), np.ones((15, 1)) if intercept else None
    ours, generic = posed(Boxes(lo, hi), ones), posed(Generic(lo, hi), ones)
    found, expected = ADMM(tol).solve(ours), ADMM(1e-10).solve(generic)
    size = generic.objective(0 * expected.C)
    assert found.gap <= tol and found.converged
    J, least = (ours.objective(f.C, f.intercept[None, :] if intercept else None) for f in (found, expected))
    assert abs(J - least) <= (tol + 1e-9) * size


def test_two_functions_that_are_not_penalised():
    """Each on rows of its own."""
    e = np.zeros((15, 2))
    e[:6, 0] = e[6:, 1] = 1.0
    assert ADMM(1e-8).solve(posed(Boxes([-0.3, -0.5, -0.9], [0.7, 0.5, 0.1]), e)).converged


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


@pytest.mark.parametrize("operator", [lambda k: k, lambda k: Decomposable(k, np.diag([1.0, 0.5, 0.0]) + 0.2)])
def test_an_intercept_that_the_kernel_nearly_spans(operator):
    """4e-8 of a constant lies outside of the eigenvectors that are kept; it is not taken for rounding."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1))
    Y = np.sin(2 * X) + 0.3 * rng.normal(size=(20, 3))
    s, U = np.linalg.eigh(RBF(1.0)(X))
    left = U[:, s <= 1e-13 * s[-1]].sum(axis=0) / np.sqrt(20)
    assert 1e-9 < np.linalg.norm(left) < 1e-6
    model = IOKR(operator(RBF(1.0)), loss=Pinball([0.2, 0.5, 0.7]), alpha=0.1, solver=ADMM(1e-12)).fit(X, Y)
    assert model.solution_.converged and model.solution_.n_iter < 1000
