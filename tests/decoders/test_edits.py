"""Graphs by local search: each step gets nearer, no single edit is left that helps, and the bound is one.

Tests of `iokr.decoders.graphs` and `iokr.decoders._search.local`.
"""

from itertools import combinations, product

import numpy as np
import pytest

from iokr import IOKR
from iokr.decoders import Candidates, GraphEdits
from iokr.decoders._search.linear import output_bounds
from iokr.kernels import RBF, Delta, Normalized, ShortestPath, WeisfeilerLehman
from reference import assert_close
from samples import vectors

KERNELS = [WeisfeilerLehman(1), Normalized(WeisfeilerLehman(2)), ShortestPath(), 0.5 * WeisfeilerLehman(0)]
SCALED = [2.0 * (1.5 * WeisfeilerLehman(0)), 3.0 * WeisfeilerLehman(1), Normalized(3.0 * WeisfeilerLehman(1))]


def graphs(n: int, seed: int = 0, letters: str = "CNO") -> list:
    rng = np.random.default_rng(seed)
    found = []
    for size in rng.integers(2, 5, size=n):
        A = np.triu(rng.random((size, size)) < 0.6, 1).astype(int)
        found.append((A + A.T, rng.choice(list(letters), size=size).tolist()))
    return found


def every_graph(largest: int, letters: str) -> list:
    """All graphs of one to so many nodes, some of them several times."""
    found = []
    for size in range(1, largest + 1):
        pairs = list(combinations(range(size), 2))
        for labels, edges in product(product(letters, repeat=size), product((0, 1), repeat=len(pairs))):
            A = np.zeros((size, size), dtype=int)
            for (a, b), there in zip(pairs, edges, strict=True):
                A[a, b] = A[b, a] = there
            found.append((A, list(labels)))
    return found


def model(kernel, decoder, letters: str = "CNO") -> IOKR:
    return IOKR(RBF(0.7), output_kernel=kernel, alpha=0.1, decoder=decoder).fit(vectors(12), graphs(12, 0, letters))


def costs(fitted: IOKR, X: np.ndarray, Y) -> np.ndarray:
    E, H = fitted.embedding_, fitted.decision_function(X)
    S = E.represent(Y)
    return E.sq_norms(S) - 2 * E.inner(H, S)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: " ".join(repr(kernel).split()))
def test_every_step_gets_nearer(kernel):
    X, before = vectors(6, seed=1), None
    for steps in (0, 1, 2, 20):
        fitted = model(kernel, GraphEdits(2, steps, max_nodes=20))
        now = np.diag(fitted.distances(X, fitted.predict(X)))
        if before is not None:
            assert np.all(now <= before + 1e-9)
        before = now
    nearest = model(kernel, Candidates()).distances(X, graphs(12)).min(axis=1)
    assert np.all(before <= nearest + 1e-9)
    assert np.any(before < nearest - 1e-3)


def test_no_steps_is_the_best_candidate():
    X = vectors(6, seed=1)
    still, best = (model(WeisfeilerLehman(1), decoder).predict(X) for decoder in (GraphEdits(1, 0), Candidates()))
    assert all(a is b or a[1] == b[1] for a, b in zip(still, best, strict=True))


def edits(y, letters: str, nodes: bool):
    """Every graph one edit away, once more."""
    A, labels = np.asarray(y[0]), list(y[1])
    n = len(labels)
    for a, b in combinations(range(n), 2):
        B = A.copy()
        B[a, b] = B[b, a] = 1 - A[a, b]
        yield B, labels
    for a, letter in product(range(n), letters):
        yield A, [*labels[:a], letter, *labels[a + 1 :]]
    if nodes:
        for a in range(n):
            if n > 1:
                yield np.delete(np.delete(A, a, 0), a, 1), labels[:a] + labels[a + 1 :]
            for letter in letters:
                B = np.pad(A, (0, 1))
                B[a, n] = B[n, a] = 1
                yield B, [*labels, letter]


@pytest.mark.parametrize("nodes", [True, False])
@pytest.mark.parametrize("kernel", KERNELS[:3], ids=lambda kernel: " ".join(repr(kernel).split()))
def test_no_single_edit_is_left_that_helps(kernel, nodes):
    X, fitted = vectors(6, seed=1), model(kernel, GraphEdits(1, 100, nodes, max_nodes=100))
    for x, y in zip(X, fitted.predict(X), strict=True):
        others = list(edits(y, "CNO", nodes))
        distances = fitted.distances(x[None], [y, *others])[0]
        assert distances[0] <= distances.min() + 1e-8


@pytest.mark.parametrize("kernel", KERNELS + SCALED, ids=lambda kernel: " ".join(repr(kernel).split()))
def test_costs_and_bounds(kernel):
    X, fitted = vectors(6, seed=1), model(kernel, GraphEdits(2), "CN")
    found, cost, bound = fitted.decoder_.solve(fitted.decision_function(X), fitted.embedding_)
    assert_close(cost, np.diag(costs(fitted, X, found)), 1e-9)
    best = costs(fitted, X, every_graph(4, "CN")).min(axis=1)
    assert np.all(bound <= best + 1e-9)
    assert np.all(bound <= cost + 1e-9)
    assert np.all(output_bounds(fitted.decision_function(X), fitted.embedding_) <= best + 1e-9)


def test_counts_of_labels_are_found_and_proved():
    """At depth 0 a graph is how many nodes have which label: edits reach the optimum and the bound shows it."""
    X, fitted = vectors(6, seed=1), model(WeisfeilerLehman(0), GraphEdits(), "CN")
    _, cost, bound = fitted.decoder_.solve(fitted.decision_function(X), fitted.embedding_)
    best = costs(fitted, X, every_graph(4, "CN")).min(axis=1)
    assert np.all(cost <= best + 1e-9)
    near = np.isclose(cost, bound)
    assert near.any()
    assert np.all(cost[near] <= best[near] + 1e-9)


