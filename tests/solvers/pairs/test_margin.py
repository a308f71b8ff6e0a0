"""The margin on pairs, piece by piece against dense matrices, and what it refuses."""

import numpy as np
import pytest

from iokr.gram.pairs.gram import PairGram
from iokr.losses import MaxMargin, Square
from iokr.problem import Problem
from iokr.solvers import Auto, CoordinateDescent
from iokr.solvers.pairs import PairMargin, margin
from iokr.solvers.pairs.margin import PairQuadratic
from pair_problems import FORMS, gram, network
from reference import assert_close


@pytest.mark.parametrize(("mix", "ordered"), FORMS)
def test_a_sweep_is_coordinate_descent_entry_by_entry(mix, ordered, route):
    X, pairs, y, _ = network(0, m=12, n=50)
    pair_gram = PairGram(gram(X), pairs, mix=mix, ordered=ordered)
    quadratic = PairQuadratic(pair_gram, y, 0.3)
    Q = pair_gram.dense() * np.outer(y, y) / 0.3
    rng = np.random.default_rng(0)
    upper, start = rng.uniform(0.2, 1, size=50), rng.uniform(0, 0.2, size=50)
    expected = start.copy()
    for _ in range(margin._PASSES):
        for p in quadratic.order:
            step = (Q[p] @ expected - 1) / Q[p, p]
            expected[p] = np.clip(expected[p] - step, 0, upper[p])
    alpha, gradient = start.copy(), Q @ start - 1
    quadratic.sweep(upper, alpha, gradient)
    assert np.abs(alpha - start).max() > 0.1
    assert_close(alpha, expected, 1e-10)
    assert_close(gradient, Q @ expected - 1, 1e-10)


def test_a_pair_without_length_goes_to_its_bound(route):
    """k_P(p, p) = 0: the dual is −α_p there, largest at the bound."""
    K = np.diag([1.0, 1.0, 0.0])
    quadratic = PairQuadratic(PairGram(K, np.array([[0, 1], [2, 2]])), np.array([1.0, -1.0]), 1.0)
    alpha, gradient = np.zeros(2), -np.ones(2)
    quadratic.sweep(np.array([5.0, 0.7]), alpha, gradient)
    assert_close(alpha, [1.0, 0.7], 1e-12)


@pytest.mark.parametrize("few", [5, 2000])
@pytest.mark.parametrize(("mix", "ordered"), FORMS)
def test_newton_directions_solve_the_corner(mix, ordered, few, monkeypatch):
    """By a factorisation, or by conjugate gradients where the corner is large."""
    monkeypatch.setattr(margin, "_CORNER", few)
    monkeypatch.setattr(margin, "_ACCURACY", 1e-10)
    monkeypatch.setattr(margin, "_STEPS", 1000)
    X, pairs, y, _ = network(1, m=12, n=50)
    pair_gram = PairGram(gram(X), pairs, mix=mix, ordered=ordered)
    free, slope = np.arange(0, 50, 2), np.random.default_rng(0).normal(size=25)
    Q = (pair_gram.dense() * np.outer(y, y) / 0.3)[np.ix_(free, free)]
    direction = next(PairQuadratic(pair_gram, y, 0.3).directions(free, slope))
    assert_close(Q @ direction, -slope, 1e-4)


def test_coordinate_descent_and_auto_hand_many_pairs_on(monkeypatch):
    X, pairs, y, _ = network(6, m=25, n=150)
    problem = Problem(PairGram(gram(X), pairs, mix=0.5), y[:, None], MaxMargin(), 0.2)
    alone = PairMargin(1e-8).solve(problem)
    assert alone.gap <= 1e-8
    few = CoordinateDescent(1e-8).solve(problem)
    assert_close(problem.gram @ few.C, problem.gram @ alone.C, 1e-4)
    monkeypatch.setattr(PairGram, "prefers_products", True)
    for solver in (CoordinateDescent(1e-8), Auto(1e-8)):
        assert_close(solver.solve(problem).C, alone.C, 0)
    assert "PairMargin(tol=1e-08)" in str(solver)
    assert solver.memory(problem) == PairMargin().memory(problem)


def test_what_it_refuses():
    X, pairs, y, _ = network(6)
    problem = Problem(PairGram(gram(X), pairs), y[:, None], Square(), 0.2)
    assert "`MaxMargin()` only" in PairMargin().refuses(problem)
    problem = Problem(PairGram(gram(X), pairs), np.stack([y, y], axis=1), MaxMargin(), 0.2)
    assert "several outputs" in PairMargin().refuses(problem)
    problem = Problem(gram_of_points(X), np.ones((14, 1)), MaxMargin(), 0.2)
    assert "between pairs of nodes" in PairMargin().refuses(problem)


def gram_of_points(X):
    from iokr.kernels import RBF

    return RBF(0.3).gram(X)
