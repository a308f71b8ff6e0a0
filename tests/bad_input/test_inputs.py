"""X and X_unlabeled that cannot be right.

Tests of `iokr.estimators.inputs`.
"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from iokr import IOKR, IOKRCV, Unlabeled
from iokr.kernels import (
    RBF,
    Centered,
    Cosine,
    Delta,
    Features,
    FromFunction,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
    Precomputed,
    Tanimoto,
)
from iokr.manifolds import Laplacian as Manifold
from iokr.operator_kernels import Decomposable

METHODS = {
    "decision_function": lambda model, X, Y: model.decision_function(X),
    "weights": lambda model, X, Y: model.weights(X),
    "scores": lambda model, X, Y: model.scores(X, Y),
    "distances": lambda model, X, Y: model.distances(X, Y),
    "rank": lambda model, X, Y: model.rank(X, Y),
    "predict": lambda model, X, Y: model.predict(X),
    "predict from candidates": lambda model, X, Y: model.predict(X, Y),
    "score": lambda model, X, Y: model.score(X, Y),
    "score with candidates": lambda model, X, Y: model.score(X, Y, candidates=Y),
}
VECTOR_KERNELS = [Linear(), Polynomial(2), RBF(0.5), RBF(), Laplacian(0.5), Cosine()]
WRAPPED = [2.0 * RBF(0.5), RBF(0.5) + Linear(), RBF(0.5) * Linear(), Normalized(RBF(0.5)), Centered(RBF(0.5))]


def spoiled(X, value):
    X = X.copy()
    X[3, 1] = value
    return X


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
def test_fit_refuses_inputs_that_are_not_finite(estimator, data, refuses, value, word):
    X, Y = data
    with refuses(ValueError, "X", word):
        estimator().fit(spoiled(X, value), Y)
    with refuses(ValueError, "X", word):
        estimator().fit(sparse.csr_array(spoiled(X, value)), Y)


@pytest.mark.parametrize("kernel", [*VECTOR_KERNELS, *WRAPPED, Tanimoto()], ids=repr)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_kernels_refuse_vectors_that_are_not_finite(kernel, data, refuses, value):
    X, Y = np.abs(data[0]), data[1]
    with refuses(ValueError, "X"):
        IOKR(kernel).fit(spoiled(X, value), Y)
    with refuses(ValueError):
        kernel.fit(X)(spoiled(X, value))
    with refuses(ValueError):
        IOKR(kernel).fit(X, Y).predict(spoiled(X, value))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_methods_refuse_inputs_that_are_not_finite(fitted, data, refuses, method, value):
    X, Y = data
    with refuses(ValueError, "X"):
        METHODS[method](fitted, spoiled(X, value), Y)


@pytest.mark.parametrize("method", METHODS)
def test_methods_refuse_another_number_of_features(fitted, data, refuses, method):
    X, Y = data
    with refuses(ValueError, "features", "2", "3"):
        METHODS[method](fitted, X[:, :2], Y)


@pytest.mark.parametrize("kernel", [*VECTOR_KERNELS, *WRAPPED, Decomposable(RBF(0.5), np.eye(2))], ids=repr)
def test_every_kernel_refuses_another_number_of_features(kernel, data, refuses):
    X, Y = data
    model = IOKR(kernel).fit(X, Y)
    with refuses(ValueError, "2", "3"):
        model.predict(X[:, :2])


@pytest.mark.parametrize("method", METHODS)
def test_methods_before_fit(estimator, data, method):
    with pytest.raises(NotFittedError, match="fit"):
        METHODS[method](estimator(output_kernel=RBF()), *data)


def test_leave_one_out_before_fit(estimator):
    with pytest.raises(NotFittedError, match="fit"):
        estimator().loo_decision_function()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("X", [np.zeros((0, 3)), []], ids=["array", "list"])
def test_methods_refuse_no_rows(fitted, refuses, method, X):
    with refuses(ValueError):
        METHODS[method](fitted, X, np.zeros((0, 2)) if "score" in method.split() else np.zeros((2, 2)))


def test_fit_refuses_no_rows(estimator, refuses):
    with refuses(ValueError, "0 sample"):  # scikit-learn's words, which its checks ask for
        estimator().fit(np.zeros((0, 3)), np.zeros((0, 2)))
    with refuses(ValueError, "X"):
        estimator(FromFunction(lambda x, z: 1.0)).fit([], np.zeros((0, 2)))


def test_fit_refuses_no_columns(estimator, refuses):
    with refuses(ValueError, "0 feature"):
        estimator().fit(np.zeros((5, 0)), np.zeros((5, 2)))


def test_fit_refuses_lengths_that_differ(estimator, data, refuses):
    X, Y = data
    with refuses(ValueError, "X", "y", "12", "11"):
        estimator().fit(X, Y[:-1])
    with refuses(ValueError, "X", "y", "2", "3"):
        estimator(FromFunction(lambda x, z: 1.0)).fit(["a", "b"], np.zeros((3, 2)))


def test_score_refuses_lengths_that_differ(fitted, data, refuses):
    X, Y = data
    with refuses(ValueError, "X", "y", "12", "11"):
        fitted.score(X, Y[:-1])


def test_fit_refuses_inputs_of_the_wrong_shape(estimator, data, refuses):
    X, Y = data
    with refuses(ValueError, "1D"):
        estimator().fit(X[:, 0], Y)
    with refuses(ValueError, "dim 3"):
        estimator().fit(X[:, :, None], Y)


@pytest.mark.parametrize("X", ["abc", 5, None, object()], ids=lambda v: type(v).__name__)
def test_fit_refuses_what_is_not_a_sequence(estimator, refuses, X):
    with refuses((TypeError, ValueError)):
        estimator().fit(X, np.zeros((3, 2)))


@pytest.mark.parametrize("kernel", [*VECTOR_KERNELS, Tanimoto()], ids=repr)
@pytest.mark.parametrize(
    "X",
    [["ab", "cd", "ef"], np.array(["ab", "cd", "ef"]), [["a"], ["b"], ["c"]], [[1.0], [1.0, 2.0], [3.0]]],
    ids=["strings", "string array", "string column", "ragged"],
)
def test_kernels_of_vectors_refuse_other_objects(kernel, X, refuses):
    with refuses((TypeError, ValueError), "X", "kernel"):  # the way out: another kernel, not another shape
        IOKR(kernel).fit(X, np.zeros((3, 2)))
    with refuses((TypeError, ValueError)):
        kernel(X)


def test_tanimoto_refuses_negative_counts(refuses):
    X = np.array([[1.0, 0.0], [0.0, -1.0]])
    with refuses(ValueError, "negative"):
        IOKR(Tanimoto()).fit(X, np.zeros((2, 1)))


def test_complex_inputs_are_refused(estimator, data, refuses):
    X, Y = data
    with refuses(ValueError, "complex"):
        estimator().fit(X + 1j, Y)


def test_function_kernel_that_does_not_return_numbers(data, refuses):
    _, Y = data
    with refuses((TypeError, ValueError), "near"):
        IOKR(FromFunction(lambda x, z: "near")).fit(list("abcdefghijkl"), Y)
    with refuses(ValueError, "f", "nan"):
        IOKR(FromFunction(lambda x, z: float("nan"))).fit(list("abcdefghijkl"), Y)
    with refuses(TypeError, "f", "near"):
        IOKR(FromFunction("near")).fit(list("abcdefghijkl"), Y)


def test_features_refuses_what_does_not_transform(data, refuses):
    X, Y = data
    with refuses(TypeError, "transformer"):
        IOKR(Features("pca")).fit(X, Y)


def test_an_error_inside_the_users_function_is_not_hidden(data):
    class OwnError(Exception):
        pass

    def broken(x, z):
        raise OwnError

    with pytest.raises(OwnError):
        IOKR(FromFunction(broken)).fit(list("abcdefghijkl"), data[1])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_unlabelled_inputs_must_be_finite(estimator, data, refuses, value):
    X, Y = data
    with refuses(ValueError, "X_unlabeled"):
        estimator(manifold=Manifold(0.1)).fit(X, Y, X_unlabeled=spoiled(X, value))
    with refuses(ValueError, "X_unlabeled"):
        estimator(manifold=Manifold(0.1)).fit(X, Y, X_unlabeled=Unlabeled(spoiled(X, value)))


def test_unlabelled_inputs_must_have_the_features_of_x(estimator, data, refuses):
    X, Y = data
    with refuses(ValueError, "X_unlabeled", "2", "3"):
        estimator(manifold=Manifold(0.1)).fit(X, Y, X_unlabeled=X[:, :2])


def test_unlabelled_inputs_need_a_manifold(estimator, data, refuses):
    X, Y = data
    with refuses(ValueError, "X_unlabeled", "manifold"):
        estimator().fit(X, Y, X_unlabeled=X)


def test_a_failed_fit_leaves_no_model(estimator, data):
    X, Y = data
    model = estimator()
    with pytest.raises(ValueError):
        model.fit(spoiled(X, np.nan), Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_kernel_that_cannot_read_new_inputs_says_so(data, refuses):
    X, Y = data
    model = IOKR(RBF(0.5)).fit(X, Y)
    with refuses((TypeError, ValueError), "X"):
        model.predict(["ab", "cd"])


def test_labels_are_not_vectors(refuses):
    with refuses((TypeError, ValueError), "y"):
        IOKR(Delta()).fit(["a", "b"], ["up", "down"])


def test_indices_into_a_given_gram_matrix(data, refuses):
    X, Y = data
    K = RBF(0.5)(X)
    model = IOKR(Precomputed(K)).fit(np.arange(10), Y[:10])
    assert model.predict(np.array([10, 11])).shape == (2, 2)
    with refuses(ValueError, "12"):
        model.predict(np.array([3, 12]))
    with refuses(ValueError, "-1"):
        model.predict(np.array([3, -1]))
    with refuses((TypeError, ValueError), "integer"):
        model.predict(np.array([0.5, 1.0]))
    with refuses((TypeError, ValueError), "integer"):
        model.predict(["a", "b"])
    with refuses(ValueError, "12"):
        IOKR(Precomputed(K)).fit(np.arange(1, 13), Y)


@pytest.mark.filterwarnings("error")
def test_a_kernel_that_overflows_is_not_zero(estimator, data, refuses):
    X, Y = data
    with refuses(ValueError, "kernel", "overflows"):
        estimator(Linear()).fit(X * 1e200, Y)


def test_masked_inputs_are_refused(estimator, data, refuses):
    X, Y = data
    with refuses((TypeError, ValueError), "X", "mask"):
        estimator().fit(np.ma.array(X, mask=X > 1.0), Y)


@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_a_function_that_is_no_kernel(data, refuses, alpha):
    x, Y = list(data[0][:, 0]), data[1]
    minus_distance = FromFunction(lambda x, z: -abs(x - z))
    with refuses(ValueError, "kernel", "semi-definite"):
        IOKR(minus_distance, alpha=alpha).fit(x, Y)
    with refuses(ValueError, "kernel", "semi-definite"):
        IOKRCV(minus_distance).fit(x, Y)
    with refuses(ValueError, "output_kernel", "semi-definite"):
        IOKRCV(RBF(0.5), output_kernel=minus_distance).fit(data[0], x)
