"""ADMM: every loss with a proximal map, every operator, weights, holes and unlabelled points."""

import warnings
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from convex import Convex
from iokr import IOKR
from iokr._component import component
from iokr.kernels import RBF
from iokr.losses import EpsilonInsensitive, Loss, Square
from iokr.operator_kernels import Decomposable
from iokr.problem import Problem
from iokr.solvers import ADMM, IRLS, Auto, CoordinateDescent
from loss_samples import HOLES, NAMES, SETTINGS, AbsoluteCoordinates, case, each_loss, each_norm
from reference import Ridge, assert_close
from samples import GAMMA, operator

PLACES = ["plain", "operator", "linear", "weights of zero", "semi-supervised", "semi-supervised, operator"]


def values(s, C):
    """h at the new points, from the coefficients."""
    return s.Phi_new @ s.convex.theta(np.asarray(C)) @ s.convex.B.T


@pytest.mark.parametrize("setting", PLACES)
@each_loss
def test_agrees_with_an_interior_point(name, setting):
    s = case(name, **SETTINGS[setting])
    solution = ADMM(tol=1e-12).solve(s.posed())
    assert_close(values(s, solution.C), s.convex.values(s.Phi_new), 1e-5)
    assert -1e-14 <= solution.gap <= 1e-12


@pytest.mark.parametrize("setting", list(HOLES)[:7])
@each_norm
def test_missing_entries(name, setting):
    s = case(name, **HOLES[setting])
    solution = ADMM(tol=1e-12).solve(s.posed())
    assert_close(values(s, solution.C), s.convex.values(s.Phi_new), 1e-5)


@pytest.mark.parametrize("setting", PLACES)
@pytest.mark.parametrize(("name", "other"), [("margin", CoordinateDescent), ("huber", IRLS)])
def test_solvers_of_one_problem_agree(name, other, setting):
    s = case(name, **SETTINGS[setting])
    problem = s.posed()
    if other().refuses(problem) is not None:
        assert name == "huber"
        assert "operator" in setting
        return
    ours, theirs = (solver(tol=1e-12).solve(problem) for solver in (ADMM, other))
    assert_close(values(s, ours.C), values(s, theirs.C), 1e-5)
    chosen = Auto(tol=1e-12).solve(problem)
    assert_close(values(s, ours.C), values(s, chosen.C), 1e-5)


@pytest.mark.parametrize("kind", ["identity", "full"])
@each_loss
def test_loose_and_tight_tolerances_are_consistent(name, kind):
    """With A = aI a loose tolerance takes a Cholesky factor, a tight one the spectrum: h within what the gap allows."""
    s = case(name, kind=kind)
    best = s.convex.values(s.Phi_new)
    for tol in (1e-3, 1e-6, 1e-8, 1e-10):
        solution = ADMM(tol=tol).solve(s.posed())
        assert -1e-14 <= solution.gap <= tol
        reach = np.sqrt(2 * tol * s.convex.at_zero / s.alpha) * np.sqrt(np.linalg.norm(s.convex.B, 2) ** 2)
        assert np.linalg.norm(values(s, solution.C) - best, axis=1).max() <= reach + 1e-5  # k(x, x) = 1


