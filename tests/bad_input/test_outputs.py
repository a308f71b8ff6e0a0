"""Outputs that cannot be right, and combinations without a formula.

Tests of `iokr.estimators.outputs`.
"""

import numpy as np
import pytest

from iokr import IOKR, IOKRCV
from iokr.decoders import Candidates, Identity, Threshold
from iokr.embeddings import Eigen, Implicit
from iokr.embeddings import Identity as Vectors
from iokr.kernels import RBF, Delta, FromFunction, Linear, Polynomial, Precomputed
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import Cholesky, ManifoldEigen
from iokr.solvers import Eigen as EigenSolver

A = np.array([[2.0, 1.0], [1.0, 1.0]])


def with_gap(Y, value=np.nan):
    Y = Y.copy()
    Y[2, 1] = value
    return Y


@pytest.mark.parametrize("manifold", [None, Laplacian(0.1)])
def test_a_row_without_targets_is_an_unlabelled_input(estimator, data, refuses, manifold):
    X, Y = data
    Y = Y.copy()
    Y[[2, 5]] = np.nan
    with refuses(ValueError, "y", "2", "X_unlabeled"):
        estimator(manifold=manifold).fit(X, Y)
    with refuses(ValueError, "y", "X_unlabeled"):
        estimator(manifold=manifold).fit(X, Y[:, 0])


def test_targets_may_be_missing_but_not_infinite(estimator, data, refuses):
    X, Y = data
    assert np.isfinite(estimator().fit(X, with_gap(Y)).predict(X)).all()
    with refuses(ValueError, "y", "inf"):
        estimator().fit(X, with_gap(Y, np.inf))


def test_masked_arrays_are_read_or_refused(estimator, data):
    X, Y = data
    hidden = np.ma.array(Y, mask=np.abs(Y) > 1.5)
    try:
        found = estimator().fit(X, hidden).predict(X)
    except (TypeError, ValueError) as error:
        assert "mask" in str(error)
    else:
        np.testing.assert_allclose(found, estimator().fit(X, hidden.filled(np.nan)).predict(X), rtol=1e-10)


@pytest.mark.parametrize("output_kernel", [Linear(), RBF(0.5), Delta()], ids=repr)
def test_a_mask_needs_vector_outputs(estimator, data, refuses, output_kernel):
    X, Y = data
    with refuses(ValueError, "NaN"):
        estimator(output_kernel=output_kernel).fit(X, with_gap(Y))


@pytest.mark.parametrize(
    "y",
    [["up"] * 12, np.array(["up"] * 12), [[1.0], [1.0, 2.0]] * 6, [{}] * 12],
    ids=["strings", "string array", "ragged", "objects"],
)
def test_outputs_that_are_not_vectors_need_an_output_kernel(estimator, data, refuses, y):
    with refuses((TypeError, ValueError), "y", "output_kernel"):
        estimator().fit(data[0], y)


def test_outputs_of_a_wrong_shape(estimator, data, refuses):
    X, Y = data
    with refuses(ValueError, "y"):
        estimator().fit(X, Y[:, :, None])
    with refuses(ValueError, "y"):
        estimator().fit(X, Y[:, :0])
    with refuses((TypeError, ValueError), "y"):
        estimator().fit(X, "up" * 6)
    with refuses((TypeError, ValueError), "y"):
        estimator().fit(X, None)


@pytest.mark.parametrize("output_kernel", [RBF(0.5), Linear()], ids=repr)
def test_an_output_kernel_of_vectors_refuses_strings(estimator, data, refuses, output_kernel):
    with refuses((TypeError, ValueError), "y"):
        estimator(output_kernel=output_kernel).fit(data[0], ["up", "down"] * 6)


def test_output_indices_must_lie_in_the_matrix(estimator, data, refuses):
    X, _ = data
    with refuses(ValueError, "12"):
        estimator(output_kernel=Precomputed(np.eye(12))).fit(X, np.arange(1, 13))
    model = estimator(output_kernel=Precomputed(np.eye(12))).fit(X, np.arange(12))
    with refuses(ValueError, "12"):
        model.predict(X, np.array([3, 12]))


def test_score_refuses_outputs_with_other_dimensions(data, refuses):
    X, Y = data
    for model in IOKR(), IOKR(output_kernel=RBF(0.5)):
        model.fit(X, Y)
        with refuses(ValueError, "1", "2"):
            model.score(X, Y[:, :1])
        with refuses(ValueError):
            model.score(X, with_gap(Y, np.inf))


# ---------------------------------------------------------------------------------------------------------
# Combinations without a formula


