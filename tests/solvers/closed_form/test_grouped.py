"""Rows of a group leave together: the closed form equals refits without them, on every path.

Tests of `iokr.solvers.closed_form.grouped` and of `groups` in the estimators.
"""

from dataclasses import replace

import numpy as np
import pytest

import reference
from iokr import IOKR, IOKRCV, Functional, FunctionalCV, MultiTask, MultiTaskCV
from iokr.kernels import RBF, Delta, Linear, Nystroem, Precomputed
from iokr.manifolds import Laplacian
from iokr.operator_kernels import BlockKernel, Covariance, Decomposable
from iokr.solvers import Cholesky, Eigen, LowRank, ManifoldEigen, ReducedRank
from iokr.solvers.closed_form import masked_gradients
from libraries import library_of
from reference import Ridge, assert_close
from samples import GAMMA, OPERATORS, each_intercept, missing, operator, regression, weights

GROUPS = np.array([3, 0, 0, 1, 3, 0, 2, 4, 4, 5, 6])


def without_groups(ridge: Ridge, groups=GROUPS) -> np.ndarray:
    """h₋ₛ(x_i) by refits without the labels of the group S of x_i; the points stay."""
    return ridge.leave_groups_out(np.asarray(groups))


def error(ridge: Ridge, groups=GROUPS) -> float:
    """Σ w m r² / Σ w m, times the number of outputs."""
    w = ridge.importance[: ridge.n]
    R = np.where(w > 0, np.nan_to_num(ridge.Y) - without_groups(ridge, groups), 0.0)
    return float(R.shape[1] * (w * R**2).sum() / w.sum())


def kernel_of(A):
    return RBF(GAMMA) if A is None else Decomposable(RBF(GAMMA), A)


@each_intercept
@pytest.mark.parametrize("solver", [None, Eigen(), Cholesky()], ids=str)
@pytest.mark.parametrize("weighted", ["none", "any", "zeros", "tiny"])
@pytest.mark.parametrize("kind", OPERATORS)
def test_supervised_values_equal_refits(kind, weighted, solver, intercept):
    s, A, w = regression(1), operator(kind, 3), weights(weighted, 11)
    for alpha in (1e-3, 0.1, 10.0):
        model = IOKR(kernel_of(A), alpha=alpha, solver=solver, intercept=intercept).fit(s.X, s.Y, sample_weight=w)
        expected = without_groups(Ridge(s.K, s.Y, alpha, A, weight=w, intercept=intercept))
        assert_close(model.loo_decision_function(groups=GROUPS), expected, 1e-9)


@each_intercept
@pytest.mark.parametrize("solver", [None, ManifoldEigen("deformed"), ManifoldEigen("eigen"), Cholesky()], ids=str)
@pytest.mark.parametrize("weighted", ["none", "zeros"])
@pytest.mark.parametrize("kind", ["identity", "full", "rank one"])
def test_semi_supervised_values_equal_refits(kind, weighted, solver, intercept):
    s = regression(2, u=6)
    A, w, L = operator(kind, 3), weights(weighted, 11), reference.graph_laplacian(s.K, 3)
    for alpha, mu in [(1e-2, 0.1), (0.1, 5.0)]:
        model = IOKR(kernel_of(A), alpha=alpha, manifold=Laplacian(mu, 3), solver=solver, intercept=intercept)
        model.fit(s.X, s.Y, sample_weight=w, X_unlabeled=s.U)
        expected = without_groups(Ridge(s.K, s.Y, alpha, A, L, mu, w, intercept=intercept))
        assert_close(model.loo_decision_function(groups=GROUPS), expected, 1e-9)


