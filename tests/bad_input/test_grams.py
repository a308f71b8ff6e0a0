"""Matrices given by the user: Gram matrices, operators, penalties."""

import numpy as np
import pytest

from iokr import IOKR, IOKRCV
from iokr.kernels import RBF, Linear, Precomputed
from iokr.manifolds import Given, Heat, IteratedLaplacian, Laplacian
from iokr.operator_kernels import Decomposable

N = 12


def indefinite(n):
    """Symmetric, of unit diagonal, with clearly negative eigenvalues."""
    K = np.eye(n)
    K[0, 1] = K[1, 0] = K[1, 2] = K[2, 1] = 0.9
    K[0, 2] = K[2, 0] = -0.9
    return K


def asymmetric(n):
    K = np.eye(n)
    K[0, 1] = 0.5
    return K


def distances(n):
    x = np.arange(float(n))
    return np.abs(x[:, None] - x)


def with_nan(n):
    K = np.eye(n)
    K[1, 1] = np.nan
    return K


BAD = {
    "indefinite": (indefinite, "semi-definite"),
    "asymmetric": (asymmetric, "symmetric"),
    "distances": (distances, "semi-definite"),
    "negative": (lambda n: -np.eye(n), "semi-definite"),
    "not finite": (with_nan, "NaN"),
    "not square": (lambda n: np.eye(n)[:, :-1], "square"),
    "one axis": (lambda n: np.ones(n), ""),
}


@pytest.fixture(params=BAD)
def bad(request):
    return BAD[request.param]


def test_input_gram_of_all_objects(estimator, data, refuses, bad):
    make, word = bad
    with refuses(ValueError, "matrix", word):
        estimator(Precomputed(make(N))).fit(np.arange(N), data[1])


def test_input_gram_of_the_training_objects(estimator, data, refuses, bad):
    make, word = bad
    with refuses(ValueError, *(["X", word] if word else [])):
        estimator(Precomputed()).fit(make(N), data[1])


def test_output_gram(estimator, data, refuses, bad):
    make, word = bad
    with refuses(ValueError, "matrix", word):
        estimator(RBF(0.5), output_kernel=Precomputed(make(N))).fit(data[0], np.arange(N))


def test_gram_inside_other_kernels(data, refuses, bad):
    make, word = bad
    for kernel in 2.0 * Precomputed(make(N)), Precomputed(np.eye(N)) + Precomputed(make(N)):
        with refuses(ValueError, "matrix", word):
            IOKR(kernel).fit(np.arange(N), data[1])


def test_gram_in_a_list_of_kernels(data, refuses, bad):
    make, word = bad
    with refuses(ValueError, "matrix", word):
        IOKRCV([Precomputed(np.eye(N)), Precomputed(make(N))]).fit(np.arange(N), data[1])


def test_operator(estimator, data, refuses, bad):
    make, word = bad
    A = make(3)
    with refuses(ValueError, "`A`", word):
        estimator(Decomposable(RBF(0.5), A)).fit(data[0], np.random.default_rng(0).normal(size=(N, 3)))


def test_operator_of_the_wrong_size(estimator, data, refuses):
    with refuses(ValueError, "`A`", "3", "2"):
        estimator(Decomposable(RBF(0.5), np.eye(3))).fit(*data)


def test_operator_that_is_no_matrix(data, refuses):
    for A in "identity", None, [[1.0, 0.0], [1.0]]:
        with refuses((TypeError, ValueError), "A"):
            IOKR(Decomposable(RBF(0.5), A)).fit(*data)


def test_singular_operator_is_welcome(data):
    A = np.outer([1.0, 2.0], [1.0, 2.0])
    model = IOKR(Decomposable(RBF(0.5), A)).fit(*data)
    H = model.decision_function(data[0]) - model.solution_.intercept
    np.testing.assert_allclose(H[:, 1], 2 * H[:, 0], rtol=1e-9)  # the range of A
    zero = IOKR(Decomposable(RBF(0.5), np.zeros((2, 2)))).fit(*data)
    np.testing.assert_allclose(zero.predict(data[0]), np.tile(data[1].mean(axis=0), (len(data[0]), 1)), rtol=1e-12)
    without = IOKR(Decomposable(RBF(0.5), np.zeros((2, 2))), intercept=False).fit(*data)
    np.testing.assert_array_equal(without.predict(data[0]), 0.0)


def test_given_penalty(estimator, data, refuses, bad):
    make, word = bad
    X, Y = data
    with refuses(ValueError, "matrix", word):
        estimator(RBF(0.5), manifold=Given(0.1, make(N + 4))).fit(X, Y, X_unlabeled=X[:4])


def test_given_penalty_of_the_wrong_size(estimator, data, refuses):
    X, Y = data
    with refuses(ValueError, "matrix", "16", "12"):
        estimator(RBF(0.5), manifold=Given(0.1, np.eye(N))).fit(X, Y, X_unlabeled=X[:4])


def test_rounding_is_not_indefinite(estimator, data):
    _, Y = data
    F = np.random.default_rng(0).normal(size=(N, 2))
    K = F @ F.T  # rank 2: rounding leaves eigenvalues about -1e-16
    noise = 1e-13 * np.random.default_rng(1).normal(size=(N, N))
    model = estimator(Precomputed(K + noise)).fit(np.arange(N), Y)
    clean = estimator(Linear()).fit(F, Y)
    np.testing.assert_allclose(model.predict(np.arange(N)), clean.predict(F), rtol=1e-6, atol=1e-6)


def test_rows_of_a_gram_matrix_at_predict(data, refuses):
    X, Y = data
    K = RBF(0.5)(X)
    model = IOKR(Precomputed()).fit(K[:10, :10], Y[:10])
    assert model.predict(K[10:, :10]).shape == (2, 2)
    with refuses(ValueError, "X", "12", "10"):
        model.predict(K[10:])
    with refuses(ValueError, "X", "NaN"):
        model.predict(np.full((2, 10), np.nan))


def test_training_gram_has_no_place_for_other_objects(data, refuses):
    X, Y = data
    K = RBF(0.5)(X)
    with refuses(ValueError, "Precomputed", "matrix"):
        IOKR(Precomputed(), manifold=Laplacian(0.1)).fit(K, Y, X_unlabeled=K[:4])
    with refuses(ValueError, "Precomputed", "matrix"):
        IOKR(RBF(0.5), output_kernel=Precomputed()).fit(X, np.arange(N))


@pytest.mark.parametrize(
    "manifold", [Laplacian(0.1), Laplacian(0.1, 1), IteratedLaplacian(0.1, 2), Heat(0.1, 1.0)], ids=repr
)
def test_negative_weights_of_a_graph(estimator, data, refuses, manifold):
    # A graph of the largest entries may do without the negative ones, so here all are negative.
    X = np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]])
    with refuses(ValueError, "negative"):
        estimator(Linear(), manifold=manifold).fit(X, data[1][:3])


def test_negative_weights_come_with_advice(data, refuses):
    X, Y = data
    with refuses(ValueError, "negative", "RBF"):
        IOKR(Linear(), manifold=Laplacian(0.1)).fit(X, Y, X_unlabeled=X[:4])
