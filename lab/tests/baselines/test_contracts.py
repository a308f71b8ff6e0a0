"""What holds of every rival: parameters, copies, refusals, libraries.

Tests of `iokr.apps.links.baselines`.
"""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import iokr_lab.baselines
from iokr import PairLinkPredictor
from iokr.apps.links.baselines import PKMR, LinkBaseline, Naive
from iokr.kernels import RBF, Linear, Precomputed
from iokr.operator_kernels import Decomposable
from iokr_lab.baselines import (
    KDE,
    OK3,
    TPPK,
    EMCompletion,
    KernelCCA,
    KernelMetricLearning,
    LocalModels,
    PairClassifier,
)

RIVALS = [
    Naive(),
    KernelCCA(kappa_x=0.5),
    KernelCCA(score="inner", exact=False),
    KernelMetricLearning(n_components=3),
    LocalModels(),
    LocalModels(loss="square", alpha=0.2),
    EMCompletion(alpha=0.3),
    PKMR(alpha=0.1),
    PKMR(penalty="norm"),
    TPPK(alpha=0.1),
    TPPK(loss="hinge", ratio=2),
    OK3(n_estimators=5, random_state=0),
    PairClassifier(classifier=LogisticRegression(), random_state=0),
    PairLinkPredictor(alpha=0.1, unlinked=-0.5),
    PairLinkPredictor(strategy="duplicate", mix=0.4),
]
TRANSDUCTIVE = [EMCompletion(model="spectral", alpha=0.3, max_iter=5)]
rng = np.random.default_rng(0)
N, LABELED = 16, np.array([2, 0, 5, 7, 11, 13, 4, 9, 1])
X = rng.normal(size=(N, 3))
W = np.triu(((X[:, None] - X[None, :]) ** 2).sum(axis=2) < 2.5, 1).astype(float)
W = W + W.T
NEW = rng.normal(size=(4, 3))

every = pytest.mark.parametrize("model", RIVALS, ids=lambda model: repr(model)[:60])
everyone = pytest.mark.parametrize("model", RIVALS + TRANSDUCTIVE, ids=lambda model: repr(model)[:60])


def test_every_rival_is_here():
    classes = {getattr(iokr_lab.baselines, name) for name in iokr_lab.baselines.__all__}
    assert classes - {LinkBaseline, KDE} == {type(model) for model in RIVALS} - {PairLinkPredictor}


@everyone
def test_clones_pickles_and_prints(model):
    assert repr(clone(model)) == repr(model)
    fitted = clone(model).fit(X, W, LABELED)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(), fitted.decision_function())
    assert clone(fitted).get_params().keys() == model.get_params().keys()
    with pytest.raises(NotFittedError):
        clone(fitted).decision_function()


@everyone
def test_fit_leaves_what_it_was_given(model):
    model, before, links = clone(model), X.copy(), W.copy()
    parameters = repr(model)
    assert model.fit(X, W, LABELED) is model
    assert repr(model) == parameters
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(W, links)


@everyone
def test_links_of_unlabelled_nodes_are_not_read(model):
    rest = np.setdiff1d(np.arange(N), LABELED)
    hidden = W.copy()
    hidden[rest] = hidden[:, rest] = 0
    expected = clone(model).fit(X, W, LABELED).decision_function()
    np.testing.assert_array_equal(clone(model).fit(X, hidden, LABELED).decision_function(), expected)
    small = W[np.ix_(LABELED, LABELED)]
    for adjacency in (small, csr_array(small), csr_matrix(W), W.astype(bool), small.tolist()):
        np.testing.assert_allclose(clone(model).fit(X, adjacency, LABELED).decision_function(), expected, atol=1e-12)


@everyone
def test_a_mask_and_the_order_of_the_labelled_nodes(model):
    mask = np.zeros(N, dtype=bool)
    mask[LABELED] = True
    if getattr(model, "loss", "") == "hinge":
        return  # the machines stop early, and decoys are drawn by position
    first, second = (clone(model).fit(X, W, labeled).decision_function() for labeled in (LABELED, mask))
    np.testing.assert_allclose(first, second, atol=1e-8)


@every
def test_new_nodes_are_scored_as_the_same_nodes_in_the_list(model):
    """Nodes without known links: it does not matter whether `fit` saw them."""
    rest = np.setdiff1d(np.arange(N), LABELED)
    fitted = clone(model).fit(X, W, LABELED)
    whole = fitted.decision_function()
    np.testing.assert_allclose(fitted.decision_function(X[rest])[:, LABELED], whole[np.ix_(rest, LABELED)], atol=1e-10)
    np.testing.assert_allclose(
        fitted.decision_function(None, X[rest])[LABELED], whole[np.ix_(LABELED, rest)], atol=1e-10
    )
    np.testing.assert_allclose(whole, whole.T, atol=1e-10)
    if not isinstance(model, LocalModels):
        np.testing.assert_allclose(
            fitted.decision_function(X[rest], X[rest])[0, 1], whole[rest[0], rest[1]], atol=1e-10
        )
        assert fitted.decision_function(NEW, X[:3]).shape == (4, 3)


@every
def test_a_given_gram_matrix_is_the_same(model):
    K = RBF(0.4)(X)
    expected = clone(model).set_params(kernel=RBF(0.4)).fit(X, W, LABELED).decision_function()
    ours = clone(model).set_params(kernel=Precomputed(K)).fit(np.arange(N), W, LABELED).decision_function()
    np.testing.assert_allclose(ours, expected, atol=0.01 if getattr(model, "loss", "") == "hinge" else 1e-6)


@every
def test_single_precision_in_and_out(model):
    scores = clone(model).fit(X.astype(np.float32), W, LABELED).decision_function()
    assert scores.dtype == np.float32


