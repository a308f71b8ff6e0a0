"""Means over the nearest inputs: scikit-learn's neighbours where those exist, and the definition elsewhere."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from iokr import Neighbors
from iokr.decoders import MinimumRisk
from iokr.embeddings import Eigen
from iokr.kernels import RBF, Delta, FromFunction, Linear, Precomputed, Spectrum, Tanimoto
from members import objects
from samples import vectors

X, NEW = vectors(20, seed=1), vectors(7, seed=2)
Y = np.random.default_rng(3).normal(size=(20, 3))


@pytest.mark.parametrize("k", [1, 3, 20])
def test_the_mean_over_the_nearest(k):
    expected = KNeighborsRegressor(k).fit(X, Y).predict(NEW)
    np.testing.assert_allclose(Neighbors(k, kernel=RBF(0.3)).fit(X, Y).predict(NEW), expected, atol=1e-12)
    np.testing.assert_allclose(Neighbors(k).fit(X, Y).predict(NEW), expected, atol=1e-12)
    np.testing.assert_allclose(Neighbors(k, kernel=Linear()).fit(X, Y).predict(NEW), expected, atol=1e-12)


def test_nadaraya_watson():
    K = RBF(0.4)(NEW, X)
    model = Neighbors(None, weights="kernel", kernel=RBF(0.4)).fit(X, Y)
    np.testing.assert_allclose(model.predict(NEW), K @ Y / K.sum(axis=1, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(model.neighbor_weights(NEW), K / K.sum(axis=1, keepdims=True), atol=1e-14)


def test_far_from_everything_the_nearest_counts():
    model = Neighbors(4, weights="kernel", kernel=RBF(1.0)).fit(X, Y)
    far = np.full((1, X.shape[1]), 1e3)
    nearest = np.argmin(((far - X) ** 2).sum(axis=1))
    np.testing.assert_allclose(model.predict(far)[0], Y[nearest])


@pytest.mark.parametrize("weights", ["uniform", "kernel"])
@pytest.mark.parametrize("embedding", [None, Eigen()])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_refitting(weights, embedding, weighted):
    words = objects("strings", 20)
    w = np.random.default_rng(0).integers(0, 4, size=20).astype(float) if weighted else None
    ks = (1, 2, 5, 9)
    parts = {"weights": weights, "kernel": RBF(0.4), "output_kernel": Spectrum(2), "embedding": embedding}
    model = Neighbors(ks, **parts).fit(X, words, sample_weight=w)
    errors = np.zeros(len(ks))
    for i in np.flatnonzero(np.ones(20) if w is None else w):
        rest = np.delete(np.arange(20), i)
        for j, k in enumerate(ks):
            one = Neighbors(k, **parts).fit(X[rest], words[rest], sample_weight=None if w is None else w[rest])
            errors[j] += (1.0 if w is None else w[i]) * float(one.distances(X[i : i + 1], words[i : i + 1])[0, 0])
    np.testing.assert_allclose(model.loo_errors_, errors / (20 if w is None else w.sum()), rtol=1e-9)
    assert model.n_neighbors_ == ks[int(np.argmin(errors))]


@pytest.mark.parametrize("weights", ["uniform", "kernel"])
def test_a_weight_is_the_row_so_often(weights):
    w = np.random.default_rng(1).integers(0, 4, size=20)
    rows = np.repeat(np.arange(20), w)
    weighted = Neighbors(5, weights=weights, kernel=RBF(0.4)).fit(X, Y, sample_weight=w.astype(float))
    repeated = Neighbors(5, weights=weights, kernel=RBF(0.4)).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.predict(NEW), repeated.predict(NEW), atol=1e-12)


def test_objects_and_given_matrices():
    words, labels = objects("strings", 20), objects("labels", 20)
    K = Spectrum(2)(words)
    from_words = Neighbors(3, kernel=Spectrum(2), output_kernel=Delta()).fit(words[:15], labels[:15])
    from_matrix = Neighbors(3, kernel=Precomputed(), output_kernel=Delta()).fit(K[:15, :15], labels[:15])
    np.testing.assert_array_equal(from_words.predict(words[15:]), from_matrix.predict(K[15:, :15]))


def test_candidates_ranked_and_decoded_by_risk():
    bits = objects("fingerprints", 20)
    model = Neighbors((1, 3, 5), output_kernel=Tanimoto(), decoder=MinimumRisk("f1")).fit(X, bits)
    B = model.neighbor_weights(NEW)
    np.testing.assert_allclose(B.sum(axis=1), 1.0)
    assert model.predict(NEW).shape == (7, 20)
    assert model.rank(NEW, bits)[0].shape == (7, 20)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"n_neighbors": 21}, "at most 20"),
        ({"n_neighbors": (1, 20)}, "at most 19"),
        ({"n_neighbors": ()}, "empty"),
        ({"n_neighbors": None}, "weights='kernel'"),
        ({"weights": "distance"}, "weights"),
        ({"weights": "kernel", "kernel": Linear()}, "negative"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Neighbors(**arguments).fit(X, Y).predict(NEW)


def test_missing_targets_are_refused():
    gaps = Y.copy()
    gaps[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        Neighbors().fit(X, gaps)


@parametrize_with_checks([Neighbors(3), Neighbors(None, weights="kernel"), Neighbors((1, 2))])
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


def test_a_function_as_kernel():
    model = Neighbors(1, kernel=FromFunction(lambda a, b: float(a == b)), output_kernel=Delta())
    assert model.fit(["a", "b"], ["x", "y"]).predict(["b"])[0] == "y"


def test_a_weight_of_any_size_counts_until_k():
    """A row of weight above k is all k neighbours of whom it is nearest to, however large the weight."""
    w = np.ones(20)
    w[4] = 1e300
    found = Neighbors(3, kernel=RBF(0.4)).fit(X, Y, sample_weight=w).predict(X[4:5])
    np.testing.assert_allclose(found, Y[4:5])
    everywhere = Neighbors(3, kernel=RBF(0.4)).fit(X, Y, sample_weight=np.full(20, 1e300))
    np.testing.assert_allclose(everywhere.predict(X), Y)


def test_many_rows_are_not_asked_for_the_memory_of_an_exact_fit():
    X = np.zeros((200_000, 1))
    X[:, 0] = np.arange(200_000)
    model = Neighbors(1, kernel=RBF(1.0)).fit(X, X)
    np.testing.assert_array_equal(model.predict(X[[5, 199_999]]), X[[5, 199_999]])
