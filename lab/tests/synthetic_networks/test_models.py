"""Ridge and margin at one setting and over the grid, and the rules that choose from it."""

import itertools

import numpy as np
import pytest

from iokr import LinkPredictor
from iokr.kernels import RBF, Diffusion
from iokr.losses import MaxMargin
from iokr.manifolds import Heat
from iokr.metrics import pair_metrics
from iokr.model_selection import NodeKFold
from iokr_lab.synthetic_networks import models, protocol


def test_ridge_is_evaluated_on_pairs_with_an_unlabelled_node(network, labeled):
    known = np.isin(np.arange(60), labeled)
    gamma = 0.3 / np.median(((network.X[:, None] - network.X[None]) ** 2).sum(axis=2)[np.triu_indices(60, 1)])
    model = LinkPredictor(RBF(gamma), output_kernel=Diffusion(network.beta), alpha=0.1)
    scores = model.fit(network.X, network.W, labeled=labeled).decision_function()
    expected = pair_metrics(network.W, scores, where=~(known[:, None] & known[None, :]))
    [kernel] = models.grams(network, [0.3], 0.0)
    found = models.ridge_at(network, labeled, kernel, models.output_kernel(network), alpha=0.1)
    assert found["roc_auc"] == pytest.approx(100 * expected["roc_auc"], abs=1e-3)
    assert found["average_precision"] == pytest.approx(100 * expected["average_precision"], abs=1e-3)


@pytest.fixture(scope="module")
def grid(network, labeled):
    return models.ridge_grid(network, labeled, models.grams(network, models.WIDTHS, 1.0), models.output_kernel(network))


def test_the_grid_holds_what_single_models_give(network, labeled, grid):
    i, j = 2, 3
    kernels, target = models.grams(network, models.WIDTHS, 1.0), models.output_kernel(network)
    assert models.at(grid, (i, j)) == models.ridge_at(network, labeled, kernels[i], target, alpha=models.ALPHAS[j])
    model = LinkPredictor(kernels[i], output_kernel=target, alpha=models.ALPHAS[j])
    model.fit(np.arange(60), network.W, labeled=labeled)
    rows, columns = np.triu_indices(len(labeled), 1)
    linked, scores = network.W[labeled[rows], labeled[columns]] > 0, model.loo_decision_function()[rows, columns]
    expected = pair_metrics(linked, scores)
    np.testing.assert_allclose(grid["loo"][i, j], [100 * expected["roc_auc"], 100 * expected["average_precision"]])


def test_folds_never_see_the_links_of_their_nodes(network, labeled, grid):
    """Mean over the folds of the areas of models whose K_Y comes from the links of the other nodes."""
    i, j = 1, 2
    kernel, found = models.grams(network, models.WIDTHS, 1.0)[i], []
    for train, test in NodeKFold(5).split(labeled):
        model = LinkPredictor(kernel, output_kernel=Diffusion(network.beta), alpha=models.ALPHAS[j])
        scores = model.fit(np.arange(60), network.W, labeled=labeled[train]).decision_function()
        new = np.isin(np.arange(60), labeled[test])
        among = np.isin(np.arange(60), labeled)
        where = (new[:, None] | new[None, :]) & among[:, None] & among[None, :]
        figures = pair_metrics(network.W, scores, where=where)
        found.append([100 * figures["roc_auc"], 100 * figures["average_precision"]])
    np.testing.assert_allclose(grid["folds"][i, j], np.mean(found, axis=0))


def test_as_published_is_leave_one_out_without_a_penalty(network, labeled):
    kernels = models.Kernels.of(network, plain=(0.1, 1.0))
    found = kernels.as_published(labeled)["as published"]
    scores = {}
    for k, alpha in itertools.product(kernels.plain, models.MORE_ALPHAS):
        model = LinkPredictor(k, output_kernel=models.output_kernel(network), alpha=alpha)
        model.fit(np.arange(60), network.W, labeled=labeled)
        rows, columns = np.triu_indices(len(labeled), 1)
        linked = network.W[labeled[rows], labeled[columns]] > 0
        scores[k, alpha] = pair_metrics(linked, model.loo_decision_function()[rows, columns])["roc_auc"]
    k, alpha = max(scores, key=scores.get)
    expected = models.ridge_at(network, labeled, k, models.output_kernel(network), alpha=alpha)
    assert found["roc_auc"] == pytest.approx(expected["roc_auc"], abs=1e-3)


def test_rules_choose_for_each_set_or_once():
    def grid(*roc):
        values = np.stack([np.array([roc]), np.array([roc]) / 10], axis=-1)
        return {"evaluated": values, "loo": -values, "folds": values.tolist()}

    grids = [grid(90.0, 80.0, 85.0), grid(60.0, 75.0, 74.0)]
    rocs = lambda rule: [found["roc_auc"] for found in rule.choose(grids)]  # noqa: E731
    assert rocs(models.Rule("evaluated")) == [90.0, 75.0]
    assert rocs(models.Rule("loo")) == [80.0, 60.0]
    assert rocs(models.Rule("folds", once=True)) == [85.0, 74.0]
    assert models.Rule("folds").choose(grids)[0]["average_precision"] == 9.0
    weighted = [{**grid, "weighted": {"folds": {"roc_auc": i}}} for i, grid in enumerate(grids)]
    assert models.Rule("folds", weighted=True).choose(weighted) == [{"roc_auc": 0}, {"roc_auc": 1}]


def test_sets_too_small_for_folds_are_left_to_leave_one_out(network):
    W = np.zeros_like(network.W)
    W[0, 1] = W[1, 0] = W[20, 21] = W[21, 20] = 1.0
    lonely = protocol.Network(W, network.beta, network.inertia)
    kernels = models.grams(network, [0.3, 1.0], 0.0)
    found = models.ridge_grid(lonely, np.arange(10), kernels, models.output_kernel(lonely))
    np.testing.assert_array_equal(found["folds"], found["loo"])


def test_interpretations_differ_by_the_graph_of_the_output_kernel(network, labeled):
    block = models.block_kernel(network)
    K = np.asarray(block.fit(labeled)(labeled))
    np.testing.assert_allclose(K, network.kernel[np.ix_(labeled, labeled)])


@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_the_deformed_kernel_is_the_semi_supervised_model(network, labeled, ratio):
    [kernel] = models.grams(network, [1.0], ratio)
    [plain] = models.grams(network, [1.0], 0.0)
    target, alpha = models.output_kernel(network), models.MARGIN_ALPHA
    with pytest.warns(UserWarning, match="different lengths"):
        found = models.margin_at(network, labeled, kernel, target)
    model = LinkPredictor(
        plain, output_kernel=target, loss=MaxMargin(), alpha=alpha, manifold=Heat(ratio * alpha, literal=True)
    )
    with pytest.warns(UserWarning, match="different lengths"):
        expected = protocol.evaluate(network, labeled)(model)
    assert found["roc_auc"] == pytest.approx(expected["roc_auc"], abs=0.05)
    ridge = LinkPredictor(plain, output_kernel=target, alpha=0.1, manifold=Heat(0.1 * ratio, literal=True))
    expected = protocol.evaluate(network, labeled)(ridge)
    found = models.ridge_at(network, labeled, kernel, target, alpha=0.1)
    assert found["roc_auc"] == pytest.approx(expected["roc_auc"], abs=1e-3)
