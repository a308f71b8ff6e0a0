"""The nearest 0/1 vector, exactly."""

import numpy as np
import pytest
from scipy import sparse

import reference
from iokr import IOKR
from iokr.decoders import Threshold
from iokr.embeddings import Eigen, Identity, Implicit
from iokr.kernels import RBF, Hamming, Linear
from samples import vectors


@pytest.mark.parametrize(
    "space",
    [(None, None), (None, Identity()), (Linear(), Implicit()), (Linear(), Eigen())],
    ids=str,
)
@pytest.mark.parametrize("intercept", [False, True])
def test_is_the_nearest_of_all_binary_vectors(space, intercept):
    output_kernel, embedding = space
    X, new = vectors(9, seed=1), vectors(6, seed=2)
    Y = (vectors(9, 4, seed=3) > 0).astype(float)
    everything = np.array([[float(c) for c in f"{i:04b}"] for i in range(16)])
    parts = {"output_kernel": output_kernel, "embedding": embedding, "intercept": intercept}
    model = IOKR(RBF(1.0), alpha=0.3, decoder=Threshold(), **parts).fit(X, Y)
    nearest = everything[model.distances(new, everything).argmin(axis=1)]
    np.testing.assert_array_equal(model.predict(new), nearest)
    if embedding is None or not isinstance(embedding, Identity):
        ridge = reference.Ridge(reference.gram(reference.rbf(1.0), X), Y, 0.3, intercept=intercept)
        H = ridge.values(reference.gram(reference.rbf(1.0), new, X))
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


SIZES = [(0, None), (0, 0), (2, None), (0, 2), (1, 3), (3, 3)]


def every_set(d: int) -> np.ndarray:
    return np.array([[float(c) for c in f"{i:0{d}b}"] for i in range(2**d)])


@pytest.mark.parametrize(("low", "high"), SIZES)
@pytest.mark.parametrize("output_kernel", [None, Linear(), Hamming(), 3.0 * Hamming()], ids=repr)
def test_is_the_nearest_of_all_sets_of_these_sizes(low, high, output_kernel):
    X, new = vectors(9, seed=1), vectors(20, seed=2)
    Y = (vectors(9, 4, seed=3) > 0).astype(float)
    everything = every_set(4)
    sizes = everything.sum(axis=1)
    allowed = everything[(sizes >= low) & (sizes <= (4 if high is None else high))]
    model = IOKR(RBF(1.0), output_kernel=output_kernel, alpha=0.3, decoder=Threshold(low, high)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(new), allowed[model.distances(new, allowed).argmin(axis=1)])


@pytest.mark.parametrize("kind", [set, frozenset])
def test_python_sets_under_a_hamming_kernel(kind):
    X, labels = vectors(12, seed=1), np.array(["jazz", "folk", "rock"])
    rows = vectors(12, 3, seed=3) > 0
    sets = [kind(labels[row].tolist()) for row in rows]
    model = IOKR(RBF(1.0), output_kernel=Hamming(), alpha=0.3, decoder=Threshold(1)).fit(X, sets)
    as_rows = IOKR(RBF(1.0), output_kernel=Hamming(), alpha=0.3, decoder=Threshold(1)).fit(X, rows.astype(float))
    found = model.predict(X)
    assert all(type(y) is kind for y in found)
    assert list(found) == [kind(labels[row > 0].tolist()) for row in as_rows.predict(X)]
    everything = [set(labels[row > 0].tolist()) for row in every_set(3)[1:]]
    np.testing.assert_allclose(np.diag(model.distances(X, found)), model.distances(X, everything).min(axis=1))


def test_ties_go_to_the_first_labels():
    X = np.zeros((2, 1))
    model = IOKR(RBF(1.0), alpha=1.0, decoder=Threshold(2, 2)).fit(X, np.ones((2, 4)))
    np.testing.assert_array_equal(model.predict(X), [[1, 1, 0, 0]] * 2)


def test_sizes_that_cannot_be():
    X, Y = vectors(4), np.eye(4)
    for sizes in ((3, 2), (5, None)):
        with pytest.raises(ValueError, match="`min_size` must be at most `max_size` and the number of labels"):
            IOKR(RBF(1.0), decoder=Threshold(*sizes)).fit(X, Y)
    with pytest.raises(ValueError, match="`max_size` must be an integer of at least 0, got -1"):
        IOKR(RBF(1.0), decoder=Threshold(0, -1)).fit(X, Y)
