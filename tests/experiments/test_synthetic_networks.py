"""`synthetic-networks`, its parts on small graphs: what is made, chosen and judged is what the page says."""

import numpy as np
import pytest

from iokr import LinkPredictor
from iokr.experiments import synthetic_networks
from iokr.experiments import synthetic_networks_protocol as protocol
from iokr.experiments.synthetic_networks_published import MIXTURES, RANDOM
from iokr.kernels import RBF, Diffusion
from iokr.losses import MaxMargin
from iokr.manifolds import Heat
from iokr.metrics import pair_metrics


@pytest.fixture(scope="module")
def network():
    W = protocol.random_graph(0.08, np.random.default_rng(0), n=60)
    return protocol.Network(W, 0.5, 0.95)


@pytest.fixture(scope="module")
def labeled(network):
    return protocol.labelled_sets(network.W, 0.4, 1, seed=0)[0]


def test_printed_figures():
    assert len(RANDOM) == 12 and len(MIXTURES) == 16
    count, row = RANDOM[0.01, 95]
    assert count == 227
    assert [str(s) for s in row["ridge roc_auc"]] == ["90.6 ± 1.0", "95.4 ± 0.4", "98.0 ± 0.3"]
    assert str(MIXTURES[0.03, 1e-3, 100]["margin average_precision"][2]) == "4.0 ± 0.1"


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


def test_labelled_sets_have_links_and_follow_the_seed(network):
    sets = protocol.labelled_sets(network.W, 0.1, 20, seed=3)
    assert all(network.W[np.ix_(s, s)].any() and len(np.unique(s)) == 6 for s in sets)
    again = protocol.labelled_sets(network.W, 0.1, 20, seed=3)
    assert all(np.array_equal(a, b) for a, b in zip(sets, again, strict=True))


def test_areas_are_those_of_the_metrics():
    rng = np.random.default_rng(0)
    scores, linked = rng.normal(size=500), rng.random(500) < 0.1
    expected, found = pair_metrics(linked, scores), protocol.areas(scores, linked)
    assert found.roc_auc == pytest.approx(100 * expected["roc_auc"])
    assert found.average_precision == pytest.approx(100 * expected["average_precision"])


def test_ridge_is_judged_on_pairs_with_an_unlabelled_node(network, labeled):
    known = np.isin(np.arange(60), labeled)
    gamma = 0.3 / np.median(((network.X[:, None] - network.X[None]) ** 2).sum(axis=2)[np.triu_indices(60, 1)])
    model = LinkPredictor(RBF(gamma), output_kernel=Diffusion(network.beta), alpha=0.1)
    scores = model.fit(network.X, network.W, labeled=labeled).decision_function()
    expected = pair_metrics(network.W, scores, where=~(known[:, None] & known[None, :]))
    kernel = protocol.Lookup(network.gaussian(0.3))
    same = LinkPredictor(kernel, output_kernel=protocol.output_kernel(network, protocol.SUBGRAPH), alpha=0.1)
    found = protocol.judge(network, labeled)(same)
    assert found.roc_auc == pytest.approx(100 * expected["roc_auc"], abs=1e-3)
    assert found.average_precision == pytest.approx(100 * expected["average_precision"], abs=1e-3)


def test_choices_are_ordered(network, labeled):
    for reading in protocol.READINGS:
        found = protocol.ridge(network, labeled, reading)
        assert found.best.roc_auc == found.by_roc.roc_auc >= found.loo.roc_auc
        assert found.best.average_precision >= max(found.by_roc.average_precision, found.loo.average_precision)


def test_readings_differ_by_the_graph_of_the_output_kernel(network, labeled):
    block = protocol.output_kernel(network, protocol.BLOCK)
    K = np.asarray(block.fit(labeled)(labeled))
    np.testing.assert_allclose(K, network.kernel[np.ix_(labeled, labeled)])


def test_the_deformed_kernel_is_the_semi_supervised_margin(network, labeled):
    kernels = dict(protocol.margin_kernels(network))
    variant = (protocol.PENALTY, "width 1, μ/λ = 0.3")
    found = protocol.margins(network, labeled, [(variant, kernels[variant])])[variant]
    alpha = protocol.MARGIN_ALPHA
    model = LinkPredictor(
        protocol.Lookup(network.gaussian(1.0)),
        output_kernel=Diffusion(network.beta),
        loss=MaxMargin(),
        alpha=alpha,
        manifold=Heat(0.3 * alpha, literal=True),
    )
    with pytest.warns(UserWarning, match="different lengths"):
        expected = protocol.judge(network, labeled)(model)
    assert found.roc_auc == pytest.approx(expected.roc_auc, abs=0.05)


def test_the_report_on_small_networks(monkeypatch):
    """All tables are there, and the summary counts what the table says."""
    graph, mixture = protocol.random_graph, protocol.mixture
    monkeypatch.setattr(synthetic_networks, "random_graph", lambda d, rng: graph(10 * d, rng, n=60))
    monkeypatch.setattr(synthetic_networks, "mixture", lambda a, b, rng: mixture(10 * a, 10 * b, rng, n=60))
    monkeypatch.setattr(synthetic_networks, "calibrate", lambda W, count: protocol.calibrate(W, 40))
    report = synthetic_networks.run(seed=0, repeat=1)
    assert [len(table.rows) for table in report.tables] == [9, 9, 9, 9, 36, 9, 9, 48, 12]
    causes = report.tables[0].rows
    assert causes[1]["cells within 1.5 and 3"].split()[0] in report.summary
    assert "Table 8b" in report.html()
