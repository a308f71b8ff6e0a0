"""Leave-one-out in closed form equals refitting, over paths of alpha, manifold weight and kernel.

Tests of `iokr.estimators.regression.cv` and `iokr.estimators.regression.evaluate`.
"""

import numpy as np
import pytest

import reference
from iokr import IOKR, IOKRCV
from iokr.kernels import RBF, Linear, Polynomial, Precomputed
from iokr.manifolds import Given, Heat, IteratedLaplacian, Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import Cholesky, Eigen
from reference import EPS, Ridge, assert_close
from samples import GAMMA, OPERATORS, each_intercept, missing, operator, regression, weights

ALPHAS = (1e-3, 0.02, 0.3, 4.0, 50.0)
STRENGTHS = (0.0, 0.01, 0.5, 20.0)


def with_operator(kernel, A):
    return kernel if A is None else Decomposable(kernel, A)


def errors(ridge: Ridge, alphas=ALPHAS, manifold_weights=(0.0,)) -> np.ndarray:
    """Leave-one-out errors by refits, manifold weight × alpha."""
    return np.array([[ridge.at(alpha=a, mu=mu).leave_one_out_error() for a in alphas] for mu in manifold_weights])


@each_intercept
@pytest.mark.parametrize("weighted", ["none", "any", "zeros", "tiny"])
@pytest.mark.parametrize("kind", OPERATORS)
def test_supervised_values_equal_refits(kind, weighted, intercept):
    s = regression(1, n=9)
    A, w = operator(kind, 3), weights(weighted, 9)
    for alpha in (1e-3, 0.1, 10.0):
        model = IOKR(with_operator(RBF(GAMMA), A), alpha=alpha, intercept=intercept).fit(s.X, s.Y, sample_weight=w)
        expected = Ridge(s.K, s.Y, alpha, A, weight=w, intercept=intercept)
        assert_close(model.loo_decision_function(), expected.leave_one_out(), 1e-9)


@each_intercept
@pytest.mark.parametrize("weighted", ["none", "any", "zeros", "tiny"])
@pytest.mark.parametrize("kind", ["identity", "scaled", "full", "rank one", "diagonal with zero"])
def test_semi_supervised_values_equal_refits(kind, weighted, intercept):
    """Only the label leaves; the point stays in the graph."""
    s = regression(2, n=7, u=6)
    A, w = operator(kind, 3), weights(weighted, 7)
    L = reference.graph_laplacian(s.K, 3)
    for alpha, mu in [(1e-2, 0.1), (0.1, 5.0)]:
        model = IOKR(with_operator(RBF(GAMMA), A), alpha=alpha, manifold=Laplacian(mu, 3), intercept=intercept)
        model.fit(s.X, s.Y, sample_weight=w, X_unlabeled=s.U)
        expected = Ridge(s.K, s.Y, alpha, A, L, mu, w, intercept=intercept).leave_one_out()
        assert_close(model.loo_decision_function(), expected, 1e-9)


@each_intercept
def test_removing_the_point_as_well_would_give_other_numbers(intercept):
    s = regression(3, n=6, u=6)
    model = IOKR(RBF(GAMMA), alpha=0.1, manifold=Laplacian(2.0), intercept=intercept)
    loo = model.fit(s.X, s.Y, X_unlabeled=s.U).loo_decision_function()
    kept = np.delete(np.arange(12), 0)
    without = model.fit(s.X[1:], s.Y[1:], X_unlabeled=s.U)
    K = s.K[np.ix_(kept, kept)]
    smaller = Ridge(K, s.Y[1:], 0.1, None, reference.graph_laplacian(K), 2.0, intercept=intercept)
    assert_close(without.decision_function(s.X[:1]), smaller.values(s.K[:1, kept]), 1e-10)
    assert np.abs(without.decision_function(s.X[:1])[0] - loo[0]).max() > 1e-3