@every
@pytest.mark.parametrize("name", ["torch", "array_api_strict"])
def test_answers_in_kind(model, name):
    library = pytest.importorskip(name).asarray
    expected = clone(model).set_params(kernel=RBF(0.4)).fit(X, W, LABELED)
    ours = clone(model).set_params(kernel=RBF(0.4)).fit(library(X), W, LABELED)
    scores = ours.decision_function()
    assert type(scores) is type(library(X))
    tolerance = 0.01 if getattr(model, "loss", "") == "hinge" else 1e-7
    np.testing.assert_allclose(np.asarray(scores), expected.decision_function(), atol=tolerance)
    if model.__class__ is not LocalModels:
        assert type(ours.decision_function(library(NEW), library(NEW))) is type(library(X))
    with pytest.raises(TypeError, match="another library"):
        ours.decision_function(NEW)


@every
def test_sparse_inputs(model):
    dense = clone(model).set_params(kernel=Linear()).fit(X, W, LABELED).decision_function()
    sparse = clone(model).set_params(kernel=Linear()).fit(csr_matrix(X), W, LABELED).decision_function()
    np.testing.assert_allclose(sparse, dense, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (KernelCCA(kappa_x=0.0), ValueError, "`kappa_x` must be a positive number, got 0.0"),
        (KernelCCA(kappa_y="1"), TypeError, "`kappa_y` must be a positive number"),
        (KernelCCA(n_components=0), ValueError, "`n_components` must be an integer of at least 1, got 0"),
        (KernelCCA(score="distance"), ValueError, "`score` must be one of 'cosine', 'inner', 'weighted'"),
        (KernelMetricLearning(alpha=-1.0), ValueError, "`alpha` must be a positive number, got -1.0"),
        (KernelMetricLearning(score="cosine"), ValueError, "`score` must be one of 'distance', 'inner'"),
        (LocalModels(loss="log"), ValueError, "`loss` must be one of 'hinge', 'square'"),
        (LocalModels(alpha=0), ValueError, "`alpha` must be a positive number"),
        (EMCompletion(alpha=0.0), ValueError, "`alpha` must be a positive number"),
        (EMCompletion(model="gauss"), ValueError, "`model` must be one of 'scale', 'spectral', 'kernels'"),
        (EMCompletion(model="kernels"), TypeError, "`kernel` must be a `Mean"),
        (EMCompletion(max_iter=0), ValueError, "`max_iter` must be an integer of at least 1"),
        (PKMR(alpha=-0.1), ValueError, "`alpha` must be a number of at least 0, got -0.1"),
        (PKMR(penalty="l1"), ValueError, "`penalty` must be one of 'trace', 'norm'"),
        (PKMR(output_kernel="diffusion"), TypeError, "`output_kernel` must be a component"),
        (TPPK(loss="log"), ValueError, "`loss` must be one of 'square', 'hinge'"),
        (TPPK(unlinked=1.0), ValueError, "`unlinked` must be below 1"),
        (
            EMCompletion(model="spectral", covariance=False),
            ValueError,
            '`model` must be "scale" with `covariance=False`',
        ),
        (PairLinkPredictor(unlinked=1.0), ValueError, "`unlinked` must be below 1"),
        (PairLinkPredictor(kernel="rbf"), TypeError, "`kernel` must be a component"),
        (TPPK(ratio=0), ValueError, "`ratio` must be a positive number"),
        (Naive(kernel="rbf"), TypeError, "`kernel` must be a component"),
        (Naive(kernel=Precomputed()), ValueError, r"use `Precomputed\(matrix\)` and row numbers"),
        (Naive(kernel=Decomposable(RBF(), np.eye(2))), TypeError, "a scalar kernel"),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_parameters_that_make_no_sense_are_named(model, error, words):
    with pytest.raises(error, match=words):
        model.fit(X, W, LABELED)


BAD_GRAPHS = [
    (W[:5], None, r"must have the shape \(16, 16\), got \(5, 16\)"),
    (W[:5, :5], LABELED, r"\(9, 9\), the labelled nodes, or \(16, 16\)"),
    (np.triu(W), None, "must be symmetric"),
    (-W, None, "weights of at least 0"),
    (W + np.eye(N), None, "to itself"),
    (np.zeros((N, N)), None, "must have a link between two labelled nodes"),
    (W, [0], "At least two labelled nodes"),
    (W, [0, 16], "from 0 to 15, got 16"),
    (W, [3, 3], "more than once"),
]


@pytest.mark.parametrize(("adjacency", "labeled", "words"), BAD_GRAPHS, ids=[words for _, _, words in BAD_GRAPHS])
@pytest.mark.parametrize("model", [Naive(), PKMR()], ids=repr)
def test_bad_graphs_are_named(model, adjacency, labeled, words):
    with pytest.raises(ValueError, match=words):
        clone(model).fit(X, adjacency, labeled)


@every
def test_bad_inputs_are_named(model):
    with pytest.raises(ValueError, match="NaN"):
        clone(model).fit(np.where(X > 1, np.nan, X), W, LABELED)
    fitted = clone(model).fit(X, W, LABELED)
    with pytest.raises(ValueError, match="features"):
        fitted.decision_function(NEW[:, :2])
    with pytest.raises(ValueError, match=r"empty|0 sample"):
        clone(model).fit(X[:0], W[:0, :0])


def test_a_machine_on_pairs_needs_both_kinds():
    complete = np.ones((N, N)) - np.eye(N)
    with pytest.raises(ValueError, match="both linked and unlinked pairs"):
        TPPK(loss="hinge").fit(X, complete, LABELED)
    sure = LocalModels().fit(X, complete, LABELED).decision_function()
    np.testing.assert_array_equal(sure[:, LABELED], np.ones((N, len(LABELED))))
