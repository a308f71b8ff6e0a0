"""y of any kind through GridSearchCV and cross_val_predict, and what `predict` returns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    train_test_split,
)

from iokr import IOKR, IOKRCV
from iokr.decoders import Threshold
from iokr.kernels import RBF, Delta, FromFunction, Linear, Normalized, Tanimoto

N = 24


class Graph:
    """A graph as a plain object: it has a length and can be iterated over, as networkx's can."""

    def __init__(self, edges):
        self.edges = frozenset(edges)

    def __len__(self):
        return 4

    def __iter__(self):
        return iter(range(4))

    def __getitem__(self, node):
        return {b: {} for a, b in self.edges if a == node}


def shared_letters(x, z):
    return float(len(set(x) & set(z)))


def shared_edges(g, h):
    return float(len(set(g.edges) & set(h.edges))) + 1.0


def concordance(x, z):
    """Kendall's kernel, as a sum over pairs."""
    pairs = [(i, j) for i in range(len(x)) for j in range(i)]
    return sum(np.sign(x[i] - x[j]) * np.sign(z[i] - z[j]) for i, j in pairs) / len(pairs)


def common_items(x, z):
    return float(len(set(x) & set(z))) + 1.0


def inputs(seed=0):
    """Inputs of three kinds, the kind, and a generator."""
    rng = np.random.default_rng(seed)
    kind = np.arange(N) % 3
    return rng.normal(size=(N, 4)) * 0.3 + 2.0 * np.eye(4)[kind], kind


def words(kind):
    return [("axe", "bit", "cog")[k] for k in kind]


def networkx_graphs(kind):
    networkx = pytest.importorskip("networkx")
    edges = [[(0, 1), (1, 2)], [(2, 3)], [(0, 3), (1, 3), (0, 2)]]
    return [networkx.Graph(edges[k]) for k in kind]


def graphs(kind):
    edges = [[(0, 1), (1, 2)], [(2, 3)], [(0, 3), (1, 3), (0, 2)]]
    return [Graph(edges[k]) for k in kind]


def rankings(kind):
    return [((0, 1, 2, 3), (3, 2, 1, 0), (1, 0, 3, 2))[k] for k in kind]


def ragged(kind):
    return [([1], [2, 3, 4], [])[k] for k in kind]


def objects(make):
    """The same outputs in a 1-D object array."""

    def build(kind):
        values = make(kind)
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array

    return build


def fingerprints(kind):
    bits = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]], dtype=float)
    return sparse.csr_array(bits[kind])


STRUCTURED = {
    "strings": (words, FromFunction(shared_letters)),
    "string array": (lambda kind: np.array(words(kind)), FromFunction(shared_letters)),
    "string objects": (objects(words), FromFunction(shared_letters)),
    "string classes": (words, Delta()),
    "graphs": (graphs, FromFunction(shared_edges)),
    "networkx": (networkx_graphs, FromFunction(shared_edges)),
    "rankings": (rankings, Normalized(FromFunction(concordance))),
    "ragged": (ragged, FromFunction(common_items)),
    "ragged objects": (objects(ragged), FromFunction(common_items)),
}


@pytest.fixture(params=STRUCTURED)
def case(request):
    make, kernel = STRUCTURED[request.param]
    X, kind = inputs()
    return X, make(kind), kernel


def test_predict_gives_a_flat_object_array_of_training_outputs(case):
    X, y, kernel = case
    predicted = IOKR(RBF(0.5), output_kernel=kernel, alpha=0.01).fit(X, y).predict(X[:5])
    assert isinstance(predicted, np.ndarray)
    assert predicted.dtype == object
    assert predicted.shape == (5,)
    for found, true in zip(predicted, list(y)[:5], strict=True):  # well separated kinds: no mistakes
        assert type(found) is type(true) or isinstance(found, str)
        assert found == true or found.edges == true.edges


def test_cross_val_predict_of_structured_outputs(case):
    X, y, kernel = case
    cv = KFold(3)
    model = IOKR(RBF(0.5), output_kernel=kernel, alpha=0.01)
    predicted = cross_val_predict(model, X, y, cv=cv)
    assert predicted.shape == (N,)
    assert predicted.dtype == object
    for train, test in cv.split(X):
        model.fit(X[train], [y[i] for i in train])
        for found, expected in zip(predicted[test], model.predict(X[test]), strict=True):
            assert found is expected or found == expected


