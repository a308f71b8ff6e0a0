"""Errors of kernel regression on a grid, and what the search chooses by them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr import IOKR, IOKRCV, IOKRClassifier, LinkPredictorCV
from iokr.estimators.outputs import encode
from iokr.estimators.regression.evaluate import Fold, check_grid, leave_one_out, on_folds, row_splits
from iokr.estimators.regression.posing import Data, TrainingSet
from iokr.estimators.search.engine import search
from iokr.estimators.search.result import ALPHAS, check_values, listed
from iokr.kernels import RBF, Delta, Linear, Precomputed
from iokr.losses import Huber
from iokr.manifolds import Laplacian
from iokr.solvers import ADMM

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 2))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 0.1 * rng.normal(size=(20, 2))


def data(rows=slice(None), **parts):
    given = TrainingSet(X[rows], Y[rows])
    return Data(given, *encode(given.y, given.weight, **parts), intercept=True)


def test_grid():
    grid = check_grid([RBF(0.1), Linear()], None, (1.0, 2.0), None)
    assert [len(axis.values) for axis in grid.axes] == [2, 1, 2] and grid.manifold_weights == [0.0]
    assert check_grid(None, None, ALPHAS, Laplacian(0.3)).manifold_weights == [0.3]
    weights = check_grid(None, (0.0, 1.0), ALPHAS, Laplacian())
    assert [(axis.name, len(axis.values)) for axis in weights.axes] == [
        ("kernel", 1),
        ("manifold__weight", 2),
        ("alpha", 19),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], None, (1.0,), None), "empty list"),
        (([RBF(), Precomputed()], None, (1.0,), None), "mixes"),
        ((None, (1.0,), (1.0,), None), "without a `manifold`"),
        ((None, None, (0.0,), None), "alphas"),
        ((None, None, (), None), "empty"),
    ],
)
def test_refused_grids(arguments, message):
    with pytest.raises(ValueError, match=message):
        check_grid(*arguments)
    with pytest.raises(TypeError, match="sequence of numbers"):
        check_values("123", "alphas", strict=True)


def test_a_list_or_one():
    assert listed((1, 2), "kernel") == [1, 2] and listed(None, "kernel") == [None]


def test_the_selected_model_is_the_fit_at_its_index():
    grid = check_grid([Linear(), RBF(0.5)], None, (1e-3, 0.1, 10.0), None)
    found = search(grid.axes, leave_one_out(data(), grid))
    i, _, k = found.best_index
    model = IOKR(grid.kernels[i], alpha=grid.alphas[k]).fit(X, Y)
    assert_allclose(found.solution.solution.C, model.solution_.C, rtol=1e-9, atol=1e-12)
    loo = np.mean(np.sum((Y - model.loo_decision_function()) ** 2, axis=1))
    assert_allclose(found.values.min(), loo, rtol=1e-9)


def test_a_path_for_every_kernel_and_manifold_weight():
    grid = check_grid([RBF(0.1), RBF(0.5)], (0.1, 1.0, 2.0), (0.1,), Laplacian(n_neighbors=3))
    parts = list(leave_one_out(data(), grid, manifold=Laplacian(n_neighbors=3)))
    assert [part.index for part in parts] == [(i, j) for i in range(2) for j in range(3)]
    for part in parts:
        i, j = part.index
        model = IOKR(grid.kernels[i], alpha=0.1, manifold=Laplacian(grid.manifold_weights[j], n_neighbors=3)).fit(X, Y)
        assert_allclose(part.values, np.mean(np.sum((Y - model.loo_decision_function()) ** 2, axis=1)), rtol=1e-7)


def test_folds():
    grid = check_grid([Linear(), RBF(0.5)], None, (1e-3, 0.1, 10.0), None)
    halves = [np.arange(10), np.arange(10, 20)]
    folds = [
        Fold(data(train), X[test], lambda H, test=test: np.sum((H - Y[test]) ** 2))
        for train, test in (halves, halves[::-1])
    ]
    found = search(grid.axes, on_folds(folds, grid))
    assert found.folds.shape == (2, 2, 1, 3)
    expected = np.zeros((2, 1, 3))
    for i, kernel in enumerate(grid.kernels):
        for k, alpha in enumerate(grid.alphas):
            for train, test in (halves, halves[::-1]):
                model = IOKR(kernel, alpha=alpha).fit(X[train], Y[train])
                expected[i, 0, k] += np.sum((model.predict(X[test]) - Y[test]) ** 2)
    assert_allclose(found.values, expected / 2, rtol=1e-9)
    assert found.best_index == np.unravel_index(np.argmin(expected), expected.shape)


def test_leave_one_out_needs_a_closed_form():
    grid = check_grid(None, None, (0.1,), None)
    with pytest.raises(ValueError, match="quadratic losses only"):
        list(leave_one_out(data(loss=Huber()), grid))
    with pytest.raises(ValueError, match="no closed form for leave-one-out"):
        list(leave_one_out(data(), grid, solver=ADMM()))


@pytest.mark.parametrize("cv", [None, 3])
def test_the_model_of_links_is_an_iokr_with_what_was_selected(cv):
    W = (np.abs(X[:, :1] - X[:, 0]) < 0.3) - np.eye(20)
    kernels = [RBF(0.1), RBF(1.0)]
    links = LinkPredictorCV(kernels, alphas=(0.1, 1.0), manifold=Laplacian(1.0), manifold_weights=(0.1, 1.0), cv=cv)
    model = links.fit(X, W).model_
    assert type(model) is IOKR
    assert model.kernel is kernels[links.best_index_[0]]
    assert (model.alpha, model.manifold.weight) == (links.alpha_, links.manifold_weight_)
    assert model.n_features_in_ == 2
    V = model.targets_.Psi
    again = IOKR(model.kernel, alpha=model.alpha, manifold=model.manifold, intercept=model.intercept).fit(X, V)
    assert_allclose(again.decision_function(X), model.decision_function(X), rtol=1e-7, atol=1e-9)


LABELS = np.array(["a"] * 10 + ["b"] * 6 + ["c"] * 4)
INDICATORS = (LABELS[:, None] == np.array(["a", "b", "c"])).astype(float)


def stratified(labels, cv):
    from sklearn.model_selection import StratifiedKFold

    return [test.tolist() for _, test in StratifiedKFold(cv).split(np.zeros((len(labels), 1)), labels)]


def held_out(cv, y, output_kernel=None, groups=None):
    return [test.tolist() for _, test in row_splits(cv, len(y), y, groups, output_kernel)]


@pytest.mark.parametrize(
    ("y", "output_kernel"),
    [(LABELS, Delta()), (LABELS.tolist(), Delta()), (INDICATORS, None), (INDICATORS.astype(int), None)],
    ids=["labels", "list", "indicators", "whole numbers"],
)
def test_folds_of_classes_are_stratified(y, output_kernel):
    from sklearn.model_selection import StratifiedKFold

    assert held_out(4, y, output_kernel) == stratified(LABELS, 4)
    assert held_out(StratifiedKFold(2), y, output_kernel) == stratified(LABELS, 2)


@pytest.mark.parametrize(
    ("y", "output_kernel"),
    [
        (Y, None),
        (np.arange(20) // 5, None),
        (INDICATORS[:, :1], None),
        (np.column_stack([INDICATORS, 1 - INDICATORS]), None),
        (INDICATORS, RBF(1.0)),
        (np.arange(20), Delta()),
    ],
    ids=["vectors", "counts", "a column", "label sets", "another kernel", "all different"],
)
def test_folds_of_other_outputs_are_blocks_of_rows(y, output_kernel):
    assert held_out(4, y, output_kernel) == [list(range(5 * k, 5 * k + 5)) for k in range(4)]


def test_groups_share_a_fold_also_of_classes():
    groups = np.arange(20) // 2
    for test in held_out(5, LABELS, Delta(), groups):
        assert all(test.count(2 * (i // 2)) and test.count(2 * (i // 2) + 1) for i in test)


def test_models_of_classes_are_chosen_on_stratified_folds():
    folds = [(np.setdiff1d(np.arange(20), test), test) for test in stratified(LABELS, 4)]
    for model in (IOKRClassifier(RBF(0.5)), IOKRCV(RBF(0.5), output_kernel=Delta())):
        errors = []
        for cv in (4, folds):
            fitted = model.set_params(cv=cv).fit(X, LABELS)
            errors.append(getattr(fitted, "model_", fitted).cv_errors_)
        assert_allclose(*errors, rtol=1e-12)
