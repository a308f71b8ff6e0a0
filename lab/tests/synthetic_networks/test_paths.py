"""The figures of the papers on small networks."""

import numpy as np
from numpy.testing import assert_allclose

from iokr_lab.study import Results
from iokr_lab.synthetic_networks import models, paths, protocol


def test_ends_of_the_path_are_what_the_tables_have(network, labeled):
    """λ₂ = 0 is supervised learning; at μ = λ it is the one setting of Table 8."""
    found = paths.work_along(network, paths.path_kernels(network), labeled)
    [ridge] = models.grams(network, [models.RIDGE.width], models.RIDGE.ratio)
    at_one = models.ridge_at(network, labeled, ridge, models.output_kernel(network))
    assert_allclose(list(found["ridge"][paths.SEMI].values()), list(at_one.values()))
    [plain] = models.grams(network, [models.MARGIN.width], 0.0)
    supervised = models.margin_at(network, labeled, plain, models.output_kernel(network))
    assert_allclose(list(found["margin"][0].values()), list(supervised.values()))


def test_a_drawn_network_names_the_pairs_above_the_threshold(network, labeled):
    cell = paths.work_drawn(network, labeled)
    pairs = np.array(cell["pairs"]).reshape(-1, 2)
    assert (pairs[:, 0] < pairs[:, 1]).all() and len(pairs) > 0
    right = network.W[tuple(pairs.T)].sum()
    assert_allclose(cell["precision"], 100 * right / len(pairs))
    assert_allclose(cell["recall"], 100 * right / (network.W.sum() / 2))


def test_figures(network):
    rng = np.random.default_rng(0)
    cells = {
        paths.Along(graph, fraction, draw): {
            model: [dict(zip(protocol.MEASURES, rng.uniform(50, 99, 2), strict=True)) for _ in paths.RATIOS]
            for model in paths.MODELS
        }
        for graph in dict.fromkeys((*paths.ALONG, *paths.FIRST))
        for fraction in paths.SHARES
        for draw in range(2)
    }
    cells[paths.Drawn("classes")] = {"pairs": [0, 1, 2, 5], "threshold": 0.1, "precision": 50.0, "recall": 1.0}
    found = paths.items(Results(cells), ("classes", network.W))
    figures = [item for item in found if hasattr(item, "svg")]
    names = [figure.caption.partition(":")[0] for figure in figures]
    assert names == ["B16, Figure 3", "B16, Figure 4", "B11, Figure 1", "B16, Figure 8"]
    assert all(f"density {graph}" in figures[0].svg for graph in paths.ALONG)
    assert "density 0.03" in figures[2].svg and "semi-supervised" in figures[2].svg
    assert "predicted, 2 links" in figures[3].svg
    table = next(item for item in found if hasattr(item, "rows"))
    assert len(table.rows) == 4 * 2 * 3
