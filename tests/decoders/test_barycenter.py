"""Barycentres of graphs: never worse than the nearest training graph, and right where that is known.

Tests of `iokr.decoders._search.transport`.
"""

import sys

import numpy as np
import pytest

from iokr import IOKR, IOKRCV
from iokr.decoders import Candidates, GraphBarycenter, MinimumRisk
from iokr.kernels import RBF, Delta, WeisfeilerLehman
from iokr.metrics import fgw, isomorphic_accuracy
from members import objects
from samples import vectors

pytest.importorskip("ot", reason="needs the extra graph")


def model(decoder) -> IOKR:
    return IOKR(RBF(0.7), output_kernel=WeisfeilerLehman(1), alpha=0.1, decoder=decoder).fit(
        vectors(12), objects("graphs", 12)
    )


def test_at_least_as_near_as_any_training_graph():
    X, fitted = vectors(8, seed=1), model(GraphBarycenter())
    found = np.diag(fitted.distances(X, fitted.predict(X)))
    assert np.all(found <= model(Candidates()).distances(X, objects("graphs", 12)).min(axis=1) + 1e-9)


def test_copies_with_other_numbers_have_their_graph_as_barycentre():
    """All weights on one graph, its nodes in other orders: FGW does not see the order."""
    rng = np.random.default_rng(0)
    A, labels = np.triu(np.ones((5, 5), dtype=int), 1) - np.eye(5, k=2, dtype=int), np.array(list("CNOPS"))
    A = A + A.T
    orders = [rng.permutation(5) for _ in range(4)]
    Y = [(A[np.ix_(order, order)], labels[order].tolist()) for order in orders]
    decoder = GraphBarycenter().fit(Y, _embedded(Y))
    kernel = WeisfeilerLehman(3)
    for g in decoder._proposed(np.array([0.4, 0.3, 0.2, -0.1])):
        made = decoder._written(decoder._sharp(g))
        assert kernel([made], Y[:1])[0, 0] == kernel(Y[:1])[0, 0] == kernel([made])[0, 0]


def _embedded(Y):
    from iokr.embeddings import Implicit

    embedding = Implicit()
    embedding.fit_transform(Y, WeisfeilerLehman(3).fit(Y))
    return embedding


def test_labels_and_edges_go_by_majority():
    """The heaviest graph, from which one begins, has a label and an edge that the two others together outweigh."""
    ring = np.roll(np.eye(4, dtype=int), 1, axis=1)
    ring = ring + ring.T
    chord = ring.copy()
    chord[0, 2] = chord[2, 0] = 1
    Y = [(chord, list("XBCD")), (ring, list("ABCD")), (ring, list("ABCD"))]
    decoder = GraphBarycenter(3, 0.3).fit(Y, _embedded(Y))
    (mean,) = decoder._proposed(np.array([0.4, 0.3, 0.3]))
    kernel = WeisfeilerLehman(3)
    made = decoder._written(decoder._sharp(mean))
    assert kernel([made], Y[1:2])[0, 0] == kernel(Y[1:2])[0, 0] == kernel([made])[0, 0]


def test_negative_weights_are_left_out():
    Y = objects("graphs", 4)
    decoder = GraphBarycenter().fit(Y, _embedded(Y))
    (alone,) = decoder._proposed(np.array([-0.5, -0.1, -0.4, -0.3]))
    np.testing.assert_allclose(alone[0], decoder._soft[1][0], atol=1e-12)


def test_refusals(monkeypatch):
    with pytest.raises(ValueError, match=r"`alpha` must be a number from 0 to 1, got 2\.0"):
        model(GraphBarycenter(5, 2.0))
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(ImportError, match="needs the package POT"):
        model(GraphBarycenter())


# -------------------------------------------------------------------------------------------------- FGW itself decides


def ring(n: int) -> np.ndarray:
    A = np.roll(np.eye(n, dtype=int), 1, axis=1)
    return A | A.T


def soft_model(Y, decoder=None, **given) -> IOKR:
    """One input for each graph, far apart: all the weight is on its graph."""
    X = 10.0 * np.arange(len(Y))[:, None]
    return IOKR(RBF(1.0), alpha=1e-6, decoder=decoder or GraphBarycenter(rounded=False), **given).fit(X, Y)


def moved(graph, seed: int):
    o = np.random.default_rng(seed).permutation(len(graph[0]))
    labels = None if graph[1] is None else [graph[1][i] for i in o]
    return (np.asarray(graph[0])[np.ix_(o, o)], labels, *(np.asarray(edges)[np.ix_(o, o)] for edges in graph[2:]))


