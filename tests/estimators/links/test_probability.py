"""p = σ(a s + b) of pairs of nodes."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from iokr import LinkPredictor, LinkPredictorCV
from iokr.estimators.links.ranking import fit_logistic


def test_logistic_has_the_smallest_log_loss():
    rng = np.random.default_rng(0)
    s = 5 + 3 * rng.normal(size=5000)
    linked = rng.uniform(size=5000) < 1 / (1 + np.exp(-(0.8 * s - 5)))
    a, b = fit_logistic(linked, s)

    def loss(w):
        t = w[0] * s + w[1]
        return np.sum(np.logaddexp(0, t) - linked * t)

    best = minimize(loss, [0.1, 0.0])
    assert loss([a, b]) <= best.fun * (1 + 1e-5)
    assert_allclose([a, b], best.x, rtol=0.02)


def test_scores_without_an_error_and_networks_without_a_link_stay_finite():
    a, b = fit_logistic(np.arange(10) >= 5, np.arange(10.0))
    assert np.isfinite([a, b]).all() and a > 0
    p = 1 / (1 + np.exp(-(a * np.arange(10.0) + b)))
    assert 0 < p[0] < 0.5 < p[-1] < 1
    a, b = fit_logistic(np.zeros(50, dtype=bool), np.arange(50.0))
    assert 1 / (1 + np.exp(-(a * 25 + b))) < 0.1
    assert np.isfinite(fit_logistic(np.array([True, False]), np.zeros(2))).all()


def test_probabilities_of_links_with_new_nodes_are_calibrated():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, size=160)
    X = np.eye(4)[group] + 0.4 * rng.normal(size=(160, 4))
    linked = np.triu(rng.uniform(size=(160, 160)) < np.where(group[:, None] == group[None, :], 0.5, 0.02), k=1)
    W = (linked + linked.T).astype(float)
    for model in (LinkPredictor(alpha=1.0), LinkPredictorCV(alphas=(0.1, 1.0))):
        model.fit(X, W[:100, :100], labeled=np.arange(100))
        P = model.link_probability(X[100:])
        assert P.shape == (60, 160) and np.all((P > 0) & (P < 1))
        known, truth = P[:, :100].ravel(), W[100:, :100].ravel()
        assert abs(known.mean() - truth.mean()) < 0.05
        high = known > 0.35
        assert high.sum() > 50 and abs(known[high].mean() - truth[high].mean()) < 0.12
        order = np.argsort(model.decision_function(X[100:]).ravel())
        assert np.all(np.diff(P.ravel()[order]) >= 0)


def test_found_anew_after_another_fit():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    W = (np.abs(X[:, :1] - X[:, 0]) < 0.4).astype(float) - np.eye(30)
    model = LinkPredictor(alpha=0.5).fit(X, W)
    model.link_probability()
    before = model.logistic_
    model.link_probability()
    assert model.logistic_ is before
    model.fit(X, 1 - np.eye(30) - W)
    assert not hasattr(model, "logistic_")
    model.link_probability()
    assert model.logistic_ != before
