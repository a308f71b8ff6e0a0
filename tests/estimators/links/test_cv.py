"""`LinkPredictorCV`, `iokr.estimators.links.evaluate`: every point of the grid against a `LinkPredictor` of its own."""

import numpy as np
import pytest

from iokr import LinkPredictor, LinkPredictorCV
from iokr.estimators.areas import both_areas
from iokr.kernels import RBF, Aligned, Diffusion, Normalized, Precomputed
from iokr.losses import MaxMargin
from iokr.manifolds import Heat, Laplacian
from iokr.metrics import average_precision_pairs, roc_auc_pairs
from iokr.model_selection import NodeKFold, TooFewLinks
from network_samples import network
from reference import assert_close

S = network(1, N=26, n=18)
ALPHAS = (1e-3, 1e-1, 10.0)
AREAS = {"roc_auc": roc_auc_pairs, "average_precision": average_precision_pairs}


def both(truth, scores):
    """The share whose odds are the geometric mean of the odds of both areas."""
    odds = [share / (1 - share) for share in (area(truth, scores) for area in AREAS.values())]
    middle = np.sqrt(np.prod(odds))
    return middle / (1 + middle)


METRICS = AREAS | {"both": both}


def single(kernel, alpha, mu=None, **parts):
    return LinkPredictor(kernel, alpha=alpha, manifold=None if mu is None else Laplacian(mu, 4), **parts)


@pytest.mark.parametrize("scoring", METRICS)
def test_scores_are_those_of_leave_one_out_at_every_point(scoring):
    kernels, manifold_weights = [RBF(0.1), RBF(0.6)], (0.0, 0.3)
    model = LinkPredictorCV(
        kernels,
        alphas=ALPHAS,
        manifold_weights=manifold_weights,
        scoring=scoring,
        rule="best",
        manifold=Laplacian(1.0, 4),
    )
    model.fit(S.X, S.W, S.labeled)
    expected = [
        [
            [
                METRICS[scoring](S.W_labeled, single(k, a, mu).fit(S.X, S.W, S.labeled).loo_decision_function())
                for a in ALPHAS
            ]
            for mu in manifold_weights
        ]
        for k in kernels
    ]
    assert_close(model.scores_, expected, 1e-9)
    if scoring in AREAS:
        assert_close(model.areas_[scoring], expected, 1e-9)
    assert set(model.areas_) == set(AREAS)
    i, j, k = model.best_index_
    assert model.scores_[i, j, k] == model.scores_.max()
    assert (model.alpha_, model.manifold_weight_) == (ALPHAS[k], manifold_weights[j])
    best = single(kernels[i], model.alpha_, model.manifold_weight_).fit(S.X, S.W, S.labeled)
    assert_close(model.decision_function(), best.decision_function(), 1e-8)
    assert_close(model.decision_function(S.X_new), best.decision_function(S.X_new), 1e-8)
    assert_close(model.loo_decision_function(), best.loo_decision_function(), 1e-7)
    assert abs(model.best_threshold() - best.best_threshold()) < 1e-6


def test_axes_of_length_one_are_dropped():
    model = LinkPredictorCV(RBF(0.4), alphas=ALPHAS).fit(S.X, S.W, S.labeled)
    assert model.scores_.shape == (3,)
    alone = LinkPredictorCV(RBF(0.4), alphas=(0.1,)).fit(S.X, S.W, S.labeled)
    assert alone.scores_.shape == () and alone.best_index_ == () and alone.alpha_ == 0.1


@pytest.mark.parametrize("scoring", METRICS)
def test_by_node_folds_each_criterion_is_of_the_mean_areas(scoring):
    model = LinkPredictorCV([RBF(0.1), RBF(0.6)], alphas=ALPHAS, cv=3, scoring=scoring, rule="best")
    model.fit(S.X, S.W, S.labeled)
    alone = [
        LinkPredictorCV(RBF(gamma), alphas=ALPHAS, cv=3, scoring=name).fit(S.X, S.W, S.labeled).scores_
        for name in AREAS
        for gamma in (0.1, 0.6)
    ]
    assert_close(model.areas_["roc_auc"], alone[:2], 1e-12)
    assert_close(model.areas_["average_precision"], alone[2:], 1e-12)
    expected = both_areas(**model.areas_) if scoring == "both" else model.areas_[scoring]
    assert_close(model.scores_, expected, 1e-12)
    assert model.scores_[model.best_index_] == model.scores_.max()


