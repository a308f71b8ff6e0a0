"""A frame as y comes back as a frame, with its columns and the index of X; a Series comes back as an array."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict

import iokr
from iokr import (
    IOKR,
    IOKRCV,
    Conformal,
    Functional,
    FunctionalCV,
    IOKRRegressor,
    MultiTask,
    MultiTaskCV,
    Neighbors,
    OutputKernelBoosting,
    OutputKernelForest,
    OutputKernelTree,
    Surrogate,
)
from iokr.data.frames import as_frame, frame_of
from iokr.decoders import Threshold
from iokr.kernels import RBF, Delta, Linear
from iokr.metrics import PredictionDisplay, decoded_scorer

rng = np.random.default_rng(0)
NAMES = [f"plot {k}" for k in range(20)]
X = pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b", "c"], index=NAMES)
Y = pd.DataFrame({"height": np.sin(X["a"]), "width": X["b"] ** 2}, index=NAMES)
MODELS = [
    IOKR(),
    IOKRCV(alphas=(0.1, 1.0)),
    IOKRCV(alphas=(0.1, 1.0), cv=3),
    IOKRRegressor(),
    IOKRRegressor(alpha=0.1, intercept=True),
    MultiTask(),
    MultiTask(coupling="output"),
    MultiTaskCV(alphas=(0.1, 1.0), task_weights=(0.0, 0.5)),
    Functional(),
    FunctionalCV(alphas=(0.1, 1.0)),
    OutputKernelTree(random_state=0),
    OutputKernelForest(n_estimators=3, random_state=0),
    OutputKernelBoosting(n_estimators=3, random_state=0),
    Neighbors(3),
    Surrogate(Ridge()),
    Conformal(IOKR(RBF(0.5))),
    IOKR(RBF(0.5), output_kernel=RBF(0.5)),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_pandas(model, tmp_path):
    plain = model.fit(X, Y.to_numpy()).predict(X[5:9])
    fitted = model.fit(X, Y)
    found = fitted.predict(X[5:9])
    assert isinstance(found, pd.DataFrame)
    assert list(found.columns) == ["height", "width"] and list(found.index) == NAMES[5:9]
    assert_allclose(found.to_numpy(), plain)
    unnamed = model.fit(X.to_numpy(), Y).predict(X[5:9].to_numpy())
    assert list(unnamed.index) == [0, 1, 2, 3] and list(unnamed.columns) == ["height", "width"]
    assert np.isfinite(model.fit(X, Y).score(X, Y)) if hasattr(model, "score") else True
    if not isinstance(model, Surrogate):
        iokr.save(model.fit(X, Y), tmp_path / "model.safetensors")
        pd.testing.assert_frame_equal(iokr.load(tmp_path / "model.safetensors").predict(X[5:9]), found)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_polars(model):
    inputs, outputs = pl.DataFrame(X.to_numpy(), schema=list(X)), pl.DataFrame(Y.to_numpy(), schema=list(Y))
    found = model.fit(inputs, outputs).predict(inputs[5:9])
    assert isinstance(found, pl.DataFrame) and found.columns == ["height", "width"]
    assert_allclose(found.to_numpy(), model.fit(X.to_numpy(), Y.to_numpy()).predict(X[5:9].to_numpy()))


def test_a_series_comes_back_as_an_array():
    found = IOKR().fit(X, Y["height"]).predict(X)
    assert isinstance(found, np.ndarray) and found.shape == (20,)
    assert isinstance(IOKR().fit(X, pl.Series(Y["height"].to_numpy())).predict(X), np.ndarray)


def test_a_frame_of_one_column_stays_one():
    found = IOKR().fit(X, Y[["height"]]).predict(X)
    assert list(found.columns) == ["height"] and found.shape == (20, 1)
    words = pd.DataFrame({"tree": np.where(X["a"] > 0, "ash", "birch")}, index=NAMES)
    found = IOKR(output_kernel=Delta(), alpha=0.1).fit(X, words).predict(X[:4])
    assert list(found.columns) == ["tree"] and set(found["tree"]) <= {"ash", "birch"}


def test_label_sets_keep_their_names():
    labels = pd.DataFrame({"wet": (X["a"] > 0).astype(int), "cold": (X["b"] > 0).astype(int)}, index=NAMES)
    model = IOKR(RBF(0.5), output_kernel=Linear(), decoder=Threshold(), alpha=0.1).fit(X, labels)
    assert list(model.predict(X[:3]).columns) == ["wet", "cold"]
    chosen = IOKR(RBF(0.5), output_kernel=Linear(), alpha=0.1).fit(X, labels)
    assert list(chosen.predict(X[:3], candidates=labels[:6]).index) == NAMES[:3]
    assert 0 <= chosen.score(X, labels, candidates=labels) <= 1
    assert np.isfinite(decoded_scorer("hamming")(chosen, X, labels))


def test_columns_of_any_names():
    several = pd.MultiIndex.from_tuples([("size", 1), ("size", 2)])
    assert IOKR().fit(X, Y.set_axis(several, axis=1)).predict(X).columns.equals(several)
    assert list(IOKR().fit(X, Y.set_axis([7, 9], axis=1)).predict(X).columns) == [7, 9]


def test_curves_elsewhere_are_arrays():
    model = Functional().fit(X, Y)
    assert isinstance(model.predict(X, at=[0.0, 0.5, 1.0]), np.ndarray)
    assert isinstance(model.decision_function(X), np.ndarray)
    assert set(model.table(X)) == {"id", "t", "value"}


def test_deviations_are_a_frame_too():
    mean, std = IOKRRegressor(alpha=0.1).fit(X, Y).predict(X, return_std=True)
    assert list(std.columns) == list(mean.columns) and list(std.index) == NAMES


def test_searches_and_folds_of_scikit_learn():
    assert GridSearchCV(IOKR(), {"alpha": [0.1, 1.0]}, cv=3).fit(X, Y).predict(X[:2]).shape == (2, 2)
    assert np.asarray(cross_val_predict(IOKR(), X, Y, cv=4)).shape == (20, 2)


def test_display():
    pytest.importorskip("matplotlib")
    PredictionDisplay.from_estimator(IOKR().fit(X, Y), X, Y)


def test_other_shapes_stay_arrays():
    frame = frame_of(Y)
    assert frame_of(Y["width"]) is None and frame_of(Y.to_numpy()) is None
    assert isinstance(as_frame(np.zeros((2, 3)), frame, X), np.ndarray)
    assert as_frame([1, 2], frame, X) == [1, 2]