def test_networkx_graphs_come_back_as_such():
    networkx = pytest.importorskip("networkx")
    made = []
    for A, labels in graphs(12):
        G = networkx.from_numpy_array(A)
        networkx.set_node_attributes(G, dict(enumerate(labels)), "atom")
        made.append(G)
    kernel = Normalized(WeisfeilerLehman(1, label="atom") + ShortestPath(label="atom"))
    X = vectors(6, seed=1)
    fitted = IOKR(RBF(0.7), output_kernel=kernel, alpha=0.1, decoder=GraphEdits()).fit(vectors(12), made)
    kernel = Normalized(WeisfeilerLehman(1) + ShortestPath())
    pairs = IOKR(RBF(0.7), output_kernel=kernel, alpha=0.1, decoder=GraphEdits())
    found, expected = fitted.predict(X), pairs.fit(vectors(12), graphs(12)).predict(X)
    for G, (A, labels) in zip(found, expected, strict=True):
        assert isinstance(G, networkx.Graph)
        np.testing.assert_array_equal(networkx.to_numpy_array(G), A)
        assert [data["atom"] for _, data in G.nodes(data=True)] == list(labels)


def test_graphs_without_labels_stay_without():
    Y = [(A.tolist() if len(A) > 2 else A, None) for A, _ in graphs(12)]
    fitted = IOKR(RBF(0.7), output_kernel=WeisfeilerLehman(2), alpha=0.1, decoder=GraphEdits()).fit(vectors(12), Y)
    found = fitted.predict(vectors(6, seed=1))
    assert all(labels is None for _, labels in found)
    assert fitted.decoder_.labels_ == [None]


def test_refusals():
    with pytest.raises(ValueError, match="needs an output kernel on graphs"):
        IOKR(output_kernel=Delta(), decoder=GraphEdits()).fit(vectors(4), graphs(4))
    with pytest.raises(ValueError, match="`n_starts` must be an integer of at least 1"):
        IOKR(output_kernel=ShortestPath(), decoder=GraphEdits(0)).fit(vectors(4), graphs(4))
    with pytest.raises(ValueError, match="`max_steps` must be an integer of at least 0"):
        IOKR(output_kernel=ShortestPath(), decoder=GraphEdits(1, -1)).fit(vectors(4), graphs(4))


def labelled(n: int, seed: int = 0) -> list:
    """Graphs with two labels of edges; some hang together, others do not."""
    rng = np.random.default_rng(seed)
    found = []
    for A, labels in graphs(n, seed):
        B = np.triu(rng.choice(list("-="), size=A.shape), 1)
        found.append((A, labels, np.where(B == "", B.T, B)))
    return found


def test_labels_of_edges_are_edited_and_written():
    X = vectors(6, seed=1)
    kernel = WeisfeilerLehman(1)
    fitted = IOKR(RBF(0.7), output_kernel=kernel, alpha=0.1, decoder=GraphEdits()).fit(vectors(12), labelled(12))
    assert sorted(fitted.decoder_.edge_labels_) == ["-", "="]
    for x, y in zip(X, fitted.predict(X), strict=True):
        A, labels, edges = y
        others = []
        for a, b in combinations(range(len(labels)), 2):
            for kind in ("", "-", "="):
                B, C = A.copy(), np.array(edges, dtype=object)
                B[a, b] = B[b, a] = int(kind != "")
                C[a, b] = C[b, a] = kind
                others.append((B, labels, C))
        distances = fitted.distances(x[None], [y, *others])[0]
        assert distances[0] <= distances.min() + 1e-8


def test_connected_graphs_stay_connected():
    networkx = pytest.importorskip("networkx")
    X, Y = vectors(12, seed=1), labelled(12)
    whole = [networkx.is_connected(networkx.from_numpy_array(A)) for A, _, _ in Y]
    assert 0 < sum(whole) < len(Y)
    free, held = (
        IOKR(RBF(0.7), output_kernel=WeisfeilerLehman(1), alpha=0.1, decoder=GraphEdits(2, connected=connected))
        .fit(vectors(12), Y)
        .predict(X)
        for connected in (False, True)
    )
    assert not all(networkx.is_connected(networkx.from_numpy_array(y[0])) for y in free)
    assert all(networkx.is_connected(networkx.from_numpy_array(y[0])) for y in held)


def test_answers_are_no_larger_than_training_graphs_unless_asked():
    """A normalised kernel does not mind parts that stand twice in a graph."""
    X, kernel = vectors(8, seed=1), Normalized(WeisfeilerLehman(1))
    held, wide, small = (model(kernel, GraphEdits(1, 20, max_nodes=most)).predict(X) for most in (None, 30, 1))
    largest = max(len(labels) for _, labels in graphs(12))
    assert max(len(labels) for _, labels in held) <= largest < max(len(labels) for _, labels in wide)
    starts = model(kernel, Candidates()).predict(X)
    assert all(len(y[1]) <= len(start[1]) for y, start in zip(small, starts, strict=True))
    with pytest.raises(ValueError, match="max_nodes"):
        model(kernel, GraphEdits(max_nodes=0))


def test_connected_needs_a_connected_graph():
    apart = [(np.zeros((2, 2), dtype=int), "CN")] * 4
    with pytest.raises(ValueError, match="`y` has none"):
        IOKR(output_kernel=ShortestPath(), decoder=GraphEdits(connected=True)).fit(vectors(4), apart)
