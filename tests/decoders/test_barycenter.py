"""Barycentres of graphs through POT: never worse than the nearest training graph, and right where that is known."""

import sys

import numpy as np
import pytest

from iokr import IOKR
from iokr.decoders import Candidates, GraphBarycenter
from iokr.kernels import RBF, Delta, WeisfeilerLehman
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
        made = decoder._written(g)
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
    adjacency, labels = decoder._written(mean)
    assert labels == list("ABCD")
    np.testing.assert_array_equal(adjacency, ring)


def test_negative_weights_are_left_out():
    Y = objects("graphs", 4)
    decoder = GraphBarycenter().fit(Y, _embedded(Y))
    assert decoder._proposed(-np.ones(4)) == []


def test_refusals(monkeypatch):
    with pytest.raises(ValueError, match="needs an output kernel on graphs"):
        IOKR(output_kernel=Delta(), decoder=GraphBarycenter()).fit(vectors(4), objects("graphs", 4))
    with pytest.raises(ValueError, match=r"`alpha` must lie between 0 and 1, got 2\.0"):
        model(GraphBarycenter(5, 2.0))
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(ImportError, match="needs the package POT"):
        model(GraphBarycenter())
