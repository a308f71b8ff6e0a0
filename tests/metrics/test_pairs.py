"""Rankings of pairs against counting, against scikit-learn, and on cases known by hand."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score, roc_auc_score

from iokr.metrics import (
    average_precision_pairs,
    early_precision,
    pair_metrics,
    precision_at_k,
    prevalence_pairs,
    roc_auc_pairs,
)
from reference import assert_close

ALL = [roc_auc_pairs, average_precision_pairs, early_precision]


def lists(seed, ties):
    rng = np.random.default_rng(seed)
    truth, scores = rng.uniform(size=60) < 0.3, rng.normal(size=60)
    return truth, np.round(scores) if ties else scores


@pytest.mark.parametrize("ties", [False, True])
def test_agree_with_scikit_learn(ties):
    for seed in range(5):
        truth, scores = lists(seed, ties)
        assert_close(roc_auc_pairs(truth, scores), roc_auc_score(truth, scores), 1e-14)
        assert_close(average_precision_pairs(truth, scores), average_precision_score(truth, scores), 1e-14)


@pytest.mark.parametrize("ties", [False, True])
def test_area_under_the_roc_curve_counts_pairs_of_pairs(ties):
    truth, scores = lists(7, ties)
    wins = [(a > b) + (a == b) / 2 for a in scores[truth] for b in scores[~truth]]
    assert_close(roc_auc_pairs(truth, scores), np.mean(wins), 1e-14)


def test_precision_at_k_is_its_mean_over_orders_of_equal_scores():
    truth, scores = lists(3, ties=True)
    rng = np.random.default_rng(0)
    for k in (1, 7, 30, 60):
        means = []
        for _ in range(4000):
            shuffled = rng.permutation(60)
            order = shuffled[np.argsort(-scores[shuffled], kind="stable")]
            means.append(truth[order[:k]].mean())
        assert abs(precision_at_k(truth, scores, k) - np.mean(means)) < 0.02
    assert precision_at_k(truth, scores, 60) == prevalence_pairs(truth)


def test_early_precision_is_precision_at_the_number_of_links():
    truth, scores = lists(4, ties=False)
    assert early_precision(truth, scores) == precision_at_k(truth, scores, int(truth.sum()))
    assert early_precision(truth, truth + 0.0) == 1.0


def test_chance_is_a_half_and_the_prevalence():
    rng = np.random.default_rng(0)
    truth, scores = rng.uniform(size=200_000) < 0.05, rng.normal(size=200_000)
    assert abs(roc_auc_pairs(truth, scores) - 0.5) < 0.01
    assert abs(average_precision_pairs(truth, scores) - prevalence_pairs(truth)) < 0.003
    constant = np.zeros(len(truth))
    assert roc_auc_pairs(truth, constant) == 0.5
    assert average_precision_pairs(truth, constant) == early_precision(truth, constant) == prevalence_pairs(truth)


def test_matrices_are_read_above_the_diagonal():
    rng = np.random.default_rng(1)
    W = np.triu(rng.uniform(size=(12, 12)) < 0.4, k=1)
    S = rng.normal(size=(12, 12))
    rows, columns = np.triu_indices(12, k=1)
    for adjacency in (W + W.T, sparse.csr_matrix(W + W.T), (W + W.T) * 2.5):
        for metric in ALL:
            assert metric(adjacency, S) == metric(W[rows, columns], S[rows, columns])
    where = np.triu(rng.uniform(size=(12, 12)) < 0.5)
    kept = where[rows, columns]
    for metric in ALL:
        assert metric(W + W.T, S, where=where) == metric(W[rows, columns][kept], S[rows, columns][kept])
    assert prevalence_pairs(W + W.T, where=where) == W[rows, columns][kept].mean()


def test_all_figures_at_once():
    truth, scores = lists(5, ties=True)
    figures = pair_metrics(truth, scores)
    assert figures == {
        "roc_auc": roc_auc_pairs(truth, scores),
        "average_precision": average_precision_pairs(truth, scores),
        "early_precision": early_precision(truth, scores),
        "prevalence": truth.mean(),
        "n_pairs": 60,
        "n_links": truth.sum(),
    }


def test_without_links_or_without_others():
    assert np.isnan(roc_auc_pairs([0, 0], [1.0, 2.0])) and np.isnan(roc_auc_pairs([1, 1], [1.0, 2.0]))
    assert np.isnan(average_precision_pairs([0, 0], [1.0, 2.0])) and np.isnan(early_precision([0], [1.0]))
    assert average_precision_pairs([1, 1], [1.0, 2.0]) == 1.0


@pytest.mark.parametrize("metric", ALL)
def test_refusals(metric):
    with pytest.raises(ValueError, match=r"`truth` has shape \(2,\) but `scores` has \(3,\)"):
        metric([1, 0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="NaN"):
        metric([1, 0], [1.0, np.nan])
    with pytest.raises(ValueError, match="`truth` contains NaN"):
        metric([1.0, np.nan, 0.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="no pairs"):
        metric([], [])
    with pytest.raises(ValueError, match="no pairs"):
        metric([[1]], [[1.0]])
    with pytest.raises(ValueError, match="square"):
        metric(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="`where` has shape"):
        metric([1, 0], [1.0, 2.0], where=[True])
    with pytest.raises(ValueError, match="`truth` must be numbers"):
        metric(["a", "b"], [1.0, 2.0])


@pytest.mark.parametrize("metric", ALL)
def test_links_below_the_diagonal_are_not_overlooked(metric):
    """As when an edge list is put into a matrix in the direction it happens to have."""
    rng = np.random.default_rng(0)
    one_way = np.zeros((6, 6))
    one_way[[0, 3, 5], [1, 2, 4]] = 1
    scores = rng.normal(size=(6, 6))
    with pytest.raises(ValueError, match="`truth` has entries below the diagonal that are not above it"):
        metric(one_way, scores)
    both = np.maximum(one_way, one_way.T)
    assert metric(np.triu(both), scores) == metric(both, scores)
    rows = np.zeros((6, 6), dtype=bool)
    rows[3] = True
    with pytest.raises(ValueError, match="`where` has entries below the diagonal"):
        metric(both, scores, where=rows)


def test_refuses_more_than_there_are():
    with pytest.raises(ValueError, match="at most the number of pairs, 2, got 3"):
        precision_at_k([1, 0], [1.0, 2.0], 3)
    with pytest.raises(ValueError, match="`k` must be an integer of at least 1"):
        precision_at_k([1, 0], [1.0, 2.0], 0)


def test_a_pair_of_unknown_truth_can_be_left_out():
    truth, scores = np.array([1.0, np.nan, 0.0]), [3.0, 2.0, 1.0]
    assert roc_auc_pairs(truth, scores, where=~np.isnan(truth)) == 1.0
