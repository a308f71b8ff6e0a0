"""Ridge with unlabelled inputs: every manifold and operator against the dense system, and its limits."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse

import reference
from iokr import IOKR, Unlabeled
from iokr.kernels import RBF, FromFunction, Linear, Precomputed, Tanimoto
from iokr.manifolds import Given, Heat, IteratedLaplacian, Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import Cholesky, Eigen, ManifoldEigen
from reference import EPS, Ridge, assert_close
from samples import GAMMA, OPERATORS, each_intercept, operator, regression

FORMS = [ManifoldEigen("eigen"), ManifoldEigen("deformed"), Eigen(), Cholesky()]
MANIFOLDS = {
    "full": (lambda mu: Laplacian(mu), lambda K: reference.graph_laplacian(K)),
    "neighbours": (lambda mu: Laplacian(mu, 3), lambda K: reference.graph_laplacian(K, 3)),
    "iterated": (
        lambda mu: IteratedLaplacian(mu, 3, n_neighbors=4),
        lambda K: np.linalg.matrix_power(reference.graph_laplacian(K, 4), 3),
    ),
    "heat": (
        lambda mu: Heat(mu, 0.3),
        lambda K: np.eye(len(K)) - reference.exponential(-0.3 * reference.graph_laplacian(K)),
    ),
    "literal heat": (
        lambda mu: Heat(mu, 0.3, literal=True),
        lambda K: reference.exponential(-0.3 * reference.graph_laplacian(K)),
    ),
}


def with_operator(kernel, A):
    return kernel if A is None else Decomposable(kernel, A)


@each_intercept
@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("name", MANIFOLDS)
def test_every_manifold_and_operator_solves_the_dense_system(name, kind, intercept):
    s = regression(1, n=7, u=8)
    manifold, penalty = MANIFOLDS[name]
    A = operator(kind, 3)
    for alpha, mu in [(0.1, 0.0), (1e-3, 0.2), (0.1, 5.0), (10.0, 1e-2)]:
        model = IOKR(with_operator(RBF(GAMMA), A), alpha=alpha, manifold=manifold(mu), intercept=intercept)
        model.fit(s.X, s.Y, X_unlabeled=s.U)
        exact = intercept and name == "iterated"  # the dense system itself has an error of 5e-9
        expected = Ridge(s.K, s.Y, alpha, A, penalty(s.K), mu, exact=exact, intercept=intercept)
        assert_close(model.decision_function(s.X_new), expected.values(s.K_new), 1e-9)


@each_intercept
@pytest.mark.parametrize("kind", ["identity", "full", "singular"])
def test_strength_zero_is_supervised_ridge(kind, intercept):
    """Invariant 1: μ = 0 with unlabelled points present."""
    s = regression(2, n=8, u=6)
    kernel = with_operator(RBF(GAMMA), operator(kind, 3))
    plain = IOKR(kernel, alpha=0.05, intercept=intercept).fit(s.X, s.Y)
    semi = IOKR(kernel, alpha=0.05, manifold=Laplacian(0.0), intercept=intercept).fit(s.X, s.Y, X_unlabeled=s.U)
    assert_close(semi.decision_function(s.X_new), plain.decision_function(s.X_new), 1e-11)
    assert_close(semi.loo_decision_function(), plain.loo_decision_function(), 1e-11)


def test_without_manifold_unlabelled_inputs_are_not_silently_dropped():
    """They carry no information without a penalty: either the supervised answer, or a refusal in words."""
    s = regression(3, n=8, u=6)
    model = IOKR(RBF(GAMMA), alpha=0.05)
    try:
        model.fit(s.X, s.Y, X_unlabeled=s.U)
    except ValueError as error:
        assert "manifold" in str(error)
    else:
        expected = Ridge(s.K[:8, :8], s.Y, 0.05, intercept=True)
        assert_close(model.decision_function(s.X_new), expected.values(s.K_new[:, :8]), 1e-11)


@each_intercept
@pytest.mark.parametrize("kind", ["identity", "full", "rank one"])
def test_manifold_without_unlabelled_points(kind, intercept):
    """u = 0: the penalty runs over the labelled points alone."""
    s = regression(4, n=9)
    A = operator(kind, 3)
    model = IOKR(with_operator(RBF(GAMMA), A), alpha=0.1, manifold=Laplacian(0.8), intercept=intercept).fit(s.X, s.Y)
    expected = Ridge(s.K, s.Y, 0.1, A, reference.graph_laplacian(s.K), 0.8, intercept=intercept)
    assert_close(model.decision_function(s.X_new), expected.values(s.K_new), 1e-10)
    assert_close(model.loo_decision_function(), expected.leave_one_out(), 1e-10)


def test_unlabelled_inputs_may_be_wrapped():
    s = regression(5, n=6, u=5)
    model = IOKR(RBF(GAMMA), manifold=Laplacian(0.5))
    plain = model.fit(s.X, s.Y, X_unlabeled=s.U).decision_function(s.X_new)
    wrapped = model.fit(s.X, s.Y, X_unlabeled=Unlabeled(s.U)).decision_function(s.X_new)
    assert_close(wrapped, plain, 1e-15)


@pytest.mark.parametrize("kind", ["identity", "full"])
def test_order_of_labelled_and_of_unlabelled_points_does_not_matter(kind):
    s = regression(6, n=7, u=6)
    first, second = s.rng.permutation(7), s.rng.permutation(6)
    model = IOKR(with_operator(RBF(GAMMA), operator(kind, 3)), alpha=0.1, manifold=Laplacian(0.5, 3))
    straight = model.fit(s.X, s.Y, X_unlabeled=s.U).decision_function(s.X_new)
    permuted = model.fit(s.X[first], s.Y[first], X_unlabeled=s.U[second]).decision_function(s.X_new)
    assert_close(permuted, straight, 1e-11)


@pytest.mark.parametrize("c", [1e-2, 30.0])
def test_scaling_kernel_alpha_and_strength(c):
    """Invariant 2 with a fixed penalty matrix: (α, k, μ) → (cα, ck, μ)."""
    s = regression(7, n=7, u=6)
    L = reference.graph_laplacian(s.K, 3)
    one = IOKR(RBF(GAMMA), alpha=0.1, manifold=Given(0.5, L)).fit(s.X, s.Y, X_unlabeled=s.U)
    scaled = IOKR(c * RBF(GAMMA), alpha=c * 0.1, manifold=Given(0.5, L)).fit(s.X, s.Y, X_unlabeled=s.U)
    assert_close(scaled.decision_function(s.X_new), one.decision_function(s.X_new), 1e-11)
    assert_close(scaled.loo_decision_function(), one.loo_decision_function(), 1e-11)


def test_weights_of_the_graph_come_from_the_scalar_kernel():
    """With k(x, z) A the graph is that of k, whatever A is."""
    s = regression(8, n=7, u=6)
    A = 4 * np.eye(3)
    model = IOKR(Decomposable(RBF(GAMMA), A), alpha=0.1, manifold=Laplacian(0.5)).fit(s.X, s.Y, X_unlabeled=s.U)
    expected = Ridge(s.K, s.Y, 0.1, A, reference.graph_laplacian(s.K), 0.5, intercept=True)
    assert_close(model.decision_function(s.X_new), expected.values(s.K_new), 1e-10)


def test_strong_smoothing_makes_predictions_equal_on_the_graph():
    s = regression(9, n=7, u=8)
    points = np.vstack([s.X, s.U])

    def roughness(manifold):
        H = IOKR(RBF(GAMMA), alpha=1e-3, manifold=manifold).fit(s.X, s.Y, X_unlabeled=s.U).decision_function(points)
        return float(np.trace(H.T @ reference.graph_laplacian(s.K) @ H))

    free, smooth, very = (roughness(Laplacian(mu)) for mu in (0.0, 0.1, 100.0))
    assert very < 1e-2 * smooth < 1e-2 * free
    assert roughness(Heat(0.5, 0.3)) < free
    assert roughness(Heat(0.5, 0.3, literal=True)) > roughness(Heat(0.5, 0.3))


@each_intercept
def test_given_matrix_may_be_any_positive_semidefinite_matrix(intercept):
    s = regression(10, n=6, u=5)
    B = s.rng.normal(size=(11, 4))
    L = B @ B.T
    model = IOKR(RBF(GAMMA), alpha=0.1, manifold=Given(0.5, L), intercept=intercept)
    model.fit(s.X, s.Y, X_unlabeled=s.U)
    expected = Ridge(s.K, s.Y, 0.1, None, L, 0.5, intercept=intercept)
    assert_close(model.decision_function(s.X_new), expected.values(s.K_new), 1e-10)
    assert_close(model.loo_decision_function(), expected.leave_one_out(), 1e-10)


@each_intercept
@pytest.mark.parametrize("solver", [None, *FORMS], ids=repr)
@pytest.mark.parametrize("kind", ["identity", "full", "singular"])
def test_a_component_of_the_graph_without_labels(kind, solver, intercept):
    """Invariant 4: L_uu is singular there; the constant on the component is governed by ‖h‖² alone."""
    s = regression(11, n=6, u=8)
    W = s.K.copy()
    W[:10, 10:] = W[10:, :10] = 0.0  # the last four unlabelled points see only each other
    L = reference.graph_laplacian(W)
    A = operator(kind, 3)
    for alpha, mu in [(0.1, 0.5), (1e-3, 2.0)]:
        common = {"manifold": Given(mu, L), "solver": solver, "intercept": intercept}
        model = IOKR(with_operator(RBF(GAMMA), A), alpha=alpha, **common)
        model.fit(s.X, s.Y, X_unlabeled=s.U)
        expected = Ridge(s.K, s.Y, alpha, A, L, mu, intercept=intercept)
        assert_close(model.decision_function(s.X_new), expected.values(s.K_new), 1e-9)
        assert_close(model.loo_decision_function(), expected.leave_one_out(), 1e-9)


@each_intercept
@pytest.mark.parametrize("solver", [None, *FORMS], ids=repr)
@pytest.mark.parametrize("kind", ["identity", "full", "rank one"])
def test_singular_gram_matrix(kind, solver, intercept):
    """A linear kernel in two dimensions has rank 2 whatever the number of points."""
    s = regression(12, n=6, u=7)
    points = np.vstack([s.X, s.U])
    K, K_new = reference.gram(reference.linear, points), reference.gram(reference.linear, s.X_new, points)
    L = reference.graph_laplacian(s.K, 3)
    A = operator(kind, 3)
    common = {"manifold": Given(0.5, L), "solver": solver, "intercept": intercept}
    model = IOKR(with_operator(Linear(), A), alpha=0.1, **common)
    model.fit(s.X, s.Y, X_unlabeled=s.U)
    expected = Ridge(K, s.Y, 0.1, A, L, 0.5, intercept=intercept)
    assert_close(model.decision_function(s.X_new), expected.values(K_new), 1e-10)
    assert_close(model.loo_decision_function(), expected.leave_one_out(), 1e-10)


@each_intercept
def test_zero_penalty_matrix_is_supervised(intercept):
    s = regression(13, n=6, u=5)
    model = IOKR(RBF(GAMMA), alpha=0.1, manifold=Given(3.0, np.zeros((11, 11))), intercept=intercept)
    model.fit(s.X, s.Y, X_unlabeled=s.U)
    expected = Ridge(s.K[:6, :6], s.Y, 0.1, intercept=intercept)
    assert_close(model.decision_function(s.X_new), expected.values(s.K_new[:, :6]), 1e-11)


# alpha, weight, then tolerances of h and of leave-one-out, for the better form and for the deformed form: ten times
# the errors measured with N = 24, n = 8, the worst of three Gram matrices.
EXTREMES = [
    (1e-2, 1.0, (4e-13, 4e-13), (4e-13, 4e-13)),
    (1e-6, 1.0, (2e-9, 2e-9), (2e-9, 2e-9)),
    (1e-8, 1e-8, (9e-9, 1e-9), (1e-10, 2e-11)),
    (1e-10, 1e-8, (1e-7, 5e-10), (2e-10, 3e-11)),
    (1e-10, 1.0, (2e-8, 4e-12), (1e-5, 1e-5)),
    (1e-10, 1e3, (5e-6, 2e-12), (2e-4, 1e-5)),
]


def extreme_gram(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """A Gram matrix over 24 + 4 points, and the Laplacian of a graph over the first 24.

    The weights of the graph are multiples of 2⁻²⁰, so that L1 = 0 without rounding: with an intercept that is used.
    """
    rng = np.random.default_rng(20)
    points = rng.normal(size=(28, 2))
    wide = RBF(2.0 if kind == "well conditioned" else 0.3)(points, points)
    W = RBF(0.5)(points[:24], points[:24])
    if kind == "component without labels":
        W[:18, 18:] = W[18:, :18] = 0.0
    return (wide + wide.T) / 2, reference.graph_laplacian(np.round((W + W.T) / 2 * 2**20) / 2**20)


@pytest.mark.filterwarnings("ignore:`alpha`:RuntimeWarning")
@pytest.mark.parametrize("kind", ["well conditioned", "ill conditioned", "component without labels"])
@pytest.mark.parametrize(("alpha", "mu", "best", "deformed"), EXTREMES)
@each_intercept
def test_extreme_alpha_and_strength_against_sixty_digits(alpha, mu, best, deformed, kind, intercept):
    K, L = extreme_gram(kind)
    Y = np.random.default_rng(21).normal(size=(8, 1))
    indices = np.arange(28)
    exact = Ridge(K[:24, :24], Y, alpha, None, L, mu, exact=True, intercept=intercept)
    expected, loo = exact.values(K[:, :24]), exact.leave_one_out()
    size, loo_size = max(1.0, np.abs(expected).max()), max(1.0, np.abs(loo).max())
    solvers = [None, ManifoldEigen(), ManifoldEigen("eigen"), ManifoldEigen("deformed")]
    for solver, (rtol, loo_rtol) in zip(solvers, [best, best, best, deformed], strict=True):
        model = IOKR(Precomputed(K), alpha=alpha, manifold=Given(mu, L), solver=solver, intercept=intercept)
        model.fit(indices[:8], Y, X_unlabeled=indices[8:24])
        assert_close(model.decision_function(indices), expected, atol=rtol * size, rtol=0)
        assert_close(model.loo_decision_function(), loo, atol=loo_rtol * loo_size, rtol=0)


@each_intercept
@pytest.mark.parametrize("solver", [None, ManifoldEigen()], ids=str)
def test_alpha_of_1e_8_times_the_largest_eigenvalue(solver, intercept):
    K, L = extreme_gram("well conditioned")
    Y = np.random.default_rng(22).normal(size=(8, 2))
    top = np.linalg.eigvalsh(K[:24, :24])[-1]
    alpha, indices = 1e-8 * top, np.arange(28)
    model = IOKR(Precomputed(K), alpha=alpha, manifold=Given(1e-6, L), solver=solver, intercept=intercept)
    model.fit(indices[:8], Y, X_unlabeled=indices[8:24])
    expected = Ridge(K[:24, :24], Y, alpha, None, L, 1e-6, exact=True, intercept=intercept)
    assert_close(model.decision_function(indices), expected.values(K[:, :24]), 5 * EPS * top / alpha)


def test_unlabelled_strings():
    """Graph and model over objects: five labelled words, four others."""
    words = np.array(["abc", "abd", "bcd", "cde", "aab", "bbc", "ccd", "dde", "abe"], dtype=object)

    def shared(x, z):
        return float(sum(x.count(a) * z.count(a) for a in "abcde"))

    K = reference.gram(shared, words)
    Y = np.random.default_rng(30).normal(size=(5, 2))
    model = IOKR(FromFunction(shared), alpha=0.3, manifold=Laplacian(0.2, 2))
    model.fit(words[:5], Y, X_unlabeled=words[5:])
    expected = Ridge(K, Y, 0.3, None, reference.graph_laplacian(K, 2), 0.2, intercept=True)
    assert_close(model.decision_function(words), expected.values(K), 1e-10)


@pytest.mark.parametrize("kernel", [RBF(GAMMA), Tanimoto(), RBF(GAMMA) + 0.5 * Tanimoto()], ids=repr)
def test_unlabelled_sparse_rows(kernel):
    rng = np.random.default_rng(31)
    X, Y = (rng.uniform(size=(16, 20)) < 0.3).astype(float), rng.normal(size=(6, 2))
    dense = IOKR(kernel, alpha=0.3, manifold=Laplacian(0.2)).fit(X[:6], Y, X_unlabeled=X[6:])
    thin = IOKR(kernel, alpha=0.3, manifold=Laplacian(0.2))
    thin.fit(sparse.csr_matrix(X[:6]), Y, X_unlabeled=sparse.csr_matrix(X[6:]))
    assert_close(thin.decision_function(sparse.csr_matrix(X)), dense.decision_function(X), 1e-11)


@each_intercept
@pytest.mark.parametrize("solver", [None, *FORMS], ids=repr)
def test_penalties_of_low_rank(solver, intercept):
    """L_uu of rank three or seven among eight unlabelled points: its Cholesky factorisation nearly breaks down."""
    for seed, rank in product(range(6), (3, 7)):
        s = regression(seed, n=5, u=8)
        B = s.rng.normal(size=(13, rank))
        model = IOKR(RBF(GAMMA), alpha=0.1, manifold=Given(0.7, B @ B.T), solver=solver, intercept=intercept)
        model.fit(s.X, s.Y, X_unlabeled=s.U)
        expected = Ridge(s.K, s.Y, 0.1, None, B @ B.T, 0.7, intercept=intercept)
        assert_close(model.decision_function(s.X_new), expected.values(s.K_new), 1e-11)
        assert_close(model.loo_decision_function(), expected.leave_one_out(), 1e-11)
