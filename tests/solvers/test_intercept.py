"""An intercept against dense systems that contain it: fits, leave-one-out of rows and of groups, by refits.

Tests of `iokr.solvers.closed_form.constants` and of the intercept of every solver.
"""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from convex import factor
from iokr.gram import BlockGram, SumGram
from iokr.kernels import RBF, Linear
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Expectile, Huber, Insensitive, MaxMargin, Pinball, Square
from iokr.problem import Problem
from iokr.solvers import (
    ADMM,
    IRLS,
    LBFGS,
    Auto,
    Cholesky,
    ConjugateGradient,
    Eigen,
    LowRank,
    ManifoldEigen,
    MixedPrecision,
    ReducedRank,
)
from reference import Ridge, assert_close, delayed_blocks
from samples import OPERATORS, problem

SUPERVISED = [Auto(), Eigen(), Cholesky(), ConjugateGradient(tol=1e-13)]
SEMI = [Auto(), Eigen(), Cholesky(), ManifoldEigen(), ManifoldEigen("eigen"), ManifoldEigen("deformed")]
CASES = [(solver, False) for solver in SUPERVISED] + [(solver, True) for solver in SEMI]
PATHS = [(solver, semi) for solver, semi in CASES if not isinstance(solver, (Auto, ConjugateGradient))]
GROUPS = np.array([0, 1, 1, 0, 2, 3, 2, 4])


def name(value) -> str:
    return value if isinstance(value, str) else {True: "semi", False: "supervised"}.get(value) or repr(value)


def values(ours, solution, K_new) -> np.ndarray:
    return ours.operator.act(K_new @ np.asarray(solution.C)) + np.asarray(solution.intercept)


@pytest.mark.parametrize(("solver", "semi"), CASES, ids=name)
@pytest.mark.parametrize("holes", ["none", "entries", "one column", "two patterns"])
@pytest.mark.parametrize("weighted", ["none", "any", "zeros"])
@pytest.mark.parametrize("kind", OPERATORS)
def test_fits(kind, weighted, holes, solver, semi):
    for alpha in (1e-2, 5.0):
        ours, ridge, K_new = problem(kind, weighted, holes, semi, alpha, intercept=True)
        assert_close(values(ours, solver.solve(ours), K_new), ridge.values(K_new), 1e-9)


@pytest.mark.parametrize(("solver", "semi"), PATHS, ids=name)
@pytest.mark.parametrize("holes", ["none", "entries"])
@pytest.mark.parametrize("weighted", ["none", "zeros"])
@pytest.mark.parametrize("kind", OPERATORS)
def test_leave_one_out(kind, weighted, holes, solver, semi):
    ours, ridge, K_new = problem(kind, weighted, holes, semi, intercept=True)
    path = solver.path(ours)
    for alpha in (1e-2, 0.3, 5.0):
        at = ridge.at(alpha=alpha)
        assert_close(values(ours, path.solution(ours.Psi, alpha), K_new), at.values(K_new), 1e-9)
        assert_close(ours.Psi - np.asarray(path.loo_residuals(ours.Psi, alpha)), at.leave_one_out(), 1e-9)
        left_out = ours.Psi - np.asarray(path.loo_residuals(ours.Psi, alpha, GROUPS))
        assert_close(left_out, at.leave_groups_out(GROUPS), 1e-9)
    expected = [ridge.at(alpha=alpha).leave_one_out_error() for alpha in (1e-2, 5.0)]
    assert_close(path.loo_errors(ours.Psi, (1e-2, 5.0)), expected, 1e-9)


@pytest.mark.parametrize("weighted", ["none", "any", "zeros"])
@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("solver", [MixedPrecision(), ConjugateGradient(tol=1e-13, rank=5)], ids=repr)
def test_preconditioned_fits(solver, kind, weighted):
    ours, ridge, K_new = problem(kind, weighted, intercept=True)
    assert_close(values(ours, solver.solve(ours), K_new), ridge.values(K_new), 1e-8)


