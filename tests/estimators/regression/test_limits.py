"""Invariant 17 and the edges of the domain: one point, one output, duplicates, singular everything."""

import warnings

import numpy as np
import pytest

import reference
from iokr import IOKR, IOKRCV, CandidateSets, Neighbors
from iokr.embeddings import Eigen as EigenEmbedding
from iokr.embeddings import Implicit
from iokr.kernels import RBF, Delta, Linear, Precomputed
from iokr.manifolds import Given, Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import Cholesky, Eigen, ManifoldEigen
from reference import EPS, Ridge, assert_close
from samples import GAMMA, OPERATORS, each_intercept, operator, regression


def with_operator(kernel, A):
    return kernel if A is None else Decomposable(kernel, A)


@each_intercept
@pytest.mark.parametrize("kind", ["identity", "full", "rank one"])
@pytest.mark.parametrize("u", [0, 1, 4])
def test_one_labelled_point(u, kind, intercept):
    s = regression(61, n=1, u=u)
    A, L = operator(kind, 3), reference.graph_laplacian(s.K)
    common = {"manifold": Laplacian(0.5) if u else None, "intercept": intercept}
    model = IOKR(with_operator(RBF(GAMMA), A), alpha=0.3, **common)
    model.fit(s.X, s.Y, X_unlabeled=s.U if u else None)
    expected = Ridge(s.K, s.Y, 0.3, A, L, 0.5 if u else 0.0, intercept=intercept)
    assert_close(model.decision_function(s.X_new), expected.values(s.K_new), 1e-11)
    assert_close(model.loo_decision_function(), np.zeros((1, 3)), atol=1e-12)  # nothing is left


def test_one_labelled_point_in_one_dimension_by_hand():
    """h(x) = k(x, x₁) y₁ / (k(x₁, x₁) + α); with an intercept y₁."""
    model = IOKR(RBF(1.0), alpha=3.0, intercept=False).fit(np.array([[0.0]]), np.array([8.0]))
    assert_close(model.predict(np.array([[0.0], [1.0]])), [2.0, 2.0 * np.exp(-1.0)], 1e-14)
    weighted = model.fit(np.array([[0.0]]), np.array([8.0]), sample_weight=np.array([3.0]))
    assert_close(weighted.predict(np.array([[0.0]])), [4.0], 1e-14)
    constant = IOKR(RBF(1.0), alpha=3.0).fit(np.array([[0.0]]), np.array([8.0]))
    assert_close(constant.predict(np.array([[0.0], [1.0]])), [8.0, 8.0], 1e-14)


@pytest.mark.parametrize("embedding", [None, Implicit(), EigenEmbedding()], ids=str)
def test_one_labelled_point_with_an_output_kernel(embedding):
    model = IOKR(RBF(1.0), output_kernel=Delta(), embedding=embedding, alpha=1.0).fit(
        [[0.0]], np.array(["a"], dtype=object)
    )
    assert_close(model.scores([[0.0]], ["a", "b"]), [[0.5, 0.0]], 1e-14)
    assert_close(model.distances([[0.0]], ["a", "b"]), [[0.25, 1.25]], 1e-14)
    assert model.predict([[0.0]]).tolist() == ["a"]
    path = IOKRCV(RBF(1.0), output_kernel=Delta(), embedding=embedding, alphas=(0.1, 1.0))
    path.fit([[0.0]], np.array(["a"], dtype=object))
    assert_close(path.loo_errors_, [1.0, 1.0], 1e-12)  # without its label h = 0 and ‖ψ(a)‖² = 1


@each_intercept
@pytest.mark.parametrize("A", [None, np.array([[0.7]]), np.array([[0.0]])], ids=["none", "positive", "zero"])
def test_one_output(A, intercept):
    s = regression(62, n=7, u=4, d=1)
    L = reference.graph_laplacian(s.K)
    for mu, U in ((0.0, None), (0.6, s.U)):
        K, K_new = (s.K[:7, :7], s.K_new[:, :7]) if U is None else (s.K, s.K_new)
        ridge = Ridge(K, s.Y, 0.1, A, None if U is None else L, mu, intercept=intercept)
        common = {"manifold": None if U is None else Laplacian(mu), "intercept": intercept}
        model = IOKR(with_operator(RBF(GAMMA), A), alpha=0.1, **common)
        model.fit(s.X, s.Y, X_unlabeled=U)
        assert_close(model.decision_function(s.X_new), ridge.values(K_new), 1e-11)
        assert_close(model.loo_decision_function(), ridge.leave_one_out(), 1e-10)


