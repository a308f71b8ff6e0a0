"""`MultiTaskCV`: every point of its grid against a `MultiTask` of its own."""

import itertools

import numpy as np
import pytest

from iokr import MultiTask, MultiTaskCV
from iokr.estimators.multitask.operators import task_similarity
from iokr.kernels import RBF
from iokr.manifolds import Laplacian
from reference import assert_close

rng = np.random.default_rng(0)
X, X_unlabeled = rng.normal(size=(20, 2)), rng.normal(size=(8, 2))
Y = np.sin(X @ rng.normal(size=(2, 4))) + 0.1 * rng.normal(size=(20, 4))
GAPS = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
KERNELS, WIDTHS, STRENGTHS, ALPHAS = [RBF(0.2), RBF(1.0)], (0.01, 0.3), (0.0, 0.6), (0.1, 1.0)


def similarity(Y, gamma, centred=False):
    """exp(−γ‖Y^p − Y^q‖²), a distance n times the mean over common rows, or the variance."""
    q = Y.shape[1]
    M = np.eye(q)
    for p, r in itertools.permutations(range(q), 2):
        difference = Y[:, p] - Y[:, r]
        M[p, r] = np.exp(-gamma * len(Y) * (np.nanvar(difference) if centred else np.nanmean(difference**2)))
    return M


@pytest.mark.parametrize("targets", [Y, GAPS], ids=["complete", "missing"])
@pytest.mark.parametrize("centred", [False, True])
def test_a_width_is_that_of_the_formula(targets, centred):
    assert_close(task_similarity(targets, width=0.1, centred=centred), similarity(targets, 0.1, centred), 1e-10)
    median = 1 / np.median([-np.log(m) for m in similarity(targets, 1.0, centred)[np.triu_indices(4, 1)]])
    assert_close(task_similarity(targets, centred=centred), similarity(targets, median, centred), 1e-10)


@pytest.mark.parametrize("targets", [Y, GAPS], ids=["complete", "missing"])
@pytest.mark.parametrize("semi", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_errors_are_those_of_leave_one_out_at_every_point(targets, semi, intercept):
    manifolds = [None, Laplacian(0.05, 4), Laplacian(0.5, 4)] if semi else [None]
    extra = {"X_unlabeled": X_unlabeled} if semi else {}
    grid = {"widths": WIDTHS, "task_weights": STRENGTHS, "alphas": ALPHAS}
    model = MultiTaskCV(KERNELS, manifold=manifolds, intercept=intercept, **grid).fit(X, targets, **extra)
    assert model.loo_errors_.shape == ((2, 3, 2, 2, 2) if semi else (2, 2, 2, 2))
    errors = {}
    for point in itertools.product(KERNELS, manifolds, WIDTHS, STRENGTHS, ALPHAS):
        kernel, manifold, width, task_weight, alpha = point
        settings = {"tasks": similarity(targets, width, intercept), "alpha": alpha, "intercept": intercept}
        one = MultiTask(kernel, task_weight=task_weight, manifold=manifold, **settings)
        errors[point] = one.fit(X, targets, **(extra if manifold is not None else {})).loo_error()
    assert_close(model.loo_errors_.ravel(), list(errors.values()), 1e-8)
    kernel, manifold, width, task_weight, alpha = min(errors, key=errors.get)
    assert (model.kernel_.scalar.gamma, model.width_, model.task_weight_) == (kernel.gamma, width, task_weight)
    assert model.alpha_ == alpha
    settings = {"tasks": similarity(targets, width, intercept), "alpha": alpha, "intercept": intercept}
    best = MultiTask(kernel, task_weight=task_weight, manifold=manifold, **settings)
    best.fit(X, targets, **(extra if manifold is not None else {}))
    assert_close(model.predict(X_unlabeled), best.predict(X_unlabeled), 1e-8)
    assert model.loo_error() == pytest.approx(min(errors.values()), rel=1e-8)


def test_one_row():
    """Each task is its intercept; left out, h is 0, so that all alphas have the same error."""
    model = MultiTaskCV(RBF(1.0), task_weights=(0.0, 0.5), alphas=ALPHAS).fit(X[:1], Y[:1])
    assert_close(model.loo_errors_, np.full((2, 2), np.sum(Y[0] ** 2)), 1e-12)
    assert_close(model.predict(X), np.tile(Y[0], (20, 1)), 1e-12)


def test_a_learned_operator_is_searched_over_kernels():
    model = MultiTaskCV(KERNELS, learn_tasks=True, alphas=ALPHAS).fit(X, Y)
    alone = [MultiTaskCV(kernel, learn_tasks=True, alphas=ALPHAS).fit(X, Y) for kernel in KERNELS]
    assert_close(model.loo_errors_, [one.loo_errors_ for one in alone], 1e-9)
    assert_close(model.A_, alone[model.best_index_[0]].A_, 1e-8)
    assert model.task_weight_ is None and model.width_ is None


def test_refusals():
    with pytest.raises(ValueError, match="`widths` are of the similarity that is estimated, which `tasks` replaces"):
        MultiTaskCV(widths=(1.0,), tasks=np.eye(4)).fit(X, Y)
    with pytest.raises(ValueError, match="which `learn_tasks` replaces"):
        MultiTaskCV(widths=(1.0,), learn_tasks=True).fit(X, Y)
    with pytest.raises(ValueError, match="`widths` must be a positive number"):
        MultiTaskCV(widths=(0.0,)).fit(X, Y)
    with pytest.raises(ValueError, match="`manifold` is an empty list"):
        MultiTaskCV(manifold=[]).fit(X, Y)
    with pytest.raises(TypeError, match="`manifold` must be a component"):
        MultiTaskCV(manifold=[3]).fit(X, Y)
