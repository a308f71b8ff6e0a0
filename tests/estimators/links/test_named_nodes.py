"""Nodes with names: graphs of NetworkX are taken, and links come back by name.

Tests of `iokr.estimators.links.network` and `iokr.estimators.links.predictor`.
"""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from iokr import LinkPredictor, LinkPredictorCV, load, save

nx = pytest.importorskip("networkx")

assert_close = partial(assert_allclose, rtol=1e-10)

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
GRAPH = nx.random_geometric_graph(30, 0.3, seed=1)
W = nx.to_numpy_array(GRAPH, nodelist=range(30))
NAMES = [f"p{i}" for i in range(30)]
FRAME = pd.DataFrame(X, index=NAMES)


def shuffled():
    """The same links between named nodes, which came in another order."""
    graph = nx.Graph()
    graph.add_nodes_from(reversed(NAMES))
    graph.add_edges_from((f"p{b}", f"p{a}") for a, b in GRAPH.edges)
    return graph


def test_a_graph_is_its_matrix():
    expected = LinkPredictor().fit(X, W).decision_function()
    assert_close(LinkPredictor().fit(X, GRAPH).decision_function(), expected)
    assert_close(LinkPredictor().fit(FRAME, shuffled()).decision_function(), expected)
    some = np.arange(20)
    part = LinkPredictor().fit(FRAME, shuffled(), labeled=some).decision_function()
    assert_close(part, LinkPredictor().fit(X, W, labeled=some).decision_function())


def test_weights_of_a_graph_count():
    graph = GRAPH.copy()
    for k, (a, b) in enumerate(graph.edges):
        graph[a][b]["weight"] = 1.0 + k % 3
    heavy = nx.to_numpy_array(graph, nodelist=range(30))
    assert_close(LinkPredictor().fit(X, graph).decision_function(), LinkPredictor().fit(X, heavy).decision_function())


def test_links_of_named_nodes_come_back_by_name(tmp_path):
    model = LinkPredictorCV(alphas=(0.1, 1.0)).fit(FRAME, shuffled())
    found = model.predict_links(top=5)
    assert list(found.columns) == ["source", "target", "score"] and len(found) == 5
    pairs, scores = LinkPredictorCV(alphas=(0.1, 1.0)).fit(X, W).predict_links(top=5)
    assert found[["source", "target"]].to_numpy().tolist() == [[f"p{i}", f"p{j}"] for i, j in pairs]
    assert_close(found.score, scores)
    new = pd.DataFrame(X[:2] + 0.1, index=["new", "newer"])
    assert set(model.predict_links(new, top=3).source) <= {"new", "newer"}
    numbers, _ = model.predict_links(X[:2], top=3)
    assert np.asarray(numbers).shape == (3, 2), "a list without names has positions"
    save(model, tmp_path / "m.safetensors")
    pd.testing.assert_frame_equal(load(tmp_path / "m.safetensors").predict_links(top=5), found, rtol=1e-10)


@pytest.mark.parametrize(
    ("nodes", "graph", "message"),
    [
        (X, shuffled(), "the rows of X have no names: pass X as a frame"),
        (FRAME.iloc[:20], shuffled(), "must be in the index of X"),
        (X, GRAPH.to_directed(), "to_undirected"),
    ],
)
def test_graphs_that_do_not_fit_are_refused(nodes, graph, message):
    with pytest.raises(ValueError, match=message):
        LinkPredictor().fit(nodes, graph)
