"""The nearest 0/1 vector, exactly."""

import numpy as np
import pytest
from scipy import sparse

import reference
from iokr import IOKR
from iokr.decoders import Threshold
from iokr.embeddings import Eigen, Identity, Implicit
from iokr.kernels import RBF, Linear
from samples import vectors


@pytest.mark.parametrize(
    "space",
    [(None, None), (None, Identity(centered=True)), (Linear(), Implicit()), (Linear(), Eigen())],
    ids=str,
)
def test_is_the_nearest_of_all_binary_vectors(space):
    output_kernel, embedding = space
    X, new = vectors(9, seed=1), vectors(6, seed=2)
    Y = (vectors(9, 4, seed=3) > 0).astype(float)
    everything = np.array([[float(c) for c in f"{i:04b}"] for i in range(16)])
    model = IOKR(RBF(1.0), output_kernel=output_kernel, embedding=embedding, alpha=0.3, decoder=Threshold()).fit(X, Y)
    nearest = everything[model.distances(new, everything).argmin(axis=1)]
    np.testing.assert_array_equal(model.predict(new), nearest)
    if embedding is None or not isinstance(embedding, Identity):
        H = reference.Ridge(reference.gram(reference.rbf(1.0), X), Y, 0.3).values(
            reference.gram(reference.rbf(1.0), new, X)
        )
        np.testing.assert_array_equal(model.predict(new), (H > 0.5).astype(float))


def test_sparse_label_sets():
    X = vectors(8, seed=4)
    Y = (vectors(8, 5, seed=5) > 0.3).astype(float)
    dense = IOKR(RBF(1.0), alpha=0.1, decoder=Threshold()).fit(X, Y).predict(X)
    thin = IOKR(RBF(1.0), alpha=0.1, decoder=Threshold()).fit(X, sparse.csr_matrix(Y)).predict(X)
    assert isinstance(thin, np.ndarray)
    np.testing.assert_array_equal(thin, dense)


def test_one_binary_output():
    X = np.arange(6.0)[:, None]
    y = np.array([0, 0, 0, 1, 1, 1])
    predicted = IOKR(RBF(1.0), alpha=1e-3, decoder=Threshold()).fit(X, y).predict(X)
    assert predicted.shape == (6,)
    np.testing.assert_array_equal(predicted, y)


def test_needs_binary_outputs_and_a_linear_space():
    X = vectors(4)
    with pytest.raises(ValueError, match=r"0/1|binary|0 and 1"):
        IOKR(RBF(1.0), decoder=Threshold()).fit(X, vectors(4, 3))
    with pytest.raises(ValueError, match=r"[Ll]inear"):
        IOKR(RBF(1.0), output_kernel=RBF(1.0), decoder=Threshold()).fit(X, np.eye(4))
