"""Kernels on nodes against series and inverses of the Laplacian, exact and by Chebyshev series."""

import numpy as np
import pytest
from scipy import sparse

import iokr.kernels.nodes as nodes
from iokr.kernels import Diffusion, Mean, Normalized, RegularizedLaplacian
from iokr.kernels.nodes import chebyshev
from network_samples import diffusion, laplacian, network, normalized
from reference import assert_close

W = network(3, N=20).W * np.random.default_rng(0).uniform(0.5, 2, size=(1, 1))
EXPECTED = {
    "diffusion": (lambda graph: Diffusion(0.6, graph), lambda W: diffusion(W, 0.6)),
    "regularized": (
        lambda graph: RegularizedLaplacian(3.0, graph),
        lambda W: np.linalg.inv(np.eye(len(W)) + 3.0 * laplacian(W)),
    ),
}
FORMS = {"dense": np.asarray, "csr": sparse.csr_matrix, "coo": sparse.coo_array, "list": lambda W: W.tolist()}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", EXPECTED)
def test_is_the_function_of_the_laplacian(name, form):
    kernel, expected = EXPECTED[name]
    K = kernel(FORMS[form](W))(np.arange(20))
    assert_close(K, expected(W), 1e-12)


@pytest.mark.parametrize("name", EXPECTED)
def test_series_is_the_function_of_the_laplacian_within_its_stated_error(name, monkeypatch):
    monkeypatch.setattr(nodes, "_EXACT", 5)
    monkeypatch.setattr(nodes, "_DENSE", 1.0)
    kernel, expected = EXPECTED[name]
    fitted = kernel(W).fit(None)
    assert 0 < fitted.error_ < 1e-12
    K = fitted(np.arange(20))
    assert np.abs(K - expected(W)).max() <= fitted.error_ + 1e-13
    assert_close(fitted([3, 3, 7], [1, 0]), expected(W)[np.ix_([3, 3, 7], [1, 0])], 1e-12)


@pytest.mark.parametrize("top", [0.1, 3.0, 400.0])
@pytest.mark.parametrize(
    "f", [lambda x: np.exp(-0.5 * x), lambda x: 1 / np.sqrt(1 + 2.0 * x)], ids=["exponential", "inverse root"]
)
def test_chebyshev_series_keeps_its_bound(f, top):
    c, error = chebyshev(f, top)
    x = np.linspace(0, top, 997)
    found = np.polynomial.chebyshev.chebval(2 * x / top - 1, c)
    assert np.abs(found - f(x)).max() <= error + 1e-14
    assert error < 1e-13


def test_large_sparse_graph_agrees_with_the_eigendecomposition():
    """Beyond the limit of the eigendecomposition, in a graph of two parts."""
    n = nodes._EXACT + 50
    ring = sparse.csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    W = ring + ring.T
    some = np.array([0, 1, 2, 7, n - 1])
    K = Diffusion(2.0, W)(some)
    k = np.arange(n)
    distance = (some[:, None] - some[None, :])[:, :, None]
    exact = (np.exp(-2.0 * (2 - 2 * np.cos(2 * np.pi * k / n))) * np.cos(2 * np.pi * k * distance / n)).mean(axis=2)
    assert_close(K, exact, 1e-12)


def test_coordinates_give_the_gram():
    for kernel in (Diffusion(0.5, W), Normalized(Diffusion(0.5, W)), Mean([Diffusion(0.5, W), Diffusion(2.0, W)])):
        fitted = kernel.fit(np.arange(20))
        for objects in (np.arange(20), np.array([4, 2, 2])):
            V = fitted.coordinates(fitted.represent(objects))
            assert_close(V @ V.T, fitted(objects, objects), 1e-12)


def test_normalized_has_unit_diagonal():
    K = Normalized(Diffusion(0.6, W))(np.arange(20))
    assert_close(K, normalized(diffusion(W, 0.6)), 1e-12)
    assert np.array_equal(np.diag(K), np.ones(20))


def test_isolated_nodes_keep_their_heat():
    graph = np.zeros((3, 3))
    graph[0, 1] = graph[1, 0] = 1.0
    K = Diffusion(1.0, graph)(np.arange(3))
    assert_close(K[2], [0.0, 0.0, 1.0], 1e-15)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ([[0, 1], [0, 0]], "symmetric, but is 1 from node 0 to 1 and 0 back"),
        ([[0, -1], [-1, 0]], "at least 0, got -1 between nodes 0 and 1"),
        ([[1, 0], [0, 0]], "links node 0 to itself"),
        (np.zeros((2, 3)), "square"),
        ([[0, np.nan], [np.nan, 0]], "NaN"),
        (np.zeros((0, 0)), "empty"),
        (None, "needs the graph"),
    ],
)
def test_refuses_what_is_no_graph(graph, message):
    with pytest.raises(ValueError, match=message):
        Diffusion(1.0, graph).fit([0])


@pytest.mark.parametrize("beta", [0.0, -1.0, np.nan])
def test_refuses_other_times(beta):
    with pytest.raises(ValueError, match="`beta` must be a positive number"):
        Diffusion(beta, W).fit([0])


@pytest.mark.parametrize(
    ("objects", "error", "message"),
    [([20], ValueError, "0 to 19, got 20"), ([-1], ValueError, "0 to 19, got -1"), ([0.5], TypeError, "node numbers")],
)
def test_refuses_what_is_no_node(objects, error, message):
    with pytest.raises(error, match=message):
        Diffusion(1.0, W).fit(None)(objects)
