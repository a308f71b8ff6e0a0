"""Ridge on pairs beside the dense system, and who hands problems to it."""

import numpy as np
import pytest

from iokr.gram.pairs.gram import PairGram
from iokr.kernels import RBF
from iokr.losses import MaxMargin, Square
from iokr.problem import Problem
from iokr.solvers import Auto, ConjugateGradient
from iokr.solvers.pairs import PairRidge
from pair_problems import FORMS, gram, network
from reference import Ridge, assert_close


@pytest.mark.parametrize(("mix", "ordered"), FORMS)
def test_agrees_with_the_dense_system(mix, ordered, route):
    X, pairs, y, _ = network(6, m=25, n=150)
    weight, Psi = np.random.default_rng(0).uniform(0.5, 2, size=150), np.stack([y, np.arange(150.0)], axis=1)
    G = PairGram(gram(X), pairs, mix=mix, ordered=ordered)
    solution = PairRidge(1e-12).solve(Problem(G, Psi, Square(), 0.2, weight=weight))
    assert solution.converged and solution.gap < 1e-12
    assert_close(solution.C, np.linalg.solve(G.dense() + np.diag(0.2 / weight), Psi), 1e-8)


@pytest.mark.parametrize("n", [30, 150, 325], ids=["few", "some", "all"])
@pytest.mark.parametrize(("mix", "ordered"), FORMS)
def test_with_an_intercept_it_agrees_with_the_bordered_system(n, mix, ordered, route):
    X, pairs, y, _ = network(6, m=25, n=n)
    weight = np.where(pairs[:, 0] == pairs[:, 1], 0.5, 1.0) if n == 325 else np.linspace(0.5, 2, n)
    G = PairGram(gram(X), pairs, mix=mix, ordered=ordered)
    for far in (0.0, 1e6):
        Psi = np.stack([y, np.arange(n) / n], axis=1) + far
        solution = PairRidge(1e-12).solve(Problem(G, Psi, Square(), 0.2, weight=weight, constants=np.ones((n, 1))))
        C, b = Ridge(G.dense(), Psi[:, :1] - far, 0.2, weight=weight, intercept=True).solution()
        assert solution.converged and solution.gap < 1e-12
        assert_close(solution.C[:, :1], C, 1e-8 + 1e-15 * far)
        assert_close(solution.intercept[:1], b + far, 1e-9)
        assert_close(solution.C.sum(axis=0), np.zeros(2), atol=1e-9 * np.abs(solution.C).sum())


def test_conjugate_gradient_and_auto_hand_pairs_on(monkeypatch):
    X, pairs, y, _ = network(6, m=25, n=150)
    problem = Problem(PairGram(gram(X), pairs), y[:, None], Square(), 0.2)
    alone = PairRidge().solve(problem)
    assert_close(ConjugateGradient().solve(problem).C, alone.C, 0)
    auto = Auto()
    auto.solve(problem)
    assert "PairRidge" not in str(auto)  # few pairs
    monkeypatch.setattr(PairGram, "prefers_products", True)
    assert_close(auto.solve(problem).C, alone.C, 0)
    assert "PairRidge(): 150 pairs of 25 nodes" in str(auto)
    assert auto.memory(problem) == PairRidge().memory(problem)


def test_what_it_refuses():
    X, pairs, y, _ = network(6)
    G = PairGram(gram(X), pairs)
    for problem, reason in (
        (Problem(G, y[:, None], MaxMargin(), 0.2), "must be quadratic"),
        (Problem(RBF(0.3).gram(X), np.ones((14, 1)), Square(), 0.2), "between pairs of nodes"),
        (Problem(G, y[:, None], Square(), 0.2, mask=np.ones((40, 1), dtype=bool)), "missing entries"),
        (Problem(G, y[:, None], Square(), 0.2, penalty=np.eye(40)), "unlabelled pairs"),
    ):
        assert reason in PairRidge().refuses(problem)
    with pytest.raises(ValueError, match="weight zero"):
        PairRidge().solve(Problem(G, y[:, None], Square(), 0.2, weight=np.arange(40.0)))
