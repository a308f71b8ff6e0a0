"""Bad networks: refused early, in words."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from iokr import LinkPredictor, LinkPredictorCV
from iokr.kernels import RBF, Diffusion, Linear, Precomputed
from iokr.losses import Square
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from network_samples import network

S = network()
N = len(S.X)


def changed(**entries):
    """W with some of its entries replaced, `r3c5=1.0`."""
    W = S.W.copy()
    for place, value in entries.items():
        i, j = map(int, place[1:].split("c"))
        W[i, j] = value
    return W


ADJACENCY = [
    (np.triu(S.W), ValueError, ["adjacency", "symmetric"]),
    (changed(r0c0=1.0), ValueError, ["adjacency", "node 0", "itself", "diagonal"]),
    (changed(r2c3=-1.0, r3c2=-1.0), ValueError, ["adjacency", "at least 0", "-1", "nodes 2 and 3"]),
    (changed(r2c3=np.nan), ValueError, ["adjacency", "NaN"]),
    (changed(r2c3=np.inf, r3c2=np.inf), ValueError, ["adjacency", "infinity"]),
    (sparse.csr_matrix(changed(r2c3=np.nan)), ValueError, ["adjacency", "NaN"]),
    (sparse.csr_matrix(np.triu(S.W)), ValueError, ["adjacency", "symmetric"]),
    (S.W[:-1, :-1], ValueError, ["adjacency", f"({N}, {N})", f"({N - 1}, {N - 1})"]),
    (S.W[:-1], ValueError, ["adjacency", "shape"]),
    (S.W[0], ValueError, ["adjacency", "matrix", "shape"]),
    (0 * S.W, ValueError, ["adjacency", "must have a link", "has none"]),
    (S.W.astype(str), ValueError, ["adjacency", "numbers"]),
    (1j * S.W, ValueError, ["adjacency", "real"]),
    ([(0, 1), (1, 2)], ValueError, ["adjacency", "shape"]),
]


@pytest.mark.parametrize("estimator", [LinkPredictor, LinkPredictorCV])
@pytest.mark.parametrize(("adjacency", "error", "words"), ADJACENCY)
def test_adjacency(estimator, adjacency, error, words, refuses):
    with refuses(error, *words):
        estimator().fit(S.X, adjacency)


@pytest.mark.parametrize("estimator", [LinkPredictor, LinkPredictorCV])
def test_tables_that_name_their_nodes_in_another_order(estimator, refuses):
    """Frames are read by position, as everywhere in scikit-learn: another order would be another network."""
    names = [f"n{i}" for i in range(N)]
    X, W = pd.DataFrame(S.X, index=names).rename(columns=str), pd.DataFrame(S.W, index=names, columns=names)
    with refuses(ValueError, "rows of `adjacency`", "rows of X", "ordered differently"):
        estimator().fit(X, W.iloc[::-1, ::-1])
    with refuses(ValueError, "rows of `adjacency`", "columns of `adjacency`", "ordered differently"):
        estimator().fit(X, W[names[::-1]])
    expected = estimator().fit(S.X, S.W).decision_function()
    np.testing.assert_allclose(estimator().fit(X, W).decision_function(), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("labeled", "error", "words"),
    [
        ([0, 1, N], ValueError, ["labeled", str(N), "node"]),
        ([], ValueError, ["At least two labelled nodes", "got 0"]),
        ([0, 1, -1], ValueError, ["labeled", "-1"]),
        ([0, 1, 1], ValueError, ["labeled", "node 1", "more than once"]),
        ([0.5, 1.0], TypeError, ["labeled", "integers"]),
        (["a", "b"], TypeError, ["labeled", "integers"]),
        ([[0, 1]], ValueError, ["labeled", "1-D"]),
        (np.ones(N - 1, dtype=bool), ValueError, ["labeled", "mask", str(N - 1), str(N)]),
        (np.zeros(N, dtype=bool), ValueError, ["two labelled nodes", "0"]),
        ([3], ValueError, ["two labelled nodes", "1"]),
        (np.arange(N)[::-1], ValueError, ["labeled", "order"]),
    ],
)
def test_labeled(labeled, error, words, refuses):
    with refuses(error, *words):
        LinkPredictor().fit(S.X, S.W, labeled)


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        (np.where(np.arange(N)[:, None] == 17, np.nan, S.X), ValueError, ["NaN"]),  # unlabelled, yet it would be scored
        (np.zeros((0, 2)), ValueError, []),
        (S.X[:, 0], ValueError, ["2D"]),
        (["a"] * N, ValueError, ["numbers"]),
    ],
)
def test_features(X, error, words, refuses):
    with refuses(error, *words):
        LinkPredictor().fit(X, S.W, np.setdiff1d(S.labeled, [17]))


@pytest.mark.parametrize(
    ("parts", "error", "words"),
    [
        ({"alpha": -1.0}, ValueError, ["alpha", "positive", "-1.0"]),
        ({"alpha": "1"}, TypeError, ["alpha"]),
        ({"kernel": "rbf"}, TypeError, ["kernel", "rbf"]),
        ({"output_kernel": np.eye(3)}, TypeError, ["output_kernel", "iokr.kernels"]),
        ({"loss": "hinge"}, TypeError, ["loss", "iokr.losses"]),
        ({"manifold": 0.1}, TypeError, ["manifold", "iokr.manifolds"]),
        ({"solver": Square()}, TypeError, ["solver", "iokr.solvers"]),
        ({"output_kernel": Diffusion(1.0) + Diffusion(1.0, S.W)}, ValueError, ["output_kernel", "graph"]),
        ({"output_kernel": Precomputed(np.eye(4))}, ValueError, ["4"]),
        ({"output_kernel": Precomputed()}, ValueError, ["output_kernel", "Precomputed(matrix)"]),
        ({"output_kernel": RBF()}, ValueError, ["output_kernel", "node"]),
        ({"kernel": Decomposable(RBF(), np.diag(np.arange(1.0, N + 1)))}, ValueError, ["basis"]),
        ({"kernel": Linear(), "manifold": Laplacian(0.1)}, ValueError, ["negative"]),
    ],
)
def test_components(parts, error, words, refuses):
    with refuses(error, *words):
        LinkPredictor(**parts).fit(S.X, S.W)


def test_new_nodes(refuses):
    fitted = LinkPredictor().fit(S.X, S.W, S.labeled)
    with refuses(ValueError, "X has 2 features", "3"):
        fitted.decision_function(S.X_new[:, :2])
    with refuses(ValueError, "NaN"):
        fitted.decision_function(np.full((1, 3), np.nan))
    with refuses(ValueError, "top", "0"):
        fitted.predict_links(top=0)
    with refuses(TypeError, "top", "2.5"):
        fitted.predict_links(top=2.5)
    with refuses(ValueError, "threshold", "nan"):
        fitted.predict_links(threshold=float("nan"))
    with refuses(ValueError, "square"):
        LinkPredictor(Precomputed()).fit(S.X, S.W)


@pytest.mark.parametrize("method", ["decision_function", "loo_decision_function", "predict_links"])
def test_not_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(LinkPredictor(), method)()
    with pytest.raises(NotFittedError):
        _ = LinkPredictor().best_threshold()
