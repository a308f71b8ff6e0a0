"""Graph Laplacians of the input kernel, whole, thinned to neighbours, and iterated."""

import numpy as np
import pytest

import reference
from iokr import IOKR
from iokr.kernels import RBF, Linear
from iokr.manifolds import IteratedLaplacian, Laplacian
from iokr.operator_kernels import Decomposable
from reference import assert_close
from samples import vectors


def penalty(manifold, X, kernel=None) -> np.ndarray:
    kernel = (kernel or RBF(0.5)).fit(X)
    R = kernel.represent(X)
    return manifold.penalty(R, kernel.gram(R))


def weights(X) -> np.ndarray:
    return reference.gram(reference.rbf(0.5), X)


@pytest.mark.parametrize("n_neighbors", [None, 1, 3, 11])
def test_laplacian_is_degrees_minus_weights(n_neighbors):
    X = vectors(12, seed=1)
    assert_close(penalty(Laplacian(1.0, n_neighbors), X), reference.graph_laplacian(weights(X), n_neighbors), 1e-13)


@pytest.mark.parametrize("n_neighbors", [None, 2])
@pytest.mark.parametrize("power", [1, 2, 5])
def test_iterated_laplacian_is_its_power(power, n_neighbors):
    X = vectors(9, seed=2)
    L = reference.graph_laplacian(weights(X), n_neighbors)
    result = penalty(IteratedLaplacian(1.0, power, n_neighbors), X)
    assert_close(result, np.linalg.matrix_power(L, power), 1e-12)
    assert_close(result, result.T, 1e-15)


@pytest.mark.parametrize("n_neighbors", [None, 3])
def test_quadratic_form_is_half_the_weighted_sum_of_squared_differences(n_neighbors):
    """Σ_ij L_ij ⟨h_i, h_j⟩ = ½ Σ_ij W_ij ‖h_i − h_j‖² (the identity behind μ = 2λ₂)."""
    X, H = vectors(10, seed=3), vectors(10, 3, seed=4)
    L = penalty(Laplacian(1.0, n_neighbors), X)
    W = -L * (1 - np.eye(10))
    differences = sum(W[i, j] * np.sum((H[i] - H[j]) ** 2) for i in range(10) for j in range(10))
    assert_close(np.trace(H.T @ L @ H), differences / 2, 1e-12)


@pytest.mark.parametrize("n_neighbors", [None, 1, 4])
def test_constants_cost_nothing_and_all_else_costs_something(n_neighbors):
    L = penalty(Laplacian(1.0, n_neighbors), vectors(12, seed=5))
    assert np.abs(L @ np.ones(12)).max() < 1e-13
    assert np.linalg.eigvalsh(L).min() > -1e-13
    assert_close(L, L.T, 1e-15)


def test_neighbour_graphs_are_symmetrised_by_the_mean():
    """1 is nearest to 0, but 0's own neighbour is -0.5: that edge counts half."""
    X = np.array([[-0.5], [0.0], [1.0]])
    W = weights(X)
    L = penalty(Laplacian(1.0, 1), X)
    assert_close(L[0, 1], -W[0, 1], 1e-14)
    assert_close(L[1, 2], -W[1, 2] / 2, 1e-14)
    assert L[0, 2] == 0.0


def test_more_neighbours_than_points_is_the_full_graph():
    X = vectors(6, seed=6)
    assert_close(penalty(Laplacian(1.0, 50), X), penalty(Laplacian(1.0), X), 1e-14)


def test_one_point_has_no_graph():
    assert_close(penalty(Laplacian(1.0), vectors(1)), np.zeros((1, 1)), atol=1e-15)
    assert_close(penalty(Laplacian(1.0, 3), vectors(1)), np.zeros((1, 1)), atol=1e-15)


def test_the_diagonal_of_the_kernel_does_not_matter():
    X = vectors(7, seed=7)
    assert_close(penalty(Laplacian(1.0), X, 3.0 * RBF(0.5)), 3 * reference.graph_laplacian(weights(X)), 1e-13)


@pytest.mark.parametrize("manifold", [Laplacian(1.0), Laplacian(1.0, 2), IteratedLaplacian(1.0, 2)], ids=str)
def test_negative_weights_are_refused_with_advice(manifold):
    """x and −x are each other's nearest neighbours, at weight −x²."""
    X, Y = np.array([[1.0], [-1.0], [-2.0], [3.0]]), vectors(4, seed=9)
    with pytest.raises(ValueError, match=r"negative.*(RBF|Given)"):
        IOKR(Linear(), manifold=manifold).fit(X, Y)
    with pytest.raises(ValueError, match=r"negative.*(RBF|Given)"):
        IOKR(Decomposable(Linear(), np.eye(2)), manifold=manifold).fit(X, Y)


@pytest.mark.parametrize("manifold_weight", [-1.0, np.nan, "strong"])
def test_bad_strength(manifold_weight):
    with pytest.raises((ValueError, TypeError), match="manifold_weight"):
        IOKR(RBF(0.5), manifold=Laplacian(manifold_weight)).fit(vectors(5), vectors(5))


@pytest.mark.parametrize("n_neighbors", [0, -2, 1.5])
def test_bad_number_of_neighbours(n_neighbors):
    with pytest.raises((ValueError, TypeError), match="n_neighbors"):
        IOKR(RBF(0.5), manifold=Laplacian(1.0, n_neighbors)).fit(vectors(5), vectors(5))


@pytest.mark.parametrize("power", [0, -1, 1.5])
def test_bad_power(power):
    with pytest.raises((ValueError, TypeError), match="power"):
        IOKR(RBF(0.5), manifold=IteratedLaplacian(1.0, power)).fit(vectors(5), vectors(5))