def low_rank(p, weighted=None, seed=0, n=12):
    """A linear kernel with p features, as a problem that has them and as a dense reference."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 3.0
    Y = rng.normal(size=(n, 2)) + X @ rng.normal(size=(p, 2))
    kernel = Linear().fit(X)
    w = None if weighted is None else np.where(np.arange(n) % 5 == 1, 0.0, rng.uniform(0.5, 2.0, size=n))
    gram = kernel.gram(kernel.represent(X))
    ours = Problem(gram, Y, Square(), 0.3, weight=w, constants=np.ones((n, 1)))
    return ours, Ridge(X @ X.T, Y, 0.3, weight=w, intercept=True), rng.normal(size=(4, p)) @ X.T


@pytest.mark.parametrize("weighted", [None, "zeros"])
@pytest.mark.parametrize("p", [2, 5, 9])
def test_few_features(p, weighted):
    """By moments, for few features, and by singular vectors."""
    ours, ridge, K_new = low_rank(p, weighted)
    path = LowRank().path(ours)
    groups = np.arange(12) % 5
    for alpha in (0.01, 0.3, 20.0):
        at = ridge.at(alpha=alpha)
        assert_close(values(ours, path.solution(ours.Psi, alpha), K_new), at.values(K_new), 1e-9)
        assert_close(ours.Psi - path.loo_residuals(ours.Psi, alpha), at.leave_one_out(), 1e-8)
        assert_close(ours.Psi - path.loo_residuals(ours.Psi, alpha, groups), at.leave_groups_out(groups), 1e-8)
    expected = [ridge.at(alpha=alpha).leave_one_out_error() for alpha in (0.01, 20.0)]
    assert_close(path.loo_errors(ours.Psi, (0.01, 20.0)), expected, 1e-8)


@pytest.mark.parametrize("solver", [Eigen(), Cholesky(), LowRank()], ids=repr)
def test_centred_columns_and_outputs(solver):
    """1ᵀK1 = 0 and 1ᵀΨ = 0, with more features than rows: leave-one-out errors do not vanish with alpha."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 60))
    X -= X.mean(axis=0)
    y = rng.normal(size=(20, 1))
    y -= y.mean()
    kernel = Linear().fit(X)
    gram = kernel.gram(kernel.represent(X))
    ours = Problem(gram, y, Square(), 1.0, constants=np.ones((20, 1)))
    path = solver.path(ours) if gram.factor is not None or not isinstance(solver, LowRank) else Eigen().path(ours)
    for alpha in (1e-6, 1e-3, 1.0):
        at = Ridge(X @ X.T, y, alpha, intercept=True, exact=True)
        assert_close(y - path.loo_residuals(y, alpha), at.leave_one_out(), 1e-7)


@pytest.mark.parametrize("solver", [Eigen(), Cholesky(), Auto()], ids=repr)
@pytest.mark.parametrize("size", [1.0, 1e6])
def test_a_constant_of_the_outputs_and_of_the_kernel(solver, size):
    """y + c gives h + c, and k + c the same h: the intercept takes both."""
    ours, _, K_new = problem("full", "any", intercept=True)
    before = values(ours, solver.solve(ours), K_new)
    moved = values(ours, solver.solve(replace(ours, Psi=ours.Psi + size)), K_new)
    assert np.abs(moved - before - size).max() <= 1e-9 * size


def test_one_row_is_its_own_mean():
    X = np.array([[1.0]])
    kernel = RBF(1.0).fit(X)
    ours = Problem(kernel.gram(kernel.represent(X)), np.array([[3.0]]), Square(), 1.0, constants=np.ones((1, 1)))
    for solver in (Eigen(), Cholesky()):
        solution = solver.solve(ours)
        assert_close(solution.intercept, [3.0])
        assert_close(solution.C, [[0.0]])
        assert_close(solver.path(ours).loo_residuals(ours.Psi, 1.0), [[3.0]])  # the mean of no outputs is 0


LOSSES = [
    Huber(0.7),
    EpsilonSquare(0.3),
    EpsilonInsensitive(0.3),
    Insensitive(Huber(0.7), 0.2),
    Pinball([0.2, 0.5, 0.9]),
    Expectile([0.2, 0.5, 0.9]),
]


def conic(loss, H, Y):
    """ℓ(h_i, y_i), (n,), as a convex expression."""
    r = cp.norm(H - Y, 2, axis=1)
    match loss:
        case Huber():
            return cp.huber(r, loss.kappa) / 2
        case EpsilonSquare():
            return cp.square(cp.pos(r - loss.epsilon)) / 2
        case EpsilonInsensitive():
            return cp.pos(r - loss.epsilon)
        case Insensitive():
            return cp.huber(cp.pos(r - loss.epsilon), loss.base.kappa) / 2
        case Pinball():
            lo, hi = loss.bounds(Y.shape[1])
            return cp.sum(cp.maximum(cp.multiply((Y - H), hi[None, :]), cp.multiply((Y - H), lo[None, :])), axis=1)
        case Expectile():
            theta = np.asarray(loss.levels)[None, :]
            above, below = cp.square(cp.pos(Y - H)), cp.square(cp.pos(H - Y))
            return cp.sum(cp.multiply(theta, above) + cp.multiply(1 - theta, below), axis=1) / 2
    raise ValueError(loss)