@pytest.mark.parametrize("embedding", [None, Implicit()], ids=["default", "implicit"])
def test_an_operator_of_coordinates_needs_coordinates(estimator, data, refuses, embedding):
    X, Y = data
    for output_kernel in RBF(0.5), FromFunction(lambda y, z: float(y @ z)):
        with refuses(ValueError, "A", "output"):
            estimator(Decomposable(RBF(0.5), A), output_kernel=output_kernel, embedding=embedding).fit(X, Y)


def test_a_multiple_of_the_identity_needs_none(data):
    X, Y = data
    twice = IOKR(Decomposable(RBF(0.5), 2.0 * np.eye(2)), output_kernel=RBF(0.5)).fit(X, Y)
    scaled = IOKR(2.0 * RBF(0.5), output_kernel=RBF(0.5)).fit(X, Y)
    np.testing.assert_allclose(twice.scores(X, Y), scaled.scores(X, Y), rtol=1e-9, atol=1e-12)


def test_threshold_needs_a_linear_output_kernel(estimator, data, refuses):
    X, Y = data
    binary = (Y > 0).astype(float)
    for output_kernel in RBF(0.5), Polynomial(2), Delta():
        with refuses(ValueError, "Threshold", "linear"):
            estimator(output_kernel=output_kernel, decoder=Threshold()).fit(X, binary).predict(X)


@pytest.mark.parametrize("output_kernel", [None, Linear()], ids=["vectors", "linear"])
def test_threshold_needs_binary_outputs(estimator, data, refuses, output_kernel):
    X, Y = data
    with refuses(ValueError, "Threshold", "0", "1"):
        estimator(output_kernel=output_kernel, decoder=Threshold()).fit(X, Y).predict(X)


def test_the_identity_decoder_needs_vector_outputs(estimator, data, refuses):
    X, Y = data
    with refuses(ValueError, "Identity", "output_kernel"):
        estimator(output_kernel=RBF(0.5), decoder=Identity()).fit(X, Y).predict(X)


def test_the_identity_embedding_has_no_kernel(estimator, data, refuses):
    X, Y = data
    with refuses(ValueError, "Identity", "output_kernel"):
        estimator(output_kernel=RBF(0.5), embedding=Vectors()).fit(X, Y)


@pytest.mark.parametrize("embedding", [Implicit(), Eigen()], ids=repr)
def test_embeddings_of_a_kernel_need_one(estimator, data, refuses, embedding):
    X, Y = data
    with refuses(ValueError, type(embedding).__name__, "output_kernel"):
        estimator(embedding=embedding).fit(X, Y)


@pytest.mark.parametrize("solver", [Cholesky(), EigenSolver()], ids=repr)
def test_solvers_refuse_a_manifold_or_heed_it(data, solver):
    X, Y = data
    model = IOKR(RBF(0.5), manifold=Laplacian(0.3), solver=solver)
    try:
        found = model.fit(X, Y, X_unlabeled=X[:5] + 0.1).predict(X)
    except ValueError as error:
        assert repr(solver) in str(error) and "manifold" in str(error)
    else:
        model.set_params(solver=ManifoldEigen())
        np.testing.assert_allclose(found, model.fit(X, Y, X_unlabeled=X[:5] + 0.1).predict(X), rtol=1e-9)


def test_one_element_of_the_operator_kernel_must_be_scalar(estimator, data, refuses):
    X, Y = data
    with refuses((TypeError, ValueError), "kernel"):
        estimator(Decomposable(Decomposable(RBF(0.5), A), A)).fit(X, Y)
    with refuses((TypeError, ValueError), "output_kernel"):
        estimator(output_kernel=Decomposable(RBF(0.5), A)).fit(X, Y)


def test_weights_exist_only_where_h_is_a_sum_of_outputs(data, refuses):
    X, Y = data
    for model in IOKR(Decomposable(RBF(0.5), A)).fit(X, Y), IOKR().fit(X, with_gap(Y)):
        with refuses(ValueError, "Σ β_i(x) ψ(y_i)"):
            model.weights(X)


def test_weights_of_a_plain_model_do_exist(data):
    X, Y = data
    model = IOKR().fit(X, Y)
    np.testing.assert_allclose(model.weights(X) @ Y, model.decision_function(X), rtol=1e-9, atol=1e-12)


def test_folds_need_two_rows(refuses):
    X, Y = np.zeros((1, 2)), np.ones((1, 1))
    with refuses(ValueError, "n_splits=2", "n_samples=1"):
        IOKRCV(cv=2).fit(X, Y)
    # Leave-one-out of one row is h = 0, whatever alpha.
    np.testing.assert_allclose(IOKRCV(alphas=(0.1, 1.0)).fit(X, Y).loo_errors_, 1.0)


def test_candidates_decoder_of_vectors_is_allowed(data):
    X, Y = data
    predicted = IOKR(decoder=Candidates(), alpha=1e-6).fit(X, Y).predict(X)
    np.testing.assert_array_equal(predicted, Y)
