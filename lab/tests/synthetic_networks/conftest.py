"""A small random network and a labelled set of it."""

import numpy as np
import pytest

from iokr_lab.synthetic_networks import protocol


@pytest.fixture(scope="module")
def network():
    W = protocol.random_graph(0.08, np.random.default_rng(0), n=60)
    return protocol.Network(W, 0.5, 0.95)


@pytest.fixture(scope="module")
def labeled(network):
    return protocol.labeled_set(network.W, 0.4, 0, seed=0)