@each_intercept
@pytest.mark.parametrize("kind", OPERATORS)
def test_duplicated_points(kind, intercept):
    """Equal rows with different targets: K is singular, and the mean of the targets is what counts."""
    s = regression(63, n=6)
    X, Y = np.vstack([s.X, s.X, s.X[:2]]), np.vstack([s.Y, s.Y + 1.0, s.Y[:2]])
    K, K_new = reference.gram(reference.rbf(GAMMA), X), reference.gram(reference.rbf(GAMMA), s.X_new, X)
    A = operator(kind, 3)
    for alpha in (1e-3, 0.1):
        model = IOKR(with_operator(RBF(GAMMA), A), alpha=alpha, intercept=intercept).fit(X, Y)
        expected = Ridge(K, Y, alpha, A, intercept=intercept)
        assert_close(model.decision_function(s.X_new), expected.values(K_new), 1e-9)
        assert_close(model.loo_decision_function(), expected.leave_one_out(), 1e-9)


@each_intercept
def test_duplicated_unlabelled_points_and_copies_of_labelled_ones(intercept):
    s = regression(64, n=5, u=3)
    U = np.vstack([s.U, s.U, s.X[:2]])
    points = np.vstack([s.X, U])
    K, K_new = (
        reference.gram(reference.rbf(GAMMA), points),
        reference.gram(reference.rbf(GAMMA), s.X_new, points),
    )
    model = IOKR(RBF(GAMMA), alpha=0.01, manifold=Laplacian(0.7), intercept=intercept)
    model.fit(s.X, s.Y, X_unlabeled=U)
    expected = Ridge(K, s.Y, 0.01, None, reference.graph_laplacian(K), 0.7, intercept=intercept)
    assert_close(model.decision_function(s.X_new), expected.values(K_new), 1e-9)
    assert_close(model.loo_decision_function(), expected.leave_one_out(), 1e-9)


@each_intercept
@pytest.mark.parametrize("solver", [None, Eigen(), Cholesky()], ids=str)
@pytest.mark.parametrize("kind", ["identity", "full", "rank one"])
def test_gram_matrix_of_rank_one(kind, solver, intercept):
    s = regression(65, n=7, p=1)
    K, K_new = s.X @ s.X.T, s.X_new @ s.X.T
    A = operator(kind, 3)
    model = IOKR(with_operator(Linear(), A), alpha=0.1, solver=solver, intercept=intercept).fit(s.X, s.Y)
    expected = Ridge(K, s.Y, 0.1, A, intercept=intercept)
    assert_close(model.decision_function(s.X_new), expected.values(K_new), 1e-11)
    assert_close(model.loo_decision_function(), expected.leave_one_out(), 1e-10)


def test_zero_gram_matrix_predicts_zero():
    model = IOKR(Linear(), alpha=0.1, intercept=False).fit(np.zeros((4, 2)), np.ones((4, 2)))
    assert np.all(model.decision_function(np.ones((3, 2))) == 0)
    assert_close(model.loo_decision_function(), np.zeros((4, 2)), atol=1e-15)
    path = IOKRCV(Linear(), alphas=(0.1, 1.0), intercept=False).fit(np.zeros((4, 2)), np.ones((4, 2)))
    assert_close(path.loo_errors_, [2.0, 2.0], 1e-12)


def test_zero_operator_predicts_zero():
    s = regression(66)
    model = IOKR(Decomposable(RBF(GAMMA), np.zeros((3, 3))), intercept=False).fit(s.X, s.Y)
    assert np.all(model.decision_function(s.X_new) == 0)
    assert np.all(model.loo_decision_function() == 0)


