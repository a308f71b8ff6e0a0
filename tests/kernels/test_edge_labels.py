"""Labels of edges in the graph kernels, beside loops over nodes and paths.

Tests of `iokr.data.graphs`.
"""

from collections import Counter

import numpy as np
import pytest
from scipy.sparse.csgraph import floyd_warshall

import iokr
from iokr import IOKR
from iokr.data.objects import concat
from iokr.decoders import GraphEdits
from iokr.kernels import RBF, Paths, ShortestPath, WeisfeilerLehman

KERNELS = [WeisfeilerLehman(2), ShortestPath(), Paths(3)]
BOND = np.array([[0, 1], [1, 0]])


def graphs(n: int, seed: int = 0, edges: str = "-=") -> list:
    rng = np.random.default_rng(seed)
    found = []
    for size in rng.integers(1, 7, size=n):
        A = np.triu(rng.uniform(size=(size, size)) < 0.5, 1).astype(int)
        B = np.triu(rng.choice(list(edges), size=(size, size)), 1)
        found.append((A + A.T, rng.choice(list("CN"), size=size).tolist(), np.where(B == "", B.T, B)))
    return found


def refined(graph, depth: int) -> Counter:
    A, names, edges = graph[0], list(graph[1]), graph[2]
    counts: Counter = Counter()
    for level in range(depth + 1):
        counts.update((level, name) for name in names)
        names = [
            f"{name}({','.join(sorted(f'{edges[i][j]}{names[j]}' for j in np.flatnonzero(A[i])))})"
            for i, name in enumerate(names)
        ]
    return counts


def paths(graph, depth: int) -> Counter:
    A, labels, edges = graph
    D = floyd_warshall(A, unweighted=True)
    pairs = [(a, b) for a in range(len(A)) for b in range(len(A)) if a != b and np.isfinite(D[a, b])]
    return Counter((labels[a], labels[b], D[a, b], edges[a][b] if A[a, b] else None) for a, b in pairs)


@pytest.mark.parametrize(("kernel", "features"), [(WeisfeilerLehman(2), refined), (ShortestPath(), paths)])
def test_features_are_counted(kernel, features):
    X, Z = graphs(12), graphs(9, seed=1, edges="=#")
    sides = [[features(g, 2) for g in some] for some in (X, Z)]
    expected = [[sum(x[f] * z[f] for f in x) for z in sides[1]] for x in sides[0]]
    np.testing.assert_array_equal(kernel(X, Z), expected)
    both = concat(kernel.represent(X), kernel.represent(Z))
    np.testing.assert_array_equal(kernel.block(both, both), kernel([*X, *Z]))


@pytest.mark.parametrize("kernel", KERNELS)
class TestAny:
    def test_one_label_for_all_is_as_none(self, kernel):
        X = graphs(12, edges="-")
        np.testing.assert_array_equal(kernel(X), kernel([x[:2] for x in X]))
        np.testing.assert_array_equal(kernel([(*x[:2], None) for x in X]), kernel([x[:2] for x in X]))

    def test_labelled_edges_are_unlike_those_without(self, kernel):
        labelled, plain = (BOND, "CC", [["", "-"], ["-", ""]]), (BOND, "CC")
        assert kernel([labelled], [plain])[0, 0] < kernel([plain])[0, 0] == kernel([labelled])[0, 0]

    def test_nodes_in_another_order(self, kernel):
        rng = np.random.default_rng(3)
        X, moved = graphs(12), []
        for A, labels, edges in X:
            o = rng.permutation(len(labels))
            moved.append((A[np.ix_(o, o)], [labels[i] for i in o], edges[np.ix_(o, o)]))
        np.testing.assert_array_equal(kernel(X, moved), kernel(X))

    def test_networkx_attributes(self, kernel):
        nx = pytest.importorskip("networkx")
        X = graphs(12)
        for node, edge, given in [("label", "label", {}), ("atom", "order", {"label": "atom", "edge_label": "order"})]:
            theirs = []
            for A, labels, edges in X:
                G = nx.from_numpy_array(A, edge_attr=None)
                nx.set_node_attributes(G, dict(enumerate(labels)), node)
                nx.set_edge_attributes(G, {(a, b): str(edges[a, b]) for a, b in G.edges}, edge)
                theirs.append(G)
            named = iokr.kernels.Kernel.set_params(type(kernel)(**kernel.get_params()), **given)
            np.testing.assert_array_equal(named(theirs, X), kernel(X))

    def test_bad_labels_are_named(self, kernel):
        nx = pytest.importorskip("networkx")
        half = nx.path_graph(3)
        half.edges[0, 1]["label"] = "-"
        with pytest.raises(ValueError, match=r"Graph 0: edge \(1, 2\) has no 'label', but others do"):
            kernel([half])
        for bad, error, message in [
            ([["", "-"]], ValueError, "Graph 1: edge labels must be an array of 2 rows of 2"),
            (3, TypeError, "Graph 1: edge labels must be a square array, got 3"),
            ([["", None], ["-", ""]], ValueError, r"Graph 1: edge \(0, 1\) has no label"),
            ([["", "-"], ["=", ""]], ValueError, r"Graph 1: edge \(0, 1\) has two labels, '-' and '='"),
        ]:
            with pytest.raises(error, match=message):
                kernel([(BOND, "CC"), (BOND, "CC", bad)])

    def test_saved_models_keep_them(self, kernel, tmp_path):
        nx = pytest.importorskip("networkx")
        X, Y = np.arange(8.0)[:, None], graphs(8)
        as_networkx = []
        for A, labels, edges in Y:
            G = nx.from_numpy_array(A)
            nx.set_node_attributes(G, dict(enumerate(labels)), "label")
            nx.set_edge_attributes(G, {(a, b): str(edges[a, b]) for a, b in G.edges}, "label")
            as_networkx.append(G)
        for outputs in (Y, as_networkx):
            for decoder in (None, GraphEdits(1, 2)):
                model = IOKR(RBF(2.0), output_kernel=kernel, decoder=decoder, alpha=0.1).fit(X, outputs)
                iokr.save(model, tmp_path / "model.safetensors")
                again = iokr.load(tmp_path / "model.safetensors")
                np.testing.assert_array_equal(kernel(again.predict(X), Y), kernel(model.predict(X), Y))
