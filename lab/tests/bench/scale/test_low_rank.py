"""The floor, the Falkon iteration and the library give one answer.

Tests of `iokr_lab.bench.scale.low_rank`.
"""

import numpy as np
from numpy.testing import assert_allclose

from iokr.kernels import RBF
from iokr_lab.bench.base import Run
from iokr_lab.bench.grams import smooth_vectors
from iokr_lab.bench.scale import low_rank

X, Y = smooth_vectors(np.random.default_rng(0), 300, 5, 2)
P, GAMMA, ALPHA = X[:20], 0.2, 0.5


def test_the_floor_is_ridge_on_the_features():
    K, cross = RBF(GAMMA)(P), RBF(GAMMA)(X, P)
    Phi = np.linalg.solve(np.linalg.cholesky(K), cross.T).T
    D = np.linalg.solve(Phi.T @ Phi + ALPHA * np.eye(20), Phi.T @ Y)
    assert_allclose(low_rank.low_rank_floor(X, Y, P, GAMMA, ALPHA), D, atol=1e-9)


def test_the_falkon_iteration_converges_to_it():
    K, cross = RBF(GAMMA)(P), RBF(GAMMA)(X, P)
    weights = np.linalg.solve(cross.T @ cross + ALPHA * K, cross.T @ Y)
    found = low_rank.falkon(X, Y, P, GAMMA, ALPHA, steps=40)
    assert_allclose(cross @ found, cross @ weights, atol=1e-6)


def test_small_sections_run():
    run = Run(0, True, 1, lambda what: None)
    for section in low_rank.SECTIONS:
        if section.missing() is None:
            tables, verdicts = section.work(run)
            assert tables and verdicts
