"""Losses of quantiles and shares of outputs inside intervals, beside scikit-learn's and plain loops."""

import numpy as np
import pytest
from sklearn.metrics import mean_pinball_loss

from iokr import IOKR, Conformal, QuantileCurves
from iokr.kernels import RBF, Delta
from iokr.metrics import coverage, pinball

rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
WEIGHT = rng.uniform(0.2, 2.0, size=60)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_pinball_is_that_of_scikit_learn_averaged_over_levels(weight):
    levels, Q = (0.7, 0.1, 0.5), rng.normal(size=(60, 3))
    theirs = [mean_pinball_loss(y, Q[:, j], sample_weight=weight, alpha=a) for j, a in enumerate(levels)]
    assert pinball(y, Q, levels, weight) == pytest.approx(np.mean(theirs), rel=1e-13)
    assert pinball(y[:, None], Q[:, 1], 0.1, weight) == pytest.approx(theirs[1], rel=1e-13)


def test_the_score_of_quantile_curves_is_minus_it():
    model = QuantileCurves(RBF(0.5), levels=(0.2, 0.8), alpha=0.1).fit(X, y)
    assert model.score(X, y, WEIGHT) == -pinball(y, model.predict(X), (0.2, 0.8), WEIGHT)


def test_coverage_counts_who_is_inside():
    sure = Conformal(IOKR(RBF(0.5), alpha=0.3), method="jackknife").fit(X[:40], y[:40])
    held = sure.contains(X[40:], y[40:], 0.8)
    assert coverage(y[40:], sure.band(X[40:], 0.8)) == np.mean(held)
    assert coverage(y[40:], sure.band(X[40:], 0.8), WEIGHT[40:]) == pytest.approx(np.average(held, weights=WEIGHT[40:]))
    Y = np.column_stack([y, y**2])
    bands = Conformal(IOKR(RBF(0.5), alpha=0.3), method="jackknife").fit(X[:40], Y[:40]).band(X[40:], 0.8)
    rows = [
        all(low <= v <= high for v, (low, high) in zip(*row, strict=True)) for row in zip(Y[40:], bands, strict=True)
    ]
    assert coverage(Y[40:], bands) == np.mean(rows)


def test_coverage_of_sets_by_the_places_of_the_outputs():
    labels, model = np.array(list("abc"), dtype=object), IOKR(RBF(0.5), output_kernel=Delta(), alpha=0.3)
    code = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    sure = Conformal(model).fit(X[:40], labels[code[:40]])
    sets = sure.predict_set(X[40:], labels, 0.7)
    assert coverage(code[40:], sets) == np.mean(sure.contains(X[40:], labels[code[40:]], 0.7))
    assert coverage(np.full(20, -1), sets) == 0.0


@pytest.mark.parametrize(
    ("metric", "arguments", "words"),
    [
        (pinball, (y, np.zeros((60, 2)), (0.1, 0.5, 0.9)), "column for each of 3 levels"),
        (pinball, (y, np.zeros((60, 2)), (0.5, 1.0)), "`levels`"),
        (pinball, (y, np.full((60, 1), np.nan), 0.5), "`y_pred` contains NaN"),
        (pinball, (y[:5], np.zeros((60, 1)), 0.5), "same length"),
        (coverage, (y, np.zeros((60, 3))), "intervals"),
        (coverage, (y, np.full((60, 2), np.nan)), "not NaN"),
        (coverage, (np.zeros((60, 3)), np.zeros((60, 2, 2))), "two ends for each entry"),
    ],
)
def test_refused_in_words(metric, arguments, words):
    with pytest.raises(ValueError, match=words):
        metric(*arguments)