def random_graphs(n: int, seed: int = 0, *, edges: bool = False, floats: bool = False) -> list:
    rng = np.random.default_rng(seed)
    found = []
    for size in rng.integers(3, 7, size=n):
        A = np.triu(rng.random((size, size)) < 0.5, 1).astype(int)
        labels = rng.normal(size=size).tolist() if floats else rng.choice(list("CNO"), size=size).tolist()
        B = np.triu(rng.choice(list("-="), size=(size, size)), 1)
        found.append((A + A.T, labels, *([np.where(B == "", B.T, B)] if edges else [])))
    return found


@pytest.mark.parametrize("kind", ["labels", "edge labels", "coordinates", "none"])
@pytest.mark.parametrize("kernel", [None, Delta()])
def test_the_barycentre_of_one_graph_is_that_graph(kind, kernel):
    Y = random_graphs(6, edges=kind == "edge labels", floats=kind == "coordinates")
    Y = [(A, None) for A, _ in Y] if kind == "none" else Y
    fitted = soft_model(Y, output_kernel=kernel)
    found, decoder = fitted.predict(10.0 * np.arange(6)[:, None]), fitted.decoder_
    assert fgw(Y, found, labels=decoder.labels_, edge_labels=decoder.edge_labels_) < 1e-9
    for (C, F), y in zip(found, Y, strict=True):
        assert C.shape == (len(y[0]),) * 2 + ((2,) if kind == "edge labels" else ())
        assert F is None if kind == "none" else F.shape == (len(y[0]), 1 if kind == "coordinates" else 3)


@pytest.mark.parametrize("edges", [False, True])
def test_weights_on_copies_with_other_numbers(edges):
    graph = random_graphs(3, seed=4, edges=edges)[2]
    Y = [moved(graph, seed) for seed in range(5)]
    decoder = GraphBarycenter(rounded=False).fit(Y, _delta(Y))
    (found,) = decoder.decode(np.array([[0.4, 0.3, 0.2, 0.1, -0.05]]), None)
    assert fgw([graph], [found], labels=decoder.labels_, edge_labels=decoder.edge_labels_) < 1e-9


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("rounded", [False, True])
def test_numbers_of_training_nodes_change_nothing(edges, rounded):
    Y = random_graphs(6, seed=1, edges=edges)
    other = [moved(y, seed) for seed, y in enumerate(Y)]
    weights = np.random.default_rng(0).normal(size=(4, 6))
    answers = [GraphBarycenter(rounded=rounded).fit(some, _delta(some)).decode(weights, None) for some in (Y, other)]
    again = GraphBarycenter(rounded=rounded).fit(Y, _delta(Y)).decode(weights, None)
    for a, b, c in zip(*answers, again, strict=True):
        np.testing.assert_array_equal(a[0], c[0])  # nothing is random
        if rounded:
            assert isomorphic_accuracy([a], [b]) == 1.0
        else:
            np.testing.assert_allclose(a[0], b[0], atol=1e-12)
            np.testing.assert_allclose(a[1], b[1], atol=1e-12)


def _delta(Y):
    from iokr.embeddings import Implicit

    embedding = Implicit()
    embedding.fit_transform(Y, Delta().fit(Y))
    return embedding


def test_no_worse_than_pot_on_graphs_of_one_size():
    """Both find local minima from the same start; over a few draws ours are not higher."""
    import ot

    rng, ours, theirs = np.random.default_rng(0), [], []
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    for _ in range(6):
        Y = []
        for _ in range(4):
            A = np.triu(rng.random((7, 7)) < 0.4, 1).astype(float)
            Y.append((A + A.T, rng.normal(size=7)))
        decoder = GraphBarycenter(4, max_iter=50, rounded=False).fit(Y, _delta(Y))
        (found,) = decoder.decode(shares[None], None)
        structures, features = [g[0][0] for g in decoder._soft], [g[1] for g in decoder._soft]
        F, C = ot.gromov.fgw_barycenters(
            7, features, structures, lambdas=shares, alpha=0.5, init_C=structures[0], init_X=features[0], max_iter=50
        )
        for risks, z in ((ours, found), (theirs, (C, F))):
            risks.append(sum(b * fgw([y], [z]) for b, y in zip(shares, Y, strict=True)))
    assert np.mean(ours) <= np.mean(theirs) + 1e-9, (ours, theirs)


def test_risk_over_all_weights_decides_between_sizes():
    """The answer has the least Σ β FGW of the barycentres of every size in the range, negative weights included."""
    Y = random_graphs(8, seed=2)
    beta = np.array([0.5, 0.4, 0.3, -0.3, 0.02, -0.2, 0.01, 0.0])
    decoder = GraphBarycenter(3, rounded=False).fit(Y, _delta(Y))
    (found,) = decoder.decode(beta[None], None)
    sizes = sorted(len(Y[i][0]) for i in range(3))
    risks = {}
    for size in range(sizes[0], sizes[-1] + 1):
        (one,) = GraphBarycenter(3, rounded=False, sizes=size).fit(Y, _delta(Y)).decode(beta[None], None)
        assert one[0].shape == (size, size)
        risks[size] = sum(b * fgw([y], [one], labels=decoder.labels_) for b, y in zip(beta, Y, strict=True))
    assert len(risks) > 1
    assert len(found[0]) == min(risks, key=risks.get)


