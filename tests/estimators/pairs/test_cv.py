"""`PairModelCV`: every point of its grid against a `PairModel` of its own."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from iokr import PairModel, PairModelCV
from iokr.estimators.areas import both_areas
from iokr.kernels import RBF
from iokr.losses import MaxMargin
from iokr.solvers import CoordinateDescent
from pair_problems import all_pairs, network
from reference import assert_close

ALPHAS = (0.03, 0.3, 3.0)
GRID = {"strategies": ("kernel", "duplicate", "local"), "mixes": (0.0, 0.5)}


def binary(seed=3, m=9, n=30, **options):
    X, pairs, y, _ = network(seed, m=m, n=n, **options)
    return X, pairs, np.where(y > np.median(y), "yes", "no")


def rounded(f):
    f = np.nan_to_num(np.asarray(f))
    return np.round(f / np.abs(f).max(), 9)


def points(kernels):
    for strategy, mix, kernel, alpha in itertools.product(GRID["strategies"], GRID["mixes"], kernels, ALPHAS):
        yield {"strategy": strategy, "mix": 0.0 if strategy == "local" else mix, "alpha": alpha}, kernel


@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision", "both"])
def test_scores_are_those_of_leaving_each_pair_out(scoring):
    X, pairs, y = binary()
    kernels = [RBF(0.2), RBF(1.0)]
    model = PairModelCV(kernels, **GRID, alphas=ALPHAS, scoring=scoring).fit(X, pairs, y)
    assert model.scores_.shape == (3, 2, 2, 3)
    areas = []
    for options, kernel in points(kernels):
        f = rounded(PairModel(kernel, **options).fit(X, pairs, y).loo_decision_function())
        areas.append([roc_auc_score(y == "yes", f), average_precision_score(y == "yes", f)])
    roc, pr = (np.array(areas)[:, i].reshape(model.scores_.shape) for i in range(2))
    assert_close(model.areas_["roc_auc"], roc, 1e-12)
    assert_close(model.areas_["average_precision"], pr, 1e-12)
    expected = {"roc_auc": roc, "average_precision": pr, "both": both_areas(roc, pr)}[scoring]
    assert_close(model.scores_, expected, 1e-12)
    i, j, k, a = model.best_index_
    assert model.best_index_ == np.unravel_index(np.argmax(expected), expected.shape)
    assert (model.strategy_, model.mix_, model.alpha_) == (GRID["strategies"][i], GRID["mixes"][j], ALPHAS[a])
    options = {"strategy": model.strategy_, "mix": 0.0 if model.strategy_ == "local" else model.mix_}
    best = PairModel(kernels[k], **options, alpha=model.alpha_).fit(X, pairs, y)
    assert_close(model.decision_function(pairs), best.decision_function(pairs), 1e-10)
    np.testing.assert_array_equal(model.predict(pairs), best.predict(pairs))
    assert model.score(None, pairs, y) == best.score(None, pairs, y) == roc_auc_score(y, best.decision_function(pairs))


@pytest.mark.parametrize(("strategy", "mix"), [("kernel", 0.4), ("duplicate", 0.4), ("duplicate", 1.0), ("local", 0.0)])
@pytest.mark.parametrize("whole", [False, True])
def test_leaving_out_along_a_path_is_leaving_out_at_each_alpha(strategy, mix, whole):
    X, pairs, y, _ = network(16, m=8, n=24)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    if whole:
        pairs = all_pairs(8)
        y, weight = np.random.default_rng(0).normal(size=len(pairs)), np.where(pairs[:, 0] == pairs[:, 1], 0.5, 1.0)
    model = PairModel(RBF(0.4), strategy=strategy, mix=mix)
    for alpha, f in zip(ALPHAS, model.loo_path(X, pairs, y, ALPHAS, weight), strict=True):
        one = model.set_params(alpha=alpha).fit(X, pairs, y, weight)
        assert_close(f, one.loo_decision_function(), 1e-8)


@pytest.mark.parametrize("loss", [None, MaxMargin()], ids=repr)
def test_folds_of_pairs_for_every_loss(loss):
    X, pairs, y = binary(5, m=10, n=40)
    solver = None if loss is None else CoordinateDescent(1e-9)
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(pairs, y))
    model = PairModelCV(RBF(0.5), **GRID, alphas=ALPHAS, loss=loss, solver=solver, cv=splits).fit(X, pairs, y)
    expected = np.zeros((3, 2, 3))
    for place, (options, kernel) in zip(np.ndindex(expected.shape), points([RBF(0.5)]), strict=True):
        for train, test in splits:
            known = np.ones(len(test), dtype=bool)
            if options["strategy"] == "local":
                known = np.isin(pairs[test], pairs[train]).any(axis=1)
            f = np.zeros(len(test))
            one = PairModel(kernel, **options, loss=loss, solver=solver).fit(X, pairs[train], y[train])
            f[known] = one.decision_function(pairs[test][known])
            expected[place] += roc_auc_score(y[test] == "yes", rounded(f)) / 3
    assert_close(model.scores_, expected, 1e-9 if loss is None else 0.03)  # the margin is solved to a tolerance
    assert model.alpha_ == ALPHAS[model.best_index_[-1]]
    assert PairModelCV(RBF(0.5), alphas=ALPHAS, cv=3).fit(X, pairs, y).scores_.shape == (3,)


def test_without_a_refit_the_model_is_set_and_not_learned():
    X, pairs, y = binary()
    model = PairModelCV(RBF(0.5), alphas=ALPHAS, refit=False).fit(X, pairs, y)
    assert model.model_.alpha == model.alpha_ and not hasattr(model.model_, "solution_")


def test_scores_of_pair_models():
    X, pairs, signs, _ = network(3, m=9, n=30)
    y = signs + np.random.default_rng(0).normal(size=30)
    numbers = PairModel(RBF(0.5), alpha=0.3).fit(X, pairs, y)
    f = numbers.decision_function(pairs)
    assert numbers.score(None, pairs, y) == pytest.approx(1 - ((y - f) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    new = np.array([[0, 9], [1, 9], [9, 10]])
    labels = PairModel(RBF(0.5)).fit(X, pairs, signs > 0)
    expected = roc_auc_score([True, False, True], labels.decision_function(new, X[:2] + 0.1))
    assert labels.score(X[:2] + 0.1, new, [True, False, True]) == expected
    with pytest.raises(ValueError, match="labels of `fit`"):
        labels.score(None, pairs, np.full(30, 7))


def test_refusals():
    X, pairs, y = binary()
    with pytest.raises(ValueError, match="two different labels"):
        PairModelCV().fit(X, pairs, np.arange(30))
    with pytest.raises(ValueError, match="quadratic losses only"):
        PairModelCV(loss=MaxMargin()).fit(X, pairs, y)
    with pytest.raises(ValueError, match="`scoring` must be one of"):
        PairModelCV(scoring="f1").fit(X, pairs, y)
    with pytest.raises(ValueError, match="`strategy` must be one of"):
        PairModelCV(strategies=("both",)).fit(X, pairs, y)
    with pytest.raises(ValueError, match="`mixes` is empty"):
        PairModelCV(mixes=()).fit(X, pairs, y)
    with pytest.raises(ValueError, match="one label only"):
        PairModelCV(cv=[(np.arange(20), np.flatnonzero(y == "no")[:3])]).fit(X, pairs, y)
