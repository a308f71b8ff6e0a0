"""`PairLinkPredictor` is `PairModel` on all pairs of labelled nodes; `PairLinkPredictorCV` chooses by folds of nodes.

Tests of `iokr.estimators.pairs.links` and `iokr.estimators.pairs.all_pairs`.
"""

import numpy as np
import pytest

from iokr import LinkPredictor, LinkStack, PairLinkPredictor, PairLinkPredictorCV, PairModel
from iokr.datasets import make_communities
from iokr.estimators.pairs.all_pairs import AllPairs, pair_labels
from iokr.kernels import RBF, Precomputed
from iokr.model_selection import TooFewLinks


@pytest.fixture(scope="module")
def network():
    return make_communities(40, 3, n_relevant=6, n_irrelevant=2, noise=0.1, seed=1)


@pytest.mark.parametrize("mix", [0.0, 0.5, 1.0])
def test_equals_the_pair_model_on_all_pairs(network, mix):
    W, labeled = network.adjacency, np.arange(0, 40, 2)
    ours = PairLinkPredictorCV(RBF(0.1), alphas=(0.3,), mixes=(mix,)).fit(network.X, W, labeled)
    alone = PairLinkPredictor(RBF(0.1), mix=mix, alpha=0.3).fit(network.X, W, labeled)
    np.testing.assert_array_equal(ours.decision_function(), alone.decision_function())
    every, f, _ = on_all_pairs(network.X[labeled], W[labeled][:, labeled], mix=mix)
    scores = ours.decision_function()[np.ix_(labeled, labeled)]
    np.testing.assert_allclose(scores[tuple(every.T)], f(every), rtol=1e-7, atol=1e-9)


def on_all_pairs(X, W, unlinked=0.0, **settings):
    """All pairs, a node with itself included; f of `PairModel` on them, and f without each pair.

    `PairModel` codes two labels as -1 and 1; f is linear in them, so a second fit of constant labels gives the others.
    """
    a, b = np.triu_indices(len(X))
    every, weight = np.column_stack([a, b]), np.where(a == b, 0.5, 1.0)
    linked = (W.toarray() != 0) | np.eye(len(X), dtype=bool)
    signs, ones = (
        PairModel(RBF(0.1), alpha=0.3, **settings).fit(X, every, y, sample_weight=weight)
        for y in (linked[a, b], np.ones(len(a)))
    )
    mean, half = (1 + unlinked) / 2, (1 - unlinked) / 2
    f = lambda *where: mean * ones.decision_function(*where) + half * signs.decision_function(*where)  # noqa: E731
    return every, f, mean * ones.loo_decision_function() + half * signs.loo_decision_function()


