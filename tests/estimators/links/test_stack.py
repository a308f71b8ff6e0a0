"""A stack of link models: what it sums, what weighs it, and what it never sees."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

from iokr import Conformal, LinkPredictor, LinkPredictorCV, LinkStack, PairModel
from iokr.apps.links.baselines import Naive
from iokr.estimators.areas import areas_of, both_areas
from iokr.estimators.links import stack as stack_module
from iokr.estimators.links.ranking import fit_logistic
from iokr.kernels import RBF, Columns, Precomputed
from iokr.model_selection import NodeKFold
from iokr_lab.baselines import TPPK, LocalModels

rng = np.random.default_rng(0)
N = 70
X = rng.normal(size=(N, 3))
NEAR = ((X[:, None, :2] - X[None, :, :2]) ** 2).sum(axis=-1)
W = np.triu(rng.uniform(size=(N, N)) < np.exp(-2 * NEAR), k=1)
W = (W | W.T).astype(float)
KNOWN, NEW = np.arange(50), np.arange(50, N)
GOOD, OTHER = LinkPredictor(RBF(0.5), alpha=0.1), TPPK(RBF(0.5), alpha=1.0, unlinked=0.0)
NOISE = Naive(Columns(RBF(1.0), [2]))


def fitted(models=(GOOD, OTHER), **options):
    return LinkStack(list(models), **options).fit(X, W, labeled=KNOWN)


def left_out(model, cv=5):
    """Whether pairs of a known and a left-out node are linked, and their scores in ranks of the known ones."""
    truth, ranks, places = [], [], []
    for train, test in NodeKFold(cv).split(KNOWN):
        S = model.fit(X, W[np.ix_(train, train)], labeled=train).decision_function()
        known = np.sort(S[np.ix_(train, train)][np.triu_indices(len(train), k=1)])
        truth.append(W[np.ix_(test, train)].ravel() > 0)
        ranks.append(np.searchsorted(known, S[np.ix_(test, train)].ravel()) / len(known))
        scaled = (S[np.ix_(test, train)].ravel() - known.mean()) / known.std()
        places.append(scaled)
    return np.concatenate(truth), np.concatenate(ranks), np.concatenate(places)


def test_areas_of_each_model_are_those_of_nodes_left_out():
    stack = fitted()
    for m, model in enumerate((GOOD, OTHER)):
        truth, ranks, _ = left_out(model)
        assert stack.areas_["roc_auc"][m] == pytest.approx(roc_auc_score(truth, ranks), abs=2e-3)


def test_the_sum_of_ranks_has_better_areas_than_either():
    stack = fitted()
    assert stack.weights_.sum() == pytest.approx(1.0) and np.all(stack.weights_ >= 0)
    both = both_areas(stack.areas_["roc_auc"], stack.areas_["average_precision"])
    assert both[2] >= max(both[:2])


def test_weights_are_the_best_of_all_multiples():
    """Two models: a line search over 1/20 finds nothing better than the steps did, but for a little."""
    truth, first, _ = left_out(GOOD)
    second = left_out(OTHER)[1]
    stack = fitted()
    line = [both_areas(*areas_of(truth, w * first + (1 - w) * second)) for w in np.linspace(0, 1, 21)]
    found = both_areas(*areas_of(truth, stack.weights_ @ np.stack([first, second])))
    assert found >= max(line) - 0.005


def test_scores_are_weighted_ranks():
    stack = fitted()
    total = 0
    for w, model in zip(stack.weights_, stack.models_, strict=True):
        S = model.decision_function()
        known = np.sort(S[np.ix_(KNOWN, KNOWN)][np.triu_indices(50, k=1)])
        ranks = np.searchsorted(known, model.decision_function(X[NEW])) / len(known)
        total = total + w * ranks
    assert_allclose(stack.decision_function(X[NEW]), total, atol=5e-3)


def test_log_odds_have_the_smallest_log_loss():
    stack = fitted(combine="logits")
    truth, _, first = left_out(GOOD)
    second = left_out(OTHER)[2]
    T = np.stack([a * s + b for s in (first, second) for a, b in [fit_logistic(truth, s)]])

    def loss(w, b):
        z = w @ T + b
        return np.mean(np.logaddexp(0, z) - truth * z)

    best = min(loss(stack.weights_, b) for b in np.linspace(-1, 1, 201))
    for step in (np.array([0.05, 0]), np.array([0, 0.05]), np.array([-0.05, 0.05])):
        for sign in (-1, 1):
            w = np.clip(stack.weights_ + sign * step, 0, None)
            assert min(loss(w, b) for b in np.linspace(-1, 1, 201)) >= best - 1e-5


@pytest.mark.parametrize("combine", ["ranks", "logits"])
def test_a_model_that_knows_nothing_has_next_to_no_weight(combine):
    stack = fitted((GOOD, NOISE), combine=combine)
    assert stack.weights_[1] < 0.2 * stack.weights_[0]


@pytest.mark.parametrize("combine", ["ranks", "logits"])
def test_one_model_keeps_its_order(combine):
    scores = fitted([GOOD], combine=combine).decision_function(X[NEW])[:, KNOWN].ravel()
    own = GOOD.fit(X, W, labeled=KNOWN).decision_function(X[NEW])[:, KNOWN].ravel()
    truth = W[np.ix_(NEW, KNOWN)].ravel()
    assert roc_auc_score(truth, scores) == pytest.approx(roc_auc_score(truth, own), abs=2e-3)


@pytest.mark.parametrize("combine", ["ranks", "logits"])
def test_probabilities_are_calibrated_on_average(combine):
    stack = fitted(combine=combine)
    p = stack.link_probability(X[NEW])[:, KNOWN]
    assert np.all((p >= 0) & (p <= 1)) and p.mean() == pytest.approx(W[np.ix_(NEW, KNOWN)].mean(), rel=0.4)


def test_links_of_new_nodes_are_not_looked_at():
    hidden = W.copy()
    hidden[NEW] = hidden[:, NEW] = 0
    one, other = fitted(), LinkStack([GOOD, OTHER]).fit(X, hidden, labeled=KNOWN)
    assert_array_equal(one.decision_function(), other.decision_function())


def test_left_out_in_closed_form():
    models = [GOOD, LinkPredictorCV([RBF(0.1), RBF(1.0)], alphas=(0.1, 1.0))]
    stack = fitted(models, cv=None)
    S = models[0].fit(X, W, labeled=KNOWN).loo_decision_function()
    pairs = np.triu_indices(50, k=1)
    assert stack.areas_["roc_auc"][0] == pytest.approx(roc_auc_score(W[pairs], S[pairs]), abs=2e-3)
    with pytest.raises(ValueError, match="has no `loo_decision_function`; set `cv=5`"):
        fitted(cv=None)


def test_predicted_links_are_new_ones_best_first():
    stack = fitted()
    pairs, scores = stack.predict_links(top=30)
    assert pairs.shape == (30, 2) and np.all(pairs[:, 0] < pairs[:, 1]) and np.all(np.diff(scores) <= 0)
    known = pairs[(pairs < 50).all(axis=1)]
    assert not W[known[:, 0], known[:, 1]].any()
    everything, _ = stack.predict_links(top=10**6, known=True)
    assert len(everything) == N * (N - 1) // 2
    assert stack.predict_links(X[NEW], top=5)[0].shape == (5, 2)


def test_local_models_and_conformal_sets():
    stack = fitted((GOOD, LocalModels(RBF(0.5))))
    assert np.isfinite(stack.decision_function(X[NEW])[:, KNOWN]).all()
    sets = Conformal(LinkStack([GOOD, OTHER], cv=3), method="split", random_state=0).fit(X[KNOWN], W[:50, :50])
    assert sets.contains(X[NEW], W[NEW][:, KNOWN], coverage=0.8).mean() > 0.5


def test_refusals():
    with pytest.raises(TypeError, match="at least one model of links"):
        LinkStack([]).fit(X, W)
    with pytest.raises(TypeError, match="at least one model of links"):
        LinkStack(GOOD).fit(X, W)
    with pytest.raises(TypeError, match="as `LinkPredictor` has, got PairModel"):
        LinkStack([GOOD, PairModel()]).fit(X, W)
    with pytest.raises(ValueError, match="`combine` must be one of"):
        LinkStack([GOOD], combine="mean").fit(X, W)
    with pytest.raises(ValueError, match=r"use `Precomputed\(matrix\)`"):
        LinkStack([LinkPredictor(Precomputed())]).fit(RBF()(X), W)
    with pytest.raises(ValueError, match="all pairs of labelled nodes are linked"):
        LinkStack([GOOD]).fit(X[:4], np.ones((4, 4)) - np.eye(4))
    with pytest.raises(ValueError, match="`top` must be"):
        fitted([GOOD]).predict_links(top=0)


def test_log_odds_are_a_sum_of_scores_and_a_constant():
    stack = fitted(combine="logits")
    parts = sum(slope * model.decision_function() for slope, model in zip(stack.slopes_, stack.models_, strict=True))
    rest = stack.decision_function() - parts
    assert_allclose(rest, rest[0, 0], rtol=1e-8, atol=1e-8)
    assert fitted().slopes_ is None


class Counted(LinkPredictor):
    """A model that counts its fits."""

    fits = 0

    def fit(self, X, adjacency, labeled=None):
        type(self).fits += 1
        return super().fit(X, adjacency, labeled)


@pytest.mark.parametrize("combine", ["ranks", "logits"])
def test_a_model_whose_weight_is_zero_is_not_fitted_on_all_nodes(combine):
    """Noise beside a good model: it is fitted on the folds, which give it no weight, and never again."""
    Counted.fits = 0
    stack = fitted((GOOD, Counted(Columns(RBF(1.0), [2]))), combine=combine, cv=3)
    assert stack.weights_[1] == 0.0 < stack.weights_[0]
    assert Counted.fits == 3 and stack.models_[1] is None
    alone, scores = fitted((GOOD,), combine=combine, cv=3).decision_function(X[NEW]), stack.decision_function(X[NEW])
    assert_array_equal(np.argsort(scores, axis=None, kind="stable"), np.argsort(alone, axis=None, kind="stable"))


def test_weights_of_some_nodes_for_models_of_all():
    """weigh and learn are the halves of fit."""
    whole = fitted(combine="logits", cv=3)
    halves = LinkStack([GOOD, OTHER], combine="logits", cv=3).weigh(X, W, labeled=KNOWN).learn(X, W, labeled=KNOWN)
    assert_allclose(halves.decision_function(X[NEW]), whole.decision_function(X[NEW]), rtol=1e-12)
    sample = KNOWN[::2]
    other = LinkStack([GOOD, OTHER], combine="logits", cv=3).weigh(X, W, labeled=sample)
    with pytest.raises(NotFittedError):
        other.decision_function()
    expected = LinkStack([GOOD, OTHER], combine="logits", cv=3).fit(X, W, labeled=sample)
    assert_allclose(other.weights_, expected.weights_)
    assert other.learn(X, W, labeled=KNOWN).labeled_.tolist() == KNOWN.tolist()
    total = sum(slope * model.decision_function() for slope, model in zip(other.slopes_, other.models_, strict=True))
    difference = other.decision_function() - total
    assert_allclose(difference, difference[0, 0] * np.ones_like(difference), rtol=1e-9)


def test_a_part_of_many_labelled_nodes_is_the_unit(monkeypatch):
    """Slopes from half of the labelled nodes are nearly those from all."""
    whole = fitted(combine="logits", cv=3)
    monkeypatch.setattr(stack_module, "_MOST_NODES", 25)
    part = fitted(combine="logits", cv=3)
    assert_allclose(part.weights_, whole.weights_)
    assert not np.array_equal(part.slopes_, whole.slopes_)
    assert_allclose(part.slopes_, whole.slopes_, rtol=0.2)
