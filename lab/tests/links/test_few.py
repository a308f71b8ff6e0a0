"""Few labelled nodes: draws, choices, and each kind of pairs."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from iokr import LinkPredictor, LinkPredictorCV
from iokr.kernels import RBF
from iokr.manifolds import Heat, Laplacian
from iokr.model_selection import NodeKFold
from iokr_lab.links.few import (
    BOTH_NEW,
    ONE_NEW,
    TEST,
    evaluate,
    few_labels,
    labeled_draw,
)
from iokr_lab.lookup import Lookup
from link_samples import K, W, X


def test_draws_are_disjoint_and_repeat():
    first, second, again = (labeled_draw(np.ones((100, 100)), 20, 0.1, (0, i)) for i in (0, 1, 0))
    assert (len(first.labeled), len(first.unlabeled), len(first.test)) == (8, 72, 20)
    assert np.array_equal(np.sort(np.concatenate([first.nodes, first.test])), np.arange(100))
    assert np.array_equal(first.labeled, again.labeled) and not np.array_equal(first.labeled, second.labeled)


def test_draws_have_a_link():
    one = np.zeros((30, 30))
    one[3, 8] = one[8, 3] = 1
    for i in range(5):
        assert {3, 8} <= set(labeled_draw(one, 5, 0.2, (0, i)).labeled.tolist())
    with pytest.raises(ValueError, match="at least two linked nodes are needed, got 5"):
        labeled_draw(np.zeros((30, 30)), 5, 0.2, (0, 0))


@pytest.mark.parametrize(
    "method",
    [[LinkPredictor(alpha=0.3)], LinkPredictorCV(alphas=(0.3,), manifold=Heat(0.0, 1.0))],
    ids=["candidates", "cv"],
)
def test_few_labels_evaluates_each_kind_of_pairs(method):
    draw = labeled_draw(W, 12, 0.4, (0, 0))
    found = few_labels(method, K, W, draw)
    known = draw.labeled
    model = LinkPredictor(RBF(0.5), alpha=0.3).fit(X[known], W[np.ix_(known, known)])
    S = model.decision_function(X, X)
    kinds = {
        ONE_NEW: [(i, j) for i, j in itertools.combinations(draw.nodes, 2) if not (i in known and j in known)],
        BOTH_NEW: list(itertools.combinations(draw.unlabeled, 2)),
        TEST: list(itertools.combinations(draw.test, 2)),
    }
    for kind, pairs in kinds.items():
        rows, columns = np.transpose(pairs)
        truth, scores = W[rows, columns], S[rows, columns]
        assert found.metrics[kind]["roc_auc"] == pytest.approx(100 * roc_auc_score(truth, scores))
        expected = 100 * average_precision_score(truth, scores)
        assert found.metrics[kind]["average_precision"] == pytest.approx(expected)


def test_few_labels_chooses_from_the_whole_grid_by_each_criterion():
    draw = labeled_draw(W, 12, 0.4, (0, 0))
    grid = {"alphas": (1e-3, 0.1, 10.0), "manifold_weights": (0.0, 0.1, 1.0), "manifold": Laplacian(1.0, 4)}
    place, known = np.arange(len(draw.labeled)), W[np.ix_(draw.labeled, draw.labeled)]
    for criterion, choice in itertools.product(("roc_auc", "average_precision", "both"), ("averaged", "best")):
        found = few_labels(LinkPredictorCV(**grid, rule=choice), K, W, draw, (criterion,))
        search = LinkPredictorCV(Lookup(K), **grid, scoring=criterion, rule=choice, cv=NodeKFold(5))
        search.fit(draw.nodes, known, labeled=place)
        assert found.model.alpha == pytest.approx(search.alpha_, rel=1e-9)
        assert found.model.manifold.weight == search.manifold_weight_
        assert found.metrics[ONE_NEW] == pytest.approx(evaluate(search.decision_function(), W, draw)[ONE_NEW], abs=1e-6)