@pytest.mark.parametrize("loss", [None, MaxMargin()], ids=repr)
@pytest.mark.parametrize("mu", [None, 0.3])
def test_node_folds_recompute_the_output_kernel(loss, mu):
    model = LinkPredictorCV(
        RBF(0.4), alphas=ALPHAS, cv=3, loss=loss, manifold=None if mu is None else Laplacian(mu, 4)
    ).fit(S.X, S.W, S.labeled)
    expected = np.zeros(3)
    for train, test in NodeKFold(3).split(S.labeled):
        new = np.isin(np.arange(18), test)
        for k, alpha in enumerate(ALPHAS):
            part = single(RBF(0.4), alpha, mu, loss=loss).fit(S.X, S.W, S.labeled[train])
            scores = part.decision_function()[np.ix_(S.labeled, S.labeled)]
            expected[k] += roc_auc_pairs(S.W_labeled, scores, where=new[:, None] | new[None, :]) / 3
    assert_close(model.scores_, expected, 1e-2 if loss else 1e-9)  # the margin is solved to a tolerance
    best = single(RBF(0.4), model.alpha_, mu, loss=loss).fit(S.X, S.W, S.labeled)
    assert_close(model.decision_function(), best.decision_function(), 1e-8 if loss is None else 1e-2)
    assert np.isfinite(model.best_threshold())


BETAS = [Normalized(Diffusion(beta)) for beta in (0.3, 1.0)]
MANIFOLDS = [Laplacian(1.0, 4), Heat(1.0, 0.5)]


@pytest.mark.parametrize("choice", ["averaged", "best"])
@pytest.mark.parametrize("cv", [None, 3])
def test_output_kernels_and_manifolds_are_axes(cv, choice):
    """Every slice is the search with one of each, and the choice is the best of theirs."""
    kernels, manifold_weights = [RBF(0.1), Aligned([RBF(0.2), RBF(0.9)])], (0.05, 0.3)
    same = {"alphas": ALPHAS, "manifold_weights": manifold_weights, "cv": cv, "rule": choice}
    model = LinkPredictorCV(kernels, output_kernel=BETAS, manifold=MANIFOLDS, **same).fit(S.X, S.W, S.labeled)
    assert model.scores_.shape == (2, 2, 2, 2, 3)
    alone = {
        (i, b, m): LinkPredictorCV(k, output_kernel=beta, manifold=manifold, **same).fit(S.X, S.W, S.labeled)
        for i, k in enumerate(kernels)
        for b, beta in enumerate(BETAS)
        for m, manifold in enumerate(MANIFOLDS)
    }
    for place, one in alone.items():
        assert_close(model.scores_[place], one.scores_, 1e-9)
    best = alone[model.best_index_[:3]]
    assert model.best_index_[3:] == best.best_index_
    assert model.alpha_ == pytest.approx(best.alpha_, rel=1e-9) and model.manifold_weight_ == best.manifold_weight_
    assert model.output_kernel_.base.beta == BETAS[model.best_index_[1]].base.beta
    assert type(model.model_.manifold) is type(MANIFOLDS[model.best_index_[2]])
    assert_close(model.decision_function(), best.decision_function(), 1e-7)
    assert model.best_threshold() == pytest.approx(best.best_threshold(), rel=1e-6)


@pytest.mark.parametrize("loss", [None, MaxMargin()], ids=repr)
def test_every_loss_searches_output_kernels_by_folds(loss):
    model = LinkPredictorCV(RBF(0.4), alphas=ALPHAS, output_kernel=BETAS, loss=loss, cv=3).fit(S.X, S.W, S.labeled)
    alone = [
        LinkPredictorCV(RBF(0.4), alphas=ALPHAS, output_kernel=beta, loss=loss, cv=3).fit(S.X, S.W, S.labeled).scores_
        for beta in BETAS
    ]
    assert_close(model.scores_, alone, 1e-12)
    assert np.isfinite(model.best_threshold())


def test_no_manifold_may_be_among_them():
    manifolds = [None, Laplacian(0.3, 4)]
    model = LinkPredictorCV(RBF(0.4), alphas=ALPHAS, manifold=manifolds).fit(S.X, S.W, S.labeled)
    alone = [LinkPredictorCV(RBF(0.4), alphas=ALPHAS, manifold=m).fit(S.X, S.W, S.labeled) for m in manifolds]
    assert_close(model.scores_, [one.scores_ for one in alone], 1e-9)
    best = alone[model.best_index_[0]]
    assert model.manifold_weight_ == best.manifold_weight_
    assert_close(model.decision_function(), best.decision_function(), 1e-8)