@each_intercept
@pytest.mark.parametrize("gradients", [False, True], ids=["matrix", "gradients"])
@pytest.mark.parametrize("weighted", ["none", "zeros"])
@pytest.mark.parametrize("holes", ["entries", "two patterns"])
@pytest.mark.parametrize("kind", ["identity", "full"])
def test_values_with_missing_targets_equal_refits(kind, holes, weighted, gradients, intercept, monkeypatch):
    if gradients:
        monkeypatch.setattr(masked_gradients, "DENSE", 0)
    s, A, w = regression(4), operator(kind, 3), weights(weighted, 11)
    Y = missing(holes, s.Y)
    model = IOKR(kernel_of(A), alpha=0.1, intercept=intercept).fit(s.X, Y, sample_weight=w)
    ridge = Ridge(s.K, Y, 0.1, A, weight=w, intercept=intercept)
    assert_close(model.loo_decision_function(groups=GROUPS), without_groups(ridge), 1e-7 if gradients else 1e-9)
    path = IOKRCV(kernel_of(A), alphas=(0.1, 2.0), intercept=intercept)
    path.fit(s.X, Y, sample_weight=w, groups=GROUPS)
    assert_close(path.loo_errors_, [error(ridge), error(replace(ridge, alpha=2.0))], 1e-7 if gradients else 1e-9)


@each_intercept
@pytest.mark.parametrize("weighted", ["none", "any", "zeros"])
@pytest.mark.parametrize("kind", OPERATORS)
def test_errors_along_the_path_equal_refits(kind, weighted, intercept):
    s, A, w = regression(5), operator(kind, 3), weights(weighted, 11)
    alphas = (1e-3, 0.1, 3.0)
    model = IOKRCV(kernel_of(A), alphas=alphas, intercept=intercept)
    model.fit(s.X, s.Y, sample_weight=w, groups=GROUPS)
    ridge = Ridge(s.K, s.Y, 1.0, A, weight=w, intercept=intercept)
    assert_close(model.loo_errors_, [error(replace(ridge, alpha=a)) for a in alphas], 1e-9)


@pytest.mark.parametrize("weighted", ["none", "any", "zeros"])
def test_covariance_operators_equal_refits_with_the_operator_fixed(weighted):
    """On implicit outputs A is oblique; with its matrix on vectors the same numbers come from refits."""
    s, w = regression(6), weights(weighted, 11)
    for alpha in (1e-3, 0.1, 30.0):
        model = IOKR(Covariance(RBF(GAMMA)), output_kernel=Linear(), alpha=alpha).fit(s.X, s.Y, sample_weight=w)
        v = np.ones(11) if w is None else w
        A = (s.Y * v[:, None]).T @ s.Y / v.sum()
        explicit = IOKR(Decomposable(RBF(GAMMA), A), alpha=alpha, intercept=False).fit(s.X, s.Y, sample_weight=w)
        assert_close(model.scores(s.X, s.Y), explicit.decision_function(s.X) @ s.Y.T, 1e-8)
        found = model.loo_decision_function(groups=GROUPS)
        assert_close(found @ s.Y, explicit.loo_decision_function(groups=GROUPS), 1e-8)
    alphas = (1e-3, 0.1, 30.0)
    model = IOKRCV(Covariance(RBF(GAMMA)), output_kernel=Linear(), alphas=alphas)
    model.fit(s.X, s.Y, sample_weight=w, groups=GROUPS)
    ridge = Ridge(s.K, s.Y, 1.0, A, weight=w)
    assert_close(model.loo_errors_, [error(replace(ridge, alpha=a)) for a in alphas], 1e-7)


@each_intercept
@pytest.mark.parametrize("holes", ["none", "entries"])
@pytest.mark.parametrize("weighted", ["none", "zeros"])
def test_kernels_that_do_not_separate(weighted, holes, intercept):
    s, A, w = regression(7), operator("full", 3), weights(weighted, 11)
    Y = missing(holes, s.Y)
    kernel = BlockKernel(lambda X, Z: RBF(GAMMA)(X, Z)[:, :, None, None] * A)
    model = IOKR(kernel, alpha=0.1, intercept=intercept).fit(s.X, Y, sample_weight=w)
    expected = without_groups(Ridge(s.K, Y, 0.1, A, weight=w, intercept=intercept))
    assert_close(model.loo_decision_function(groups=GROUPS), expected, 1e-9)


