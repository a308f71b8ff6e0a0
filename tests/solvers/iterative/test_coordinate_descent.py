"""Coordinate descent on the box dual of the margin, compiled and not.

Tests of `iokr.solvers.iterative.box_qp`.
"""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from iokr._system.compile import compiling
from iokr.kernels import RBF
from iokr.losses import EpsilonInsensitive, Huber, MaxMargin, Square
from iokr.operator_kernels import Decomposable
from iokr.problem import Problem
from iokr.solvers import Auto, CoordinateDescent
from iokr.solvers.iterative.coordinate_descent import margin_matrix
from iokr.solvers.iterative.reduced import LabeledProblem
from loss_samples import SETTINGS, case
from reference import assert_close
from samples import operator

PLACES = [
    "plain",
    "one output",
    "operator",
    "singular operator",
    "operator of rank one",
    "linear",
    "equal inputs",
    "an input of norm zero",
    "weights of zero",
    "weights of zero, operator",
    "semi-supervised",
    "semi-supervised, operator",
    "semi-supervised, graph in two parts",
]


def values(s, C):
    return s.Phi_new @ s.convex.theta(np.asarray(C)) @ s.convex.B.T


@pytest.mark.parametrize("setting", PLACES)
def test_agrees_with_an_interior_point(setting, sweeps):
    s = case("margin", **SETTINGS[setting])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = CoordinateDescent(tol=1e-12).solve(s.posed())
    assert_close(values(s, solution.C), s.convex.values(s.Phi_new), 1e-5)
    assert -1e-14 <= solution.gap <= 1e-12


def test_both_kinds_of_loops_give_the_same_answer():
    pytest.importorskip("numba")
    for options in ({}, {"u": 6}, {"kind": "full", "weighted": "zeros"}):
        s = case("margin", n=25, seed=3, **options)
        fast = CoordinateDescent(tol=1e-12).solve(s.posed())
        with compiling(False):
            plain = CoordinateDescent(tol=1e-12).solve(s.posed())
        assert_close(values(s, fast.C), values(s, plain.C), 1e-10)


def test_warm_starts():
    s = case("margin", n=25, seed=10)
    problem = s.posed()
    cold = CoordinateDescent(tol=1e-10).solve(problem)
    again = CoordinateDescent(tol=1e-9).solve(problem, start=cold)
    assert again.n_iter == 0
    assert again.converged
    warm = CoordinateDescent(tol=1e-10).solve(
        problem, start=CoordinateDescent().solve(replace(problem, alpha=1.2 * s.alpha))
    )
    assert_close(values(s, warm.C), values(s, cold.C), 1e-4)
    other = CoordinateDescent().solve(case("margin", n=9).posed())  # of another size: no obstacle
    ignored = CoordinateDescent(tol=1e-10).solve(problem, start=other)
    assert_close(values(s, ignored.C), values(s, cold.C), 1e-6)


@pytest.mark.parametrize("loss", [Huber(1.0), EpsilonInsensitive(0.1), Square()], ids=repr)
def test_other_losses_are_refused(loss):
    with pytest.raises(ValueError, match=r"CoordinateDescent\(\) cannot solve this problem: .*MaxMargin"):
        case("huber").fit(CoordinateDescent(), loss=loss)


def test_missing_entries_are_refused():
    s = case("huber", holes="entries")
    for solver in (CoordinateDescent(), Auto()):
        with pytest.raises(ValueError, match="missing"):
            s.fit(solver, loss=case("margin").loss)


@pytest.mark.parametrize(("parameter", "value"), [("tol", 0.0), ("tol", -1.0), ("max_iter", 0), ("max_iter", 2.5)])
def test_parameters(parameter, value):
    with pytest.raises((TypeError, ValueError), match=parameter):
        case("margin").fit(CoordinateDescent(**{parameter: value}))


def test_auto_takes_it_for_the_margin():
    for options in ({}, {"kind": "full"}, {"u": 5}):
        model = case("margin", **options).fit()
        assert isinstance(model.solver_.chosen_, CoordinateDescent)
        assert "margin" in str(model.solver_)


@pytest.mark.parametrize("kind", ["identity", "full"])
@pytest.mark.parametrize("n", [127, 300, 700])
def test_the_matrix_of_the_dual_by_panels(n, kind):
    """Q = (ΨAΨᵀ) ∘ K / λ at sizes where K and Q are evaluated in several panels, whose borders differ."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    A = np.eye(3) if kind == "identity" else operator(kind, 3)
    kernel = Decomposable(RBF(0.3), A).fit(X, Y)
    problem = Problem(kernel.gram(kernel.represent(X)), Y, MaxMargin(), 0.5)
    assert_close(margin_matrix(LabeledProblem(problem)), (Y @ A @ Y.T) * RBF(0.3)(X) / 0.5, 1e-12)
