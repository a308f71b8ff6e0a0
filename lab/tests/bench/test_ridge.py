"""Contenders of `ridge` agree on small data, and its floors with formulas that are slow and obvious.

Tests of `iokr_lab.bench.grams`.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr_lab.bench import base, ridge
from iokr_lab.bench.ridge import direct_path, fit_floor, neighbor_laplacian, path_floor, rank_floor


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def rbf(X, Z, gamma):
    return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("name", ["one_fit", "path", "ranking", "unlabeled"])
def test_all_contenders_agree(name):
    question = getattr(ridge, name)(seed=1, **ridge._SMALL[name])
    table, verdicts = base.ask(question, 1, lambda what: None)
    assert len(table.rows) == len(question.contenders)
    assert len(verdicts) == len(question.targets)


def test_the_floor_of_a_fit_solves_the_system(rng):
    X, Y = rng.standard_normal((150, 3)), rng.standard_normal((150, 2))
    assert_allclose(fit_floor(X, Y, 0.3, 0.1), np.linalg.solve(rbf(X, X, 0.3) + 0.1 * np.eye(150), Y), rtol=1e-9)


def test_the_floor_of_a_path_leaves_every_row_out(rng):
    n, alphas = 12, np.array([0.01, 0.1, 1.0])
    X, Y = rng.standard_normal((n, 2)), rng.standard_normal((n, 3))
    K = rbf(X, X, 0.5)
    expected = np.zeros(3)
    for a, alpha in enumerate(alphas):
        for i in range(n):
            rest = np.delete(np.arange(n), i)
            C = np.linalg.solve(K[np.ix_(rest, rest)] + alpha * np.eye(n - 1), Y[rest])
            expected[a] += np.sum((Y[i] - K[i, rest] @ C) ** 2) / n
    errors, C = path_floor(X, Y, 0.5, alphas)
    assert_allclose(errors, expected, rtol=1e-10)
    best = alphas[np.argmin(expected)]
    assert_allclose(C, np.linalg.solve(K + best * np.eye(n), Y), rtol=1e-9)


def test_the_floor_of_ranking_finds_the_nearest_in_feature_space(rng):
    X, X_new = rng.standard_normal((30, 3)), rng.standard_normal((5, 3))
    Y, Z = (rng.random((30, 40)) < 0.3).astype(np.uint8), (rng.random((700, 40)) < 0.3).astype(np.uint8)
    inverse, K_Y = ridge._inverse_and_gram(X, Y, 0.2, 0.1)
    indices, distances = rank_floor(X, X_new, Y, Z, 0.2, inverse, K_Y, k=4)
    beta = rbf(X_new, X, 0.2) @ np.linalg.inv(rbf(X, X, 0.2) + 0.1 * np.eye(30))
    both = Z.astype(float) @ Y.T
    scores = beta @ (both / (Z.sum(axis=1)[:, None] + Y.sum(axis=1) - both)).T
    expected = 1 - 2 * scores + np.sum((beta @ K_Y) * beta, axis=1)[:, None]
    assert_allclose(distances, np.sort(expected, axis=1)[:, :4], rtol=1e-10)
    assert_allclose(np.take_along_axis(expected, indices, axis=1), distances, rtol=1e-10)


@pytest.mark.parametrize("once", [True, False])
def test_the_rival_of_unlabeled_points_leaves_every_label_out(rng, once):
    N, n, alphas, manifold_weights = 25, 6, np.array([0.1, 1.0]), np.array([0.01, 1.0])
    X, Y = rng.standard_normal((N, 2)), rng.standard_normal((n, 3))
    K = rbf(X, X, 0.4)
    L = neighbor_laplacian(K, 10).toarray()
    expected = np.zeros((2, 2))
    for a, mu in enumerate(manifold_weights):
        for b, alpha in enumerate(alphas):
            for i in range(n):
                J = np.diag([float(j < n and j != i) for j in range(N)])
                targets = np.zeros((N, 3))
                targets[:n] = Y
                C = np.linalg.solve(alpha * np.eye(N) + (J + mu * L) @ K, J @ targets)
                expected[a, b] += np.sum((Y[i] - K[i] @ C) ** 2) / n
    assert_allclose(direct_path(X, Y, 0.4, alphas, manifold_weights, once=once), expected, rtol=1e-10)


def test_the_graph_keeps_each_rows_nearest(rng):
    K = rbf(*[rng.standard_normal((100, 2))] * 2, 0.4)
    W = np.zeros((100, 100))
    for i in range(100):
        others = [j for j in np.argsort(-K[i]) if j != i][:3]
        W[i, others] = K[i, others]
    W = (W + W.T) / 2
    assert_allclose(neighbor_laplacian(K, 3).toarray(), np.diag(W.sum(axis=1)) - W, atol=1e-14)


def test_every_footprint_names_a_contender_and_the_targets_follow_their_order():
    footprints = ridge._footprints(0, quick=True)
    for footprint in footprints:
        getattr(ridge, footprint.question)(**footprint.small).find(footprint.contender)
    sizes = [int(unit * 8 * 4000**2) for unit in (1.4, 3.0, 1.0, 4.9, 3.0)] + [100, 105]
    assert len(sizes) == len(footprints)
    measured = {verdict.what: (round(verdict.measured, 2), verdict.met) for verdict in ridge._memory_verdicts(sizes)}
    assert list(measured.values()) == [(1.4, True), (4.9, True), (1.05, True)]
