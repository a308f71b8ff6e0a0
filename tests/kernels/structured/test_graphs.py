"""Graph kernels beside loops over nodes and paths, and beside GraKeL.

Tests of `iokr.kernels.structured.grakel`.
"""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import floyd_warshall

from iokr import IOKR
from iokr.data.objects import concat
from iokr.kernels import GraKeL, ShortestPath, WeisfeilerLehman
from reference import assert_close

PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def graphs(n: int, largest: int, seed: int = 0) -> list[tuple[np.ndarray, list[str]]]:
    rng = np.random.default_rng(seed)
    found = []
    for size in rng.integers(1, largest + 1, size=n):
        A = np.triu(rng.uniform(size=(size, size)) < 0.4, 1).astype(int)
        found.append((A + A.T, rng.choice(list("CNO"), size=size).tolist()))
    return found


def refined(graph, depth: int) -> Counter:
    """Names of nodes at every level, written out in full."""
    A, names = graph[0], list(graph[1])
    counts: Counter = Counter()
    for level in range(depth + 1):
        counts.update((level, name) for name in names)
        names = [f"{name}({','.join(sorted(names[j] for j in np.flatnonzero(A[i])))})" for i, name in enumerate(names)]
    return counts


def paths(graph) -> Counter:
    A, labels = graph
    D = floyd_warshall(sparse.csr_array(A), unweighted=True)
    n = len(labels)
    return Counter(
        (labels[a], labels[b], D[a, b]) for a in range(n) for b in range(n) if a != b and np.isfinite(D[a, b])
    )


def inner(a: Counter, b: Counter) -> int:
    return sum(a[f] * b[f] for f in a)


@pytest.mark.parametrize("depth", [0, 1, 2, 4])
def test_weisfeiler_lehman_counts_names(depth):
    X, Z = graphs(9, 7), graphs(6, 7, seed=1)
    expected = [[inner(refined(x, depth), refined(z, depth)) for z in Z] for x in X]
    k = WeisfeilerLehman(depth)
    np.testing.assert_array_equal(k(X, Z), expected)
    np.testing.assert_array_equal(k(X), [[inner(refined(x, depth), refined(z, depth)) for z in X] for x in X])


def test_shortest_path_counts_labels_and_distances():
    X, Z = graphs(9, 7), graphs(6, 7, seed=1)
    np.testing.assert_array_equal(ShortestPath()(X, Z), [[inner(paths(x), paths(z)) for z in Z] for x in X])
    np.testing.assert_array_equal(ShortestPath()(X), [[inner(paths(x), paths(z)) for z in X] for x in X])


@pytest.mark.parametrize("kernel", [WeisfeilerLehman(3), ShortestPath()])
class TestAny:
    def test_nodes_in_another_order(self, kernel):
        rng = np.random.default_rng(3)
        X = graphs(8, 7)
        orders = [rng.permutation(len(labels)) for _, labels in X]
        moved = [(A[np.ix_(o, o)], [labels[i] for i in o]) for (A, labels), o in zip(X, orders, strict=True)]
        np.testing.assert_array_equal(kernel(X, moved), kernel(X))

    def test_parsed_in_parts_and_joined(self, kernel):
        X, Z = graphs(5, 6), graphs(4, 6, seed=1)
        fitted = kernel.fit(X)
        both = concat(fitted.represent(X), fitted.represent(Z))
        np.testing.assert_array_equal(fitted.block(both, both), fitted([*X, *Z]))
        third = fitted.represent(graphs(3, 6, seed=2))
        np.testing.assert_array_equal(fitted.block(both, third), fitted([*X, *Z], graphs(3, 6, seed=2)))

    def test_sparse_and_without_labels(self, kernel):
        X = graphs(5, 6)
        np.testing.assert_array_equal(kernel([(sparse.csr_matrix(A), labels) for A, labels in X]), kernel(X))
        alike = kernel([(A, ["x"] * len(labels)) for A, labels in X])
        np.testing.assert_array_equal(kernel([(A, None) for A, _ in X]), alike)

    def test_networkx_graphs(self, kernel):
        nx = pytest.importorskip("networkx")
        X = graphs(6, 6)
        theirs = []
        for A, labels in X:
            G = nx.from_numpy_array(A)
            nx.set_node_attributes(G, dict(enumerate(labels)), "atom")
            theirs.append(nx.relabel_nodes(G, {i: f"node {i}" for i in G}))
        named = kernel.set_params(label="atom")
        np.testing.assert_array_equal(named(theirs, X), kernel(X))
        kernel.set_params(label="label")

    def test_bad_graphs_are_named(self, kernel):
        good = (PATH, "abc")
        for bad, error, message in [
            ((np.zeros((0, 0)), None), ValueError, "Graph 1 has no nodes"),
            (3, TypeError, "Object 1 must be a NetworkX graph or a pair"),
            ((np.array([[0, 1], [0, 0]]), None), ValueError, "Graph 1 has edges in one direction only"),
            ((PATH, "ab"), ValueError, "Graph 1 has 3 nodes but 2 labels"),
            ((np.ones((2, 3)), None), ValueError, "Graph 1: the adjacency must be a square matrix"),
        ]:
            with pytest.raises(error, match=message):
                kernel([good, bad])

    def test_bad_networkx_graphs_are_named(self, kernel):
        nx = pytest.importorskip("networkx")
        half = nx.Graph([(0, 1)])
        half.nodes[0]["label"] = "a"
        for bad, message in [
            (nx.Graph(), "Graph 0 has no nodes"),
            (nx.DiGraph([(0, 1)]), "Graph 0 is directed"),
            (half, "Graph 0: node 1 has no 'label'"),
        ]:
            with pytest.raises(ValueError, match=message):
                kernel([bad])

    def test_as_outputs(self, kernel):
        X = graphs(5, 7)
        model = IOKR(output_kernel=kernel, alpha=1e-8).fit(np.arange(5.0)[:, None], X)
        assert model.predict([[3.0]])[0] is X[3]


def test_depth_must_be_an_integer():
    with pytest.raises(ValueError, match="`depth` must be an integer of at least 0, got -1"):
        WeisfeilerLehman(-1)([(PATH, "abc")])


class TestGraKeL:
    @pytest.fixture
    def grakel(self):
        return pytest.importorskip("grakel")

    def test_agrees_with_our_kernels(self, grakel):
        X = [graph for graph in graphs(14, 7) if len(graph[1]) > 1 and graph[0].any()]
        Z = X[:4]
        theirs = grakel.WeisfeilerLehman(n_iter=2, base_graph_kernel=grakel.VertexHistogram)
        assert_close(GraKeL(theirs)(X), WeisfeilerLehman(2)(X), 1e-14)
        assert_close(GraKeL(theirs)(X, Z), WeisfeilerLehman(2)(X, Z), 1e-14)
        assert_close(GraKeL(grakel.ShortestPath())(X), ShortestPath()(X), 1e-14)

    def test_its_kernel_must_be_theirs(self, grakel):
        with pytest.raises(TypeError, match="`kernel` must be a kernel of GraKeL"):
            GraKeL("WL").fit([(PATH, "abc")])


def test_without_grakel_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "grakel.kernels", None)
    with pytest.raises(ImportError, match=r"iokr\[graph\]"):
        GraKeL(None).fit([(PATH, "abc")])
