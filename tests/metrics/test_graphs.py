"""Exact match and edit distance of graphs beside NetworkX."""

import numpy as np
import pytest

from iokr.metrics import fgw, graph_edit_distance, isomorphic_accuracy

nx = pytest.importorskip("networkx")


def graphs(n: int, seed: int, smallest: int = 1, largest: int = 5) -> list:
    rng = np.random.default_rng(seed)
    found = []
    for size in rng.integers(smallest, largest + 1, size=n):
        A = np.triu(rng.random((size, size)) < 0.5, 1).astype(int)
        B = np.triu(rng.choice(list("-="), size=(size, size)), 1)
        found.append((A + A.T, rng.choice(list("CN"), size=size).tolist(), np.where(B == "", B.T, B)))
    return found


def theirs(graph) -> "nx.Graph":
    A, labels, edges = graph
    G = nx.from_numpy_array(A)
    nx.set_node_attributes(G, dict(enumerate(labels)), "label")
    nx.set_edge_attributes(G, {(a, b): str(edges[a, b]) for a, b in G.edges}, "label")
    return G


def same(a, b) -> bool:
    return a["label"] == b["label"]


def moved(graph, seed: int = 0):
    A, labels, edges = graph
    o = np.random.default_rng(seed).permutation(len(labels))
    return A[np.ix_(o, o)], [labels[i] for i in o], edges[np.ix_(o, o)]


def test_edit_distance_is_that_of_networkx():
    X, Z = graphs(25, 0), graphs(25, 1)
    for x, z in zip(X, Z, strict=True):
        expected = nx.graph_edit_distance(theirs(x), theirs(z), node_match=same, edge_match=same)
        assert graph_edit_distance([x], [z]) == (expected, 1.0, expected)
        assert graph_edit_distance([z], [x]).mean == expected
        assert graph_edit_distance([theirs(x)], [theirs(z)]).mean == expected


def test_no_edits_between_numberings():
    X = graphs(20, 2, 5, 8)
    assert graph_edit_distance(X, [moved(x) for x in X]) == (0.0, 1.0, 0.0)


def test_what_time_did_not_allow_is_said():
    rng = np.random.default_rng(0)
    A = [np.triu(rng.random((14, 14)) < 0.5, 1).astype(int) for _ in range(2)]
    easy = (np.zeros((1, 1)), "a")
    found = graph_edit_distance([(A[0] + A[0].T, None), easy], [(A[1] + A[1].T, None), easy], seconds=0.02)
    assert found.exact == 0.5
    assert found.lower < found.mean


def test_exact_match_is_that_of_networkx():
    X, Z = graphs(60, 3, 2, 4), graphs(60, 4, 2, 4)
    for x, z in zip(X, Z, strict=True):
        expected = nx.is_isomorphic(theirs(x), theirs(z), node_match=same, edge_match=same)
        assert isomorphic_accuracy([x], [z]) == expected
    assert isomorphic_accuracy(X, [moved(x) for x in X]) == 1.0


def test_regular_graphs_that_colours_cannot_tell_apart():
    """A ring of six and two of three: every node sees two others."""
    ring, two = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    assert isomorphic_accuracy([ring, two], [two, two]) == 0.5
    assert isomorphic_accuracy([nx.petersen_graph()], [nx.convert_node_labels_to_integers(nx.petersen_graph())]) == 1.0


class TestFGW:
    """The distance of `iokr.decoders._search.transport`, which POT computes too."""

    ot = pytest.importorskip("ot", reason="needs the extra graph")

    @pytest.mark.parametrize("alpha", [0.2, 0.5, 1.0])
    @pytest.mark.parametrize("directed", [False, True])
    def test_a_local_minimum_as_in_pot(self, alpha, directed):
        """From POT's coupling no step goes lower, and the value there is POT's."""
        from iokr.decoders._search.transport import Fused

        rng = np.random.default_rng(0)
        for n, m in [(6, 6), (5, 8), (11, 13)]:
            A, B = ((rng.random((k, k)) < 0.4).astype(float) for k in (n, m))
            if not directed:
                A, B = (np.triu(M, 1) + np.triu(M, 1).T for M in (A, B))
            F, E = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
            p, q = np.full(n, 1 / n), np.full(m, 1 / m)
            cost = ((F[:, None] - E[None]) ** 2).sum(axis=2)
            P, log = self.ot.gromov.fused_gromov_wasserstein(
                cost, A, B, p, q, "square_loss", alpha=alpha, log=True, tol_rel=1e-12, tol_abs=1e-12
            )
            value, _ = Fused((A[None], F), (B[None], E), alpha).minimum(P)
            assert value == pytest.approx(float(log["fgw_dist"]), abs=1e-5)
            slow = (1 - alpha) * np.sum(cost * P)
            slow += alpha * np.einsum("ijkl,ik,jl", (A[:, :, None, None] - B[None, None]) ** 2, P, P)
            assert value <= slow + 1e-12

    def test_zero_to_itself_and_symmetric(self):
        X, Z = graphs(8, 5, 2, 6), graphs(8, 6, 2, 6)
        for alpha in (0.0, 0.5, 1.0):
            assert fgw(X, [moved(x) for x in X], alpha) == pytest.approx(0.0, abs=1e-12)
            for x, z in zip(X, Z, strict=True):
                assert fgw([x], [z], alpha) == pytest.approx(fgw([z], [x], alpha), abs=1e-12)

    def test_limits(self):
        """α = 0 is transport of labels, α = 1 does not read them."""
        X, Z = graphs(8, 5, 2, 6), graphs(8, 6, 2, 6)
        for (A, a, _), (B, b, _) in zip(X, Z, strict=True):
            cost = 2.0 * (np.array(a)[:, None] != np.array(b)[None, :])
            expected = self.ot.emd2(np.full(len(a), 1 / len(a)), np.full(len(b), 1 / len(b)), cost)
            assert fgw([(A, a)], [(B, b)], 0.0) == pytest.approx(float(expected), abs=1e-12)
            assert fgw([(A, a)], [(B, b)], 1.0) == pytest.approx(fgw([(A, None)], [(B, None)], 1.0), abs=1e-12)

    def test_kinds_of_edges_are_two_apart_and_one_from_none(self):
        bond = np.array([[0, 1], [1, 0]])
        single, double = ((bond, "CC", [["", s], [s, ""]]) for s in "-=")
        none = (np.zeros((2, 2)), "CC")
        assert fgw([single], [double], 1.0) == pytest.approx(2 * 2 / 4)
        assert fgw([single], [none], 1.0) == pytest.approx(1 * 2 / 4)
        soft = np.zeros((2, 2, 2))
        soft[0, 1] = soft[1, 0] = [0.5, 0.5]
        assert fgw([single], [(soft, "CC")], 1.0, edge_labels=["-", "="]) == pytest.approx(0.5 * 2 / 4)


def test_refusals():
    with pytest.raises(ValueError, match="`seconds` must be"):
        graph_edit_distance(graphs(1, 0), graphs(1, 0), seconds=0.0)
    with pytest.raises(ValueError, match=r"they must have the same length"):
        isomorphic_accuracy(graphs(2, 0), graphs(1, 0))
    with pytest.raises(TypeError, match="`y_pred`: Object 0 must be a NetworkX graph"):
        isomorphic_accuracy(graphs(1, 0), [3])
