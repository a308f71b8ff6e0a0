"""`AllPairs` is `PairModel` on every pair of labelled nodes; `AllPairsCV` chooses by folds of nodes."""

import numpy as np
import pytest

from iokr.datasets import make_communities
from iokr.estimators.pairs.network import AllPairsCV
from iokr.kernels import RBF
from iokr.rivals import PairLinks


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
    assert model.kernel_.gamma == 0.1 and model.scores_.shape == (2, 4)
    assert model.best_index_ == tuple(np.argwhere(model.scores_ == model.scores_.max())[0])
