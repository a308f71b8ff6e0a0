"""Contenders of `losses` agree on small data, and its baselines with formulas that are slow and obvious.

Tests of `iokr_lab.bench.losses.data`, `iokr_lab.bench.losses.gradient`, `iokr_lab.bench.losses.margin` and
`iokr_lab.bench.losses.norms`.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber
from iokr_lab import bench as benchmarks
from iokr_lab.bench import base, losses
from iokr_lab.bench.losses import gradient as gradient_methods
from iokr_lab.bench.losses.data import TOL, check_gap
from iokr_lab.bench.losses.gradient import DualGradient, NormDual
from iokr_lab.bench.losses.margin import PROGRAMS, box_objective, margin_gram, quadratic_program
from iokr_lab.bench.losses.norms import PLAIN

DUALS = [
    (NormDual(radius=0.7), Huber(0.7)),
    (NormDual(0.4), EpsilonSquare(0.4)),
    (NormDual(0.4, radius=1.0, quadratic=0.0), EpsilonInsensitive(0.4)),
]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def rbf(X, gamma):
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def margin_sample(rng, n):
    X, Psi = rng.standard_normal((n, 3)), rng.standard_normal((n, 4))
    return X, Psi / np.linalg.norm(Psi, axis=1, keepdims=True)


@pytest.mark.parametrize("name", ["huber", "epsilon_square", "epsilon_insensitive", "sweeps"])
def test_all_contenders_agree(name):
    question = getattr(losses, name)(seed=1, n=40, p=3, q=4)
    table, verdicts = base.ask(question, 1, lambda what: None)
    assert len(table.rows) == len(question.contenders)
    assert len(verdicts) == len(question.targets)


@pytest.mark.parametrize("compiled", [True, False])
def test_margin_contenders_that_are_installed_agree(compiled):
    question = losses.margin(seed=1, n=60, p=3, q=4, compiled=compiled)
    table, verdicts = base.ask(question, 1, lambda what: None)
    present = {contender.name for contender in question.present}
    assert len(table.rows) == len(question.contenders)
    assert len(verdicts) == sum(target.other in present for target in question.targets)


@pytest.mark.parametrize(("dual", "loss"), DUALS)
def test_the_dual_belongs_to_the_loss(dual, loss, rng):
    R, W = rng.standard_normal((30, 3)), dual.prox(rng.standard_normal((30, 3)), 1.0)
    assert_allclose(dual.loss(R), loss.value(R, 0 * R).sum(), rtol=1e-12)
    assert_allclose(np.sum(W * R) - dual.conjugate(W), loss.dual(W, R, np.ones(30)).sum(), rtol=1e-12)
    assert dual.loss(R) + dual.conjugate(W) >= np.sum(W * R) - 1e-12  # Fenchel and Young


@pytest.mark.parametrize("dual", [dual for dual, _ in DUALS])
def test_the_proximal_step_is_the_best_of_many(dual, rng):
    step, v = 0.6, rng.standard_normal((1, 2))
    best = dual.prox(v.copy(), step)
    grid = np.stack(np.meshgrid(*[np.linspace(-3, 3, 241)] * 2), axis=-1).reshape(-1, 2)
    grid = grid[np.linalg.norm(grid, axis=1) <= dual.radius]

    def value(W):
        return np.sum((W - v) ** 2, axis=1) / 2 + step * dual.epsilon * np.linalg.norm(W, axis=1)

    assert np.linalg.norm(best) <= dual.radius + 1e-12
    assert value(best)[0] <= value(grid).min() + 1e-12


@pytest.mark.parametrize("accelerated", [False, True])
def test_gradient_methods_find_ridge_when_nothing_is_forgiven(accelerated, rng):
    X, Y = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    found = DualGradient(X, Y, 0.3, 0.5, NormDual(), accelerated=accelerated).run()
    K = rbf(X, 0.3)
    C = np.linalg.solve(K + 0.5 * np.eye(40), Y)
    minimum = np.sum((Y - K @ C) ** 2) / 2 + 0.25 * np.sum(C * (K @ C))
    assert found.gap <= 1e-6
    assert minimum - 1e-12 <= found.primal <= minimum + 1e-6 * np.sum(Y**2) / 2


def test_projected_gradient_runs_to_the_end_once_and_then_some_steps(rng):
    X, Y = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    gradient = DualGradient(X, Y, 0.3, 0.01, NormDual(0.3), timed=20)
    first, second = gradient.run(), gradient.run()
    assert first.gap <= 1e-6 < second.gap
    assert (second.steps, gradient.whole()[0]) == (20, first.steps / 20)


def test_the_time_of_a_whole_run_is_a_multiple_and_its_steps_are_told(rng):
    gradient = DualGradient(rng.standard_normal((9, 2)), rng.standard_normal((9, 2)), 0.3, 0.1, NormDual(), timed=10)
    assert gradient.whole() == (1.0, "")
    gradient.steps, gradient.reached = 400, True
    assert gradient.whole() == (40.0, " (400 steps)")
    gradient.reached = False
    assert gradient.whole() == (40.0, " (over 400 steps, not there yet)")


def test_steps_that_do_not_suffice_are_a_lower_bound(monkeypatch):
    monkeypatch.setattr(gradient_methods, "COUNTED", 30)
    question = losses.epsilon_insensitive(seed=1, n=60, p=3, q=4)
    run = question.find(PLAIN).run()
    assert run.gap > TOL and run.steps == 30
    assert question.find(PLAIN).answers(run) == {}


def test_the_gram_matrix_of_the_margin(rng):
    X, Psi = margin_sample(rng, 150)
    assert_allclose(margin_gram(X, Psi, 0.3, 0.2), (Psi @ Psi.T) * rbf(X, 0.3) / 0.2, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("solver", PROGRAMS)
def test_quadratic_programs_leave_no_better_corner(solver, rng):
    pytest.importorskip("cvxpy")
    pytest.importorskip(solver.lower())
    X, Psi = margin_sample(rng, 20)
    Q = margin_gram(X, Psi, 0.3, 0.2)
    alpha = quadratic_program(X, Psi, 0.3, 0.2, solver.upper(), **PROGRAMS[solver])
    gradient = Q @ alpha - 1
    assert_allclose(np.clip(alpha - gradient, 0, 1), alpha, atol=1e-5)
    assert box_objective(Q, alpha) <= min(box_objective(Q, corner) for corner in np.eye(20))


def test_a_gap_that_is_not_reached_is_a_disagreement():
    with pytest.raises(base.Disagreement, match=r"stopped at a relative gap of 2\.0e-03"):
        check_gap("somebody", 2e-3)


@pytest.mark.slow
def test_a_quick_run_answers_every_question():
    report = benchmarks.run("losses", repeat=1, quick=True)
    assert {table.title[:3] for table in report.tables} == {"(a)", "(b)", "(c)", "(d)", "(e)"}
    assert all(row.get("seconds", 1.0) > 0 for table in report.tables for row in table.rows)
    assert any("steps)" in row["contender"] for row in report.tables[0].rows)
