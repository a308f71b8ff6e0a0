"""Selection as functions: a grid, what is measured on it, the best of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from iokr import IOKR, LinkPredictorCV
from iokr.estimators.outputs import encode
from iokr.estimators.regression.posing import Data, Given
from iokr.estimators.regression.selection import (
    ALPHAS,
    Fold,
    best_of,
    check_grid,
    check_values,
    drop_single_axes,
    select_by_folds,
    select_by_leave_one_out,
    solve_best,
    squared_errors,
)
from iokr.kernels import RBF, Linear, Precomputed
from iokr.losses import Huber
from iokr.manifolds import Laplacian
from iokr.solvers import ADMM

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 2))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 0.1 * rng.normal(size=(20, 2))


def data(rows=slice(None), **parts):
    given = Given(X[rows], Y[rows])
    return Data(given, *encode(given.y, given.weight, **parts))


def test_grid():
    grid = check_grid([RBF(0.1), Linear()], None, (1.0, 2.0), None)
    assert (grid.shape, grid.manifold_weights) == ((2, 1, 2), [0.0])
    assert check_grid(None, None, ALPHAS, Laplacian(0.3)).manifold_weights == [0.3]
    assert check_grid(None, (0.0, 1.0), ALPHAS, Laplacian()).shape == (1, 2, 19)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], None, (1.0,), None), "empty list"),
        (([RBF(), Precomputed()], None, (1.0,), None), "mixes"),
        ((None, (1.0,), (1.0,), None), "`manifold` is None"),
        ((None, None, (0.0,), None), "alphas"),
        ((None, None, (), None), "empty"),
    ],
)
def test_refused_grids(arguments, message):
    with pytest.raises(ValueError, match=message):
        check_grid(*arguments)
    with pytest.raises(TypeError, match="sequence of numbers"):
        check_values("123", "alphas", strict=True)


def test_axes_of_length_one_are_dropped():
    errors = np.array([[[3.0, 1.0, 1.0]], [[2.0, 5.0, 4.0]]])
    assert best_of(errors) == (0, 0, 1)  # the first of equal ones
    squeezed, index = drop_single_axes(errors, best_of(errors))
    assert_array_equal(squeezed, errors[:, 0])
    assert index == (0, 1)
    assert drop_single_axes(np.ones((1, 1)), (0, 0))[1] == ()


def test_the_selected_model_is_the_fit_at_its_index():
    grid = check_grid([Linear(), RBF(0.5)], None, (1e-3, 0.1, 10.0), None)
    selected = select_by_leave_one_out(data(), grid)
    i, _, k = selected.index
    model = IOKR(grid.kernels[i], alpha=grid.alphas[k]).fit(X, Y)
    assert_allclose(selected.fit.solution.C, model.solution_.C, rtol=1e-9, atol=1e-12)
    loo = np.mean(np.sum((Y - model.loo_decision_function()) ** 2, axis=1))
    assert_allclose(selected.measures[0].min(), loo, rtol=1e-9)


def test_what_a_criterion_measures_beside_is_kept():
    grid = check_grid([Linear(), RBF(0.5)], None, (1e-3, 0.1, 10.0), None)

    def largest(path, targets, alphas):
        errors = squared_errors(path, targets, alphas)
        return np.concatenate([-errors, errors])

    selected = select_by_leave_one_out(data(), grid, criterion=largest)
    assert selected.measures.shape == (2, *grid.shape)
    assert_array_equal(selected.measures[0], -selected.measures[1])
    assert selected.index == best_of(-select_by_leave_one_out(data(), grid).measures[0])


def test_progress_sees_every_kernel_and_strength():
    grid = check_grid([RBF(0.1), RBF(0.5)], (0.1, 1.0, 2.0), (0.1,), Laplacian(n_neighbors=3))
    seen = []

    def track(candidates):
        for inputs, solver, problem, path in candidates:
            seen.append((inputs.kernel.gamma, path.loo_errors(problem.Psi, grid.alphas)[0]))
            yield inputs, solver, problem, path

    selected = select_by_leave_one_out(data(), grid, manifold=Laplacian(n_neighbors=3), track=track)
    kernels, errors = zip(*seen, strict=True)
    assert kernels == (0.1, 0.1, 0.1, 0.5, 0.5, 0.5)
    assert_allclose(errors, selected.measures[0].ravel())


def test_folds():
    grid = check_grid([Linear(), RBF(0.5)], None, (1e-3, 0.1, 10.0), None)
    halves = [np.arange(10), np.arange(10, 20)]
    folds = [
        Fold(data(train), X[test], lambda H, test=test: np.sum((H - Y[test]) ** 2))
        for train, test in (halves, halves[::-1])
    ]
    sums, n_folds = select_by_folds(folds, grid)
    assert n_folds == 2
    expected = np.zeros(grid.shape)
    for i, kernel in enumerate(grid.kernels):
        for k, alpha in enumerate(grid.alphas):
            for train, test in (halves, halves[::-1]):
                model = IOKR(kernel, alpha=alpha).fit(X[train], Y[train])
                expected[i, 0, k] += np.sum((model.predict(X[test]) - Y[test]) ** 2)
    assert_allclose(sums[0], expected, rtol=1e-9)
    selected = solve_best(data(), grid, sums)
    assert selected.index == best_of(expected)


def test_leave_one_out_needs_a_closed_form():
    grid = check_grid(None, None, (0.1,), None)
    with pytest.raises(ValueError, match="quadratic losses only"):
        select_by_leave_one_out(data(loss=Huber()), grid)
    with pytest.raises(ValueError, match="no closed form for leave-one-out"):
        select_by_leave_one_out(data(), grid, solver=ADMM())


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
    again = IOKR(model.kernel, alpha=model.alpha, manifold=model.manifold).fit(X, V)
    assert_allclose(again.decision_function(X), model.decision_function(X), rtol=1e-7, atol=1e-9)
