"""Link prediction and pairs with other tools: tables of pandas and polars, copies, pickles, pages of notebooks."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from iokr import LinkPredictor, LinkPredictorCV, PairModel
from iokr.kernels import RBF
from iokr.manifolds import Laplacian
from network_samples import network

S = network(1, N=26, n=18)
FRAME = pd.DataFrame(S.X).rename(columns=lambda j: f"x{j}")
PAIRS = np.argwhere(np.triu(np.ones((26, 26)), k=1))[::3]
LINKED = S.W[PAIRS[:, 0], PAIRS[:, 1]] > 0


def fit_links(model, X):
    return clone(model).fit(X, S.W, labeled=S.labeled)


def fit_pairs(model, X):
    return clone(model).fit(X, PAIRS, LINKED)


def scores(model):
    return model.decision_function(PAIRS) if isinstance(model, PairModel) else model.decision_function()


MODELS = [
    (LinkPredictor(RBF(0.5), alpha=0.1), fit_links),
    (LinkPredictor(RBF(0.5), manifold=Laplacian(0.1, n_neighbors=3)), fit_links),
    (LinkPredictorCV([RBF(0.1), RBF(1.0)], alphas=(0.1, 1.0)), fit_links),
    (PairModel(RBF(0.5), alpha=0.1), fit_pairs),
]
each_model = pytest.mark.parametrize(("model", "fit"), MODELS, ids=["ridge", "semi", "path", "pairs"])


@each_model
def test_tables_are_read_as_arrays_and_their_columns_remembered(model, fit):
    expected = scores(fit(model, S.X))
    polars = pytest.importorskip("polars")
    for table in (FRAME, polars.DataFrame({name: FRAME[name].to_numpy() for name in FRAME})):
        fitted = fit(model, table)
        assert_allclose(scores(fitted), expected, rtol=1e-9)
        assert_array_equal(fitted.feature_names_in_, FRAME.columns)
        assert fitted.n_features_in_ == S.X.shape[1]


@pytest.mark.parametrize("model", [model for model, fit in MODELS if fit is fit_links], ids=["ridge", "semi", "path"])
def test_columns_in_another_order_are_rejected(model):
    fitted = fit_links(model, FRAME)
    with pytest.raises(ValueError, match="feature names"):
        fitted.decision_function(FRAME[FRAME.columns[::-1]])


@each_model
def test_copies_and_pickles_have_equal_scores(model, fit):
    fitted = fit(model, S.X)
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert_array_equal(scores(other), scores(fitted))
    assert str(clone(fitted)) == str(model)


@each_model
def test_notebooks_show_the_parameters(model, fit):
    page = fit(model, S.X)._repr_html_()
    assert type(model).__name__ in page and "RBF" in page


def test_parameters_of_components_are_set_by_name():
    model = LinkPredictor(RBF(0.5), manifold=Laplacian(0.1)).set_params(kernel__gamma=2.0, manifold__weight=0.3)
    assert (model.kernel.gamma, model.manifold.weight) == (2.0, 0.3)
    expected = fit_links(LinkPredictor(RBF(2.0), manifold=Laplacian(0.3)), S.X)
    assert_array_equal(scores(fit_links(model, S.X)), scores(expected))
