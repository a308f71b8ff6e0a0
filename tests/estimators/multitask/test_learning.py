"""learn_tasks: the objective falls, the certificate holds, the minimum is the global one."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from iokr import MultiTask, MultiTaskCV
from iokr.kernels import RBF, Linear
from iokr.manifolds import Given
from reference import Ridge, assert_close
from task_samples import GAMMA, kernel_matrix, sample

ALPHA = 0.3


def pieces(seed=0, missing=False, weighted=False, manifold=False, intercept=False, n=10, d=3):
    """Fitted model, 𝓕(A) = min_B 𝓕(B, A) by a dense system, and its first part at h = 0 or at the best intercept."""
    X, Y, X_u, rng = sample(seed, n=n, d=d, u=4)
    w = rng.integers(1, 4, size=n).astype(float) if weighted else None
    if missing:
        Y[2, 0] = Y[5, 1] = Y[7, 2] = np.nan
    everything = np.vstack([X, X_u]) if manifold else X
    K, B = kernel_matrix(everything), rng.normal(size=(len(everything), 6))
    L = B @ B.T if manifold else None
    extra = {"X_unlabeled": X_u} if manifold else {}
    settings = {"alpha": ALPHA, "tol": 1e-10, "manifold": Given(0.2, L) if manifold else None, "intercept": intercept}
    model = MultiTask(RBF(GAMMA), learn_tasks=True, **settings).fit(X, Y, sample_weight=w, **extra)
    problem = Ridge(K, Y, ALPHA, L=L, mu=0.2 if manifold else 0.0, weight=w, intercept=intercept)
    C = problem.coefficients()
    epsilon = 1e-3 * np.trace(C.T @ K @ C) / d

    def objective(A):
        C, b = problem.at(A=A).solution()
        return problem.at(A=A, Y=Y - b).objective(C) + ALPHA * epsilon / 2 * np.trace(np.linalg.inv(A))

    importance = problem.importance[:n]
    mean = np.sum(importance * np.nan_to_num(Y), axis=0) / importance.sum(axis=0) if intercept else 0.0
    size = 0.5 * np.sum(importance * np.nan_to_num(Y - mean) ** 2)
    return model, objective, size, (X_u, everything, problem)


CASES = [
    {},
    {"weighted": True},
    {"manifold": True},
    {"missing": True},
    {"missing": True, "weighted": True, "manifold": True},
]
CASES = [{**case, "intercept": intercept} for intercept in (False, True) for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_objective_never_rises_and_is_the_formula(case):
    model, objective, size, _ = pieces(**case)
    path = model.objective_
    assert np.all(np.diff(path) <= 1e-12 * size)
    assert path[-1] < path[0] - 1e-6 * size
    assert_close(path[0], objective(np.eye(3)), 1e-10)
    assert_close(path[-1], objective(model.A_), 1e-10)
    assert len(path) == model.solution_.n_iter
    assert model.solution_.converged and 0 <= model.solution_.gap <= 1e-10
    assert_close(np.trace(model.A_), 3.0, 1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_is_the_global_minimum(case):
    """No other A with trace 3 does better, found by a general optimiser from three starts."""
    model, objective, size, _ = pieces(**case)
    rng = np.random.default_rng(5)

    def operator(theta):
        F = theta.reshape(3, 3)
        A = F @ F.T + 1e-9 * np.eye(3)
        return 3 * A / np.trace(A)

    best = min(
        minimize(
            lambda theta: objective(operator(theta)), rng.normal(size=9), method="L-BFGS-B", options={"maxiter": 60}
        ).fun
        for _ in range(3)
    )
    assert model.objective_[-1] <= best + 1e-8 * size
    assert model.objective_[-1] >= best - 1e-5 * size  # the optimiser got close: the comparison means something


@pytest.mark.parametrize("case", CASES, ids=str)
def test_h_is_the_ridge_solution_under_the_learned_operator(case):
    model, _, _, (X_u, everything, problem) = pieces(**case)
    at = problem.at(A=model.A_)
    assert_close(model.predict(X_u), at.values(kernel_matrix(X_u, everything)), 1e-8)
    assert_close(model.loo_decision_function(), at.leave_one_out(), 1e-7)


def test_certificate_bounds_the_distance_to_the_minimum():
    X, Y, _, _ = sample(3, n=20, d=5)
    exact = MultiTask(RBF(GAMMA), learn_tasks=True, alpha=ALPHA, tol=1e-12, max_iter=5000).fit(X, Y)
    P0 = 0.5 * np.sum(Y**2)
    for max_iter in (1, 2, 4, 8):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            early = MultiTask(RBF(GAMMA), learn_tasks=True, alpha=ALPHA, tol=1e-15, max_iter=max_iter).fit(X, Y)
        distance = (early.objective_[-1] - exact.objective_[-1]) / P0
        assert -1e-12 <= distance <= early.solution_.gap
        assert early.solution_.n_iter == max_iter and not early.solution_.converged


def test_stopping_early_is_said():
    X, Y, _, _ = sample()
    with pytest.warns(ConvergenceWarning, match="within"):
        MultiTask(learn_tasks=True, max_iter=2, tol=1e-12).fit(X, Y)


def test_outputs_of_zero_and_a_single_task():
    X, Y, _, _ = sample()
    model = MultiTask(learn_tasks=True).fit(X, 0 * Y)
    assert_close(model.A_, np.eye(4))
    assert np.all(model.predict(X) == 0)
    one = MultiTask(RBF(GAMMA), learn_tasks=True, alpha=ALPHA).fit(X, Y[:, :1])
    assert_close(one.A_, [[1.0]])
    assert_close(one.predict(X), MultiTask(RBF(GAMMA), coupling=None, alpha=ALPHA).fit(X, Y[:, :1]).predict(X), 1e-10)


def test_it_finds_that_tasks_are_opposite():
    """A similarity cannot say that one task is minus another; a learned operator can."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    signal = X @ rng.normal(size=(3, 1))
    Y = np.hstack([signal, -signal, signal]) + 0.3 * rng.normal(size=(40, 3))
    A = MultiTask(Linear(), learn_tasks=True, alpha=10.0, intercept=True).fit(X, Y).A_
    correlation = A / np.sqrt(np.outer(np.diag(A), np.diag(A)))
    assert correlation[0, 1] < -0.9 and correlation[0, 2] > 0.9


def test_selection_over_alpha_starts_warm_and_ends_at_the_same_place():
    X, Y, X_u, _ = sample(n=12)
    alphas = (0.01, 0.1, 1.0)
    model = MultiTaskCV(RBF(GAMMA), learn_tasks=True, alphas=alphas, tol=1e-11).fit(X, Y)
    models = [MultiTask(RBF(GAMMA), learn_tasks=True, alpha=alpha, tol=1e-11).fit(X, Y) for alpha in alphas]
    assert_close(model.loo_errors_, [m.loo_error() for m in models], 1e-4)
    (best,) = model.best_index_
    assert model.alpha_ == alphas[best] and model.task_weight_ is None
    assert_close(model.predict(X_u), models[best].predict(X_u), 1e-4)
    assert_close(model.A_, models[best].A_, 1e-4)
    assert model.solution_.gap <= 1e-11
