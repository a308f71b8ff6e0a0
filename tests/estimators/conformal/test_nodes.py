"""Sets of partners: coverage over draws of nodes, agreement of `contains` and `predict_set`, and refusals."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from iokr import IOKR, Conformal, LinkPredictor, LinkPredictorCV, PairModel
from iokr.kernels import RBF, Precomputed
from iokr.losses import MaxMargin
from iokr_lab.baselines import TPPK


def network(seed, n=100):
    """Nodes near each other are linked, by chance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    near = 0.8 * np.exp(-3 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))
    W = np.triu(rng.uniform(size=(n, n)) < near, k=1)
    return X, (W | W.T).astype(float)


X, W = network(0)
NEW, KNOWN = slice(70, None), slice(0, 70)


def fitted(model=None, **options):
    model = LinkPredictor(RBF(1.0), alpha=0.1) if model is None else model
    return Conformal(model, method="split", random_state=0, **options).fit(X[KNOWN], W[KNOWN, KNOWN])


def test_coverage_over_many_draws():
    """At least 0.8 but for three standard errors, over nodes that are drawn anew."""
    found = []
    for seed in range(60):
        X, W = network(seed + 1, 60)
        sets = Conformal(LinkPredictor(RBF(1.0), alpha=0.1), method="split", random_state=seed)
        sets.fit(X[:40], W[:40, :40])
        found.append(sets.contains(X[40:], W[40:, :40], coverage=0.8).mean())
    assert np.mean(found) >= 0.8 - 3 * np.std(found) / np.sqrt(len(found))
    assert np.mean(found) <= 0.95  # and not everything


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_a_set_that_contains_the_row_holds_every_partner(coverage):
    sets = fitted()
    found = sets.predict_set(X[NEW], coverage=coverage)
    partners = [set(np.flatnonzero(row)) & set(sets.nodes_) for row in W[NEW, KNOWN]]
    inside = [ours <= set(answer.tolist()) for ours, answer in zip(partners, found, strict=True)]
    assert inside == sets.contains(X[NEW], W[NEW, KNOWN], coverage=coverage).tolist()
    assert all(set(answer.tolist()) <= set(sets.nodes_) for answer in found)


def test_the_score_is_that_of_the_worst_partner():
    sets = fitted()
    rest = np.setdiff1d(np.arange(70), sets.nodes_)
    S = sets.model_.decision_function(X[rest])
    links = W[np.ix_(rest, sets.nodes_)] > 0
    own = np.array([-s[row].min() if row.any() else -np.inf for s, row in zip(S, links, strict=True)])
    new = sets.model_.decision_function(X[NEW])
    rows = W[NEW, KNOWN][:, sets.nodes_] > 0
    worst = np.array([-s[row].min() if row.any() else -np.inf for s, row in zip(new, rows, strict=True)])
    p = (1 + (own[None] >= worst[:, None]).sum(axis=1)) / (len(rest) + 1)
    np.testing.assert_allclose(sets.p_values(X[NEW], W[NEW, KNOWN]), p)
    np.testing.assert_array_equal(sets.predict(X[NEW]), new)


def test_the_order_of_nodes_to_calibrate_on_plays_no_role():
    sets = fitted()
    order = np.arange(70)
    rest = np.setdiff1d(order, sets.nodes_)
    order[rest] = rest[::-1]
    again = Conformal(sets.model, method="split", random_state=0).fit(X[order], W[np.ix_(order, order)])
    for one, other in zip(sets.predict_set(X[NEW]), again.predict_set(X[NEW]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_node_without_partners_is_covered():
    assert fitted().contains(X[NEW], np.zeros((30, 70)), coverage=0.5).all()


@pytest.mark.parametrize(
    "model",
    [
        LinkPredictorCV([RBF(0.5), RBF(1.0)], alphas=(0.1, 1.0)),
        LinkPredictor(RBF(1.0), loss=MaxMargin()),
        TPPK(RBF(1.0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_any_model_of_links(model):
    sets = fitted(model)
    assert sets.contains(X[NEW], csr_array(W[NEW, KNOWN]), coverage=0.9).mean() > 0.6
    assert (
        "if nodes are exchangeable" in sets.guarantee_ and "nothing is guaranteed for single pairs" in sets.guarantee_
    )


def test_a_gram_matrix_is_cut_by_rows_and_columns():
    K = RBF(1.0)(X)
    by_matrix = Conformal(LinkPredictor(Precomputed(), alpha=0.1), method="split", random_state=0)
    by_matrix.fit(K[KNOWN, KNOWN], W[KNOWN, KNOWN])
    answers = by_matrix.predict_set(K[NEW][:, by_matrix.nodes_])
    for one, other in zip(fitted().predict_set(X[NEW]), answers, strict=True):
        np.testing.assert_array_equal(one, other)


def test_refusals():
    model = LinkPredictor(RBF(1.0))
    with pytest.raises(ValueError, match='use `method="split"`'):
        Conformal(model).fit(X, W)
    with pytest.raises(ValueError, match='use `method="split"`'):
        Conformal(model, method="split", conformity="scaled").fit(X, W)
    with pytest.raises(TypeError, match="pairs of them are not"):
        Conformal(PairModel(), method="split").fit(X, W)
    sets = fitted()
    with pytest.raises(ValueError, match=r"a column for each of the 70 nodes of `fit`, got shape \(30, 30\)"):
        sets.contains(X[NEW], W[NEW, NEW])
    with pytest.raises(ValueError, match="contains NaN"):
        sets.contains(X[NEW], np.full((30, 70), np.nan))
    with pytest.raises(ValueError, match="finite numbers"):
        sets.contains(X[NEW], np.full((30, 70), np.inf))
    with pytest.raises(ValueError, match="`candidates` must be None"):
        sets.predict_set(X[NEW], np.arange(5))
    with pytest.raises(ValueError, match="not balls"):
        sets.radius(X[NEW])
    with pytest.raises(ValueError, match="not bands"):
        sets.band(X[NEW])
    with pytest.raises(ValueError, match=r"0\.99 needs at least 99 calibration rows"):
        sets.predict_set(X[NEW], coverage=0.99)
    with pytest.raises(ValueError, match="`candidates` must be given"):
        Conformal(IOKR(RBF(1.0))).fit(X, X).predict_set(X)
    with pytest.raises(ValueError, match="shape"):
        Conformal(model, method="split").fit(X, W[:50, :50])
    with pytest.raises(ValueError, match="features"):
        sets.contains(X[NEW, :1], W[NEW, KNOWN])
