"""ψ(y) = y."""

import numpy as np
import pytest
from scipy import sparse

from iokr import IOKR
from iokr.embeddings import Identity
from iokr.kernels import RBF, FromFunction, Linear
from reference import assert_close, distances, scores
from samples import missing, vectors


def test_coordinates_are_the_vectors():
    Y = vectors(6, 3, seed=1)
    embedding = Identity()
    assert_close(embedding.fit_transform(Y), Y, 1e-15)
    H, Z = vectors(4, 3, seed=2), vectors(5, 3, seed=3)
    S = embedding.represent(Z)
    assert_close(embedding.inner(H, S), scores(H, Z), 1e-14)
    assert_close(embedding.sq_norms(S), np.sum(Z**2, axis=1), 1e-14)
    d = embedding.sq_norms_of(H)[:, None] - 2 * embedding.inner(H, S) + embedding.sq_norms(S)
    assert_close(d, distances(H, Z), 1e-13)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("holes", ["none", "entries"])
def test_the_intercept_is_the_mean_where_inputs_tell_nothing(holes, weighted):
    """Of the observed entries, weighted."""
    Y = missing(holes, vectors(8, 3, seed=4) + 10.0)
    w = np.arange(8.0) if weighted else None
    mean = [
        np.average(column[seen], weights=None if w is None else w[seen])
        for column in Y.T
        for seen in [~np.isnan(column)]
    ]
    seen = ~np.isnan(Y)
    Psi = Identity().fit_transform(Y, sample_weight=w)
    assert_close(Psi[seen], Y[seen], 1e-15)
    assert np.isnan(Psi[~seen]).all()
    model = IOKR(FromFunction(lambda x, z: 0.0), alpha=0.3).fit(vectors(8, seed=5), Y, sample_weight=w)
    assert_close(model.predict(vectors(2, seed=6)), np.tile(mean, (2, 1)), 1e-14)


def test_one_dimensional_lists_and_sparse_outputs():
    X = vectors(5, seed=5)
    assert IOKR(RBF(1.0)).fit(X, [1, 2, 3, 4, 5]).predict(X).shape == (5,)
    assert IOKR(RBF(1.0)).fit(X, [[1, 2]] * 5).predict(X).shape == (5, 2)
    Y = np.eye(5)
    dense, thin = IOKR(RBF(1.0)).fit(X, Y).predict(X), IOKR(RBF(1.0)).fit(X, sparse.csr_matrix(Y)).predict(X)
    assert isinstance(thin, np.ndarray)
    assert_close(thin, dense, 1e-14)


def test_text_points_to_the_output_kernel():
    with pytest.raises((ValueError, TypeError), match="output_kernel"):
        IOKR(RBF(1.0)).fit(vectors(3), ["a", "b", "c"])


def test_refused_beside_an_output_kernel():
    with pytest.raises(ValueError, match="Identity"):
        IOKR(RBF(1.0), output_kernel=Linear(), embedding=Identity()).fit(vectors(3), vectors(3))


def test_outputs_of_another_width_are_refused():
    model = IOKR(RBF(1.0)).fit(vectors(4), vectors(4, 3))
    with pytest.raises(ValueError, match="3"):
        model.scores(vectors(2), vectors(5, 2))