@each_intercept
@pytest.mark.parametrize("weighted", ["none", "zeros"])
def test_low_rank_equals_refits(weighted, intercept):
    s, w = regression(8), weights(weighted, 11)
    model = IOKR(Nystroem(Linear(), n_components=2), alpha=0.1, solver=LowRank(), intercept=intercept)
    model.fit(s.X, s.Y, sample_weight=w)
    expected = without_groups(Ridge(s.X @ s.X.T, s.Y, 0.1, weight=w, intercept=intercept))
    assert_close(model.loo_decision_function(groups=GROUPS), expected, 1e-9)


def test_outputs_known_through_their_kernel():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(11, 2)), list("abcaabbcdda")
    model = IOKR(RBF(GAMMA), output_kernel=Delta(), alpha=0.2).fit(X, labels)
    beta = model.loo_decision_function(groups=GROUPS)
    for i in range(11):
        kept = np.flatnonzero(GROUPS[i] != GROUPS)
        part = IOKR(RBF(GAMMA), output_kernel=Delta(), alpha=0.2).fit(X[kept], [labels[k] for k in kept])
        assert_close(beta[i, kept], part.weights(X[i : i + 1])[0], 1e-10)
        assert_close(beta[i, GROUPS[i] == GROUPS], np.zeros((GROUPS[i] == GROUPS).sum()), atol=1e-12)


@each_intercept
@pytest.mark.parametrize("groups", [GROUPS, np.arange(11)], ids=["groups", "rows"])
def test_a_projection_leaves_groups_out_as_its_base_does(groups, intercept):
    """With an intercept deviations from the mean of the other outputs are projected."""
    s = regression(9)
    model = IOKR(RBF(GAMMA), alpha=0.1, solver=ReducedRank(rank=2), intercept=intercept).fit(s.X, s.Y)
    plain = IOKR(RBF(GAMMA), alpha=0.1, intercept=intercept).fit(s.X, s.Y).loo_decision_function(groups=groups)
    means = np.array([intercept * s.Y[groups != group].mean(axis=0) for group in groups])
    P = model.solver_.directions_ @ model.solver_.directions_.T
    assert_close(model.loo_decision_function(groups=groups), means + (plain - means) @ P, 1e-8)


def test_groups_of_one_are_leave_one_out():
    s = regression(10)
    for solver in (Eigen(), Cholesky()):
        model = IOKR(RBF(GAMMA), alpha=0.1, solver=solver).fit(s.X, s.Y)
        assert_close(model.loo_decision_function(groups=list("abcdefghijk")), model.loo_decision_function(), 1e-11)


def test_one_group_predicts_nothing():
    s = regression(10)
    model = IOKR(RBF(GAMMA), alpha=0.1).fit(s.X, s.Y)
    assert_close(model.loo_decision_function(groups=np.zeros(11)), np.zeros((11, 3)), atol=1e-12)


@each_intercept
def test_tiny_alpha_loses_no_digits(intercept):
    s = regression(6, d=2)
    K = 4 * np.eye(11) + 0.1 * RBF(GAMMA)(s.X, s.X)
    exact = Ridge(K, s.Y, 1e-10, exact=True, intercept=intercept)
    for solver in (None, Eigen(), Cholesky()):
        model = IOKR(Precomputed(K), alpha=1e-10, solver=solver, intercept=intercept).fit(np.arange(11), s.Y)
        assert_close(model.loo_decision_function(groups=GROUPS), without_groups(exact), 1e-11)