def test_zero_gram_matrix_or_operator_with_an_intercept_predicts_means():
    """Of all outputs, and of those of the other rows."""
    s = regression(66)
    others = (s.Y.sum(axis=0) - s.Y) / 10
    for kernel, X in ((Linear(), np.zeros((11, 2))), (Decomposable(RBF(GAMMA), np.zeros((3, 3))), s.X)):
        model = IOKR(kernel, alpha=0.1).fit(X, s.Y)
        assert_close(model.decision_function(s.X_new), np.tile(s.Y.mean(axis=0), (5, 1)), 1e-14)
        assert_close(model.loo_decision_function(), others, 1e-13)
        path = IOKRCV(kernel, alphas=(0.1, 1.0)).fit(X, s.Y)
        assert_close(path.loo_errors_, np.full(2, np.mean(np.sum((s.Y - others) ** 2, axis=1))), 1e-12)


@each_intercept
@pytest.mark.parametrize("kind", ["identity", "rank one"])
def test_everything_singular_at_once(kind, intercept):
    """K of rank 2, A of rank 1, L of a graph in two parts, one of them without labels."""
    s = regression(67, n=5, u=7)
    points = np.vstack([s.X, s.U])
    K, K_new = points @ points.T, s.X_new @ points.T
    W = s.K.copy()
    W[:8, 8:] = W[8:, :8] = 0.0
    L, A = reference.graph_laplacian(W), operator(kind, 3)
    for alpha, mu in [(0.1, 0.5), (1e-2, 10.0)]:
        model = IOKR(with_operator(Linear(), A), alpha=alpha, manifold=Given(mu, L), intercept=intercept)
        model.fit(s.X, s.Y, X_unlabeled=s.U)
        expected = Ridge(K, s.Y, alpha, A, L, mu, intercept=intercept)
        assert_close(model.decision_function(s.X_new), expected.values(K_new), 1e-10)
        assert_close(model.loo_decision_function(), expected.leave_one_out(), 1e-9)


@each_intercept
def test_graph_without_edges(intercept):
    s = regression(68, n=5, u=4)
    model = IOKR(RBF(GAMMA), alpha=0.1, manifold=Given(5.0, np.zeros((9, 9))), intercept=intercept)
    model.fit(s.X, s.Y, X_unlabeled=s.U)
    expected = Ridge(s.K[:5, :5], s.Y, 0.1, intercept=intercept)
    assert_close(model.decision_function(s.X_new), expected.values(s.K_new[:, :5]), 1e-11)


def test_one_candidate_everywhere():
    s = regression(69, n=5, d=2)
    model = IOKR(RBF(GAMMA), output_kernel=RBF(1.0), alpha=0.1).fit(s.X, s.Y)
    sets = CandidateSets([s.Y[i % 5 : i % 5 + 1] for i in range(5)])
    np.testing.assert_array_equal(model.predict(s.X_new, candidates=sets), s.Y)
    np.testing.assert_array_equal(model.predict(s.X_new, candidates=s.Y[:1]), np.tile(s.Y[:1], (5, 1)))


@pytest.mark.parametrize("embedding", [None, Implicit(), EigenEmbedding()], ids=str)
def test_all_outputs_equal(embedding):
    """K_Y of rank one."""
    s = regression(70, n=6)
    y = np.array(["same"] * 6, dtype=object)
    model = IOKR(RBF(GAMMA), output_kernel=Delta(), embedding=embedding, alpha=0.1).fit(s.X, y)
    expected = Ridge(s.K, np.ones((6, 1)), 0.1).values(s.K_new)
    assert_close(model.scores(s.X_new, ["same", "other"]), np.hstack([expected, 0 * expected]), 1e-11)
    assert model.predict(s.X_new).tolist() == ["same"] * 5


def test_one_test_point_and_many():
    s = regression(71)
    model = IOKR(RBF(GAMMA), alpha=0.1).fit(s.X, s.Y)
    together = model.decision_function(s.X_new)
    assert_close(np.vstack([model.decision_function(x[None]) for x in s.X_new]), together, 1e-13)


