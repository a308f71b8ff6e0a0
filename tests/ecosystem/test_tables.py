"""Tables as inputs: pandas, and polars where it is installed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, cross_val_predict

from iokr import IOKR, IOKRCV
from iokr.kernels import RBF, Delta, Linear

NAMES = ["mass", "charge", "age"]


def problem():
    rng = np.random.default_rng(0)
    return rng.normal(size=(20, 3)), rng.normal(size=(20, 2))


@pytest.fixture(params=["pandas", "polars"])
def frame(request):
    library = pytest.importorskip(request.param)
    return lambda array, names: library.DataFrame(dict(zip(names, array.T, strict=True)))


@pytest.mark.parametrize("make", [IOKR, IOKRCV])
def test_tables_are_their_values(frame, make):
    X, Y = problem()
    expected = make().fit(X, Y).predict(X)
    model = make().fit(frame(X, NAMES), frame(Y, ["a", "b"]))
    assert_array_equal(model.feature_names_in_, NAMES)
    assert model.n_features_in_ == 3
    predicted = model.predict(frame(X, NAMES))
    assert isinstance(predicted, type(frame(Y, ["a", "b"])))
    assert list(predicted.columns) == ["a", "b"]
    assert_allclose(predicted.to_numpy(), expected, rtol=1e-9, atol=1e-12)


def test_columns_in_another_order_are_rejected(frame):
    X, Y = problem()
    model = IOKR().fit(frame(X, NAMES), Y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(X[:, ::-1], NAMES[::-1]))


def test_unlabelled_columns_in_another_order_are_rejected(frame):
    from iokr.manifolds import Laplacian

    X, Y = problem()
    with pytest.raises(ValueError, match="X_unlabeled"):
        IOKR(manifold=Laplacian(0.1)).fit(frame(X, NAMES), Y, X_unlabeled=frame(X[:, ::-1], NAMES[::-1]))


def test_missing_targets_of_a_table(frame):
    X, Y = problem()
    Y[[1, 5], [0, 1]] = np.nan
    found = IOKR().fit(frame(X, NAMES), frame(Y, ["a", "b"])).predict(frame(X, NAMES))
    assert_allclose(found, IOKR().fit(X, Y).predict(X), rtol=1e-9, atol=1e-12)


def test_arrays_leave_no_feature_names():
    X, Y = problem()
    assert not hasattr(IOKR().fit(X, Y), "feature_names_in_")


def test_unlabelled_table(frame):
    from iokr.manifolds import Laplacian

    X, Y = problem()
    model = IOKR(RBF(0.5), manifold=Laplacian(0.3))
    expected = model.fit(X[:10], Y[:10], X_unlabeled=X[10:]).predict(X)
    found = model.fit(frame(X[:10], NAMES), Y[:10], X_unlabeled=frame(X[10:], NAMES)).predict(frame(X, NAMES))
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_series_with_a_shuffled_index():
    pandas = pytest.importorskip("pandas")
    X, Y = problem()
    index = np.random.default_rng(1).permutation(20)
    table = pandas.DataFrame(X, columns=NAMES, index=index)
    numbers = pandas.Series(Y[:, 0], index=index)
    predicted = IOKR().fit(table, numbers).predict(table)
    assert predicted.shape == (20,)
    assert_allclose(predicted, IOKR().fit(X, Y[:, 0]).predict(X), rtol=1e-9, atol=1e-12)

    words = pandas.Series(np.where(X[:, 0] > 0, "up", "down"), index=index)
    model = IOKR(Linear(), output_kernel=Delta(), alpha=0.01)
    predicted = cross_val_predict(model, table, words, cv=4)
    assert_array_equal(predicted, cross_val_predict(model, X, words.to_numpy(dtype=object), cv=4))
    assert np.mean(predicted == words.to_numpy()) > 0.7


def test_grid_search_of_tables(frame):
    X, Y = problem()
    search = GridSearchCV(IOKR(RBF(1.0)), {"kernel__gamma": [0.1, 1.0]}, cv=3, error_score="raise")
    tables = search.fit(frame(X, NAMES), frame(Y, ["a", "b"])).cv_results_["mean_test_score"]
    assert_allclose(tables, search.fit(X, Y).cv_results_["mean_test_score"], rtol=1e-9, atol=1e-12)
