"""Reweighted least squares for the Huber loss with A = aI."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber, MaxMargin, Square
from iokr.solvers import IRLS, Auto
from loss_samples import SETTINGS, case
from reference import Ridge, assert_close

PLACES = [
    "plain",
    "one output",
    "two outputs, scaled operator",
    "linear",
    "equal inputs",
    "weights of zero",
    "semi-supervised",
    "semi-supervised, weights of zero",
    "semi-supervised, graph in two parts",
]


def values(s, C):
    return s.Phi_new @ s.convex.theta(np.asarray(C)) @ s.convex.B.T


@pytest.mark.parametrize("setting", PLACES)
def test_agrees_with_an_interior_point(setting):
    s = case("huber", **SETTINGS[setting])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = IRLS(tol=1e-12).solve(s.posed())
    assert_close(values(s, solution.C), s.convex.values(s.Phi_new), 1e-5)
    assert -1e-14 <= solution.gap <= 1e-12


@pytest.mark.parametrize("setting", ["plain", "weights of zero", "semi-supervised"])
def test_every_step_lowers_the_objective(setting):
    """Reweighting majorises the loss: it is monotone."""
    s = case("huber", **SETTINGS[setting], alpha=1e-3)
    before = np.inf
    for max_iter in range(1, 15):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = IRLS(tol=1e-13, max_iter=max_iter).solve(s.posed())
        value = s.convex.objective(s.convex.theta(np.asarray(solution.C)))
        assert value <= before * (1 + 1e-12)
        before = value


def test_one_step_is_ridge_or_better():
    s = case("huber")
    with pytest.warns(match="gap"):
        first = IRLS(tol=1e-13, max_iter=1).solve(s.posed())
    K = s.convex.Phi @ s.convex.Phi.T
    C = Ridge(K, s.Y, s.alpha).coefficients()
    ridge = s.convex.objective(s.convex.theta(C))
    assert s.convex.objective(s.convex.theta(np.asarray(first.C))) <= ridge * (1 + 1e-12)


def test_a_large_threshold_takes_one_step():
    s = case("huber")
    solution = IRLS(tol=1e-12).solve(replace(s.posed(), loss=Huber(1e3)))
    assert solution.n_iter == 1
    assert solution.converged


def test_few_steps_reach_one_millionth():
    s = case("huber", n=25, alpha=0.5)
    assert IRLS().solve(s.posed()).n_iter <= 30


def test_warm_starts():
    s = case("huber", n=20, alpha=0.05)
    problem = s.posed()
    cold = IRLS(tol=1e-9).solve(problem)
    assert IRLS(tol=1e-9).solve(problem, start=cold).n_iter <= 2
    warm = IRLS(tol=1e-9).solve(problem, start=IRLS(tol=1e-9).solve(replace(problem, alpha=0.06)))
    assert warm.n_iter <= cold.n_iter
    assert_close(values(s, warm.C), values(s, cold.C), 1e-3)


@pytest.mark.parametrize(
    "loss", [EpsilonSquare(0.1), EpsilonInsensitive(0.1), MaxMargin(), Square()], ids=lambda loss: type(loss).__name__
)
def test_other_losses_are_refused(loss):
    """For ε-ridge, convex in ‖r‖², reweighting is no majoriser."""
    s = case("margin")
    with pytest.raises(ValueError, match=r"IRLS\(\) cannot solve this problem: .*Huber"):
        s.fit(IRLS(), loss=loss)


def test_operators_are_refused():
    with pytest.raises(ValueError, match=r"IRLS\(\) cannot solve this problem: `A` .*ADMM"):
        case("huber", kind="full").fit(IRLS())


def test_holes_are_refused_or_solved():
    s = case("huber", holes="entries")
    reason = IRLS().refuses(s.posed())
    if reason is None:
        assert_close(values(s, IRLS(tol=1e-12).solve(s.posed()).C), s.convex.values(s.Phi_new), 1e-5)
    else:
        assert "missing" in reason
        with pytest.raises(ValueError, match="missing"):
            s.fit(IRLS())


@pytest.mark.parametrize(("parameter", "value"), [("tol", 0.0), ("tol", -1.0), ("max_iter", 0), ("max_iter", 2.5)])
def test_parameters(parameter, value):
    with pytest.raises((TypeError, ValueError), match=parameter):
        case("huber").fit(IRLS(**{parameter: value}))


def test_as_the_solver_of_a_model():
    s = case("huber")
    model = s.fit(IRLS(tol=1e-12))
    assert str(model.solver_).startswith("IRLS(tol=1e-12)")
    assert_close(model.decision_function(s.X_new), s.fit(Auto(tol=1e-12)).decision_function(s.X_new), 1e-5)
