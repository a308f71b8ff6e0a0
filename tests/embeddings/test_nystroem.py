"""Coordinates on the span of a few outputs: the projection, and what it leaves out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr import IOKR, IOKRCV
from iokr.embeddings import Eigen, Nystroem
from iokr.kernels import RBF, Linear
from iokr.losses import Huber

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
X_new, Y_new = rng.normal(size=(5, 3)), rng.normal(size=(6, 2))
K_Y = RBF(0.4)


def fitted(rank):
    embedding = Nystroem(rank)
    return embedding, embedding.fit_transform(Y, K_Y.fit(Y))


def test_is_the_projection_on_the_pivots():
    embedding, Z = fitted(5)
    P = Y[embedding.pivots_]
    assert Z.shape == (30, 5)
    assert_allclose(Z @ Z.T, K_Y(Y, P) @ np.linalg.solve(K_Y(P), K_Y(P, Y)), atol=1e-12)
    assert_allclose(embedding.transform(Y_new) @ Z.T, K_Y(Y_new, P) @ np.linalg.solve(K_Y(P), K_Y(P, Y)), atol=1e-12)
    assert embedding.error_ == pytest.approx(1 - np.trace(Z @ Z.T) / 30, rel=1e-10)


def test_scores_are_those_of_projected_outputs():
    model = IOKR(RBF(0.5), output_kernel=K_Y, embedding=Nystroem(5), alpha=0.1).fit(X, Y)
    P = Y[model.embedding_.pivots_]
    weights = RBF(0.5)(X_new, X) @ np.linalg.inv(RBF(0.5)(X) + 0.1 * np.eye(30))
    projected = K_Y(Y, P) @ np.linalg.solve(K_Y(P), K_Y(P, Y_new))
    assert_allclose(model.scores(X_new, Y_new), weights @ projected, atol=1e-11)
    on_pivots = model.weights(X_new)
    assert np.flatnonzero(np.any(on_pivots != 0, axis=0)).tolist() == sorted(model.embedding_.pivots_.tolist())
    assert_allclose(on_pivots @ K_Y(Y, Y_new), model.scores(X_new, Y_new), atol=1e-10)


@pytest.mark.parametrize("loss", [None, Huber(0.3)])
def test_with_all_outputs_is_the_exact_embedding(loss):
    ours = IOKR(RBF(0.5), output_kernel=K_Y, embedding=Nystroem(30), loss=loss, alpha=0.1).fit(X, Y)
    exact = IOKR(RBF(0.5), output_kernel=K_Y, embedding=Eigen(), loss=loss, alpha=0.1).fit(X, Y)
    assert_allclose(ours.distances(X_new, Y_new), exact.distances(X_new, Y_new), atol=1e-5)


def test_leave_one_out_errors_are_those_in_the_feature_space():
    model = IOKRCV(RBF(0.5), output_kernel=K_Y, embedding=Nystroem(6), alphas=(0.1,)).fit(X, Y)
    Z = model.embedding_.transform(Y)
    inverse = np.linalg.inv(RBF(0.5)(X) + 0.1 * np.eye(30))
    expected = np.mean(np.sum((inverse @ Z / np.diag(inverse)[:, None]) ** 2, axis=1))
    expected += np.mean(1 - np.sum(Z * Z, axis=1))  # k_Y(y, y) = 1: what the coordinates lack
    assert float(model.loo_errors_) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_vectors_come_back_under_a_linear_kernel(intercept):
    parts = {"alpha": 0.1, "intercept": intercept}
    model = IOKR(RBF(0.5), output_kernel=Linear(), embedding=Nystroem(2), **parts).fit(X, Y)
    direct = IOKR(RBF(0.5), **parts).fit(X, Y)
    assert_allclose(model.embedding_.vectors(model.decision_function(X_new)), direct.predict(X_new), atol=1e-10)
    with pytest.raises(ValueError, match="cannot return outputs as vectors"):
        fitted(3)[0].vectors(np.zeros((1, 3)))


def test_refusals():
    with pytest.raises(ValueError, match="`n_components`"):
        fitted(0)
    with pytest.raises(ValueError, match="output kernel"):
        IOKR(embedding=Nystroem(3)).fit(X, Y)
