"""Supervised ridge: IOKR against KernelRidge, dense Kronecker systems and the invariants of the objective.

Tests of `iokr.estimators.regression.iokr` and `iokr.estimators.regression.posing`.
"""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

import reference
from iokr import IOKR
from iokr.kernels import RBF, Cosine, Laplacian, Linear, Polynomial, Precomputed
from iokr.operator_kernels import Decomposable
from iokr.solvers import Cholesky, Eigen
from reference import EPS, Ridge, assert_close
from samples import GAMMA, OPERATORS, each_intercept, operator, regression

SOLVERS = [None, Eigen(), Cholesky()]


def with_operator(kernel, A):
    return kernel if A is None else Decomposable(kernel, A)


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize(
    ("kernel", "theirs"),
    [
        (Linear(), {"kernel": "linear"}),
        (Polynomial(3, 0.5, 1.0), {"kernel": "poly", "degree": 3, "gamma": 0.5, "coef0": 1.0}),
        (RBF(0.3), {"kernel": "rbf", "gamma": 0.3}),
        (Laplacian(0.3), {"kernel": "laplacian", "gamma": 0.3}),
        (Cosine(), {"kernel": "cosine"}),
    ],
    ids=lambda part: type(part).__name__ if not isinstance(part, dict) else "",
)
def test_linear_outputs_give_kernel_ridge(kernel, theirs, alpha):
    s = regression(1, n=30, p=4, d=3)
    rival = KernelRidge(alpha=alpha, **theirs).fit(s.X, s.Y)
    ours = IOKR(kernel, alpha=alpha, intercept=False).fit(s.X, s.Y)
    assert_close(ours.decision_function(s.X_new), rival.predict(s.X_new), 1e-10)
    assert_close(ours.predict(s.X_new), rival.predict(s.X_new), 1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_column_of_targets_is_kernel_ridge_in_one_dimension(weighted):
    s = regression(2, n=25, d=1)
    w = s.rng.uniform(0, 2, size=25) if weighted else None
    rival = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.3).fit(s.X, s.Y[:, 0], sample_weight=w)
    ours = IOKR(RBF(0.3), alpha=0.1, intercept=False).fit(s.X, s.Y[:, 0], sample_weight=w)
    assert_close(ours.predict(s.X_new), rival.predict(s.X_new), 1e-10)
    assert_close(ours.decision_function(s.X_new), rival.predict(s.X_new)[:, None], 1e-10)


@each_intercept
def test_an_explicit_linear_output_kernel_is_the_identity_embedding(intercept):
    s = regression(3)
    plain = IOKR(RBF(GAMMA), alpha=0.1, intercept=intercept).fit(s.X, s.Y)
    linear = IOKR(RBF(GAMMA), output_kernel=Linear(), alpha=0.1, intercept=intercept).fit(s.X, s.Y)
    candidates = s.rng.normal(size=(7, 3))
    assert_close(linear.scores(s.X_new, candidates), plain.scores(s.X_new, candidates), 1e-11)
    assert_close(linear.distances(s.X_new, candidates), plain.distances(s.X_new, candidates), 1e-11)


@each_intercept
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("kind", OPERATORS)
def test_every_operator_solves_the_dense_kronecker_system(kind, solver, intercept):
    s = regression(4)
    A = operator(kind, 3)
    for alpha in (1e-3, 0.1, 10.0):
        model = IOKR(with_operator(RBF(GAMMA), A), alpha=alpha, solver=solver, intercept=intercept).fit(s.X, s.Y)
        expected = Ridge(s.K, s.Y, alpha, A, intercept=intercept)
        assert_close(model.decision_function(s.X_new), expected.values(s.K_new), 1e-10)
        assert_close(model.decision_function(s.X), expected.values(s.K), 1e-10)


@each_intercept
@pytest.mark.parametrize("kind", OPERATORS)
def test_coefficients_give_the_function_and_minimise_the_objective(kind, intercept):
    """`solution_.C` need not be the reference's C, but its objective is the minimum and K* C A is h."""
    s = regression(5)
    A = operator(kind, 3)
    model = IOKR(with_operator(RBF(GAMMA), A), alpha=0.2, intercept=intercept).fit(s.X, s.Y)
    expected = Ridge(s.K, s.Y, 0.2, A, intercept=intercept)
    C, b = np.asarray(model.solution_.C), model.solution_.intercept if intercept else 0.0
    assert_close(expected.objective(C, b), expected.objective(*expected.solution()), 1e-12)
    assert_close(s.K_new @ C @ expected.operator + b, model.decision_function(s.X_new), 1e-12)
    assert model.solution_.converged
    assert model.solution_.gap <= 1e-10


def test_identity_operator_equals_no_operator():
    s = regression(6)
    plain = IOKR(RBF(GAMMA), alpha=0.3).fit(s.X, s.Y)
    lifted = IOKR(Decomposable(RBF(GAMMA), np.eye(3)), alpha=0.3).fit(s.X, s.Y)
    assert_close(lifted.decision_function(s.X_new), plain.decision_function(s.X_new), 1e-12)


