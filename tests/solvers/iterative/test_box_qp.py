"""min ½αᵀQα − 1ᵀα over a box, compiled and not, beside a general solver."""

import cvxpy as cp
import numpy as np
import pytest

from iokr._system.compile import compiled
from iokr.solvers.iterative import box_qp
from reference import assert_close


def box_problem(seed, n=20, rank=None):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n, rank or n))
    return B @ B.T / n, rng.uniform(0.2, 2.0, size=n)


def box_value(Q, a):
    return float(a @ Q @ a / 2 - a.sum())


def exact(Q, upper):
    s, U = np.linalg.eigh(Q)
    a = cp.Variable(len(upper))
    factor = np.sqrt(np.clip(s, 0, None))[:, None] * U.T
    program = cp.Problem(cp.Minimize(cp.sum_squares(factor @ a) / 2 - cp.sum(a)), [a >= 0, a <= upper])
    program.solve(solver=cp.CLARABEL)
    return np.asarray(a.value)


@pytest.mark.parametrize("rank", [None, 3, 1])
def test_minimum_over_a_box(rank, sweeps):
    Q, upper = box_problem(4, rank=rank)
    for scale in (1e-3, 1.0, 1e3):
        alpha, _, gap = box_qp.minimize_box(scale * Q, upper, 1e-12, 10_000)
        assert np.all((alpha >= 0) & (alpha <= upper))
        assert -1e-14 <= gap <= 1e-12
        best = exact(scale * Q, upper)
        assert abs(box_value(scale * Q, alpha) - box_value(scale * Q, best)) <= 1e-7 * upper.sum()
        assert_close(Q @ alpha, Q @ best, 1e-3, 1e-4)  # α itself is not unique when Q is singular


def test_a_zero_on_the_diagonal_goes_to_its_bound(sweeps):
    """Q_ii = 0 (hence a row of zeros): α_i = w_i, as g_i = −1 < 0."""
    Q, upper = box_problem(5, n=8)
    Q[3] = Q[:, 3] = 0.0
    alpha, _, gap = box_qp.minimize_box(Q, upper, 1e-12, 1000)
    assert alpha[3] == upper[3]
    assert gap <= 1e-12


def test_a_zero_matrix(sweeps):
    alpha, _, gap = box_qp.minimize_box(np.zeros((4, 4)), np.arange(1.0, 5.0), 1e-12, 10)
    np.testing.assert_array_equal(alpha, np.arange(1.0, 5.0))
    assert gap == 0.0


def test_gap_of_the_box():
    """Hinge and dual at α, from the gradient alone."""
    Q, upper = box_problem(6)
    alpha = upper * np.random.default_rng(7).uniform(size=20)
    primal = float(upper @ np.maximum(1 - Q @ alpha, 0)) + alpha @ Q @ alpha / 2
    dual = alpha.sum() - alpha @ Q @ alpha / 2
    assert_close(box_qp.box_gap(alpha, Q @ alpha - 1, upper), primal - dual, 1e-12)


def test_a_start_is_used_and_cut_to_the_box(sweeps):
    Q, upper = box_problem(8)
    alpha, cold, _ = box_qp.minimize_box(Q, upper, 1e-12, 1000)
    again, n_iter, _ = box_qp.minimize_box(Q, upper, 1e-10, 1000, start=alpha)
    assert n_iter == 0
    assert_close(Q @ again, Q @ alpha, 1e-9)
    from_far, _, gap = box_qp.minimize_box(Q, upper, 1e-12, 1000, start=np.full(20, 1e6))
    assert gap <= 1e-12
    assert_close(Q @ from_far, Q @ alpha, 1e-6)
    assert cold >= 1


def test_sweeps_that_are_too_few(sweeps):
    Q, upper = box_problem(9)
    alpha, n_iter, gap = box_qp.minimize_box(10 * Q, upper, 1e-13, 1)
    assert n_iter == 1
    assert np.all((alpha >= 0) & (alpha <= upper))
    assert_close(gap, box_qp.box_gap(alpha, 10 * Q @ alpha - 1, upper) / upper.sum(), 1e-9, 1e-12)


def test_smooth_kernels_do_not_stall():
    """A nearly constant Q: the step on the free set does what coordinates alone cannot."""
    x = np.linspace(0, 1, 40)[:, None]
    signs = np.where(np.sin(9 * x[:, 0]) > 0, 1.0, -1.0)
    Q = 1e4 * np.exp(-((x - x.T) ** 2)) * np.outer(signs, signs)
    alpha, n_iter, gap = box_qp.minimize_box(Q, np.ones(40), 1e-6, 10_000)
    assert gap <= 1e-6
    assert n_iter < 10_000
    assert np.all((alpha >= 0) & (alpha <= 1))


def test_a_compiled_sweep_is_the_loop():
    pytest.importorskip("numba")
    Q, upper = box_problem(11)
    Q[3, :] = Q[:, 3] = 0.0  # a zero on the diagonal
    ends = []
    for sweep in (box_qp._sweep, compiled(box_qp._sweep, reorder=True)):
        alpha, gradient = np.zeros(20), np.full(20, -1.0)
        for _ in range(3):
            sweep(Q, upper, alpha, gradient)
        assert_close(gradient, Q @ alpha - 1, 1e-12)
        ends.append(alpha)
    assert_close(ends[1], ends[0], 1e-12)


@pytest.mark.parametrize(
    ("curvature", "gradient", "expected"),
    [(2.0, 1.0, 0.5), (2.0, 4.0, 0.0), (0.1, -1.0, 3.0), (0.0, -1.0, 3.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0)],
)
def test_box_step_minimises_a_parabola_or_a_line(curvature, gradient, expected):
    assert box_qp.box_step(1.0, gradient, curvature, 3.0) == expected


@pytest.mark.parametrize("rank", [None, 3, 1])
def test_gradient_steps_never_climb_and_stay_in_the_box(rank):
    Q, upper = box_problem(12, rank=rank)
    Q[3, :] = Q[:, 3] = 0.0
    alpha, gradient = np.zeros(20), np.full(20, -1.0)
    start = last = box_value(Q, alpha)
    for _ in range(30):
        box_qp.gradient_steps(box_qp.DenseQuadratic(Q), np.diagonal(Q).max(), upper, alpha, gradient)
        assert_close(gradient, Q @ alpha - 1, 1e-12)
        assert np.all((alpha >= 0) & (alpha <= upper))
        value = box_value(Q, alpha)
        assert value <= last + 1e-14 * abs(start - last)
        last = value
    assert alpha[3] == upper[3]
    assert_close(last, box_value(Q, exact(Q, upper)), 1e-6)


def test_entries_at_a_bound_are_left_out(sweeps, monkeypatch):
    """Most outputs are easy: few entries are free, and the answer is that of the whole problem."""
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(300, 3)), rng.normal(size=(300, 40))
    Y[:, :3] += 3 * np.sin(X)
    Y /= np.linalg.norm(Y, axis=1)[:, None]
    Q = 20 * (Y @ Y.T) * np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 10)
    sizes, restrict = [], box_qp.DenseQuadratic.restrict
    monkeypatch.setattr(box_qp.DenseQuadratic, "restrict", lambda Q, keep: sizes.append(len(keep)) or restrict(Q, keep))
    alpha, _, gap = box_qp.minimize_box(Q, np.ones(300), 1e-10, 10_000)
    assert gap <= 1e-10
    assert sizes and max(sizes) < 300
    assert_close(box_value(Q, alpha), box_value(Q, exact(Q, np.ones(300))), 1e-7)
