"""Orthonormal coordinates of an output kernel."""

import numpy as np
import pytest

import reference
from iokr import IOKR
from iokr.embeddings import Eigen
from iokr.kernels import RBF, Linear, Polynomial
from reference import assert_close
from samples import vectors


def test_coordinates_reproduce_the_gram_matrix():
    Y, Z = vectors(7, 3, seed=1), vectors(4, 3, seed=2)
    k = reference.rbf(0.5)
    kernel = RBF(0.5).fit(Y)
    embedding = Eigen()
    V = embedding.fit_transform(Y, kernel)
    assert V.shape == (7, 7)
    assert_close(V @ V.T, reference.gram(k, Y), 1e-13)
    assert_close(embedding.transform(Y), V, 1e-10)
    # Outside the span inner products are exact, and norms are k_Y(y, y), not those of the projection.
    assert_close(embedding.inner(V, embedding.represent(Z)), reference.gram(k, Y, Z), 1e-11)
    assert_close(embedding.sq_norms(embedding.represent(Z)), np.ones(4), 1e-15)
    assert np.all(np.sum(embedding.transform(Z) ** 2, axis=1) < 1)


def test_rank_of_a_singular_gram_matrix():
    """A linear kernel in three dimensions has three coordinates, whatever the number of outputs."""
    Y = vectors(9, 3, seed=3)
    V = Eigen().fit_transform(Y, Linear().fit(Y))
    assert V.shape == (9, 3)
    assert_close(V @ V.T, Y @ Y.T, 1e-13)
    duplicated = np.vstack([Y[:4], Y[:4]])
    kernel = RBF(0.5).fit(duplicated)
    assert Eigen().fit_transform(duplicated, kernel).shape == (8, 4)


@pytest.mark.parametrize("rank", [1, 2, 5, 50])
def test_rank_keeps_the_leading_coordinates(rank):
    Y = vectors(6, 3, seed=4)
    K = reference.gram(reference.rbf(0.5), Y)
    V = Eigen(rank).fit_transform(Y, RBF(0.5).fit(Y))
    t, Q = np.linalg.eigh(K)
    r = min(rank, 6)
    assert V.shape == (6, r)
    assert_close(V @ V.T, Q[:, -r:] * t[-r:] @ Q[:, -r:].T, 1e-12)


def test_tol_drops_small_eigenvalues():
    Y = vectors(8, 2, seed=5)
    K = reference.gram(reference.polynomial(3, 1.0, 1.0), Y)
    t = np.linalg.eigvalsh(K)
    kernel = Polynomial(3, 1.0, 1.0).fit(Y)
    tol = 0.9 * t[-3] / t[-1]
    embedding = Eigen(tol=tol)
    assert embedding.fit_transform(Y, kernel).shape == (8, 3)
    assert_close(embedding.eigenvalues_, t[::-1][:3], 1e-12)


def test_truncated_model_projects_outputs_on_the_leading_directions():
    X, Y, new = vectors(9, 2, seed=6), vectors(9, 3, seed=7), vectors(4, 2, seed=8)
    K_Y = reference.gram(reference.rbf(0.5), Y)
    _, Q = np.linalg.eigh(K_Y)
    P = Q[:, -2:] @ Q[:, -2:].T
    model = IOKR(RBF(0.4), output_kernel=RBF(0.5), embedding=Eigen(2), alpha=0.1).fit(X, Y)
    K, K_new = reference.gram(reference.rbf(0.4), X), reference.gram(reference.rbf(0.4), new, X)
    B = np.linalg.solve(K + 0.1 * np.eye(9), K_new.T).T
    assert_close(model.weights(new), B @ P, 1e-10)
    assert_close(model.scores(new, Y), B @ P @ K_Y, 1e-10)
    # ‖h − ψ(y)‖² with h in the subspace and ψ(y) whole
    d = np.diag(B @ P @ K_Y @ P @ B.T)[:, None] - 2 * B @ P @ K_Y + np.diag(K_Y)
    assert_close(model.distances(new, Y), d, 1e-10)


@pytest.mark.parametrize("rank", [0, -1, 1.5])
def test_bad_rank(rank):
    with pytest.raises((ValueError, TypeError), match="n_components"):
        IOKR(RBF(1.0), output_kernel=RBF(1.0), embedding=Eigen(rank)).fit(vectors(4), vectors(4))


def test_needs_an_output_kernel():
    with pytest.raises(ValueError, match="output_kernel"):
        IOKR(RBF(1.0), embedding=Eigen()).fit(vectors(4), vectors(4))
