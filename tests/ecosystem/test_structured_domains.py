"""Every structured domain through cross-validation, with the kernel and the decoder that are its own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score

from iokr import IOKR, CandidateSets, OutputKernelForest, SharedCandidates
from iokr.data.objects import as_objects, key, keys
from iokr.decoders import Assignment, GraphEdits, NGramPath, Positions, Threshold, TreeEdits
from iokr.kernels import (
    RBF,
    Delta,
    GlobalAlignment,
    Hamming,
    Jaccard,
    Kendall,
    Mallows,
    Mismatch,
    Normalized,
    Positional,
    ShortestPath,
    Spearman,
    Spectrum,
    Subsequence,
    Subtree,
    WeisfeilerLehman,
)
from iokr.metrics import hamming
from iokr.model_selection import cross_val_rank

N = 24
CHAIN = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
RING = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
WORDS = ["abab", "bcbc", "cacac"]
TUPLES = [(1, 2, 2), (3, 1), (2, 3, 3, 1)]
RANKS = [[1, 2, 3, 4], [4, 3, 2, 1], [2, 1, 4, 3]]
SETS = [frozenset("ab"), frozenset("bcd"), frozenset()]
GRAPHS = [(CHAIN, "COC"), (RING, "CCN"), (CHAIN, "NNO")]
TREES = [("+", "a", "b"), ("*", ("+", "a", "a"), "b"), "c"]
SERIES = [(0.0, 1.0, 2.0), (2.0, 0.0, 2.0, 0.0), (-3.0, -3.0)]
DOMAINS = {  # three kinds of objects, a kernel on them, and how to decode
    "strings": (WORDS, Normalized(Spectrum(2)), None),
    "n-grams": (WORDS, Spectrum(2), NGramPath()),
    "mismatches": (WORDS, Mismatch(2, 1, "abc"), None),
    "subsequences": (WORDS, Normalized(Subsequence(2, 0.5)), None),
    "sequences": (TUPLES, Positional(Delta()), Positions()),
    "sequences with steps": (TUPLES, Positional(Delta(), transitions=0.5), Positions()),
    "rankings by pairs": (RANKS, Kendall(), Assignment()),
    "rankings by ranks": (RANKS, Spearman(), Assignment()),
    "rankings": (RANKS, Mallows(0.5), None),
    "sets": (SETS, Jaccard(), None),
    "label sets": (SETS, Hamming(list("abcd")), Threshold()),
    "graphs": (GRAPHS, Normalized(WeisfeilerLehman(1)), GraphEdits(1, 3)),
    "trees": (TREES, Normalized(Subtree(0.5)), TreeEdits()),
    "graphs by paths": (GRAPHS, ShortestPath(), None),
    "series": (SERIES, GlobalAlignment(2.0), None),
}


@pytest.fixture(params=DOMAINS)
def domain(request):
    return DOMAINS[request.param]


@pytest.fixture
def data(domain):
    kind = np.arange(N) % 3
    X = np.random.default_rng(0).normal(size=(N, 4)) * 0.3 + 2.0 * np.eye(4)[kind]
    return X, as_objects(domain[0][k] for k in kind)


@pytest.fixture
def model(domain):
    _, kernel, decoder = domain
    return IOKR(RBF(0.5), output_kernel=kernel, decoder=decoder, alpha=0.01)


@pytest.fixture
def sets(data):
    """Candidates for each input: its output and one or two others, in some order."""
    rng, (_, y) = np.random.default_rng(1), data
    kinds = {key(item): item for item in y}
    found = []
    for item in y:
        others = [other for name, other in kinds.items() if name != key(item)]
        chosen = [item, *others[: rng.integers(1, 3)]]
        found.append([chosen[i] for i in rng.permutation(len(chosen))])
    return CandidateSets(found)


def same(found, true) -> list[bool]:
    return [a == b for a, b in zip(keys(found), keys(true), strict=True)]


def test_cross_val_predict(model, data):
    X, y = data
    predicted = cross_val_predict(model, X, y, cv=KFold(3))
    assert predicted.dtype == object and predicted.shape == (N,)
    assert np.mean(same(predicted, y)) > 0.9  # kinds are far apart


def test_grid_search(model, data):
    X, y = data
    search = GridSearchCV(model, {"alpha": [0.01, 1e5]}, cv=KFold(3), error_score="raise").fit(X, y)
    assert search.best_params_ == {"alpha": 0.01}
    assert search.best_score_ > 0.5
    assert all(same(search.predict(X), y))


def test_objects_as_inputs(domain, data):
    y, X = data
    kernel = Normalized(domain[1]) if domain[1].domain != "sets" else domain[1]
    model = IOKR(kernel, alpha=0.01)
    assert cross_val_predict(model, X, y, cv=KFold(3)).shape == y.shape
    search = GridSearchCV(model, {"alpha": [0.01, 1e5]}, cv=KFold(3), error_score="raise").fit(X, y)
    assert search.best_params_ == {"alpha": 0.01}
    assert_allclose(search.predict(X), cross_val_predict(model, X, y, cv=KFold(3)), atol=0.6)


def test_candidates_of_each_input_through_score(model, data, sets):
    X, y = data
    folds = KFold(3)
    with config_context(enable_metadata_routing=True):
        routed = model.set_score_request(candidates=True)
        scores = cross_val_score(routed, X, y, cv=folds, params={"candidates": sets}, error_score="raise")
        search = GridSearchCV(routed, {"alpha": [0.01]}, cv=folds, error_score="raise").fit(X, y, candidates=sets)
    by_hand = []
    for train, test in folds.split(X):
        fitted = model.fit(X[train], y[train])
        by_hand.append(np.mean(same(fitted.predict(X[test], sets[test]), y[test])))
    assert_allclose(scores, by_hand)
    assert_allclose(search.best_score_, np.mean(by_hand))
    assert np.mean(by_hand) > 0.9


def test_candidates_of_each_input_through_cross_val_rank(model, data, sets):
    X, y = data
    folds = KFold(3)
    ranks = cross_val_rank(model, X, y, sets, cv=folds)
    expected = np.full(N, np.inf)
    for train, test in folds.split(X):
        distances = model.fit(X[train], y[train]).distances(X[test], sets[test])
        for i, d in zip(test, distances, strict=True):
            own = np.flatnonzero(same(sets.sets[i], as_objects([y[i]] * len(d))))[0]
            expected[i] = 1 + np.sum(d < d[own] - 1e-12)
    assert_array_equal(ranks, expected)
    shared = cross_val_rank(model, X, y, SharedCandidates([y[0], y[1], y[2]]), cv=folds)
    assert np.all(shared >= 1) and np.all(shared <= 3)


def test_trees(domain, data, sets):
    X, y = data
    forest = OutputKernelForest(domain[1], n_estimators=5, random_state=0)
    assert np.mean(same(cross_val_predict(forest, X, y, cv=KFold(3)), y)) > 0.8
    assert forest.fit(X, y).score(X, y, candidates=sets) == 1.0
    assert np.all(cross_val_rank(forest, X, y, sets, cv=KFold(3)) <= 3)


def test_a_decoded_loss_chooses_between_output_kernels():
    """R² of two output spaces cannot be compared; a loss between decoded outputs can."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = (X @ rng.normal(size=(3, 5)) + 0.5 * rng.normal(size=(60, 5)) > 0).astype(float)
    scorer = make_scorer(hamming, greater_is_better=False)
    grid = {"output_kernel": [Hamming(), RBF(50.0)], "alpha": [0.1]}
    search = GridSearchCV(IOKR(RBF(0.2)), grid, scoring=scorer, cv=KFold(3), error_score="raise").fit(X, Y)
    losses = []
    for kernel in grid["output_kernel"]:
        predicted = cross_val_predict(IOKR(RBF(0.2), output_kernel=kernel, alpha=0.1), X, Y, cv=KFold(3))
        losses.append(np.mean([hamming(Y[test], predicted[test]) for _, test in KFold(3).split(X)]))
    assert_allclose(-search.cv_results_["mean_test_score"], losses)
    assert search.best_index_ == np.argmin(losses)
    assert losses[0] != losses[1]