def test_grid_search_over_structured_outputs(case):
    X, y, kernel = case
    grid = {"alpha": [0.01, 1e4], "kernel__gamma": [0.5]}
    search = GridSearchCV(IOKR(RBF(1.0), output_kernel=kernel), grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_ == {"alpha": 0.01, "kernel__gamma": 0.5}
    assert search.best_score_ > 0.5  # h explains the kinds
    assert search.predict(X[:2]).shape == (2,)


def test_train_test_split_of_structured_outputs(case):
    X, y, kernel = case
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    assert IOKR(RBF(0.5), output_kernel=kernel, alpha=0.01).fit(X_train, y_train).score(X_test, y_test) > 0.5


def test_score_is_r2_in_the_output_feature_space(case):
    X, y, kernel = case
    train, test = np.arange(0, N, 2), np.arange(1, N, 2)
    y_train, y_test = [y[i] for i in train], [y[i] for i in test]
    model = IOKR(RBF(0.5), output_kernel=kernel, alpha=0.1).fit(X[train], y_train)

    def gram(a, b):
        return np.array([[float(model.output_kernel_([s], [t])[0, 0]) for t in b] for s in a])

    B = model.weights(X[test])
    own, cross = gram(y_test, y_test), gram(y_test, y_train)
    residual = np.trace(own) - 2 * np.sum(B * cross) + np.sum((B @ gram(y_train, y_train)) * B)
    total = np.trace(own) - own.sum() / len(test)
    assert_allclose(model.score(X[test], y_test), 1 - residual / total, rtol=1e-9)


def test_iokrcv_of_structured_outputs(case):
    X, y, kernel = case
    model = IOKRCV(RBF(0.5), output_kernel=kernel, alphas=(1e-2, 1e4)).fit(X, y)
    assert model.alpha_ == 1e-2
    assert model.loo_errors_.shape == (2,)
    assert model.predict(X[:3]).shape == (3,)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_sparse_outputs(container):
    X, kind = inputs()
    Y = container(fingerprints(kind))
    model = IOKR(RBF(0.5), output_kernel=Tanimoto(), alpha=0.01)
    predicted = model.fit(X, Y).predict(X)
    assert type(predicted) is np.ndarray  # dense
    assert_array_equal(predicted, Y.toarray())
    assert_array_equal(cross_val_predict(model, X, Y, cv=KFold(3)), Y.toarray())
    search = GridSearchCV(model, {"alpha": [0.01, 1e4]}, cv=3, error_score="raise").fit(X, Y)
    assert search.best_params_ == {"alpha": 0.01}
    dense = GridSearchCV(model, {"alpha": [0.01, 1e4]}, cv=3).fit(X, Y.toarray())
    assert_allclose(search.best_score_, dense.best_score_, rtol=1e-10)


@pytest.mark.parametrize("output_kernel", [None, Linear()])
def test_sparse_vector_outputs_equal_dense_ones(output_kernel):
    X, kind = inputs()
    Y = fingerprints(kind)
    model = IOKR(RBF(0.5), output_kernel=output_kernel, alpha=0.1)
    sparse_answer = model.fit(X, Y).predict(X)
    dense_answer = model.fit(X, Y.toarray()).predict(X)
    assert type(sparse_answer) is np.ndarray
    assert_allclose(sparse_answer, dense_answer, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shape", [(N,), (N, 1), (N, 3)])
@pytest.mark.parametrize("output_kernel", [None, Linear(), RBF(0.5)])
def test_numeric_outputs_keep_their_number_of_axes(shape, output_kernel):
    X, _ = inputs()
    y = np.random.default_rng(1).normal(size=shape)
    model = IOKR(RBF(0.5), output_kernel=output_kernel, alpha=0.01).fit(X, y)
    assert model.predict(X[:4]).shape == (4, *shape[1:])
    assert cross_val_predict(model, X, y, cv=3).shape == shape
    if output_kernel is not None:  # pre-images are training outputs
        assert set(model.predict(X).ravel()) <= set(y.ravel())


def test_rankings_in_the_rows_of_an_array():
    X, kind = inputs()
    Y = np.array(rankings(kind))
    model = IOKR(RBF(0.5), output_kernel=Normalized(FromFunction(concordance)), alpha=0.01)
    predicted = cross_val_predict(model, X, Y, cv=KFold(3))
    assert_array_equal(predicted, Y)
    assert predicted.dtype == Y.dtype
    search = GridSearchCV(model, {"alpha": [0.01, 1e4]}, cv=3, error_score="raise").fit(X, Y)
    assert search.best_params_ == {"alpha": 0.01}


def test_grid_search_over_whole_kernels():
    X, kind = inputs()
    grid = {"kernel": [RBF(0.5), RBF(1e6)], "output_kernel": [Delta(), FromFunction(shared_letters)]}
    search = GridSearchCV(IOKR(alpha=0.01), grid, cv=3, error_score="raise").fit(X, words(kind))
    assert search.best_params_["kernel"].gamma == 0.5
    assert list(search.predict(X)) == words(kind)


def test_labels_come_back_with_their_type():
    X, kind = inputs()
    predicted = IOKR(RBF(0.5), output_kernel=Delta(), alpha=0.01).fit(X, kind).predict(X)
    assert_array_equal(predicted, kind)
    assert predicted.dtype == kind.dtype
    assert predicted.shape == (N,)


def test_threshold_gives_binary_vectors():
    X, kind = inputs()
    Y = fingerprints(kind).toarray()
    model = IOKR(RBF(0.5), output_kernel=Linear(), decoder=Threshold(), alpha=0.01).fit(X, Y)
    assert_array_equal(model.predict(X), Y)
    assert cross_val_predict(model, X, Y, cv=3).shape == Y.shape


@pytest.mark.parametrize("lengths", [(2, 2, 2), (1, 2, 3)], ids=["equal", "ragged"])
def test_lists_of_arrays_are_objects(lengths):
    X, kind = inputs()
    y = [np.arange(lengths[k]) + 10 * k for k in kind]
    model = IOKR(RBF(0.5), output_kernel=FromFunction(common_items), alpha=0.01)
    predicted = cross_val_predict(model, X, y, cv=KFold(3))
    assert predicted.dtype == object
    assert predicted.shape == (N,)
    for found, true in zip(predicted, y, strict=True):
        assert_array_equal(found, true)
    assert model.fit(X, y).score(X, y, candidates=y[:3]) == 1.0


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int16, np.float16, np.float32, ">f8"])
def test_number_types(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if dtype is bool else 200, size=(N, 4)).astype(dtype)
    Y = rng.integers(0, 2 if dtype is bool else 100, size=(N, 2)).astype(dtype)
    for kernel in Linear(), RBF(1e-4), Tanimoto():
        expected = IOKR(kernel).fit(X.astype(float), Y.astype(float)).predict(X.astype(float))
        assert_allclose(IOKR(kernel).fit(X, Y).predict(X), expected, rtol=1e-6, atol=1e-5)


