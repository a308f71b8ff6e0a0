"""Problems that do not fit into one panel, one block or a dense graph: the bookkeeping must not show."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

import reference
from iokr import IOKR, IOKRCV
from iokr.kernels import RBF, Linear, Tanimoto
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import Cholesky, Eigen, ManifoldEigen
from reference import assert_close
from samples import each_intercept

N = 700  # more rows than a panel of the Gram matrix


def data(seed: int = 0, n: int = N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    Y = np.column_stack([np.sin(X[:, 0] + X[:, 1]), X[:, 2] * X[:, 3]]) + 0.1 * rng.normal(size=(n, 2))
    return rng, X, Y


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", [Eigen(), Cholesky()], ids=repr)
def test_kernel_ridge_and_leave_one_out(solver, weighted):
    rng, X, Y = data()
    w = rng.uniform(0.1, 2.0, size=N) if weighted else None
    rival = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.2).fit(X, Y, sample_weight=w)
    model = IOKR(RBF(0.2), alpha=0.3, solver=solver, intercept=False).fit(X, Y, sample_weight=w)
    assert_close(model.predict(X[:50] + 0.1), rival.predict(X[:50] + 0.1), 1e-10)
    root = np.ones(N) if w is None else np.sqrt(w)
    inverse = np.linalg.inv(root[:, None] * rival._get_kernel(X) * root + 0.3 * np.eye(N))
    residuals = (inverse @ (root[:, None] * Y)) / np.diag(inverse)[:, None] / root[:, None]
    assert_close(Y - model.loo_decision_function(), residuals, 1e-9)
    path = IOKRCV(RBF(0.2), alphas=(0.01, 0.3), solver=solver, intercept=False).fit(X, Y, sample_weight=w)
    assert_close(path.loo_errors_[1], root**2 @ np.sum(residuals**2, axis=1) / np.sum(root**2), 1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", [Eigen(), Cholesky()], ids=repr)
def test_leave_one_out_with_an_intercept(solver, weighted):
    """By the inverse M of the bordered matrix [K + α diag(1/w), 1; 1ᵀ, 0]: the residual of row i is c_i/M_ii."""
    rng, X, Y = data()
    w = rng.uniform(0.1, 2.0, size=N) if weighted else None
    border = np.ones((N, 1))
    noise = np.diag(np.full(N, 0.3) if w is None else 0.3 / w)
    inverse = np.linalg.inv(np.block([[RBF(0.2)(X) + noise, border], [border.T, np.zeros((1, 1))]]))
    C, b = inverse[:N, :N] @ Y, inverse[N, :N] @ Y
    model = IOKR(RBF(0.2), alpha=0.3, solver=solver).fit(X, Y, sample_weight=w)
    assert_close(model.predict(X[:50] + 0.1), RBF(0.2)(X[:50] + 0.1, X) @ C + b, 1e-10)
    residuals = C / np.diag(inverse)[:N, None]
    assert_close(Y - model.loo_decision_function(), residuals, 1e-9)


@each_intercept
def test_rank_deficient_gram_matrix(intercept):
    """A linear kernel of rank 4 over 700 points is ridge regression in four unknowns, and a mean."""
    _, X, Y = data(1)
    Z, T = (X - X.mean(axis=0), Y - Y.mean(axis=0)) if intercept else (X, Y)
    B = np.linalg.solve(Z.T @ Z + 0.5 * np.eye(4), Z.T @ T)
    expected = Z[:20] @ B + (Y.mean(axis=0) if intercept else 0.0)
    for solver in (Eigen(), Cholesky()):
        model = IOKR(Linear(), alpha=0.5, solver=solver, intercept=intercept).fit(X, Y)
        assert_close(model.predict(X[:20]), expected, 1e-9)


@pytest.mark.parametrize("solver", [None, ManifoldEigen("eigen"), ManifoldEigen("deformed")], ids=repr)
@pytest.mark.parametrize("A", [None, np.array([[1.0, 0.5], [0.5, 2.0]])], ids=["identity", "operator"])
def test_sparse_neighbour_graph(A, solver):
    """Three hundred points with four neighbours each, forty of them labelled."""
    _, X, Y = data(2, n=300)
    kernel = RBF(0.2) if A is None else Decomposable(RBF(0.2), A)
    model = IOKR(kernel, alpha=0.1, manifold=Laplacian(0.7, 4), solver=solver)
    model.fit(X[:40], Y[:40], X_unlabeled=X[40:])
    K = RBF(0.2)(X)
    ridge = reference.Ridge(K, Y[:40], 0.1, A, reference.graph_laplacian(K, 4), 0.7, intercept=True)
    H = ridge.values(K)
    assert_close(model.decision_function(X), H, 1e-9)
    loo = model.loo_decision_function()
    for i in (0, 17, 39):
        assert_close(loo[i], ridge.values(K[i : i + 1], without=i)[0], 1e-9)


def test_predictions_for_many_inputs_are_worked_off_in_blocks():
    rng, X, Y = data(3)
    model = IOKR(RBF(0.2), alpha=0.3).fit(X, Y)
    new = rng.normal(size=(24_000, 4))  # 16.8 million kernel values
    H = model.decision_function(new)
    for rows in (slice(0, 5), slice(11_990, 12_010), slice(23_995, 24_000)):
        assert_close(H[rows], model.decision_function(new[rows]), 1e-12)


def test_many_implicit_outputs():
    """Output Gram over 700 fingerprints: scores, distances and R² against the dense formulas."""
    rng, X, _ = data(4)
    Y = (rng.uniform(size=(N, 32)) < 0.3).astype(float)
    model = IOKR(RBF(0.2), output_kernel=Tanimoto(), alpha=0.3).fit(X, Y)
    K, K_Y = RBF(0.2)(X), Tanimoto()(Y)
    B = np.linalg.solve(K + 0.3 * np.eye(N), K[:, :30]).T
    norms = np.sum((B @ K_Y) * B, axis=1)
    distances = norms[:, None] - 2 * B @ K_Y + 1.0
    assert_close(model.distances(X[:30], Y), distances, 1e-10)
    residual = np.sum(norms - 2 * np.sum(B * K_Y[:30], axis=1) + 1)
    spread = 30 - K_Y[:30, :30].sum() / 30
    assert_close(model.score(X[:30], Y[:30]), 1 - residual / spread, 1e-10)
    order = np.argsort(np.round(distances, 10), axis=1, kind="stable")[:, :9]
    indices, values = model.rank(X[:30], Y, k=9)
    assert_close(values, np.take_along_axis(distances, order, axis=1), 1e-9)
    assert_close(np.take_along_axis(distances, indices, axis=1), values, 1e-9)