@each_intercept
def test_tasks_and_curves_take_groups(intercept):
    s = regression(11)
    names = [f"patient {g}" for g in GROUPS]
    model = MultiTask(RBF(GAMMA), alpha=0.1, intercept=intercept).fit(s.X, s.Y)
    ridge = Ridge(s.K, s.Y, 0.1, model.A_, intercept=intercept)
    assert_close(model.loo_decision_function(groups=names), without_groups(ridge), 1e-9)
    assert model.loo_error(groups=names) == pytest.approx(error(ridge), rel=1e-9)
    chosen = MultiTaskCV(RBF(GAMMA), alphas=(0.1, 1.0), task_weights=(0.0, 0.5), intercept=intercept)
    chosen.fit(s.X, s.Y, groups=names)
    assert chosen.loo_errors_.min() == pytest.approx(chosen.loo_error(groups=names), rel=1e-9)
    MultiTaskCV(RBF(GAMMA), alphas=(0.1, 1.0), learn_tasks=True, intercept=intercept).fit(s.X, s.Y, groups=names)
    curves = Functional(RBF(GAMMA), alpha=0.1, intercept=intercept).fit(s.X, s.Y)
    kept = GROUPS != 0
    part = Functional(RBF(GAMMA), alpha=0.1, intercept=intercept).fit(s.X[kept], s.Y[kept])
    assert_close(curves.loo_decision_function(groups=names)[~kept], part.predict(s.X[~kept]), 1e-9)
    path = FunctionalCV(RBF(GAMMA), alphas=(0.1, 1.0), intercept=intercept).fit(s.X, s.Y, groups=names)
    residuals = s.Y - curves.loo_decision_function(groups=names)
    assert path.loo_errors_[0] == pytest.approx(np.mean(residuals**2 @ [0.25, 0.5, 0.25]), rel=1e-9)  # ∫ by trapezoids


@each_intercept
def test_folds_keep_groups_whole(intercept):
    s = regression(12)
    model = IOKRCV(RBF(GAMMA), alphas=(0.1,), cv=7, intercept=intercept).fit(s.X, s.Y, groups=GROUPS)
    assert float(model.cv_errors_) == pytest.approx(error(Ridge(s.K, s.Y, 0.1, intercept=intercept)), rel=1e-9)
    FunctionalCV(RBF(GAMMA), alphas=(0.1,), cv=7, intercept=intercept).fit(s.X, s.Y, groups=GROUPS)


@pytest.mark.parametrize(
    ("name", "device"), [("torch", "cpu"), ("array_api_strict", "CPU_DEVICE"), ("array_api_strict", "device1")]
)
@pytest.mark.parametrize("kind", ["identity", "full"])
@each_intercept
def test_other_array_libraries(intercept, kind, name, device):
    library = library_of(name, device)
    s, A, w = regression(13), operator(kind, 3), weights("zeros", 11)
    for solver in (Eigen(), Cholesky()):
        kernel = RBF(GAMMA) if A is None else Decomposable(RBF(GAMMA), library(A))
        model = IOKR(kernel, alpha=0.1, solver=solver, intercept=intercept)
        model.fit(library(s.X), library(s.Y), sample_weight=w)
        found = library.numpy(model.loo_decision_function(groups=GROUPS))
        assert_close(found, without_groups(Ridge(s.K, s.Y, 0.1, A, weight=w, intercept=intercept)), 1e-9)
    ours = IOKRCV(RBF(GAMMA), alphas=(0.1, 1.0)).fit(s.X, s.Y, groups=GROUPS).loo_errors_
    theirs = IOKRCV(RBF(GAMMA), alphas=(0.1, 1.0)).fit(library(s.X), library(s.Y), groups=library(GROUPS))
    assert_close(theirs.loo_errors_, ours, 1e-10)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0, 1], "`groups` has 2 entries but X has 11 objects"),
        (np.zeros((11, 1)), "one group for each row"),
        ([None] * 11, "`groups` has no group for row 0"),
        ([0.0] * 10 + [np.nan], "`groups` has no group for row 10"),
        (3, "`groups` must be a sequence"),
        ({1: 2}, "`groups` must be a sequence"),
    ],
)
def test_bad_groups_are_refused(groups, message):
    s = regression(14)
    model = IOKR(RBF(GAMMA)).fit(s.X, s.Y)
    with pytest.raises((ValueError, TypeError), match=message):
        model.loo_decision_function(groups=groups)
    for selection in (IOKRCV(alphas=(1.0,)), MultiTaskCV(alphas=(1.0,)), FunctionalCV(alphas=(1.0,))):
        with pytest.raises((ValueError, TypeError), match=message):
            selection.fit(s.X, s.Y, groups=groups)
