"""`AllPairs` is `PairModel` on every pair of labelled nodes; `AllPairsCV` chooses by folds of nodes."""

import numpy as np
import pytest

from iokr import LinkPredictor, LinkStack
from iokr.datasets import make_communities
from iokr.estimators.pairs.network import AllPairs, AllPairsCV
from iokr.kernels import RBF
from iokr_lab.baselines import PairLinks


@pytest.fixture(scope="module")
def network():
    return make_communities(40, 3, n_relevant=6, n_irrelevant=2, noise=0.1, seed=1)


@pytest.mark.parametrize("mix", [0.0, 0.5, 1.0])
def test_equals_the_pair_model_on_all_pairs(network, mix):
    W, labeled = network.adjacency, np.arange(0, 40, 2)
    ours = AllPairsCV(RBF(0.1), alphas=(0.3,), mixes=(mix,)).fit(network.X, W, labeled)
    theirs = PairLinks(RBF(0.1), mix=mix, alpha=0.3).fit(network.X, W, labeled)
    np.testing.assert_allclose(ours.decision_function(), theirs.decision_function(), rtol=1e-9, atol=1e-11)


def test_chooses_by_pairs_with_a_node_that_it_has_not_seen(network):
    W = network.adjacency
    model = AllPairsCV([RBF(1e-6), RBF(0.1)], alphas=(0.1, 10.0), scoring="both").fit(network.X, W)
    assert model.kernel_.gamma == 0.1 and model.scores_.shape == (2, 2, 2)
    assert model.best_index_ == tuple(np.argwhere(model.scores_ == model.scores_.max())[0])


@pytest.mark.parametrize("mix", [0.0, 0.5, 1.0])
def test_scores_of_new_nodes_without_coefficients_are_those_with_them(network, mix):
    linked = network.adjacency.toarray() != 0
    known, new = np.arange(25), np.arange(25, 40)
    K, grid = RBF(0.1)(network.X), [(mix, 0.3), (mix, 3.0)]
    blocks = K[np.ix_(known, known)], linked[np.ix_(known, known)]
    own = np.where(np.arange(40) < 25, np.arange(40), -1)
    told = AllPairs.new_scores(*blocks, K[np.ix_(new, known)], K[np.ix_(new, known)], grid)
    for F, model in zip(told, AllPairs.path(*blocks, grid), strict=True):
        A, B = model.factors(K[:, known], own)
        np.testing.assert_allclose(F, A[new] @ B.T, rtol=1e-9, atol=1e-11)


def test_nodes_that_come_later_are_scored_as_if_they_had_been_there(network):
    W, labeled = network.adjacency, np.arange(25)
    model = AllPairsCV(RBF(0.1), alphas=(0.3,), mixes=(0.5,)).fit(network.X, W, labeled)
    told = model.decision_function(network.X[25:], network.X[30:])
    np.testing.assert_allclose(told, model.decision_function()[25:, 30:], rtol=1e-9, atol=1e-12)
    alone = AllPairsCV(RBF(0.1), alphas=(0.3,), mixes=(0.5,)).fit(network.X, W[:25, :25], labeled)
    np.testing.assert_array_equal(alone.decision_function(), model.decision_function())


def test_links_among_the_labelled_nodes_alone_new_nodes_and_a_stack(network):
    W, labeled = network.adjacency.toarray(), np.arange(0, 40, 2)
    whole = AllPairsCV(RBF(0.1), alphas=(0.3,), mixes=(0.5,)).fit(network.X, W, labeled)
    part = AllPairsCV(RBF(0.1), alphas=(0.3,), mixes=(0.5,)).fit(network.X, W[np.ix_(labeled, labeled)], labeled)
    np.testing.assert_array_equal(part.decision_function(), whole.decision_function())
    new = np.setdiff1d(np.arange(40), labeled)
    ours = whole.decision_function(network.X[new])
    np.testing.assert_allclose(ours, whole.decision_function()[new], rtol=1e-9, atol=1e-12)
    ours = whole.decision_function(network.X[new], network.X[new])
    np.testing.assert_allclose(ours, whole.decision_function()[np.ix_(new, new)], rtol=1e-9, atol=1e-12)
    stack = LinkStack([part, LinkPredictor(RBF(0.1))], cv=3).fit(network.X, W, labeled)
    assert stack.decision_function().shape == (40, 40)


@pytest.mark.parametrize("nodes", [[3, 0, 7, 31], np.arange(0, 40, 2)])
def test_scores_among_some_nodes_are_those_of_the_whole_matrix(network, nodes):
    labeled = np.arange(0, 40, 2)
    for model in (AllPairsCV(RBF(0.1), alphas=(0.3,), mixes=(0.5,)), LinkPredictor(RBF(0.1))):
        fitted = model.fit(network.X, network.adjacency, labeled)
        whole = np.asarray(fitted.decision_function())
        np.testing.assert_allclose(fitted.scores_among(nodes), whole[np.ix_(nodes, nodes)], rtol=1e-9, atol=1e-12)
