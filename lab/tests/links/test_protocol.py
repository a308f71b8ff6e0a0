"""Folds over nodes, against plain loops."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from iokr import LinkPredictor
from iokr.apps.links.baselines import Naive
from iokr.kernels import RBF, Precomputed
from iokr.model_selection import NodeKFold
from iokr_lab.baselines import LocalModels
from iokr_lab.links import protocol as link_protocol
from iokr_lab.links.protocol import Fold, best, cross_validated, five_fold, measures_of
from iokr_lab.lookup import Lookup
from link_samples import K, N, W, X


def test_lookup_is_the_matrix_and_is_not_copied():
    ours = LinkPredictor(Lookup(K), alpha=0.3).fit(np.arange(N), W, labeled=np.arange(20))
    assert ours.model_.kernel_.matrix is K
    theirs = LinkPredictor(Precomputed(K), alpha=0.3).fit(np.arange(N), W, labeled=np.arange(20))
    np.testing.assert_allclose(ours.decision_function(), theirs.decision_function(), atol=1e-10)


def test_a_fold_is_chosen_on_training_nodes_and_evaluated_on_test_by_training_pairs():
    candidates = [LinkPredictor(alpha=alpha) for alpha in (1e-4, 0.3, 100.0)]
    train, test = next(NodeKFold(5, random_state=3).split(np.arange(N)))
    folds = list(NodeKFold(4, random_state=3).split(train))
    means = {name: [] for name in link_protocol.MEASURES}
    for candidate in candidates:
        figures = []
        for inner, held_out in folds:
            known, new = train[inner], train[held_out]
            model = LinkPredictor(RBF(0.5), alpha=candidate.alpha).fit(X[known], W[np.ix_(known, known)])
            scores = model.decision_function(X[new], X[known]).ravel()
            truth = W[np.ix_(new, known)].ravel()
            figures.append((100 * roc_auc_score(truth, scores), 100 * average_precision_score(truth, scores)))
        for name, value in zip(link_protocol.MEASURES, np.mean(figures, axis=0), strict=True):
            means[name].append(value)
    chosen = best(candidates, K, W, train, folds)
    odds = [np.prod([v / (100 - v) for v in pair]) for pair in zip(*means.values(), strict=True)]
    assert chosen == {name: candidates[int(np.argmax(v))] for name, v in (means | {"both": odds}).items()}
    fold = cross_validated(candidates, K, W, train, test, folds)
    model = LinkPredictor(RBF(0.5), alpha=chosen["roc_auc"].alpha).fit(X[train], W[np.ix_(train, train)])
    scores, truth = model.decision_function(X[test], X[train]).ravel(), W[np.ix_(test, train)].ravel()
    assert fold["roc_auc"] == pytest.approx(100 * roc_auc_score(truth, scores))
    assert fold["seconds"] > 0
    for criterion, model in chosen.items():
        fold = cross_validated(candidates, K, W, train, test, folds, (criterion,))
        model = LinkPredictor(RBF(0.5), alpha=model.alpha).fit(X[train], W[np.ix_(train, train)])
        scores = model.decision_function(X[test], X[train]).ravel()
        assert fold["roc_auc"] == pytest.approx(100 * roc_auc_score(truth, scores))
        assert fold["average_precision"] == pytest.approx(100 * average_precision_score(truth, scores))


def test_the_links_of_test_nodes_are_never_read():
    """Scores of a fold do not change when the links of its test nodes do."""
    methods = {
        "Naive": [Naive()],
        "Local": [LocalModels(alpha=alpha) for alpha in (1.0, 0.1)],
        "IOKR": [LinkPredictor()],
    }
    train, test = next(NodeKFold(5, random_state=0).split(np.arange(N)))
    other = W.copy()
    other[test] = other[:, test] = 0
    for candidates in methods.values():
        first, second = (link_protocol.known_new(candidates[-1], K, A, train, test)[0] for A in (W, other))
        np.testing.assert_array_equal(first, second)


def test_slow_methods_choose_on_one_inner_fold(monkeypatch):
    seen = []
    monkeypatch.setattr(link_protocol, "cross_validated", lambda *a: seen.append((a[3], a[4], len(a[5]))) or {})
    for name in ("EM", "kML"):
        five_fold(Fold(name, "", 1, 2), [Naive()], K, W, seed=3)
    train, test = list(NodeKFold(5, random_state=4).split(np.arange(N)))[2]
    assert [n for _, _, n in seen] == [4, 1]
    assert all(np.array_equal(one, train) and np.array_equal(other, test) for one, other, _ in seen)


def test_folds_without_links_are_left_out_of_the_choice():
    few = np.zeros((N, N))
    few[0, 1] = few[1, 0] = few[2, 3] = few[3, 2] = 1
    candidates = [LinkPredictor(alpha=alpha) for alpha in (0.1, 1.0)]
    train = np.arange(8)
    chosen = best(candidates, K, few, train, list(NodeKFold(4).split(train)))
    assert set(chosen.values()) <= set(candidates)


def test_measures_are_percentages():
    figures = measures_of([1, 0, 0, 1], [0.9, 0.1, 0.8, 0.8])
    assert figures["roc_auc"] == pytest.approx(87.5)
