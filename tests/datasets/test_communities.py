"""The network made for the demo: links follow hidden positions, and the features only hint at them."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

from iokr.datasets import make_communities


@pytest.fixture(scope="module")
def network():
    return make_communities(400, seed=3)


def test_links_follow_positions(network):
    i, j = network.edges.T
    assert np.all(i < j)
    linked = np.linalg.norm(network.positions[i] - network.positions[j], axis=1)
    i, j = np.triu_indices(400, 1)
    everyone = np.linalg.norm(network.positions[i] - network.positions[j], axis=1)
    assert np.median(linked) < 0.25 * np.median(everyone)
    inside = network.communities[network.edges]
    assert 0.8 < np.mean(inside[:, 0] == inside[:, 1]) < 1


def test_only_the_relevant_features_tell_positions(network):
    def r2(columns):
        X, Z = network.X[:, columns], network.positions
        return RidgeCV().fit(X[:200], Z[:200]).score(X[200:], Z[200:])

    assert r2(network.relevant) > 0.8
    assert r2(~network.relevant) < 0.1
    assert network.X[:, ~network.relevant].var() > network.X[:, network.relevant].var()


def test_the_same_seed_gives_the_same_network(network):
    again, other = make_communities(400, seed=3), make_communities(400, seed=4)
    np.testing.assert_array_equal(again.X, network.X)
    np.testing.assert_array_equal(again.edges, network.edges)
    assert len(other.edges) != len(network.edges)


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="`n_nodes`"):
        make_communities(1)
    with pytest.raises(ValueError, match="`noise`"):
        make_communities(10, noise=-1.0)
