"""Conjugate gradients beside dense systems: every column, warm starts, and other inner products.

Tests of `iokr.solvers.iterative.conjugate_gradient`.
"""

import numpy as np

from iokr.solvers.iterative.krylov import conjugate_gradients, restarted
from reference import assert_close


def test_restarted_gradients_solve_every_column_and_start_warm():
    rng = np.random.default_rng(5)
    A = rng.normal(size=(30, 30))
    A = A @ A.T + np.eye(30)
    B = rng.normal(size=(30, 3)) * [1.0, 1e-6, 0.0]
    X, R, steps = restarted(lambda P: A @ P, B, lambda R: R, 1e-10, 1000)
    assert_close(X, np.linalg.solve(A, B), 1e-8)
    assert np.all(np.linalg.norm(R, axis=0) <= 1e-10 * np.linalg.norm(B, axis=0) + 1e-300)
    assert restarted(lambda P: A @ P, B, lambda R: R, 1e-10, 1000, X)[2] <= 1 < steps
    _, R, steps = restarted(lambda P: A @ P, B, lambda R: R, 1e-10, 4)
    assert steps == 4
    assert_close(np.linalg.norm(R, axis=0) > 0, [True, True, False], 0)


def test_the_inner_product_that_makes_the_system_symmetric():
    """(λI + M G) X = B is not symmetric, but it is in ⟨a, b⟩ = aᵀ G b: as many steps as there are eigenvalues."""
    rng = np.random.default_rng(6)
    V = rng.normal(size=(30, 4))
    G, M, B = V @ V.T, np.diag(rng.uniform(1, 2, size=30)), rng.normal(size=(30, 2))
    X, R, _, steps = conjugate_gradients(
        np.zeros((30, 2)),
        B,
        np.stack([B, G @ B]),
        lambda R: np.stack([R, G @ R]),
        lambda P: 0.5 * P[0] + M @ P[1],
        lambda R, size: size < 1e-24,
        100,
        axis=None,
    )
    assert steps <= 20
    assert_close(R, B - 0.5 * X - M @ G @ X, 1e-10, atol=1e-10)
    assert_close(G @ X, G @ np.linalg.solve(0.5 * np.eye(30) + M @ G, B), 1e-8)
