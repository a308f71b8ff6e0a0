"""PairModel on the splits of link prediction."""

import numpy as np
import pytest

from iokr import PairLinkPredictor
from iokr.kernels import RBF
from iokr_lab.baselines import TPPK
from iokr_lab.links.protocol import five_fold_methods, known_new
from reference import assert_close


def test_at_zero_it_is_the_tensor_product_kernel_on_all_pairs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    W = np.triu(rng.uniform(size=(12, 12)) < 0.3, 1)
    W = (W | W.T).astype(float)
    known = np.array([0, 2, 3, 5, 7, 8, 11])
    for unlinked in (0.0, -1.0, 0.3):
        ours = PairLinkPredictor(RBF(0.5), alpha=0.7, unlinked=unlinked).fit(X, W, known)
        theirs = TPPK(RBF(0.5), alpha=0.7, unlinked=unlinked).fit(X, W, known)
        assert_close(ours.decision_function(X[:4]), theirs.decision_function(X[:4]), 1e-9)


def test_labelled_nodes_are_known_again():
    """At δ = 1 a pair of a new and a labelled node is scored by the labelled one's own machine, and not at all else."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(10, 2))
    W = np.triu(rng.uniform(size=(10, 10)) < 0.4, 1)
    W = (W | W.T).astype(float)
    known = np.array([6, 0, 3, 5, 9])
    model = PairLinkPredictor(RBF(0.5), mix=1.0, strategy="duplicate", alpha=0.7).fit(X, W, known)
    scores = model.decision_function(X[[1, 2]])
    K = RBF(0.5)(X)
    Y = np.where(np.eye(5) > 0, 1.0, W[np.ix_(known, known)])
    expected = K[np.ix_([1, 2], known)] @ np.linalg.solve(K[np.ix_(known, known)] + 0.7 * np.eye(5), Y) / 2
    others = np.setdiff1d(np.arange(10), known)
    assert_close(scores[:, known], expected, 1e-6)
    assert_close(scores[:, others], np.zeros((2, 5)), 1e-12)


def test_local_models_score_pairs_with_a_labelled_node():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(9, 2))
    W = np.triu(rng.uniform(size=(9, 9)) < 0.4, 1)
    W = (W | W.T).astype(float)
    known, new = np.array([6, 0, 3, 5, 8]), np.array([1, 2, 4, 7])
    K = RBF(0.5)(X)
    Y = np.where(np.eye(5) > 0, 1.0, W[np.ix_(known, known)])
    model = PairLinkPredictor(RBF(0.5), strategy="local", alpha=0.7).fit(X, W, known)
    scores = model.decision_function()
    expected = K[np.ix_(new, known)] @ np.linalg.solve(K[np.ix_(known, known)] + 0.7 * np.eye(5), Y)
    assert_close(scores[np.ix_(new, known)], expected, 1e-9)
    assert_close(model.decision_function(X[new])[:, known], expected, 1e-9)
    assert np.isnan(scores[np.ix_(new, new)]).all()
    with pytest.raises(ValueError, match="Local models are of labelled nodes"):
        model.decision_function(X[new], X[new])


def test_it_stands_beside_the_link_predictor_with_the_same_splits():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    K = RBF(0.5)(X)
    W = ((K > 0.7) & ~np.eye(30, dtype=bool)).astype(float)
    order = rng.permutation(30)
    train, test = order[:24], order[24:]
    name = next(name for name in five_fold_methods() if name.startswith("PairModel"))
    for method in (name, "IOKR-ridge"):
        scores, _ = known_new(five_fold_methods()[method][0], K, W, train, test)
        truth = W[np.ix_(test, train)] > 0
        assert scores.shape == truth.shape
        assert scores[truth].mean() > scores[~truth].mean()