def test_lists_of_numbers_are_vectors():
    X, _ = inputs()
    Y = np.random.default_rng(0).normal(size=(N, 2))
    from_lists = IOKR(RBF(0.5)).fit(X.tolist(), Y.tolist()).predict(X.tolist())
    assert_array_equal(from_lists, IOKR(RBF(0.5)).fit(X, Y).predict(X))


def test_structured_inputs_through_cross_validation():
    _, kind = inputs()
    X = words(kind)
    Y = np.eye(3)[kind]
    model = IOKR(FromFunction(shared_letters), alpha=0.01)
    predicted = cross_val_predict(model, X, Y, cv=KFold(3))
    assert_array_equal(np.argmax(predicted, axis=1), kind)
    assert cross_val_score(model, X, Y, cv=KFold(3)).min() > 0.9
    assert not hasattr(model.fit(X, Y), "n_features_in_")


def test_graph_inputs():
    _, kind = inputs()
    X, y = graphs(kind), words(kind)
    model = IOKR(FromFunction(shared_edges), output_kernel=Delta(), alpha=0.01)
    assert list(cross_val_predict(model, X, y, cv=KFold(3))) == y


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search_over_both_bandwidths(n_jobs):
    X, _ = inputs()
    Y = np.random.default_rng(1).normal(size=(N, 2)) + X[:, :2]
    grid = {"kernel__gamma": [0.1, 1.0], "output_kernel__gamma": [0.05, 2.0], "alpha": [0.1]}
    model = IOKR(RBF(1.0), output_kernel=RBF(1.0))
    cv = KFold(3)
    search = GridSearchCV(model, grid, cv=cv, n_jobs=n_jobs, error_score="raise").fit(X, Y)
    for params, mean in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        by_hand = []
        for train, test in cv.split(X):
            kernels = RBF(params["kernel__gamma"]), RBF(params["output_kernel__gamma"])
            fitted = IOKR(kernels[0], output_kernel=kernels[1], alpha=0.1).fit(X[train], Y[train])
            by_hand.append(fitted.score(X[test], Y[test]))
        assert_allclose(mean, np.mean(by_hand), rtol=1e-10)
    assert len(set(search.cv_results_["mean_test_score"])) == 4


def test_score_of_vectors_is_scikit_learns_variance_weighted_r2():
    from sklearn.metrics import r2_score

    X, _ = inputs()
    Y = np.random.default_rng(1).normal(size=(N, 3)) * [1.0, 5.0, 0.1]
    weight = np.random.default_rng(2).uniform(size=N)
    model = IOKR(RBF(0.5), alpha=0.1).fit(X[::2], Y[::2])
    expected = r2_score(Y, model.predict(X), multioutput="variance_weighted")
    assert_allclose(model.score(X, Y), expected, rtol=1e-12)
    expected = r2_score(Y, model.predict(X), sample_weight=weight, multioutput="variance_weighted")
    assert_allclose(model.score(X, Y, sample_weight=weight), expected, rtol=1e-12)
    result = cross_validate(model, X, Y, scoring="r2", cv=3, error_score="raise")
    assert np.isfinite(result["test_score"]).all()
