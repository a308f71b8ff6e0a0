"""Boosting: the training error in F falls, h is what the recursion says, weights give it back."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import GradientBoostingRegressor

from iokr import OutputKernelBoosting
from iokr.kernels import RBF, Linear, Tanimoto


def problem(n=50, m=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, 4))
    Y = (X @ rng.normal(size=(4, 5)) + 0.5 * rng.normal(size=(n + m, 5)) > 0.3).astype(float)
    return X[:n], Y[:n], X[n:], Y[n:]


KERNELS = [None, Linear(), RBF(0.3), Tanimoto()]


def gram(kernel, Y):
    return Y @ Y.T if kernel is None else kernel(Y)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("options", [{}, {"n_components": 2}, {"n_components": 2, "projection": "random"}], ids=str)
def test_the_training_error_never_rises_without_subsampling(kernel, options):
    X, Y, _, _ = problem()
    model = OutputKernelBoosting(kernel, learning_rate=0.1, n_estimators=60, random_state=0, **options).fit(X, Y)
    errors = model.train_errors_
    assert len(errors) == 61
    assert np.all(np.diff(errors) <= 1e-14 * errors[0])
    assert errors[-1] < 0.7 * errors[0]
    K = gram(kernel, Y)
    assert_allclose(errors[0], np.trace(K) / len(X) - K.mean(), rtol=1e-10)
    B = model.weights(X)
    assert_allclose(errors[-1], np.mean(np.diag(K) - 2 * np.sum(B * K, axis=1) + np.sum(B @ K * B, axis=1)), rtol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("options", [{}, {"subsample": 0.5}, {"n_components": 2}], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_h_and_weights_follow_the_recursion(kernel, options, weighted):
    """β_t(x) = β_{t−1}(x) + ν Σ_{i in leaf} w_i/W_leaf (e_i − β_{t−1}(x_i)), carried out on whole rows."""
    X, Y, new, _ = problem(30)
    w = np.random.default_rng(1).integers(0, 3, size=30).astype(float) if weighted else np.ones(30)
    model = OutputKernelBoosting(kernel, learning_rate=0.3, n_estimators=8, random_state=0, **options)
    model.fit(X, Y, sample_weight=w)
    train, test = np.tile(w / w.sum(), (30, 1)), np.tile(w / w.sum(), (len(new), 1))
    for stage in model._stages:
        leaf = stage.partition.tree.apply(X.astype(np.float32))
        leaves = stage.partition.tree.apply(new.astype(np.float32))
        residual = np.eye(30) - train
        means = {}
        for one in set(leaf) | set(leaves):
            members = stage.partition.weight * (leaf == one)
            means[one] = 0.3 * members @ residual / members.sum()
        train = train + np.array([means[one] for one in leaf])
        test = test + np.array([means[one] for one in leaves])
    assert_allclose(model.weights(new), test, atol=1e-13)
    assert_allclose(model.weights(new).sum(axis=1), 1)
    assert_allclose(model.scores(new, Y), test @ gram(kernel, Y), atol=1e-12)
    *_, last = model.staged_decision_function(new)
    assert_allclose(last, model.decision_function(new))


def test_with_one_output_it_is_scikit_learns_gradient_boosting():
    X, _, _, _ = problem(80)
    y = X[:, 0] ** 2 + X[:, 1]
    options = {"n_estimators": 30, "min_samples_leaf": 5, "random_state": 0}  # several splits of 2 rows may be as good
    ours, theirs = OutputKernelBoosting(**options).fit(X, y), GradientBoostingRegressor(**options).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6, atol=1e-9)
    assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-2)


def test_subsampling_leaves_rows_to_judge_by():
    X, Y, _, _ = problem()
    model = OutputKernelBoosting(RBF(0.3), subsample=0.5, n_estimators=20, random_state=0).fit(X, Y)
    B, K = np.full((50, 50), 1 / 50), RBF(0.3)(Y)
    stage = model._stages[0]
    out = stage.partition.weight == 0
    assert out.sum() == 25
    leaf = stage.partition.leaf
    members = ~out & (leaf[:, None] == leaf)
    after = B + 0.1 * (members / members.sum(axis=1)[:, None] - B)
    errors = [np.diag(K) - 2 * np.sum(b * K, axis=1) + np.sum(b @ K * b, axis=1) for b in (B, after)]
    assert_allclose(model.oob_improvement_[0], np.mean((errors[0] - errors[1])[out]), rtol=1e-9)
    assert not hasattr(model.set_params(subsample=1.0).fit(X, Y), "oob_improvement_")


def test_predicts_new_rows():
    X, Y, new, Y_new = problem(300, 200)
    model = OutputKernelBoosting(Linear(), random_state=0).fit(X, Y)
    assert model.score(new, Y_new) > 0.4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "`n_estimators` must be an integer of at least 1"),
        ({"learning_rate": 0.0}, "`learning_rate` must be a positive number, got 0.0"),
        ({"learning_rate": 2.0}, "`learning_rate` must be below 2, otherwise residuals grow, got 2"),
        ({"subsample": 1.5}, "`subsample` must be a fraction of the rows"),
        ({"subsample": 0.0}, "`subsample` must be a positive number"),
    ],
)
def test_refuses(options, message):
    X, Y, _, _ = problem()
    with pytest.raises(ValueError, match=message):
        OutputKernelBoosting(**options).fit(X, Y)