def test_a_hopelessly_small_alpha_warns():
    """Below 1e-12 of the largest eigenvalue no digits are left."""
    s = regression(72, n=8)
    with pytest.warns(RuntimeWarning, match="alpha"):
        IOKR(RBF(GAMMA), alpha=1e-14).fit(s.X, s.Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        IOKR(RBF(GAMMA), alpha=1e-9).fit(s.X, s.Y)


@each_intercept
@pytest.mark.parametrize("solver", [None, Eigen(), Cholesky()], ids=str)
def test_no_jitter_is_added_when_the_gram_matrix_is_singular(solver, intercept):
    """Identical rows and α = 1e-10: h is the mean of the targets, (Σ y) / (n + α) without an intercept."""
    K = np.ones((6, 6))
    Y = np.arange(6.0)[:, None]
    model = IOKR(Precomputed(K), alpha=1e-10, solver=solver, intercept=intercept).fit(np.arange(6), Y)
    expected = 2.5 if intercept else 15 / (6 + 1e-10)
    assert_close(model.decision_function(np.arange(1)), [[expected]], 1e-5)


@each_intercept
@pytest.mark.parametrize("mu", [0.0, 1e-8, 1e8])
def test_extreme_strengths(mu, intercept):
    s = regression(73, n=5, u=6)
    L = reference.graph_laplacian(s.K)
    common = {"manifold": Given(mu, L), "intercept": intercept}
    model = IOKR(RBF(GAMMA), alpha=0.1, **common).fit(s.X, s.Y, X_unlabeled=s.U)
    expected = Ridge(s.K, s.Y, 0.1, None, L, mu, exact=True, intercept=intercept)
    tolerance = max(1e-10, 5 * EPS * mu)  # rounding of L itself, beside the loss of one label
    assert_close(model.decision_function(s.X_new), expected.values(s.K_new), tolerance)
    assert_close(model.loo_decision_function(), expected.leave_one_out(), tolerance)
    forced = IOKR(RBF(GAMMA), alpha=0.1, solver=ManifoldEigen(), **common)
    forced.fit(s.X, s.Y, X_unlabeled=s.U)
    assert_close(forced.decision_function(s.X_new), expected.values(s.K_new), tolerance)


def test_constant_targets_with_an_intercept():
    s = regression(74)
    model = IOKR(RBF(GAMMA), intercept=True, alpha=0.1).fit(s.X, np.full((11, 2), 7.0))
    assert_close(model.predict(s.X_new), np.full((5, 2), 7.0), 1e-15)


@each_intercept
@pytest.mark.parametrize("semi", [False, True], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("kind", ["identity", "scaled", "full", "rank one"])
@pytest.mark.parametrize("how", ["missing", "weight zero"])
def test_a_column_without_any_target(how, kind, semi, intercept):
    """h is 0 there without an operator, and what the other columns say with one; so is its intercept."""
    s = regression(75, n=7, u=5 if semi else 0)
    Y, w = s.Y.copy(), np.ones(7)
    Y[:, 1] = np.nan
    if how == "weight zero":
        Y[3, 1], w[3] = 5.0, 0.0
    A, L = operator(kind, 3), reference.graph_laplacian(s.K)
    common = {"manifold": Laplacian(0.4) if semi else None, "intercept": intercept}
    model = IOKR(with_operator(RBF(GAMMA), A), alpha=0.1, **common)
    model.fit(s.X, Y, sample_weight=w, X_unlabeled=s.U if semi else None)
    expected = Ridge(s.K, Y, 0.1, A, L if semi else None, 0.4 if semi else 0.0, w, intercept=intercept)
    assert_close(model.decision_function(s.X_new), expected.values(s.K_new), 1e-10)
    assert_close(model.loo_decision_function(), expected.leave_one_out(), 1e-9)
    if kind in ("identity", "scaled"):
        assert np.all(model.decision_function(s.X_new)[:, 1] == 0)


@each_intercept
def test_equal_errors_take_the_first_of_the_grid(intercept):
    """One label: without it h = 0 whatever alpha and manifold weight are, so all errors are ‖y‖²."""
    s = regression(76, n=1, u=4)
    common = {"manifold_weights": (0.5, 2.0), "manifold": Laplacian(1.0), "intercept": intercept}
    grid = IOKRCV(RBF(GAMMA), alphas=(0.1, 1.0), **common)
    grid.fit(s.X, s.Y, X_unlabeled=s.U)
    assert_close(grid.loo_errors_, np.full((2, 2), np.sum(s.Y**2)), 1e-12)
    manifold_weight, alpha = (0.5, 2.0)[grid.best_index_[0]], (0.1, 1.0)[grid.best_index_[1]]
    assert grid.alpha_ == alpha
    best = IOKR(RBF(GAMMA), alpha=alpha, manifold=Laplacian(manifold_weight), intercept=intercept)
    best.fit(s.X, s.Y, X_unlabeled=s.U)
    assert_close(grid.decision_function(s.X_new), best.decision_function(s.X_new), 1e-11)


@each_intercept
def test_a_grid_of_one_point(intercept):
    s = regression(77, n=6)
    grid = IOKRCV(RBF(GAMMA), alphas=(0.1,), intercept=intercept).fit(s.X, s.Y)
    assert np.shape(grid.loo_errors_) == ()
    assert_close(grid.loo_errors_, Ridge(s.K, s.Y, 0.1, intercept=intercept).leave_one_out_error(), 1e-10)
    assert grid.loo_errors_[grid.best_index_] == grid.loo_errors_


@pytest.mark.parametrize("semi", [False, True], ids=["supervised", "semi-supervised"])
def test_nothing_that_was_given_is_changed(semi):
    """Factorisations work in place, but never on the user's arrays."""
    s = regression(78, n=6, u=4)
    points = np.vstack([s.X, s.U, s.X_new])
    K = RBF(GAMMA)(points)
    L, A, w = reference.graph_laplacian(s.K), operator("full", 3), np.linspace(0.0, 2.0, 6)
    given = [K, L, A, w, s.Y, s.X, s.U]
    before = [array.copy() for array in given]
    manifold, U, V = (Given(0.5, L), np.arange(6, 10), s.U) if semi else (None, None, None)
    for solver in (None, Eigen(), Cholesky(), ManifoldEigen()):
        if isinstance(solver, ManifoldEigen) and not semi:
            continue
        model = IOKR(Decomposable(Precomputed(K), A), alpha=0.1, manifold=manifold, solver=solver)
        model.fit(np.arange(6), s.Y, sample_weight=w, X_unlabeled=U)
        model.decision_function(np.arange(15))
        model.loo_decision_function()
        path = IOKRCV(Precomputed(K), alphas=(0.1, 1.0), manifold=manifold, solver=solver)
        path.fit(np.arange(6), s.Y, sample_weight=w, X_unlabeled=U)
        IOKR(RBF(GAMMA), alpha=0.1, manifold=manifold, solver=solver).fit(s.X, s.Y, sample_weight=w, X_unlabeled=V)
        if not semi:
            IOKR(Precomputed(), alpha=0.1, solver=solver).fit(K, points).decision_function(K)
        for now, then in zip(given, before, strict=True):
            np.testing.assert_array_equal(now, then)


def test_fitting_again_forgets_the_past():
    s = regression(79, n=8, u=4)
    Y = s.Y.copy()
    Y[2, 1] = np.nan
    model = IOKR(RBF(), alpha=0.1, manifold=Laplacian(0.5))
    model.fit(s.X, Y, sample_weight=np.arange(8.0), X_unlabeled=s.U)
    again = model.set_params(manifold=None).fit(s.X[:5], s.Y[:5])
    fresh = IOKR(RBF(), alpha=0.1).fit(s.X[:5], s.Y[:5])
    assert_close(again.decision_function(s.X_new), fresh.decision_function(s.X_new), 1e-14)
    assert_close(again.loo_decision_function(), fresh.loo_decision_function(), 1e-14)


@pytest.mark.parametrize("kind", ["object array", "list of arrays", "an entry of 2**60"])
def test_numbers_in_an_array_of_objects_are_vectors(kind):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    if kind == "an entry of 2**60":
        Y[3, 1] = 2.0**60
    given = {"object array": Y.astype(object), "list of arrays": list(Y)}.get(kind)
    if given is None:
        given = Y.astype(object)
        given[3, 1] = 2**60
    for model in (IOKR(RBF(0.5), alpha=0.5), Neighbors(kernel=RBF(0.5))):
        found = model.fit(X, given).predict(X[:5])
        np.testing.assert_array_equal(found, model.fit(X, Y).predict(X[:5]))
        assert found.shape == (5, 2) and found.dtype == np.float64


def test_a_score_needs_squares_that_floats_hold():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    model = IOKR(RBF(0.5), alpha=0.5).fit(X, Y)
    for unit in (1e-160, 1e200):
        with pytest.raises(ValueError, match="`y`"):
            model.score(X, Y * unit)
