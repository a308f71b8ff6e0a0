"""What is made and how it is evaluated."""

import numpy as np
import pytest

from iokr.kernels import Diffusion
from iokr.metrics import pair_metrics
from iokr_lab.synthetic_networks import protocol


def test_inputs_are_the_truncated_kernel(network):
    K = np.asarray(Diffusion(0.5, network.W)(np.arange(60)))
    np.testing.assert_allclose(network.kernel, K)
    P = np.eye(60) - 1 / 60
    X = protocol.components(K, 1.0)
    np.testing.assert_allclose(X @ X.T, P @ K @ P, atol=1e-12)
    kept, values = network.X.shape[1], np.linalg.eigvalsh(P @ K @ P)[::-1]
    assert values[:kept].sum() >= 0.95 * values.sum() > values[: kept - 1].sum()


@pytest.mark.parametrize("wanted", [12, 25, 40])
def test_calibration_gives_the_wanted_number_of_components(network, wanted):
    beta = protocol.calibrate(network.W, wanted)
    assert protocol.Network(network.W, beta, 0.95).X.shape[1] <= wanted
    assert protocol.Network(network.W, 0.98 * beta, 0.95).X.shape[1] >= wanted


def test_mixtures_have_their_densities():
    W = protocol.mixture(0.5, 0.05, np.random.default_rng(0), n=240)
    blocks = W.reshape(3, 80, 3, 80).mean(axis=(1, 3))
    assert np.all(np.abs(np.diag(blocks) - 0.5) < 0.03)
    assert np.all(np.abs(blocks[~np.eye(3, dtype=bool)] - 0.05) < 0.02)
    assert np.array_equal(W, W.T) and not np.diag(W).any()


def test_labeled_sets_have_links_and_follow_the_seed(network):
    sets = [protocol.labeled_set(network.W, 0.1, draw, seed=3) for draw in range(20)]
    assert all(network.W[np.ix_(s, s)].any() and len(np.unique(s)) == 6 for s in sets)
    assert len({tuple(s) for s in sets}) == 20
    assert np.array_equal(sets[7], protocol.labeled_set(network.W, 0.1, 7, seed=3))


def test_areas_are_those_of_the_metrics():
    rng = np.random.default_rng(0)
    scores, linked = rng.normal(size=500), rng.random(500) < 0.1
    expected, found = pair_metrics(linked, scores), protocol.areas(scores, linked)
    assert found["roc_auc"] == pytest.approx(100 * expected["roc_auc"])
    assert found["average_precision"] == pytest.approx(100 * expected["average_precision"])


def test_equal_scores_share_what_is_above():
    scores, linked = np.array([1.0, 1.0, 1.0, 0.0]), np.array([True, False, False, False])
    assert protocol.areas(scores, linked)["roc_auc"] == pytest.approx(100 * (2 / 2 + 1) / 3)