@each_intercept
@pytest.mark.parametrize("kind", ["rank one", "singular", "diagonal with zero"])
def test_components_along_the_null_space_of_the_operator_vanish(kind, intercept):
    """Invariant 5: h lies in the range of A, and is the model with A restricted to its range.

    With an intercept what is left outside of the range is the mean.
    """
    s = regression(7)
    A = operator(kind, 3)
    gamma, E = np.linalg.eigh(A)
    null, span = E[:, gamma < 1e-10], E[:, gamma > 1e-10]
    outside = s.Y.mean(axis=0) @ null if intercept else 0.0
    common = {"alpha": 0.1, "intercept": intercept}
    H = IOKR(Decomposable(RBF(GAMMA), A), **common).fit(s.X, s.Y).decision_function(s.X_new)
    assert np.abs(H @ null - outside).max() <= 1e-14 * np.abs(H).max()
    inside = IOKR(Decomposable(RBF(GAMMA), np.diag(gamma[gamma > 1e-10])), **common).fit(s.X, s.Y @ span)
    assert_close(H @ span, inside.decision_function(s.X_new), 1e-11)


def test_a_zero_diagonal_entry_of_the_operator_gives_exact_zeros():
    s = regression(8)
    kernel = Decomposable(RBF(GAMMA), np.diag([0.0, 1.0, 2.0]))
    H = IOKR(kernel, intercept=False).fit(s.X, s.Y).decision_function(s.X_new)
    assert np.all(H[:, 0] == 0)
    assert np.all(H[:, 1:] != 0)
    H = IOKR(kernel, intercept=True).fit(s.X, s.Y).decision_function(s.X_new)
    assert_close(H[:, 0], np.full(5, s.Y[:, 0].mean()), 1e-14)


@each_intercept
@pytest.mark.parametrize("kind", ["identity", "full", "rank one"])
def test_permuting_the_rows_changes_nothing(kind, intercept):
    """Invariant 1."""
    s = regression(9)
    order = s.rng.permutation(len(s.X))
    kernel = with_operator(RBF(GAMMA), operator(kind, 3))
    straight = IOKR(kernel, alpha=0.05, intercept=intercept).fit(s.X, s.Y)
    permuted = IOKR(kernel, alpha=0.05, intercept=intercept).fit(s.X[order], s.Y[order])
    assert_close(permuted.decision_function(s.X_new), straight.decision_function(s.X_new), 1e-11)
    assert_close(permuted.loo_decision_function(), straight.loo_decision_function()[order], 1e-11)


@each_intercept
@pytest.mark.parametrize("kind", ["identity", "full", "singular"])
@pytest.mark.parametrize("c", [1e-3, 40.0])
def test_scaling_kernel_and_alpha_together_changes_nothing(kind, c, intercept):
    """Invariant 2: (α, k) → (cα, ck)."""
    s = regression(10)
    A = operator(kind, 3)
    one = IOKR(with_operator(RBF(GAMMA), A), alpha=0.1, intercept=intercept).fit(s.X, s.Y)
    scaled = IOKR(with_operator(c * RBF(GAMMA), A), alpha=c * 0.1, intercept=intercept).fit(s.X, s.Y)
    assert_close(scaled.decision_function(s.X_new), one.decision_function(s.X_new), 1e-11)
    assert_close(scaled.loo_decision_function(), one.loo_decision_function(), 1e-11)


@each_intercept
def test_scaling_the_operator_is_scaling_alpha(intercept):
    s = regression(11)
    A = operator("full", 3)
    one = IOKR(Decomposable(RBF(GAMMA), A), alpha=0.1, intercept=intercept).fit(s.X, s.Y)
    scaled = IOKR(Decomposable(RBF(GAMMA), 8 * A), alpha=0.8, intercept=intercept).fit(s.X, s.Y)
    assert_close(scaled.decision_function(s.X_new), one.decision_function(s.X_new), 1e-11)


@each_intercept
@pytest.mark.parametrize("kind", ["identity", "full", "rank one"])
def test_predictions_are_linear_in_the_targets(kind, intercept):
    s = regression(12)
    other = s.rng.normal(size=s.Y.shape)
    kernel = with_operator(RBF(GAMMA), operator(kind, 3))

    def h(Y):
        return IOKR(kernel, alpha=0.1, intercept=intercept).fit(s.X, Y).decision_function(s.X_new)

    assert_close(h(2 * s.Y - 3 * other), 2 * h(s.Y) - 3 * h(other), 1e-11)


@each_intercept
def test_large_alpha_shrinks_to_a_constant_and_small_alpha_interpolates(intercept):
    s = regression(13, n=8)
    far = IOKR(RBF(2.0), alpha=1e9, intercept=intercept).fit(s.X, s.Y).decision_function(s.X)
    assert np.abs(far - (s.Y.mean(axis=0) if intercept else 0.0)).max() < 1e-8
    near = IOKR(RBF(2.0), alpha=1e-11, intercept=intercept).fit(s.X, s.Y).decision_function(s.X)
    assert_close(near, s.Y, 1e-6)