@pytest.mark.parametrize(("strategy", "mix"), [("kernel", 0.3), ("duplicate", 0.3), ("duplicate", 1.0), ("local", 0.0)])
def test_strategies_labels_and_pairs_left_out_are_those_of_the_pair_model(network, strategy, mix):
    X, W, new = network.X[:12], network.adjacency[:12, :12], network.X[12:20]
    settings = {"strategy": strategy, "mix": mix}
    model = PairLinkPredictor(RBF(0.1), alpha=0.3, unlinked=-0.5, **settings).fit(X, W)
    every, f, left_out = on_all_pairs(X, W, -0.5, **settings)
    a, b = every.T
    np.testing.assert_allclose(model.decision_function()[a, b], f(every), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.leave_pair_out()[a, b], left_out, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(model.leave_pair_out(), model.leave_pair_out().T)
    pairs = np.array([(12 + i, j) for i in range(8) for j in range(12)])
    np.testing.assert_allclose(model.decision_function(new, None).ravel(), f(pairs, new), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(None, new).T.ravel(), f(pairs, new), rtol=1e-7, atol=1e-9)


def test_local_models_have_no_score_for_two_new_nodes(network):
    model = PairLinkPredictor(strategy="local").fit(network.X, network.adjacency, np.arange(30))
    scores = model.decision_function()
    assert np.isnan(scores[30:, 30:]).all() and not np.isnan(scores[:30]).any()
    with pytest.raises(ValueError, match="Local models are of labelled nodes"):
        model.decision_function(network.X[:2], network.X[2:4])
    with pytest.raises(ValueError, match="cannot be ranked"):
        model.predict_links(top=3)
    whole = PairLinkPredictor(strategy="local").fit(network.X, network.adjacency)
    assert len(whole.predict_links(top=3)[0]) == 3


@pytest.mark.parametrize("model", [PairLinkPredictor(RBF(0.1)), PairLinkPredictorCV(RBF(0.1), alphas=(0.1, 1.0))])
def test_links_and_probabilities_as_of_a_link_predictor(network, model):
    W = network.adjacency.toarray()
    model.fit(network.X[:30], W[:30, :30])
    S = model.decision_function()
    pairs, scores = model.predict_links(top=5)
    np.testing.assert_allclose(S[tuple(pairs.T)], scores, rtol=1e-12)
    others = np.triu(W[:30, :30] == 0, k=1)
    assert scores[0] == pytest.approx(S[others].max()) and not W[tuple(pairs.T)].any()
    above, _ = model.predict_links(known=True)
    assert len(above) == np.count_nonzero(S[np.triu_indices(30, k=1)] > model.best_threshold())
    p = model.link_probability(network.X[30:])
    assert p.shape == (10, 30) and np.all((p > 0) & (p < 1))
    assert model.score(network.X[30:], W[30:, 30:]) > 0.5


def test_refused_parameters(network):
    X, W = network.X, network.adjacency
    with pytest.raises(ValueError, match="`unlinked` must be below 1"):
        PairLinkPredictor(unlinked=1.0).fit(X, W)
    with pytest.raises(ValueError, match="scalar kernel"):
        PairLinkPredictor(Precomputed()).fit(X @ X.T, W)
    with pytest.raises(TooFewLinks, match="No fold has links"):
        few = np.zeros((6, 6))
        few[0, 1] = few[1, 0] = 1
        PairLinkPredictorCV().fit(X[:6], few)


def test_chooses_by_pairs_with_a_node_that_it_has_not_seen(network):
    W = network.adjacency
    model = PairLinkPredictorCV([RBF(1e-6), RBF(0.1)], alphas=(0.1, 10.0), scoring="both").fit(network.X, W)
    assert model.kernel_.gamma == 0.1 and model.scores_.shape == (2, 2, 2)
    assert model.best_index_ == tuple(np.argwhere(model.scores_ == model.scores_.max())[0])


@pytest.mark.parametrize("mix", [0.0, 0.5, 1.0])
def test_scores_of_new_nodes_without_coefficients_are_those_with_them(network, mix):
    linked = network.adjacency.toarray() != 0
    known, new = np.arange(25), np.arange(25, 40)
    K, grid = RBF(0.1)(network.X), [(mix, 0.3), (mix, 3.0)]
    blocks = K[np.ix_(known, known)], linked[np.ix_(known, known)]
    own = np.where(np.arange(40) < 25, np.arange(40), -1)
    blocks = blocks[0], pair_labels(blocks[1])
    found = AllPairs.new_scores(*blocks, K[np.ix_(new, known)], grid)
    for F, model in zip(found, AllPairs.path(*blocks, grid), strict=True):
        A, B = model.factors(K[:, known], own)
        np.testing.assert_allclose(F, A[new] @ B.T, rtol=1e-9, atol=1e-11)


def test_nodes_that_come_later_are_scored_as_if_they_had_been_there(network):
    W, labeled = network.adjacency, np.arange(25)
    model = PairLinkPredictorCV(RBF(0.1), alphas=(0.3,), mixes=(0.5,)).fit(network.X, W, labeled)
    later = model.decision_function(network.X[25:], network.X[30:])
    np.testing.assert_allclose(later, model.decision_function()[25:, 30:], rtol=1e-9, atol=1e-12)
    alone = PairLinkPredictorCV(RBF(0.1), alphas=(0.3,), mixes=(0.5,)).fit(network.X, W[:25, :25], labeled)
    np.testing.assert_array_equal(alone.decision_function(), model.decision_function())


def test_links_among_the_labelled_nodes_alone_new_nodes_and_a_stack(network):
    W, labeled = network.adjacency.toarray(), np.arange(0, 40, 2)
    whole = PairLinkPredictorCV(RBF(0.1), alphas=(0.3,), mixes=(0.5,)).fit(network.X, W, labeled)
    part = PairLinkPredictorCV(RBF(0.1), alphas=(0.3,), mixes=(0.5,)).fit(
        network.X, W[np.ix_(labeled, labeled)], labeled
    )
    np.testing.assert_array_equal(part.decision_function(), whole.decision_function())
    new = np.setdiff1d(np.arange(40), labeled)
    ours = whole.decision_function(network.X[new])
    np.testing.assert_allclose(ours, whole.decision_function()[new], rtol=1e-9, atol=1e-12)
    ours = whole.decision_function(network.X[new], network.X[new])
    np.testing.assert_allclose(ours, whole.decision_function()[np.ix_(new, new)], rtol=1e-9, atol=1e-12)
    stack = LinkStack([part, LinkPredictor(RBF(0.1))], cv=3).fit(network.X, W, labeled)
    assert stack.decision_function().shape == (40, 40)


@pytest.mark.parametrize("nodes", [[3, 0, 7, 31], np.arange(0, 40, 2)])
def test_scores_among_some_nodes_are_those_of_the_whole_matrix(network, nodes):
    labeled = np.arange(0, 40, 2)
    for model in (PairLinkPredictorCV(RBF(0.1), alphas=(0.3,), mixes=(0.5,)), LinkPredictor(RBF(0.1))):
        fitted = model.fit(network.X, network.adjacency, labeled)
        whole = np.asarray(fitted.decision_function())
        np.testing.assert_allclose(fitted.scores_among(nodes), whole[np.ix_(nodes, nodes)], rtol=1e-9, atol=1e-12)
