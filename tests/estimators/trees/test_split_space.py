"""Coordinates to split on: sums on the grid are exact, principal axes are those of the covariance."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from iokr import OutputKernelTree
from iokr.estimators.trees.growing import SplitSpace, on_grid, principal_axes
from iokr.kernels import Precomputed


@pytest.mark.parametrize("scale", [1e-8, 1.0, 3e5])
def test_sums_on_the_grid_are_exact_in_any_order(scale):
    rng = np.random.default_rng(0)
    z = scale * rng.normal(size=1000)
    gridded = on_grid(z[:, None], 1000)[:, 0]
    assert_allclose(gridded, z, atol=1e-12 * np.abs(z).max())
    exact = sum(map(Fraction, gridded.tolist()), Fraction())
    for _ in range(5):
        total = 0.0
        for value in rng.permutation(gridded):
            total += value
        assert Fraction(total) == exact
    plain = {float(np.cumsum(rng.permutation(z))[-1]) for _ in range(5)}
    assert len(plain) > 1  # without the grid the order shows


def test_zeros_stay():
    assert_array_equal(on_grid(np.zeros((3, 2)), 3), np.zeros((3, 2)))


def test_rounding_of_the_kernel_does_not_choose_between_features_that_part_the_rows_alike():
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    X = np.column_stack([x, 2 * x, x**3, -x])  # every split of one is a split of all
    Y = rng.normal(size=(30, 20))
    K = Y @ Y.T
    noise = 1e-15 * rng.normal(size=K.shape)
    for seed in range(5):
        one = OutputKernelTree(Precomputed(K), random_state=seed).fit(X, np.arange(30))
        other = OutputKernelTree(Precomputed(K + noise + noise.T), random_state=seed).fit(X, np.arange(30))
        assert_array_equal(one.tree_.feature, other.tree_.feature)
        assert_array_equal(one.tree_.threshold, other.tree_.threshold)


@pytest.mark.parametrize("shape", [(12, 4), (6, 9)])
def test_principal_axes_are_a_turn_of_the_centred_rows(shape):
    rng = np.random.default_rng(0)
    Z, w = rng.normal(size=shape), rng.integers(1, 4, size=shape[0]).astype(float)
    turned, s = principal_axes(Z, w)
    centred = Z - w @ Z / w.sum()
    assert_allclose(turned @ turned.T, centred @ centred.T, atol=1e-12)
    C = (turned * (w / w.sum())[:, None]).T @ turned
    assert_allclose(C, np.diag(s), atol=1e-12)
    assert np.all(np.diff(s) <= 0)


def test_equal_outputs_have_one_direction_and_nothing_to_lose():
    space = SplitSpace(np.ones((5, 3)), np.ones(5), 2, None, "principal", given=False)
    directions, lost = space.directions(np.random.RandomState(0))
    assert lost == 0
    assert not np.abs(space.project(space.Z, directions)).max() > 1e-12


@pytest.mark.parametrize("options", [{"n_components": 1}, {"tol": 0.1}, {"n_components": 1, "projection": "random"}])
@pytest.mark.parametrize("n", [1, 2])
def test_one_output_is_a_tree_of_one_leaf(n, options):
    X, Y = np.arange(2.0 * n).reshape(n, 2), np.tile([1.0, 2.0, 3.0], (n, 1))
    tree = OutputKernelTree(random_state=0, **options).fit(X, Y)
    assert_allclose(tree.predict(X), Y)
    assert tree.lost_variance_ == 0 or "projection" in options
