"""`Network`: cut by rows and columns together, so that scikit-learn's searches run on `LinkPredictor`."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from iokr import IOKR, LinkPredictor, LinkPredictorCV
from iokr.kernels import RBF, TensorPair
from iokr.model_selection import Network
from network_samples import network

S = network(1, N=40, n=40)


def test_a_part_of_a_part():
    whole = Network(S.W)
    rows, again = np.array([5, 3, 8, 20]), np.array([True, False, True, True])
    part = whole[rows][again]
    assert len(whole) == 40 and whole.shape == (40,) and len(part) == 3
    np.testing.assert_array_equal(part.nodes, [5, 8, 20])
    np.testing.assert_array_equal(part.adjacency.toarray(), S.W[np.ix_([5, 8, 20], [5, 8, 20])])
    np.testing.assert_array_equal(part.links_to(np.array([1, 2])), S.W[np.ix_([5, 8, 20], [1, 2])] > 0)
    np.testing.assert_array_equal(Network(csr_array(S.W))[:4].nodes, np.arange(4))
    assert repr(whole) == "Network(40 nodes)" and repr(part) == "Network(3 of 40 nodes)"
    with pytest.raises(ValueError, match="symmetric"):
        Network(np.triu(S.W))


def test_the_score_is_of_pairs_with_a_new_node():
    train, test = np.arange(0, 40, 2), np.arange(1, 40, 2)
    model = LinkPredictor(RBF(0.4), alpha=0.1).fit(S.X[train], Network(S.W)[train])
    plain = LinkPredictor(RBF(0.4), alpha=0.1).fit(S.X[train], S.W[np.ix_(train, train)])
    np.testing.assert_array_equal(model.decision_function(), plain.decision_function())
    scores = plain.decision_function(S.X, S.X)
    rows, columns = np.nonzero(np.triu(np.arange(40)[:, None] % 2 | np.arange(40)[None, :] % 2, k=1))
    expected = roc_auc_score(S.W[rows, columns] > 0, scores[rows, columns])
    assert model.score(S.X[test], Network(S.W)[test]) == pytest.approx(expected, rel=1e-12)
    some = np.arange(40)  # nodes of fit among those that are scored: the same pairs
    assert model.score(S.X[some], Network(S.W)[some]) == pytest.approx(expected, rel=1e-12)
    i, j = np.triu_indices(20, k=1)
    alone = roc_auc_score(S.W[test[i], test[j]] > 0, scores[test[i], test[j]])
    for adjacency in (S.W[np.ix_(test, test)], csr_array(S.W[np.ix_(test, test)])):
        assert plain.score(S.X[test], adjacency) == pytest.approx(alone, rel=1e-12)
    own = roc_auc_score(S.W[train[i], train[j]] > 0, scores[train[i], train[j]])
    assert model.score(S.X[train], Network(S.W)[train]) == pytest.approx(own, rel=1e-12)


def test_a_grid_search_is_fitting_and_scoring_each_fold():
    folds, alphas = KFold(3, shuffle=True, random_state=0), [1e-3, 0.1, 10.0]
    search = GridSearchCV(LinkPredictor(RBF(0.4)), {"alpha": alphas, "kernel__gamma": [0.1, 1.0]}, cv=folds)
    search.fit(S.X, Network(S.W))
    for place, options in enumerate(search.cv_results_["params"]):
        for k, (train, test) in enumerate(folds.split(S.X)):
            model = clone(search.estimator).set_params(**options).fit(S.X[train], S.W[np.ix_(train, train)])
            new = np.isin(np.arange(40), test)
            pairs = np.triu(new[:, None] | new[None, :], k=1)
            expected = roc_auc_score(S.W[pairs] > 0, model.decision_function(S.X, S.X)[pairs])
            assert search.cv_results_[f"split{k}_test_score"][place] == pytest.approx(expected, rel=1e-9)
    assert search.best_estimator_.decision_function().shape == (40, 40)
    scores = cross_val_score(LinkPredictorCV(RBF(0.4), alphas=alphas), S.X, Network(S.W), cv=folds)
    assert np.all(scores > 0.5)


def test_pairs_are_searched_as_objects():
    pairs = np.array([(i, j) for i in range(15) for j in range(i)])
    y = S.W[pairs[:, 0], pairs[:, 1]]
    model = IOKR(TensorPair(RBF(0.4), nodes=S.X))
    search = GridSearchCV(model, {"alpha": [0.1, 1.0], "kernel__base__gamma": [0.1, 1.0]}, cv=3).fit(pairs, y)
    assert len(search.cv_results_["params"]) == 4 and np.all(np.isfinite(search.cv_results_["mean_test_score"]))


def test_refusals():
    model = LinkPredictor(RBF(0.4)).fit(S.X, S.W)
    with pytest.raises(ValueError, match="a row and a column each"):
        model.score(S.X[:5], S.W)
    with pytest.raises(ValueError, match="needs links and other pairs"):
        model.score(S.X[:3], np.zeros((3, 3)))
    with pytest.raises(ValueError, match="must have the same length"):
        model.score(S.X[:3], Network(S.W))