def smallest(ours, ridge):
    """min J over h in the span of explicit features and b, by a conic solver."""
    Phi, B = factor(ridge.K), factor(ridge.operator)
    n, d = ridge.Y.shape
    Theta, b = cp.Variable((Phi.shape[1], B.shape[1])), cp.Variable((1, d))
    everywhere = Phi @ Theta @ B.T
    used = np.flatnonzero(ours.row_weight > 0)
    H = cp.Variable((n, d))
    J = cp.sum(cp.multiply(ours.row_weight[used], conic(ours.loss, H[used], ridge.Y[used])))
    J += ours.alpha / 2 * cp.sum_squares(Theta)
    if ridge.L is not None:
        J += ridge.mu / 2 * cp.sum_squares(factor(ridge.L).T @ everywhere)
    return cp.Problem(cp.Minimize(J), [everywhere[:n] + np.ones((n, 1)) @ b == H]).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("semi", [False, True], ids=["supervised", "semi"])
@pytest.mark.parametrize("weighted", ["none", "zeros"])
@pytest.mark.parametrize("kind", ["identity", "scaled", "full", "singular"])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_other_losses_reach_the_minimum(loss, kind, weighted, semi):
    """The certified gap is a gap to the minimum that a generic convex solver finds."""
    ours, ridge, _ = problem(kind, weighted, "none", semi, alpha=0.2, intercept=True)
    ours = replace(ours, loss=loss)
    solution = ADMM(1e-7).solve(ours)
    assert solution.converged
    found = ours.objective(solution.C, solution.intercept[None, :])
    best = smallest(ours, ridge)
    size = float(np.sum(ours.row_weight * loss.value(0 * ours.Psi, ours.Psi - np.median(ours.Psi, axis=0))))
    assert abs(found - best) <= 1e-6 * size


@pytest.mark.parametrize("weighted", ["none", "zeros"])
@pytest.mark.parametrize("kind", ["identity", "scaled", "full"])
@pytest.mark.parametrize("loss", [Huber(0.7), Expectile([0.2, 0.5, 0.9])], ids=repr)
def test_losses_with_a_gradient_only(loss, kind, weighted):
    ours, ridge, _ = problem(kind, weighted, alpha=0.2, intercept=True)
    ours = replace(ours, loss=loss)
    solution = LBFGS(1e-7).solve(ours)
    assert solution.converged
    found = ours.objective(solution.C, solution.intercept[None, :])
    assert abs(found - smallest(ours, ridge)) <= 1e-6 * np.sum(ours.row_weight)


@pytest.mark.parametrize("weighted", ["none", "zeros"])
@pytest.mark.parametrize("kind", ["identity", "scaled"])
def test_reweighting_reaches_the_same_minimum(kind, weighted):
    ours, _, K_new = problem(kind, weighted, alpha=0.2, intercept=True)
    ours = replace(ours, loss=Huber(0.4))
    one, other = IRLS(1e-11).solve(ours), ADMM(1e-11).solve(ours)
    assert one.converged and other.converged
    assert_close(values(ours, one, K_new), values(ours, other, K_new), 1e-5)  # J is strongly convex: √gap