def test_an_intercept_is_ridge_with_the_centred_kernel_on_centred_outputs():
    """And b is the mean of what h leaves of the outputs, so that the residuals sum to zero."""
    s = regression(14)
    Y = s.Y + np.array([100.0, -7.0, 3.0])
    mean = Y.mean(axis=0)
    model = IOKR(RBF(GAMMA), alpha=0.1).fit(s.X, Y)
    k = reference.centred(reference.rbf(GAMMA), s.X)
    expected = Ridge(reference.gram(k, s.X), Y - mean, 0.1).values(reference.gram(k, s.X_new, s.X)) + mean
    assert_close(model.predict(s.X_new), expected, 1e-12)
    assert_close(model.solution_.intercept, (Y - s.K @ model.solution_.C).mean(axis=0), 1e-12)
    assert_close(model.predict(s.X).mean(axis=0), mean, 1e-12)


def test_the_means_of_an_intercept_are_weighted():
    s = regression(15)
    w = s.rng.uniform(0, 2, size=len(s.X))
    w[3] = 0.0
    mean = (w @ s.Y) / w.sum()
    model = IOKR(RBF(GAMMA), alpha=0.1).fit(s.X, s.Y, sample_weight=w)
    k = reference.centred(reference.rbf(GAMMA), s.X, w)
    ridge = Ridge(reference.gram(k, s.X), s.Y - mean, 0.1, weight=w)
    assert_close(model.predict(s.X_new), ridge.values(reference.gram(k, s.X_new, s.X)) + mean, 1e-11)
    assert_close(w @ model.predict(s.X), w @ s.Y, 1e-11)


@each_intercept
@pytest.mark.parametrize("kind", ["identity", "full", "rank one"])
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_tiny_alpha_against_sixty_digits(kind, solver, intercept):
    """At α = 1e-8 of the largest eigenvalue the error is about eps (s_max γ_max + α) / α."""
    s = regression(16, n=10, d=2)
    A = operator(kind, 2)
    points = np.vstack([s.X, s.X_new])
    K = RBF(GAMMA)(points, points)
    n, top = len(s.X), np.linalg.eigvalsh(K[:10, :10])[-1] * (1.0 if A is None else np.linalg.eigvalsh(A)[-1])
    alpha = 1e-8 * top
    indices = np.arange(len(points))
    model = IOKR(with_operator(Precomputed(K), A), alpha=alpha, solver=solver, intercept=intercept)
    model.fit(indices[:n], s.Y)
    expected = Ridge(K[:n, :n], s.Y, alpha, A, exact=True, intercept=intercept)
    tolerance = 5 * EPS * (top + alpha) / alpha
    assert_close(model.decision_function(indices[n:]), expected.values(K[n:, :n]), tolerance)
    assert_close(model.decision_function(indices[:n]), expected.values(K[:n, :n]), 1e-9)


@each_intercept
def test_score_is_r2_in_the_output_space(intercept):
    from sklearn.metrics import r2_score

    s = regression(17, n=20, m=9)
    targets = s.rng.normal(size=(9, 3))
    w = s.rng.uniform(0.1, 2, size=9)
    model = IOKR(RBF(GAMMA), alpha=0.1, intercept=intercept).fit(s.X, s.Y)
    H = model.decision_function(s.X_new)
    assert_close(model.score(s.X_new, targets), reference.r2_score(H, targets), 1e-12)
    assert_close(model.score(s.X_new, targets, sample_weight=w), reference.r2_score(H, targets, w), 1e-12)
    assert_close(model.score(s.X_new, targets), r2_score(targets, H, multioutput="variance_weighted"), 1e-12)


@each_intercept
def test_weights_reproduce_the_function(intercept):
    s = regression(18)
    model = IOKR(RBF(GAMMA), alpha=0.1, intercept=intercept).fit(s.X, s.Y)
    B = Ridge(s.K, np.eye(len(s.K)), 0.1, intercept=intercept).values(s.K_new)
    assert_close(model.weights(s.X_new), B, 1e-11)
    assert_close(model.weights(s.X_new) @ s.Y, model.decision_function(s.X_new), 1e-11)


def test_weights_are_refused_when_the_function_has_no_such_form():
    s = regression(19)
    model = IOKR(Decomposable(RBF(GAMMA), operator("full", 3))).fit(s.X, s.Y)
    with pytest.raises(ValueError, match=r"weights|form|operator|A"):
        model.weights(s.X_new)
    Y = s.Y.copy()
    Y[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"weights|form|missing"):
        IOKR(RBF(GAMMA)).fit(s.X, Y).weights(s.X_new)


@each_intercept
def test_a_scaled_identity_operator_keeps_weights(intercept):
    s = regression(20)
    model = IOKR(Decomposable(RBF(GAMMA), 2.5 * np.eye(3)), alpha=0.1, intercept=intercept).fit(s.X, s.Y)
    expected = Ridge(s.K, s.Y, 0.1, 2.5 * np.eye(3), intercept=intercept)
    assert_close(model.weights(s.X_new) @ s.Y, expected.values(s.K_new), 1e-11)
