"""Contenders of `covariance` agree on small data, and its floors with the large system of the paper.

Tests of `iokr_lab.bench.covariance.data`, `iokr_lab.bench.covariance.exact` and `iokr_lab.bench.covariance.low_rank`.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr.solvers import Eigen
from iokr_lab.bench import base, covariance
from iokr_lab.bench.covariance.data import OPERATORS, Data, incomplete_cholesky
from iokr_lab.bench.covariance.exact import conditional_floor, covariance_floor, posed, published_route
from iokr_lab.bench.covariance.low_rank import low_rank_floor

NAMES = list(covariance.SMALL)


def rbf(X, Z, gamma):
    return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


def large_system(K, K_Y, T, alpha):
    """K12 Proposition 1: (k_xᵀ ⊗ T)(K ⊗ T + nλI)⁻¹ vec(I) = Θ k_x, columns stacked."""
    n = len(K)
    unknown = np.linalg.solve(np.kron(K, T) + n * alpha * np.eye(n * n), np.eye(n).ravel())
    return T @ unknown.reshape(n, n).T


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.standard_normal((10, 2)), rng.standard_normal((10, 3))


@pytest.mark.parametrize("name", NAMES)
def test_all_contenders_agree(name):
    question = getattr(covariance, name)(seed=1, **covariance.SMALL[name])
    table, verdicts = base.ask(question, 1, lambda what: None)
    assert len(table.rows) == len(question.contenders)
    assert len(verdicts) == len(question.targets)


def test_the_floors_are_the_papers_formula(data):
    X, Y = data
    K, K_Y = rbf(X, X, 0.3), rbf(Y, Y, 0.2)
    assert_allclose(covariance_floor(X, Y, 0.3, 0.2, 0.05), large_system(K, K_Y, K_Y, 0.05), atol=1e-10)
    n_epsilon = 1e-2 * np.linalg.eigvalsh(K)[-1]
    T = K_Y - np.linalg.solve(K + n_epsilon * np.eye(10), K @ K_Y)
    assert_allclose(conditional_floor(X, Y, 0.3, 0.2, 0.05), large_system(K, K_Y, T, 0.05), atol=1e-10)


def test_incomplete_cholesky_ends_in_the_matrix(data):
    X, _ = data
    L, pivots = incomplete_cholesky(X, 0.3, 10)
    assert_allclose(L @ L.T, rbf(X, X, 0.3), atol=1e-10)
    assert sorted(pivots) == list(range(10))
    L, _ = incomplete_cholesky(X, 0.3, 4)
    assert np.linalg.eigvalsh(rbf(X, X, 0.3) - L @ L.T)[0] > -1e-12


def test_the_published_route_is_exact_at_full_rank(data):
    X, Y = data
    Theta, _, _ = published_route(X, Y, 0.3, 0.2, 0.05, 10)
    assert_allclose(Theta, covariance_floor(X, Y, 0.3, 0.2, 0.05), rtol=1e-7, atol=1e-8)


def test_the_low_rank_floor_is_exact_at_full_rank():
    data = Data(0, 30)
    exact = data.scores(covariance_floor(*data.problem))
    assert_allclose(low_rank_floor(*data.problem, 30).scores(data), exact, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_problem_is_the_one_that_the_estimator_poses(operator):
    data = Data(0, 20)
    model = data.exact(operator).fit(data.X, data.Y)
    assert_allclose(Eigen().solve(posed(data, operator)).C, model.solution_.C, rtol=1e-8, atol=1e-12)


def test_a_deadline_is_in_seconds():
    question = covariance.low_rank(**covariance.SMALL["low_rank"])
    verdict = question.targets[0].evaluate(question, {"LowRank, covariance": 0.05})
    assert (verdict.measured, verdict.at_most, verdict.met) == (0.05, 0.1, True)
    assert not question.targets[0].evaluate(question, {"LowRank, covariance": 0.2}).met


def test_every_footprint_names_a_contender_and_the_targets_follow_their_order():
    footprints = covariance.footprints(0, quick=True)
    for footprint in footprints:
        getattr(covariance, footprint.question)(**footprint.small).find(footprint.contender)
    sizes = [int(7.9 * 8 * 2000**2), int(8.1 * 8 * 2000**2), int(0.05 * 8 * 20_000**2)]
    assert len(sizes) == len(footprints)
    assert [verdict.met for verdict in covariance.memory_verdicts(sizes)] == [True, False, True]