@pytest.mark.parametrize("loss", [Huber(0.7), EpsilonSquare(0.3)], ids=repr)
def test_missing_entries_of_other_losses(loss):
    ours, _, K_new = problem("identity", "none", "entries", alpha=0.2, intercept=True)
    ours = replace(ours, loss=loss)
    best = ADMM(1e-9).solve(ours)
    found = ours.objective(best.C, best.intercept[None, :])
    for shift in 1e-3 * np.vstack([np.eye(3), -np.eye(3)]):
        assert ours.objective(best.C, best.intercept[None, :] + shift) >= found
    moved = ADMM(1e-9).solve(replace(ours, Psi=np.where(ours.mask, ours.Psi + 100.0, 0.0)))
    assert_close(values(ours, moved, K_new), values(ours, best, K_new) + 100.0, 1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("size", [1.0, 1e6])
def test_a_constant_moves_the_answers_of_other_losses(loss, size):
    """The tolerance is relative to what the outputs lose at a constant, and does not depend on their origin."""
    ours, _, K_new = problem("full", alpha=0.2, intercept=True)
    ours = replace(ours, loss=loss)
    before = values(ours, ADMM(1e-8).solve(ours), K_new)
    after = values(ours, ADMM(1e-8).solve(replace(ours, Psi=ours.Psi + size)), K_new)
    assert np.abs(after - size - before).max() <= 1e-3


def test_points_without_loss_keep_coefficients_of_zero():
    ours, _, _ = problem("identity", alpha=0.05, intercept=True)
    solution = ADMM(1e-8).solve(replace(ours, loss=EpsilonSquare(0.8)))
    idle = np.all(solution.C == 0, axis=1)
    assert 0 < idle.sum() < len(idle)
    assert np.abs(solution.C.sum(axis=0)).max() <= 1e-12 * np.abs(solution.C).max()


def test_kernels_that_do_not_separate():
    """One constant for each output, in the system over all entries; leave-one-out of rows by refits."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(9, 3)), rng.normal(size=(9, 3)) + 4.0
    mask = rng.random((9, 3)) < 0.8
    mask[:, 0] = True
    for missing in (None, mask):
        gram = SumGram([BlockGram(delayed_blocks, X, None, 3)], 3)
        targets = Y if missing is None else np.where(missing, Y, 0.0)
        ours = Problem(gram, targets, Square(), 0.2, mask=missing, constants=np.ones((9, 1)))
        full = SumGram([BlockGram(delayed_blocks, X, None, 3)], 3).flat.dense()
        for solver in (Eigen(), Cholesky(), ConjugateGradient(tol=1e-13)):
            solution = solver.solve(ours)
            H = (full @ np.asarray(solution.C).ravel()).reshape(9, 3) + solution.intercept
            assert_close(H, dense_blocks(full, targets, missing, 0.2, np.ones(9)), 1e-9)
        path = Eigen().path(ours)
        left_out = targets - path.loo_residuals(ours.Psi, 0.2)
        for i in range(9):
            weight = np.where(np.arange(9) == i, 0.0, 1.0)
            assert_close(left_out[i], dense_blocks(full, targets, missing, 0.2, weight)[i], 1e-8)


def dense_blocks(K, Y, mask, alpha, weight):
    """h at all entries, from the bordered system."""
    n, d = Y.shape
    used = np.repeat(weight, d) * (np.ones(n * d) if mask is None else mask.ravel())
    rows = np.flatnonzero(used)
    E = np.tile(np.eye(d), (n, 1))
    system = np.block([[K[np.ix_(rows, rows)] + alpha * np.eye(len(rows)), E[rows]], [E[rows].T, np.zeros((d, d))]])
    found = np.linalg.solve(system, np.concatenate([Y.ravel()[rows], np.zeros(d)]))
    return (K[:, rows] @ found[: len(rows)] + E @ found[len(rows) :]).reshape(n, d)


def test_margins_and_covariances_of_implicit_outputs_have_none():
    ours, _, _ = problem("identity", intercept=True)
    with pytest.raises(ValueError, match="an intercept could follow the classes alone"):
        Auto().solve(replace(ours, loss=MaxMargin()))


@pytest.mark.parametrize("weighted", ["none", "any"])
def test_reduced_rank_projects_deviations_from_the_mean(weighted):
    ours, ridge, K_new = problem("identity", weighted, alpha=0.3, intercept=True)
    solver = ReducedRank(rank=2)
    solution = solver.solve(ours)
    w = ours.row_weight
    full, at_new = ridge.values(ridge.K), ridge.values(K_new)
    mean = np.average(full, axis=0, weights=w)
    P = solver.directions_ @ solver.directions_.T
    V = np.linalg.eigh((full - mean).T @ (w[:, None] * (full - mean)))[1][:, 1:]
    assert_close(P, V @ V.T, 1e-8)
    assert_close(values(ours, solution, K_new), mean + (at_new - mean) @ P, 1e-8)
    left_out = ours.Psi - solver.path(ours).loo_residuals(ours.Psi, 0.3)
    for i, h in enumerate(ridge.leave_one_out()):
        own = np.where(np.arange(8) == i, 0.0, w)
        without = np.average(ours.Psi, axis=0, weights=own)
        assert_close(left_out[i], without + (h - without) @ P, 1e-8)
    ours = replace(ours, loss=Huber(100.0))
    assert_close(values(ours, ReducedRank(rank=2).solve(ours), K_new), mean + (at_new - mean) @ P, 1e-3)


@pytest.mark.parametrize("solver", SEMI, ids=repr)
@pytest.mark.parametrize("weighted", ["none", "zeros"])
@pytest.mark.parametrize("kind", ["identity", "full", "rank one"])
def test_a_manifold_that_penalises_constants_acts_on_what_is_left(kind, weighted, solver):
    ours, ridge, K_new = problem(kind, weighted, semi=True, intercept=True)
    L = ridge.L + np.diag(np.linspace(0.5, 1.5, len(ridge.L)))
    ours, ridge = replace(ours, penalty=L), ridge.at(L=L)
    assert_close(values(ours, solver.solve(ours), K_new), ridge.values(K_new), 1e-9)
    if isinstance(solver, Auto):
        return
    path = solver.path(ours)
    assert_close(ours.Psi - np.asarray(path.loo_residuals(ours.Psi, 0.3)), ridge.at(alpha=0.3).leave_one_out(), 1e-9)
    left_out = ours.Psi - np.asarray(path.loo_residuals(ours.Psi, 0.3, GROUPS))
    assert_close(left_out, ridge.at(alpha=0.3).leave_groups_out(GROUPS), 1e-9)
