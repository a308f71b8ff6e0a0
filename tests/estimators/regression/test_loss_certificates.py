"""`solution_.gap` is a certificate: never below the truth, whenever the solver stops (math.md 2.6, invariant 15)."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from convex import HuberLoss
from iokr.losses import Huber
from iokr.solvers import ADMM, IRLS, Auto, CoordinateDescent
from loss_samples import NORMS, SETTINGS, case, each_loss, each_norm, fitted
from reference import assert_close

SOLVERS = {
    "margin": [Auto, ADMM, CoordinateDescent],
    "huber": [Auto, ADMM, IRLS],
    "epsilon square": [Auto, ADMM],
    "epsilon insensitive": [Auto, ADMM],
}
STOPPED = [(name, solver) for name, solvers in SOLVERS.items() for solver in solvers]


def certified(solution, convex):
    """What a gap δ promises: P(h) ≤ P* + δP₀ and (α/2)‖h − h*‖² ≤ δP₀, up to the accuracy of h* itself."""
    Theta, best = convex.theta(np.asarray(solution.C)), convex.optimum
    slack = convex.rounding
    promise = solution.gap * convex.at_zero
    assert solution.gap >= -1e-14
    assert convex.objective(Theta) - best.value <= promise + slack
    own_error = np.sqrt(max(best.value - best.bound, 0.0) * 2 / convex.alpha)
    distance = np.sqrt(np.sum((Theta - best.Theta) ** 2))
    assert distance - own_error <= np.sqrt(max(promise + slack, 0.0) * 2 / convex.alpha)


PLACES = ["plain", "linear", "an input of norm zero", "weights of zero", "operator", "semi-supervised"]
PLACES += ["semi-supervised, operator", "semi-supervised, strong penalty"]


@pytest.mark.parametrize(
    ("name", "solver", "setting"),
    [(*pair, setting) for pair in STOPPED for setting in PLACES if pair[1] is not IRLS or "operator" not in setting],
)
def test_at_every_iterate(name, solver, setting):
    s = case(name, **SETTINGS[setting], alpha=0.02)
    problem = s.posed()
    for max_iter in (1, 2, 3, 5, 10, 20, 50):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            solution = solver(tol=1e-13, max_iter=max_iter).solve(problem)
        certified(solution, s.convex)
        stopped_early = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
        assert bool(stopped_early) is not solution.converged
        assert solution.converged == (solution.gap <= 1e-13)


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
@each_loss
def test_at_every_tolerance(name, tol):
    for options in ({}, {"kind": "full"}, {"u": 6}):
        s = case(name, alpha=0.02, **options)
        model = fitted(s, Auto(tol=tol))
        certified(model.solution_, s.convex)
        assert model.solution_.gap <= tol
        assert model.solution_.converged


@each_norm
def test_with_holes(name):
    s = case(name, alpha=0.02, holes="entries", kind="full", u=5)
    for tol in (1e-1, 1e-3, 1e-6):
        certified(fitted(s, Auto(tol=tol)).solution_, s.convex)


@pytest.mark.parametrize(("name", "solver"), STOPPED)
def test_a_run_that_stops_early_says_so(name, solver):
    s = case(name, alpha=1e-3)
    with pytest.warns(ConvergenceWarning) as caught:
        model = s.fit(solver(tol=1e-13, max_iter=1))
    solution = model.solution_
    assert not solution.converged
    assert solution.gap > 1e-13
    (message,) = {str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)}
    stated = re.search(r"gap of (\d\.\d+e[-+]\d+)", message)
    assert stated is not None, message
    assert_close(float(stated.group(1)), solution.gap, 0.06)
    assert "max_iter" in message
    certified(solution, s.convex)  # an answer with a stated gap


def test_gap_is_relative_to_the_objective_at_zero():
    """A dual point of 0 is feasible and has value 0, so a first answer is never worse than P(h)/P₀."""
    for name in SOLVERS:
        s = case(name, alpha=0.02)
        solution = fitted(s, Auto(tol=1e-6)).solution_
        convex = s.convex
        value = convex.objective(convex.theta(np.asarray(solution.C)))
        lower = value - solution.gap * convex.at_zero
        assert lower <= convex.optimum.value + 1e-13 * convex.at_zero
        assert lower >= convex.optimum.value - 1.01e-6 * convex.at_zero


@each_loss
def test_gap_does_not_depend_on_units(name):
    """Multiplying all weights and α by c multiplies primal, dual and P₀ by c."""
    s = case(name, weighted="any", alpha=0.1)
    for c in (1e-6, 1e6):
        model = s.model(Auto(tol=1e-10), alpha=0.1 * c).fit(s.X, s.Y, sample_weight=c * s.w)
        assert -1e-14 <= model.solution_.gap <= 1e-10
        assert_close(model.decision_function(s.X_new), s.convex.values(s.Phi_new), 1e-4)


RATIOS = (1e-9, 1e-7, 1e-5, 1e-3, 1e-1, 10.0, 1e3)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("kind", ["identity", "full"])
@each_norm
def test_reaches_one_millionth_for_every_alpha(name, kind, ratio):
    """λ from 1e-9 to 1e3 times the largest eigenvalue, with no step size to choose and no warning."""
    s = case(name, n=25, kind=kind, alpha=ratio * _largest(name, 25, kind), seed=13)
    solution = fitted(s, Auto(tol=1e-6)).solution_
    assert -1e-14 <= solution.gap <= 1e-6
    certified(solution, s.convex)


def _largest(name, n, kind):
    plain = case(name, n=n, kind=kind, seed=13)
    s_max = np.linalg.eigvalsh(plain.convex.Phi @ plain.convex.Phi.T)[-1]
    return s_max * (1.0 if plain.A is None else np.linalg.eigvalsh(plain.A)[-1])


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [1e-9, 1e-8, *RATIOS[1:]])
@pytest.mark.parametrize(
    "options", [{}, {"kind": "full"}, {"u": 20}, {"kernel": "linear"}, {"kernel": "equal inputs"}], ids=str
)
@each_norm
def test_reaches_one_millionth_on_larger_problems(name, options, ratio):
    options = {"n": 60, "seed": 14, **options}
    s = case(name, alpha=ratio * 30.0, **options)
    solution = fitted(s, Auto(tol=1e-6)).solution_
    certified(solution, s.convex)


@pytest.mark.parametrize("ratio", (1e-6, 1e-3, 1.0, 1e3))
@pytest.mark.parametrize("options", [{}, {"kind": "full"}, {"u": 6}, {"kernel": "linear"}, {"d": 1}], ids=str)
def test_margin_for_every_alpha(options, ratio):
    s = case("margin", alpha=ratio * 10.0, seed=15, **options)
    model = fitted(s, Auto(tol=1e-12))
    certified(model.solution_, s.convex)


def test_nothing_to_learn_has_gap_zero():
    """P₀ = 0 means h = 0 is optimal."""
    from iokr.losses import EpsilonInsensitive, EpsilonSquare

    for name, loss in (("epsilon square", EpsilonSquare(50.0)), ("epsilon insensitive", EpsilonInsensitive(50.0))):
        for options in ({}, {"kind": "full"}, {"u": 5}):
            s = case(name, **options)
            model = fitted(s, loss=loss)
            assert model.solution_.gap == 0.0
            assert model.solution_.converged
            assert np.all(model.decision_function(s.X_new) == 0)


@pytest.mark.parametrize("name", NORMS)
def test_targets_of_zero(name):
    s = case(name)
    model = s.model().fit(s.X, np.zeros_like(s.Y))
    assert model.solution_.gap == 0.0
    assert np.all(model.decision_function(s.X_new) == 0)


@pytest.mark.parametrize("kappa", [1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("alpha", [1.0, 100.0])
def test_small_thresholds_keep_the_dual_feasible(kappa, alpha):
    """‖W_i‖ ≤ κ to the last digit: a lower bound must not pass the minimum because κ is small beside y."""
    s = case("huber", alpha=alpha)
    convex = s.convex.at(loss=HuberLoss(kappa))
    for tol in (1e-6, 1e-12):
        for solver in (ADMM(tol=tol), IRLS(tol=tol)):
            certified(fitted(s, solver, loss=Huber(kappa)).solution_, convex)


@pytest.mark.parametrize("name", NORMS)
def test_a_singular_gram_matrix_and_a_tiny_alpha_keep_the_gap_positive(name):
    """λ = 1e-9 s_max, K of rank 2."""
    for seed in (1, 2, 3):
        for tol in (1e-6, 1e-8, 1e-10):
            s = case(name, kernel="linear", alpha=3e-8, seed=seed)
            assert fitted(s, Auto(tol=tol)).solution_.gap >= -1e-14


@pytest.mark.parametrize(
    "options",
    [
        {"n": 26, "d": 1, "weighted": "any", "alpha": 3.27e-7, "seed": 840516},
        {"n": 52, "d": 2, "weighted": "any", "kind": "diagonal with zero", "alpha": 1e-4, "seed": 576379},
    ],
    ids=["one output", "two outputs"],
)
def test_margin_of_points_that_cannot_be_separated(options):
    """A linear kernel, so that some margins are negative whatever h is, and a small λ."""
    s = case("margin", kernel="linear", **options)
    certified(fitted(s, Auto(tol=1e-6)).solution_, s.convex)