def test_halfway_between_two_graphs():
    path, closed = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), 1 - np.eye(3, dtype=int)
    single, double = ([["", kind, kind], [kind, "", kind], [kind, kind, ""]] for kind in "-=")
    decoder = GraphBarycenter(rounded=False).fit([(path, "ABC"), (closed, "ABC")], _delta(["a", "b"]))
    ((C, _),) = decoder.decode(np.array([[0.5, 0.5]]), None)
    np.testing.assert_allclose(np.sort(C.ravel()), [0, 0, 0, 0.5, 0.5, 1, 1, 1, 1], atol=1e-9)
    decoder = GraphBarycenter(rounded=False).fit([(closed, "ABC", single), (closed, "ABC", double)], _delta(["a", "b"]))
    ((C, _),) = decoder.decode(np.array([[0.75, 0.25]]), None)
    shares = dict(zip(decoder.edge_labels_, C[0, 1], strict=True))
    assert shares == {"-": pytest.approx(0.75), "=": pytest.approx(0.25)}
    (rounded,) = (
        GraphBarycenter()
        .fit([(closed, "ABC", single), (closed, "ABC", double)], _delta(["a", "b"]))
        .decode(np.array([[0.75, 0.25]]), None)
    )
    assert isomorphic_accuracy([rounded], [(closed, "ABC", single)]) == 1.0


def test_candidates_are_ranked_by_risk():
    Y = random_graphs(8, seed=3, edges=True)
    X = np.random.default_rng(0).normal(size=(8, 2))
    barycentre, risk = (
        IOKR(RBF(0.5), alpha=0.1, decoder=decoder).fit(X, Y)
        for decoder in (GraphBarycenter(rounded=False), MinimumRisk("fgw"))
    )
    for model in (barycentre, risk):
        assert model.weights(X).shape == (8, 8)
    np.testing.assert_array_equal(barycentre.rank(X, Y)[0], risk.rank(X, Y)[0])


def test_directed_graphs_and_other_models():
    from iokr import Neighbors
    from iokr.datasets import make_blocks

    X, Y = make_blocks(12, n_nodes=8, directed=True)
    for model in (IOKR(RBF(1.0), decoder=GraphBarycenter(rounded=False)), Neighbors(1, decoder=GraphBarycenter())):
        found = model.fit(X, Y).predict(X)
        assert all(np.shape(C) == (8, 8) for C, _ in found)
    assert fgw(Y, found) < 1e-9


def test_saved_and_loaded(tmp_path):
    import iokr

    Y = random_graphs(6, edges=True)
    X = np.random.default_rng(0).normal(size=(6, 2))
    for decoder, kernel in [(GraphBarycenter(rounded=False), None), (GraphBarycenter(), WeisfeilerLehman(1))]:
        model = IOKR(RBF(0.5), output_kernel=kernel, alpha=0.1, decoder=decoder).fit(X, Y)
        iokr.save(model, tmp_path / "model.safetensors")
        again = iokr.load(tmp_path / "model.safetensors")
        for a, b in zip(model.predict(X), again.predict(X), strict=True):
            np.testing.assert_array_equal(a[0], b[0])


def test_what_fgw_cannot_take_is_refused():
    Y = random_graphs(4)
    for bad, message in [
        ({"sizes": 0}, "`sizes` must be an integer of at least 1"),
        ({"sizes": (5, 3)}, "`sizes` must begin with the smallest"),
        ({"sizes": 2.5}, "`sizes` must be an integer"),
        ({"rounded": "no"}, "`rounded` must be"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            soft_model(Y, GraphBarycenter(**bad))
    with pytest.raises(ValueError, match="`y`: Graph 2 has no labels, but graph 0 has labels that are categories"):
        soft_model([*Y[:2], (Y[2][0], None), Y[3]])
    with pytest.raises(ValueError, match="labels as floats, but graph 0"):
        soft_model([*Y[:3], random_graphs(1, floats=True)[0]])
    with pytest.raises(ValueError, match="`alpha=0` compares labels of nodes only, but the graphs have none"):
        soft_model([(A, None) for A, _ in Y], GraphBarycenter(alpha=0.0, rounded=False))
    with pytest.raises(ValueError, match="`y` contains numbers"):
        IOKR(decoder=GraphBarycenter(rounded=False)).fit(vectors(4), vectors(4))
    with pytest.raises(ValueError, match="Graph 0 has an adjacency with channels"):
        soft_model([(np.zeros((2, 2, 2)), "ab")] * 3, GraphBarycenter())
    with pytest.raises(ValueError, match="needs an output kernel in which errors are measured"):
        IOKRCV(decoder=GraphBarycenter(rounded=False)).fit(vectors(4), Y)
