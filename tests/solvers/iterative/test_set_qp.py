"""The dual of the maximum loss of sets: feasible, certified, and as good as a conic solver finds it."""

import cvxpy as cp
import numpy as np

from iokr.kernels import RBF
from iokr.solvers.iterative.set_qp import minimize_sets, set_gap

K = RBF(0.7)


def test_the_gap_is_primal_minus_dual_and_bounds_the_error():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 5, size=15)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    X, w = rng.normal(size=(sizes.sum(), 2)), rng.uniform(0.5, 2, size=15)
    y = np.repeat(rng.choice([-1.0, 1.0], 15), sizes)
    Q = y[:, None] * y * K(X) / 0.1
    best, _, gap = minimize_sets(Q, starts, w, 1e-9, 100)
    assert gap <= 1e-9
    assert np.all(best >= 0)
    assert np.all(np.add.reduceat(best, starts) <= w * (1 + 1e-12))

    def dual(a):
        return a.sum() - a @ Q @ a / 2

    a = np.repeat(w / sizes, sizes) * rng.uniform(size=sizes.sum())
    g = Q @ a - 1
    primal = w @ np.array([max(0.0, *(-g[s : s + k])) for s, k in zip(starts, sizes, strict=True)]) + a @ Q @ a / 2
    np.testing.assert_allclose(set_gap(a, g, starts, w), primal - dual(a), rtol=1e-10)
    assert dual(best) >= dual(a)
    assert dual(best) <= primal


def test_as_good_as_a_conic_solver():
    rng = np.random.default_rng(1)
    sizes, starts = np.array([1, 3, 2, 4]), np.array([0, 1, 4, 6])
    Q = np.cov(rng.normal(size=(10, 40))) * 3
    w = np.array([1.0, 0.3, 2.0, 0.7])
    a = cp.Variable(10)
    A = (np.repeat(np.arange(4), sizes)[None] == np.arange(4)[:, None]).astype(float)
    program = cp.Problem(cp.Minimize(cp.quad_form(a, cp.psd_wrap(Q)) / 2 - cp.sum(a)), [a >= 0, A @ a <= w])
    program.solve(solver=cp.CLARABEL, tol_gap_rel=1e-12, tol_gap_abs=1e-12, tol_feas=1e-12)
    found, _, gap = minimize_sets(Q, starts, w, 1e-9, 100)
    assert gap <= 1e-9
    np.testing.assert_allclose(found @ Q @ found / 2 - found.sum(), program.value, atol=2e-9 * w.sum())


def test_bounds_that_all_hold_and_a_limit():
    """Q = 0: every set gives all that it may; a limit of steps is kept, and its gap is true."""
    starts, w = np.array([0, 2]), np.array([1.0, 2.0])
    found, _, gap = minimize_sets(np.zeros((3, 3)), starts, w, 1e-9, 100)
    np.testing.assert_allclose(np.add.reduceat(found, starts), w, rtol=1e-8)
    assert 0 <= gap <= 1e-9
    early, steps, gap = minimize_sets(np.eye(3), starts, w, 1e-12, 1)
    assert steps == 1
    np.testing.assert_allclose(gap, set_gap(early, early - 1, starts, w) / 3, rtol=1e-12)