def test_the_soft_choice_is_the_weighted_mean_of_log_alpha():
    """w = m exp((r − max r)/s), s by Hanley and McNeil, m by the degrees of freedom between midpoints, written out."""
    model = LinkPredictorCV([RBF(0.1), RBF(0.6)], alphas=ALPHAS).fit(S.X, S.W, S.labeled)
    n_links = S.W_labeled.sum() / 2
    n_others = 18 * 17 / 2 - n_links
    means, alphas, logs = [], [], np.log(ALPHAS)
    middle = (logs[1:] + logs[:-1]) / 2
    ends = np.exp([2 * logs[0] - middle[0], *middle, 2 * logs[-1] - middle[-1]])
    for gamma, r, m in zip((0.1, 0.6), model.scores_, model.freedom_, strict=True):
        K = RBF(gamma)(S.X[S.labeled])
        d = np.array([np.trace(np.linalg.solve(K + alpha * np.eye(len(K)), K)) for alpha in ends])
        np.testing.assert_allclose(m, (d[:-1] - d[1:]) / (d[0] - d[-1]), rtol=1e-8)
        a = r.max()
        square = a * (1 - a) + (n_links - 1) * (a / (2 - a) - a**2) + (n_others - 1) * (2 * a**2 / (1 + a) - a**2)
        w = m * np.exp((r - a) / np.sqrt(square / (n_links * n_others)))
        means.append(w @ r / w.sum())
        alphas.append(np.exp(w @ np.log(ALPHAS) / w.sum()))
    i = int(np.argmax(means))
    assert model.best_index_[0] == i and model.kernel_.gamma == (0.1, 0.6)[i]
    assert model.alpha_ == pytest.approx(alphas[i], rel=1e-9)
    assert model.best_index_[1] == np.argmin(np.abs(np.log(ALPHAS) - np.log(alphas[i])))
    assert model.model_.alpha == model.alpha_
    assert_close(
        model.decision_function(),
        single(model.kernel_, model.alpha_).fit(S.X, S.W, S.labeled).decision_function(),
        1e-8,
    )


def test_refusals():
    with pytest.raises(ValueError, match="`rule` must be one of 'averaged', 'best'"):
        LinkPredictorCV(rule="largest").fit(S.X, S.W)
    with pytest.raises(ValueError, match="`output_kernel` is an empty list"):
        LinkPredictorCV(output_kernel=[]).fit(S.X, S.W)
    with pytest.raises(TypeError, match="`manifold` must be a component"):
        LinkPredictorCV(manifold=[Laplacian(1.0), 3]).fit(S.X, S.W)
    with pytest.raises(ValueError, match="let 0 be one of these"):
        LinkPredictorCV(manifold=[None, Laplacian(1.0)], manifold_weights=(0.1,)).fit(S.X, S.W)
    with pytest.raises(ValueError, match="`scoring` must be one of 'roc_auc', 'average_precision', 'both'"):
        LinkPredictorCV(scoring="accuracy").fit(S.X, S.W)
    with pytest.raises(ValueError, match="`alphas` must be a positive number"):
        LinkPredictorCV(alphas=(0.0,)).fit(S.X, S.W)
    with pytest.raises(ValueError, match="`manifold_weights` was given without a `manifold`"):
        LinkPredictorCV(manifold_weights=(0.1,)).fit(S.X, S.W)
    with pytest.raises(ValueError, match="quadratic losses only"):
        LinkPredictorCV(loss=MaxMargin()).fit(S.X, S.W)
    with pytest.raises(TooFewLinks, match="all pairs of labelled nodes are linked"):
        LinkPredictorCV().fit(S.X[:4], 1 - np.eye(4))
    with pytest.raises(ValueError, match="empty list"):
        LinkPredictorCV([]).fit(S.X, S.W)
    with pytest.raises(ValueError, match=r"Precomputed\(matrix\)"):
        LinkPredictorCV(Precomputed(), cv=3).fit(S.gram(S.X, S.X), S.W)
    star = np.zeros((6, 6))
    star[0, 1] = star[1, 0] = 1.0
    with pytest.raises(TooFewLinks, match="No fold has links"):
        LinkPredictorCV(cv=3, output_kernel=Diffusion(1.0)).fit(S.X[:6], star)


def test_the_fitted_model_keeps_no_list_of_pairs():
    S = network(0, N=40, n=40)
    model = LinkPredictorCV(alphas=(0.1, 1.0)).fit(S.X, S.W)
    assert not hasattr(model.model_, "links") and not hasattr(model.model_, "areas")
    assert model.decision_function().shape == (40, 40)
    assert LinkPredictorCV(alphas=(0.1, 1.0), cv=np.int64(3)).fit(S.X, S.W).scores_.shape == (2,)
