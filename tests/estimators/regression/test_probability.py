"""softmax(−‖h(x) − ψ(y)‖²/T), T by log loss on leave-one-out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from iokr import IOKR, IOKRCV, CandidateSets
from iokr.embeddings import Explicit
from iokr.estimators.regression.probability import log_loss, temperature
from iokr.kernels import RBF, Delta, Features
from iokr.losses import Huber, MaxMargin

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
NAMES = np.array(["a", "b", "c"], dtype=object)
y = NAMES[np.digitize(X[:, 0] + 0.7 * rng.normal(size=60), [-0.5, 0.5])]
NEW = rng.normal(size=(5, 2))


def model(**parts):
    return IOKR(RBF(0.5), output_kernel=Delta(), alpha=0.5, **parts)


def left_out_probabilities(model, T):
    """p(y_i) by refits, the slow way."""
    p = []
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        d = model.fit(X[rest], y[rest]).distances(X[i : i + 1], NAMES)[0]
        e = np.exp(-d / T)
        p.append(e[y[i] == NAMES][0] / e.sum())
    return np.array(p)


def test_temperature_has_the_smallest_log_loss_of_refits():
    fitted = model().fit(X, y)
    P, d = fitted.predict_proba(NEW, NAMES), fitted.distances(NEW, NAMES)
    T = (d[0, 1] - d[0, 0]) / np.log(P[0, 0] / P[0, 1])
    assert_allclose(P.sum(axis=1), 1.0)
    assert_allclose(P, np.exp(-d / T) / np.exp(-d / T).sum(axis=1, keepdims=True))
    losses = [-np.log(left_out_probabilities(model(), t)).mean() for t in (T, 0.8 * T, 1.25 * T)]
    assert losses[0] < min(losses[1:])


def test_temperature_against_a_search():
    own, squares = rng.uniform(0.5, 1.5, size=40), rng.uniform(0.5, 2.0, size=(40, 6))
    w = rng.uniform(size=40)
    T = temperature(own, squares, w)
    best = minimize_scalar(lambda t: log_loss(own, squares, np.exp(t), w), bounds=(-8, 8), method="bounded")
    assert log_loss(own, squares, T, w) <= best.fun + 1e-12


def test_best_candidate_is_the_nearest():
    fitted = IOKRCV(RBF(0.5), alphas=(0.1, 1.0), output_kernel=Delta()).fit(X, y)
    P = fitted.predict_proba(NEW, NAMES)
    assert (P.argmax(axis=1) == fitted.rank(NEW, NAMES, k=1)[0][:, 0]).all()


def test_explicit_features_of_outputs_are_those_of_the_kernel():
    linear = IOKR(RBF(0.5), output_kernel=Features(one_hot), alpha=0.5)
    explicit = IOKR(RBF(0.5), output_kernel=Features(one_hot), embedding=Explicit(), alpha=0.5)
    P = linear.fit(X, y).predict_proba(NEW, NAMES)
    assert_allclose(explicit.fit(X, y).predict_proba(NEW, NAMES), P, rtol=1e-7)


def one_hot(labels):
    return np.array([label == NAMES for label in labels], dtype=float)


def test_sets_and_equal_candidates():
    fitted = model().fit(X, y)
    sets = CandidateSets([["a", "b"], ["c"], ["a", "c"], ["b"], ["a", "b", "c"]])
    P = fitted.predict_proba(NEW, sets)
    assert [len(p) for p in P] == [2, 1, 2, 1, 3]
    assert_allclose([p.sum() for p in P], 1.0)
    once, twice = fitted.predict_proba(NEW, ["a", "b", "c"]), fitted.predict_proba(NEW, ["a", "b", "c", "c"])
    assert_allclose(twice[:, 0] / twice[:, 1], once[:, 0] / once[:, 1])  # T does not count one twice


def test_no_row_is_surer_than_the_data():
    """Where every left-out truth is nearest the log loss has no minimum; it stops at log(1 + 1/n)."""
    own, squares = np.full(20, 0.1), np.full((20, 3), 1.0)
    T = temperature(own, squares)
    assert_allclose(log_loss(own, squares, T), np.log1p(1 / 20), rtol=1e-6)
    misleading = temperature(np.full(20, 1.0), np.full((20, 3), 0.1))
    assert_allclose(log_loss(np.full(20, 1.0), np.full((20, 3), 0.1), misleading), np.log(4), rtol=1e-4)
    assert temperature(np.ones(3), np.ones((3, 1))) == 1.0


def test_refused_in_words():
    with pytest.raises(ValueError, match="length of h"):
        model(loss=MaxMargin()).fit(X, y).predict_proba(NEW, NAMES)
    with pytest.raises(ValueError, match="quadratic losses only"):
        model(loss=Huber(1.0)).fit(X, y).predict_proba(NEW, NAMES)
    assert not hasattr(IOKR(RBF(0.5)), "predict_proba")  # vectors: no candidates, as scikit-learn's regressors
    with pytest.raises(AttributeError) as refused:
        IOKR(RBF(0.5)).predict_proba  # noqa: B018  # asked for, not called
    assert "Linear()" in str(refused.value.__cause__)


def test_without_candidates_the_outputs_of_fit_compete():
    fitted = model().fit(X, y)
    assert_allclose(fitted.predict_proba(NEW), fitted.predict_proba(NEW, fitted.decoder_.Y_fit_))