@pytest.mark.parametrize("u", [0, 6], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("kind", ["identity", "full"])
@each_loss
def test_warm_starts(name, kind, u):
    """Along λ a start from the neighbour saves steps and changes nothing; its own solution is a start that ends it."""
    s = case(name, kind=kind, u=u, n=20, seed=3)
    problem = s.posed()
    solver = ADMM(tol=1e-9)
    cold = solver.solve(problem)
    again = solver.solve(problem, start=cold)
    assert again.n_iter <= 20
    neighbour = solver.solve(replace(problem, alpha=1.2 * problem.alpha))
    warm = solver.solve(problem, start=neighbour)
    assert warm.n_iter <= 1.5 * cold.n_iter + 8  # a single problem may be unlucky; see the next test
    for solution in (again, warm):
        assert solution.converged
        assert_close(values(s, solution.C), values(s, cold.C), 1e-3)


def test_warm_starts_save_steps_along_a_path():
    cold, warm = 0, 0
    for name in ("huber", "epsilon square", "epsilon insensitive", "margin"):
        problem = case(name, n=20, seed=3).posed()
        solver, before = ADMM(tol=1e-7), None
        for alpha in (10.0, 5.0, 2.5, 1.25):
            along = replace(problem, alpha=alpha * problem.alpha)
            cold += solver.solve(along).n_iter
            before = solver.solve(along, start=before)
            warm += before.n_iter
    assert warm < cold


def test_a_start_from_another_kind_of_problem_is_no_obstacle():
    s, t = case("huber", n=14), case("huber", n=9, seed=4)
    expected = s.convex.values(s.Phi_new)
    for start in (ADMM().solve(t.posed()), IRLS().solve(t.posed()), IRLS().solve(s.posed())):
        solution = ADMM(tol=1e-12).solve(s.posed(), start=start)
        assert_close(values(s, solution.C), expected, 1e-5)


def test_rows_of_weight_zero_have_no_coefficients():
    for name in NAMES:
        s = case(name, weighted="zeros")
        C = np.asarray(ADMM(tol=1e-10).solve(s.posed()).C)
        assert C.shape == (14, 3)
        assert np.all(C[s.w == 0] == 0)


# ----------------------------------------------------------------------------- a loss in one file


class AbsoluteSlow:
    """The same for the interior point."""

    calibrated = True

    def value(self, h, y):
        return float(sum(abs(h - y)))

    def cone(self, H, Y):
        return cp.sum(cp.abs(H - Y), axis=1)

    def feasible(self, a, y, w):
        return np.clip(a, -w, w)

    def dual(self, a, y, w):
        return float(a @ y)


@pytest.mark.parametrize("u", [0, 6], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("kind", ["identity", "full"])
def test_a_loss_that_a_user_writes(kind, u):
    s = case("huber", kind=kind, u=u, weighted="zeros", seed=5)
    convex = Convex(s.convex.Phi, s.Y, AbsoluteSlow(), s.alpha, s.A, s.L, s.mu if u else 0.0, s.w)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = s.fit(Auto(tol=1e-10), loss=AbsoluteCoordinates())
    assert isinstance(model.solver_.chosen_, ADMM)
    assert_close(model.decision_function(s.X_new), convex.values(s.Phi_new), 1e-4)
    assert -1e-14 <= model.solution_.gap <= 1e-10


@component
class SquareByProx(Loss):
    """½‖h − ψ‖², not declared quadratic."""

    def value(self, H, Psi):
        return np.sum((H - Psi) ** 2, axis=1) / 2

    def gradient(self, H, Psi):
        return H - Psi

    def prox(self, Z, Psi, t):
        return (Psi + t[:, None] * Z) / (1 + t[:, None])

    def dual(self, W, Psi, weight):
        return np.sum(W * Psi, axis=1) - np.sum(W**2, axis=1) / (2 * weight)


@pytest.mark.parametrize("kind", ["identity", "full", "singular"])
def test_the_squared_loss_by_its_proximal_map_is_ridge(kind):
    s = case("huber", kind=kind, u=6, seed=6)
    problem = replace(s.posed(), loss=SquareByProx())
    solution = ADMM(tol=1e-13).solve(problem)
    K = s.convex.Phi @ s.convex.Phi.T
    ridge = Ridge(K, s.Y, s.alpha, s.A, s.L, s.mu)
    assert_close(values(s, solution.C), ridge.values(s.Phi_new @ s.convex.Phi.T), 1e-6)


# --------------------------------------------------------------------------------------- refusals


@component
class OnlyValue(Loss):
    """‖h − ψ‖⁴: no proximal map is given."""

    def value(self, H, Psi):
        return np.sum((H - Psi) ** 2, axis=1) ** 2

    def gradient(self, H, Psi):
        return 4 * np.sum((H - Psi) ** 2, axis=1)[:, None] * (H - Psi)


def test_a_loss_without_a_proximal_map_is_refused():
    s = case("huber")
    with pytest.raises(ValueError, match=r"cannot solve this problem: OnlyValue\(\) has no `prox`"):
        s.fit(ADMM(), loss=OnlyValue())


def test_closed_forms_are_left_to_the_closed_forms():
    s = case("huber")
    reason = ADMM().refuses(replace(s.posed(), loss=Square()))
    assert reason is None or "closed form" in reason


def test_missing_entries_of_the_margin_are_refused():
    s = case("huber", holes="entries")
    with pytest.raises(ValueError, match="missing"):
        s.fit(ADMM(), loss=case("margin").loss)


@pytest.mark.parametrize(("parameter", "value"), [("tol", 0.0), ("tol", -1.0), ("max_iter", 0), ("max_iter", 2.5)])
def test_parameters(parameter, value):
    s = case("huber")
    with pytest.raises((TypeError, ValueError), match=parameter):
        s.fit(ADMM(**{parameter: value}))


def test_memory_is_stated_and_checked(monkeypatch):
    import iokr._system.memory

    monkeypatch.setattr(iokr._system.memory, "available_memory", lambda like=None: 1000)
    with pytest.raises(MemoryError, match="1000 bytes"):
        case("huber").fit(ADMM())


def test_says_what_it_is():
    s = case("epsilon square", kind="full")
    model = s.fit()
    assert isinstance(model.solver_.chosen_, ADMM)
    assert str(model.solver_).startswith("ADMM(")
    assert "factorisation" in str(model.solver_)
    assert "as given" in str(s.fit(ADMM()).solver_)
    assert isinstance(IOKR(Decomposable(RBF(GAMMA), operator("full", 3)), loss=s.loss), IOKR)


def test_a_long_path_does_not_stall():
    """Steps near the end of a solve show little of the loss's curvature: what these made of ρ stays behind."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 8)), np.sign(rng.normal(size=(60, 5)))
    kernel = RBF(1.0).fit(X)
    problem = Problem(kernel.gram(kernel.represent(X)), Y, EpsilonInsensitive(0.1), 1.0)
    solution, steps = None, []
    for alpha in np.logspace(1, -5.5, 14).tolist():
        solution = ADMM().solve(replace(problem, alpha=alpha), solution)
        assert solution.converged
        steps.append(solution.n_iter)
    assert max(steps) <= 200