@each_intercept
@pytest.mark.parametrize("semi", [False, True], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("holes", ["entries", "one column", "two patterns"])
@pytest.mark.parametrize("kind", ["identity", "full", "rank one", "singular"])
def test_values_with_missing_targets_equal_refits(kind, holes, semi, intercept):
    """All entries of h₋ᵢ(x_i), also where the target is missing."""
    s = regression(4, n=8, u=5 if semi else 0)
    Y, A, L = missing(holes, s.Y), operator(kind, 3), reference.graph_laplacian(s.K)
    for w in (None, weights("zeros", 8)):
        common = {"manifold": Laplacian(0.4) if semi else None, "intercept": intercept}
        model = IOKR(with_operator(RBF(GAMMA), A), alpha=0.1, **common)
        model.fit(s.X, Y, sample_weight=w, X_unlabeled=s.U if semi else None)
        expected = Ridge(s.K, Y, 0.1, A, L if semi else None, 0.4 if semi else 0.0, w, intercept=intercept)
        assert_close(model.decision_function(s.X_new), expected.values(s.K_new), 1e-10)
        assert_close(model.loo_decision_function(), expected.leave_one_out(), 1e-9)


@each_intercept
@pytest.mark.parametrize("solver", [Eigen(), Cholesky()], ids=str)
def test_values_do_not_depend_on_the_solver(solver, intercept):
    s = regression(5)
    model = IOKR(RBF(GAMMA), alpha=0.1, solver=solver, intercept=intercept).fit(s.X, s.Y)
    assert_close(model.loo_decision_function(), Ridge(s.K, s.Y, 0.1, intercept=intercept).leave_one_out(), 1e-10)


@each_intercept
@pytest.mark.parametrize("solver", [None, Eigen(), Cholesky()], ids=str)
@pytest.mark.parametrize("kind", ["identity", "full", "rank one"])
def test_tiny_alpha_loses_no_digits(kind, solver, intercept):
    """1 − H_ii by subtraction would have an error of 1e-5 here; the residuals of leave-one-out do not."""
    s = regression(6, n=8, d=2)
    A = operator(kind, 2)
    K = 4 * np.eye(8) + 0.1 * RBF(GAMMA)(s.X, s.X)
    alpha = 1e-10
    kernel, common = with_operator(Precomputed(K), A), {"solver": solver, "intercept": intercept}
    model = IOKR(kernel, alpha=alpha, **common).fit(np.arange(8), s.Y)
    exact = Ridge(K, s.Y, alpha, A, exact=True, intercept=intercept)
    assert_close(model.loo_decision_function() - s.Y, exact.leave_one_out() - s.Y, 1e-11)
    path = IOKRCV(kernel, alphas=(alpha, 1e-7), **common).fit(np.arange(8), s.Y)
    expected = [exact.leave_one_out_error(), exact.at(alpha=1e-7).leave_one_out_error()]
    assert_close(path.loo_errors_, expected, 1e-11)


@each_intercept
@pytest.mark.parametrize("solver", [Eigen(), Cholesky()], ids=str)
def test_a_tiny_weight_beside_a_tiny_alpha(solver, intercept):
    """w_i k(x_i, x_i) / α is small but not nothing: the label of x_i still counts for h, and must be taken out."""
    s = regression(7, n=8, d=2)
    K = 4 * np.eye(8) + 0.1 * RBF(GAMMA)(s.X, s.X)
    w = np.ones(8)
    w[2] = 5e-13
    model = IOKR(Precomputed(K), alpha=1e-8, solver=solver, intercept=intercept)
    model.fit(np.arange(8), s.Y, sample_weight=w)
    expected = Ridge(K, s.Y, 1e-8, weight=w, exact=True, intercept=intercept)
    plain = expected.values(K)[2]
    assert np.abs(plain - expected.leave_one_out()[2]).max() > 1e-5
    assert_close(model.loo_decision_function()[2], expected.leave_one_out()[2], atol=1e-6)


@each_intercept
@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("weighted", ["none", "zeros"])
def test_supervised_path_of_errors(kind, weighted, intercept):
    s = regression(7, n=8)
    A, w = operator(kind, 3), weights(weighted, 8)
    path = IOKRCV(with_operator(RBF(GAMMA), A), alphas=ALPHAS, intercept=intercept).fit(s.X, s.Y, sample_weight=w)
    assert_close(path.loo_errors_, errors(Ridge(s.K, s.Y, 1.0, A, weight=w, intercept=intercept))[0], 1e-9)


@each_intercept
@pytest.mark.parametrize("kind", ["identity", "full", "rank one"])
@pytest.mark.parametrize("weighted", ["none", "zeros"])
def test_semi_supervised_grid_of_errors(kind, weighted, intercept):
    s = regression(8, n=6, u=7)
    A, w = operator(kind, 3), weights(weighted, 6)
    common = {"manifold_weights": STRENGTHS, "manifold": Laplacian(1.0, 3), "intercept": intercept}
    grid = IOKRCV(with_operator(RBF(GAMMA), A), alphas=ALPHAS, **common)
    grid.fit(s.X, s.Y, sample_weight=w, X_unlabeled=s.U)
    ridge = Ridge(s.K, s.Y, 1.0, A, reference.graph_laplacian(s.K, 3), weight=w, intercept=intercept)
    assert_close(grid.loo_errors_, errors(ridge, manifold_weights=STRENGTHS), 1e-9)


@each_intercept
@pytest.mark.parametrize(
    ("manifold", "penalty"),
    [
        (IteratedLaplacian(1.0, 2), lambda K: reference.graph_laplacian(K) @ reference.graph_laplacian(K)),
        (
            Heat(1.0, 0.5),
            lambda K: np.eye(len(K)) - reference.exponential(-0.5 * reference.graph_laplacian(K)),
        ),
    ],
    ids=["iterated", "heat"],
)
def test_grid_of_errors_with_other_manifolds(manifold, penalty, intercept):
    s = regression(9, n=6, u=5)
    grid = IOKRCV(RBF(GAMMA), alphas=ALPHAS, manifold_weights=STRENGTHS, manifold=manifold, intercept=intercept)
    grid.fit(s.X, s.Y, X_unlabeled=s.U)
    ridge = Ridge(s.K, s.Y, 1.0, None, penalty(s.K), intercept=intercept)
    assert_close(grid.loo_errors_, errors(ridge, manifold_weights=STRENGTHS), 1e-9)


@each_intercept
@pytest.mark.parametrize("semi", [False, True], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("kind", ["identity", "full"])
def test_errors_with_missing_targets(kind, semi, intercept):
    s = regression(10, n=8, u=4 if semi else 0)
    Y, A = missing("entries", s.Y), operator(kind, 3)
    L = reference.graph_laplacian(s.K) if semi else None
    manifold_weights = (0.1, 3.0) if semi else None
    for w in (None, weights("any", 8)):
        grid = IOKRCV(
            with_operator(RBF(GAMMA), A),
            alphas=ALPHAS[:3],
            manifold_weights=manifold_weights,
            manifold=Laplacian(1.0) if semi else None,
            intercept=intercept,
        )
        grid.fit(s.X, Y, sample_weight=w, X_unlabeled=s.U if semi else None)
        ridge = Ridge(s.K, Y, 1.0, A, L, weight=w, intercept=intercept)
        expected = errors(ridge, ALPHAS[:3], manifold_weights or (0.0,))
        assert_close(grid.loo_errors_, expected if semi else expected[0], 1e-9)


def test_axes_are_kernel_strength_alpha_and_those_of_length_one_are_dropped():
    s = regression(11, n=7, u=5)
    kernels = [RBF(0.2), Linear() + RBF(1.0)]
    points = np.vstack([s.X, s.U])
    loops = [reference.rbf(0.2), lambda x, z: reference.linear(x, z) + reference.rbf(1.0)(x, z)]
    L = reference.graph_laplacian(s.K)
    manifold = Given(1.0, L)
    grams = [reference.gram(k, points) for k in loops]
    ridges = [Ridge(K, s.Y, 1.0, None, L, intercept=True) for K in grams]
    expected = np.array([errors(ridge, manifold_weights=STRENGTHS) for ridge in ridges])
    both = IOKRCV(kernels, alphas=ALPHAS, manifold_weights=STRENGTHS, manifold=manifold).fit(s.X, s.Y, X_unlabeled=s.U)
    assert_close(both.loo_errors_, expected, 1e-9)
    one_strength = IOKRCV(kernels, alphas=ALPHAS, manifold_weights=[0.5], manifold=manifold).fit(
        s.X, s.Y, X_unlabeled=s.U
    )
    assert_close(one_strength.loo_errors_, expected[:, 2], 1e-9)
    one_kernel = IOKRCV(kernels[:1], alphas=ALPHAS, manifold=Given(20.0, L)).fit(s.X, s.Y, X_unlabeled=s.U)
    assert_close(one_kernel.loo_errors_, expected[0, 3], 1e-9)


def test_graph_follows_each_kernel_of_the_list():
    s = regression(12, n=6, u=5)
    kernels = [RBF(0.2), RBF(1.5)]
    points = np.vstack([s.X, s.U])
    grid = IOKRCV(kernels, alphas=ALPHAS, manifold_weights=(0.1, 2.0), manifold=Laplacian(1.0)).fit(
        s.X, s.Y, X_unlabeled=s.U
    )
    grams = [reference.gram(reference.rbf(g), points) for g in (0.2, 1.5)]
    ridges = [Ridge(K, s.Y, L=reference.graph_laplacian(K), intercept=True) for K in grams]
    expected = [errors(ridge, manifold_weights=(0.1, 2.0)) for ridge in ridges]
    assert_close(grid.loo_errors_, np.array(expected), 1e-9)


@each_intercept
def test_operator_kernels_in_the_list(intercept):
    s = regression(13, n=7)
    A = operator("full", 3)
    path = IOKRCV([Decomposable(RBF(GAMMA), A), RBF(GAMMA)], alphas=ALPHAS, intercept=intercept).fit(s.X, s.Y)
    ridge = Ridge(s.K, s.Y, intercept=intercept)
    expected = np.vstack([errors(ridge.at(A=A)), errors(ridge)])
    assert_close(path.loo_errors_, expected, 1e-9)


def test_the_best_model_is_refitted():
    s = regression(14, n=8, u=5)
    kernels = [RBF(0.1), RBF(0.8), Polynomial(2, 1.0, 1.0)]
    grid = IOKRCV(
        kernels, alphas=ALPHAS, manifold_weights=STRENGTHS, manifold=Given(1.0, reference.graph_laplacian(s.K))
    )
    grid.fit(s.X, s.Y, X_unlabeled=s.U)
    a, b, c = grid.best_index_
    assert grid.loo_errors_[grid.best_index_] == grid.loo_errors_.min()
    assert grid.alpha_ == ALPHAS[c]
    manifold = Given(STRENGTHS[b], reference.graph_laplacian(s.K))
    best = IOKR(kernels[a], alpha=ALPHAS[c], manifold=manifold).fit(s.X, s.Y, X_unlabeled=s.U)
    assert_close(grid.decision_function(s.X_new), best.decision_function(s.X_new), 1e-10)
    assert_close(grid.loo_decision_function(), best.loo_decision_function(), 1e-10)
    assert_close(np.mean(np.sum((s.Y - grid.loo_decision_function()) ** 2, axis=1)), grid.loo_errors_.min(), 1e-10)


@each_intercept
def test_default_path_has_nineteen_alphas_from_1e_minus_6_to_1e3(intercept):
    s = regression(15, n=9)
    path = IOKRCV(RBF(GAMMA), intercept=intercept).fit(s.X, s.Y)
    assert_close(np.log10(path.alphas), np.linspace(-6, 3, 19), 1e-5)
    expected = errors(Ridge(s.K, s.Y, exact=True, intercept=intercept), path.alphas)[0]
    assert_close(path.loo_errors_, expected, 1e-9)
    assert path.alpha_ == path.alphas[int(np.argmin(expected))]


def test_the_bandwidth_is_held_fixed_and_the_intercept_is_not():
    s = regression(16, n=8)
    gamma = reference.median_bandwidth(s.X)
    path = IOKRCV(RBF(), alphas=ALPHAS, intercept=True).fit(s.X, s.Y)
    expected = errors(Ridge(reference.gram(reference.rbf(gamma), s.X), s.Y, intercept=True))[0]
    assert_close(path.loo_errors_, expected, 1e-9)


@each_intercept
def test_one_dimensional_targets(intercept):
    s = regression(17, n=8, d=1)
    path = IOKRCV(RBF(GAMMA), alphas=ALPHAS, intercept=intercept).fit(s.X, s.Y[:, 0])
    assert_close(path.loo_errors_, errors(Ridge(s.K, s.Y, intercept=intercept))[0], 1e-9)


@each_intercept
@pytest.mark.parametrize("kind", ["identity", "full"])
def test_path_far_below_the_spectrum(kind, intercept):
    """α down to 1e-8 of the largest eigenvalue, against 60 digits."""
    s = regression(18, n=7, d=2)
    A = operator(kind, 2)
    K = RBF(GAMMA)(s.X, s.X)
    top = np.linalg.eigvalsh(K)[-1] * (1.0 if A is None else np.linalg.eigvalsh(A)[-1])
    alphas = tuple(top * 10.0**-e for e in (8, 6, 4))
    path = IOKRCV(with_operator(Precomputed(K), A), alphas=alphas, intercept=intercept).fit(np.arange(7), s.Y)
    expected = errors(Ridge(K, s.Y, A=A, exact=True, intercept=intercept), alphas)[0]
    for e, error, right in zip((8, 6, 4), path.loo_errors_, expected, strict=True):
        assert_close(error, right, 20 * EPS * 10.0**e)


@each_intercept
@pytest.mark.parametrize("weighted", ["none", "zeros"])
def test_cv_errors_are_those_of_the_folds(weighted, intercept):
    """cv=k: errors of the k-fold models on their held-out rows, averaged over all rows by weight."""
    from sklearn.model_selection import KFold

    s = regression(19, n=12)
    w = weights(weighted, 12)
    path = IOKRCV(RBF(GAMMA), alphas=ALPHAS, cv=4, intercept=intercept).fit(s.X, s.Y, sample_weight=w)
    w = np.ones(12) if w is None else w
    expected = np.zeros(len(ALPHAS))
    for train, test in KFold(4).split(s.X):
        for a, alpha in enumerate(ALPHAS):
            fold = Ridge(s.K[np.ix_(train, train)], s.Y[train], alpha, weight=w[train], intercept=intercept)
            H = fold.values(s.K[np.ix_(test, train)])
            expected[a] += w[test] @ np.sum((s.Y[test] - H) ** 2, axis=1) / w.sum()
    assert_close(path.cv_errors_, expected, 1e-9)
    assert path.alpha_ == ALPHAS[int(np.argmin(expected))]
    refit = Ridge(s.K, s.Y, path.alpha_, weight=w, intercept=intercept)
    assert_close(path.decision_function(s.X_new), refit.values(s.K_new), 1e-10)


@each_intercept
@pytest.mark.parametrize("cv", [None, 4])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_best_kernel_is_kept_wherever_it_stands(place, cv, intercept):
    """The other two kernels are hopeless: one knows no differences, the other no similarities."""
    s = regression(20, n=16)
    kernels = [RBF(1e-9), RBF(1e9)]
    kernels.insert(place, Decomposable(RBF(GAMMA), operator("full", 3)))
    path = IOKRCV(kernels, alphas=(1e-2, 0.1, 1.0), cv=cv, intercept=intercept).fit(s.X, s.Y)
    assert path.best_index_[0] == place
    expected = Ridge(s.K, s.Y, path.alpha_, operator("full", 3), intercept=intercept)
    assert_close(path.decision_function(s.X_new), expected.values(s.K_new), 1e-10)
    assert_close(path.loo_decision_function(), expected.leave_one_out(), 1e-9)


def test_alphas_may_be_an_array():
    s = regression(21, n=8)
    alphas = np.logspace(-2, 1, 6)
    path = IOKRCV(RBF(GAMMA), alphas=alphas).fit(s.X, s.Y)
    assert_close(path.loo_errors_, errors(Ridge(s.K, s.Y, intercept=True), alphas)[0], 1e-9)
    assert path.alpha_ in alphas


@each_intercept
@pytest.mark.parametrize("kind", ["identity", "full"])
def test_grids_with_a_common_step_share_ratios_of_strength_and_alpha(kind, intercept):
    """Nine points, five ratios: what is computed once per ratio must still be scaled for each point."""
    s = regression(22, n=5, u=9)
    A, L = operator(kind, 3), reference.graph_laplacian(s.K, 3)
    alphas, manifold_weights = (0.01, 0.1, 1.0), (0.1, 1.0, 10.0)
    common = {"manifold_weights": manifold_weights, "manifold": Laplacian(1.0, 3), "intercept": intercept}
    grid = IOKRCV(with_operator(RBF(GAMMA), A), alphas=alphas, **common)
    grid.fit(s.X, s.Y, X_unlabeled=s.U)
    expected = errors(Ridge(s.K, s.Y, 1.0, A, L, intercept=intercept), alphas, manifold_weights)
    assert_close(grid.loo_errors_, expected, 1e-9)
    i, j = np.unravel_index(np.argmin(expected), expected.shape)
    best = Ridge(s.K, s.Y, alphas[j], A, L, manifold_weights[i], intercept=intercept)
    assert_close(grid.decision_function(s.X_new), best.values(s.K_new), 1e-9)
