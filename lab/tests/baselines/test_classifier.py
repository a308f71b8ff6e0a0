"""A classifier on features of pairs.

Tests of `iokr_lab.baselines.classifier` and `iokr_lab.baselines.vectors`.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from iokr.kernels import RBF, Precomputed
from iokr_lab.baselines import PairClassifier
from iokr_lab.baselines.classifier import pair_features

rng = np.random.default_rng(0)
N = 60
X = rng.normal(size=(N, 3))
W = (((X[:, None] - X[None]) ** 2).sum(axis=-1) < 1.0).astype(float) - np.eye(N)
KNOWN, NEW = np.arange(40), np.arange(40, N)


def test_features_do_not_depend_on_the_order():
    x, z = X[:5], X[5:10]
    found = pair_features(x, z)
    assert_array_equal(found, pair_features(z, x))
    assert_allclose(found[0], [*(x[0] * z[0]), *abs(x[0] - z[0]), x[0] @ z[0] / np.sqrt((x[0] @ x[0]) * (z[0] @ z[0]))])
    assert pair_features(np.zeros((1, 2)), np.ones((1, 2))).tolist() == [[0, 0, 1, 1, 0]]


def test_is_the_classifier_on_all_pairs():
    logistic = LogisticRegression()
    model = PairClassifier(classifier=logistic, unlinked=1e6).fit(X, W, KNOWN)
    rows, columns = np.triu_indices(40, k=1)
    expected = logistic.fit(pair_features(X[rows], X[columns]), W[rows, columns] > 0)
    scores = model.decision_function(X[NEW])
    assert_allclose(scores[3, 7], expected.decision_function(pair_features(X[[43]], X[[7]]))[0], rtol=1e-9)
    assert_allclose(model.decision_function(), model.decision_function().T, atol=1e-9)


def test_boosting_finds_links_of_new_nodes():
    scores = PairClassifier(random_state=0).fit(X, W, KNOWN).decision_function(X[NEW])[:, KNOWN]
    assert roc_auc_score(W[np.ix_(NEW, KNOWN)].ravel(), scores.ravel()) > 0.9


def test_so_many_unlinked_pairs_a_link():
    seen = []

    class Counting(LogisticRegression):
        def fit(self, X, y):
            seen.append(np.bincount(y.astype(int)))
            return super().fit(X, y)

    for unlinked in (1.0, 2.5):
        PairClassifier(classifier=Counting(), unlinked=unlinked, random_state=0).fit(X, W, KNOWN)
    links = int(np.triu(W[:40, :40]).sum())
    assert [count.tolist() for count in seen] == [[links, links], [round(2.5 * links), links]]


def test_a_forest_answers_by_its_log_odds():
    forest = RandomForestClassifier(20, min_samples_leaf=5)
    model = PairClassifier(classifier=forest, random_state=0).fit(X, W, KNOWN)
    again = PairClassifier(classifier=forest, random_state=0).fit(X, W, KNOWN)
    assert_array_equal(model.decision_function(X[NEW]), again.decision_function(X[NEW]))
    assert forest.random_state is None


def test_vectors_features_of_numbers_and_eigenfeatures():
    make = lambda *a, **k: PairClassifier(*a, classifier=LogisticRegression(), random_state=0, **k)  # noqa: E731
    expected = make().fit(X, W, KNOWN).decision_function()
    numbers = np.arange(N)
    for features in (X, csr_array(X)):
        given = make(Precomputed(X @ X.T), features=features).fit(numbers, W, KNOWN)
        assert_allclose(given.decision_function(), expected, rtol=1e-4, atol=1e-4)
    few = make(RBF(0.3), n_components=4).fit(X, W, KNOWN)
    assert few.classifier_.n_features_in_ == 9
    assert few.decision_function(X[NEW]).shape == (20, N)


def test_refusals():
    with pytest.raises(TypeError, match="`classifier` must be an object with `fit`"):
        PairClassifier(classifier="boosting").fit(X, W)
    with pytest.raises(ValueError, match="`unlinked` must be a positive number"):
        PairClassifier(unlinked=0).fit(X, W)
    with pytest.raises(ValueError, match="a kernel on indices of nodes"):
        PairClassifier(features=X).fit(X, W)
    with pytest.raises(ValueError, match="must have labelled nodes without a link"):
        PairClassifier().fit(X[:5], np.ones((5, 5)) - np.eye(5))
