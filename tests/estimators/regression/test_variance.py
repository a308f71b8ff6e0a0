"""k(x, x) − k_xᵀ(K + λI)⁻¹k_x against the joint Gaussian, written out over all entries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr import IOKR, IOKRCV
from iokr.embeddings import Eigen
from iokr.kernels import RBF, Delta, Linear, Nystroem
from iokr.losses import Huber
from iokr.manifolds import Given
from iokr.operator_kernels import Covariance, Decomposable, Transformable
from tolerance import ridge_condition, rounding

rng = np.random.default_rng(0)
X, Y, NEW = rng.normal(size=(15, 2)), rng.normal(size=(15, 3)), rng.normal(size=(4, 2))
A = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.0]])
K, CROSS, ALPHA = RBF(0.5)(X), RBF(0.5)(NEW, X), 0.3
CLOSE = {"atol": 10 * rounding(45, ridge_condition(K, ALPHA, A)), "rtol": 0}


def joint(A, weight=None, mask=None, penalty=None):
    """Covariance of h(x) given noisy values of all outputs at the training inputs, a (q, q) block per new input."""
    q = len(A)
    w = np.repeat(np.ones(len(X)) if weight is None else weight, q)
    w = w if mask is None else w * mask.ravel()
    precision = np.diag(w) + (0 if penalty is None else np.kron(penalty, np.eye(q)))
    G, cross = np.kron(K, A), np.kron(CROSS, A)
    inner = cross @ precision @ np.linalg.solve(ALPHA * np.eye(len(G)) + G @ precision, cross.T)
    return np.array([A - inner[i * q : (i + 1) * q, i * q : (i + 1) * q] for i in range(len(NEW))])


def test_scalar_kernel():
    model = IOKR(RBF(0.5), alpha=ALPHA).fit(X, Y)
    expected = joint(np.eye(1))[:, 0, 0]
    assert_allclose(model.variance(NEW), expected, **CLOSE)
    assert_allclose(model.variance(NEW, full=True), expected[:, None, None] * np.eye(3), **CLOSE)
    implicit = IOKR(RBF(0.5), alpha=ALPHA, output_kernel=RBF(1.0)).fit(X, Y)
    assert_allclose(implicit.variance(NEW), expected, **CLOSE)
    chosen = IOKRCV(RBF(0.5), alphas=(ALPHA,)).fit(X, Y)
    assert_allclose(chosen.variance(NEW), expected, **CLOSE)


def test_operator_kernel_is_the_diagonal_of_the_full_matrix():
    model = IOKR(Decomposable(RBF(0.5), A), alpha=ALPHA).fit(X, Y)
    assert_allclose(model.variance(NEW, full=True), joint(A), **CLOSE)
    assert_allclose(model.variance(NEW), np.diagonal(joint(A), axis1=1, axis2=2), **CLOSE)
    same = IOKR(Decomposable(RBF(0.5), 2 * np.eye(3)), alpha=ALPHA).fit(X, Y)
    assert_allclose(same.variance(NEW), np.diagonal(joint(2 * np.eye(3)), axis1=1, axis2=2), **CLOSE)


def test_kernel_that_does_not_separate():
    def moved(X):
        return [X, 2 * X]

    model = IOKR(Transformable(RBF(0.5), [lambda X: X, lambda X: 2 * X]), alpha=ALPHA).fit(X, Y[:, :2])
    both, new = np.stack(moved(X), axis=1).reshape(-1, 2), np.stack(moved(NEW), axis=1).reshape(-1, 2)
    G, cross, own = RBF(0.5)(both), RBF(0.5)(new, both), RBF(0.5)(new)
    S = own - cross @ np.linalg.solve(G + ALPHA * np.eye(len(G)), cross.T)
    expected = np.array([S[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] for i in range(len(NEW))])
    assert_allclose(model.variance(NEW, full=True), expected, atol=10 * rounding(30, ridge_condition(G, ALPHA)))
    assert_allclose(model.variance(NEW), np.diagonal(expected, axis1=1, axis2=2), atol=1e-10)


def test_weights_penalties_and_missing_entries():
    weight = rng.integers(0, 3, size=15).astype(float)
    weighted = IOKR(RBF(0.5), alpha=ALPHA).fit(X, Y, sample_weight=weight)
    assert_allclose(weighted.variance(NEW), joint(np.eye(1), weight)[:, 0, 0], **CLOSE)
    B = rng.normal(size=(15, 15))
    L = B @ B.T / 15
    smooth = IOKR(RBF(0.5), alpha=ALPHA, manifold=Given(0.7, L)).fit(X, Y)
    assert_allclose(smooth.variance(NEW), joint(np.eye(1), penalty=0.7 * L)[:, 0, 0], **CLOSE)
    holes = np.where(rng.uniform(size=Y.shape) < 0.3, np.nan, Y)
    holes[:, 0] = Y[:, 0]
    for B, kernel in ((np.eye(3), RBF(0.5)), (A, Decomposable(RBF(0.5), A))):
        expected = joint(B, mask=~np.isnan(holes))
        model = IOKR(kernel, alpha=ALPHA).fit(X, holes)
        assert_allclose(model.variance(NEW), np.diagonal(expected, axis1=1, axis2=2), **CLOSE)
        assert_allclose(model.variance(NEW, full=True), expected, **CLOSE)


def test_few_features_give_the_same_as_their_matrix():
    few = IOKR(Nystroem(RBF(0.5), n_components=6), alpha=ALPHA).fit(X, Y)
    phi = few.kernel_.features(NEW) @ few.kernel_.features(X).T, few.kernel_.features(X) @ few.kernel_.features(X).T
    own = np.sum(few.kernel_.features(NEW) ** 2, axis=1)
    explained = np.einsum("ij,ji->i", phi[0], np.linalg.solve(phi[1] + ALPHA * np.eye(15), phi[0].T))
    assert_allclose(few.variance(NEW), own - explained, atol=1e-10)
    assert IOKR(Linear()).fit(X, Y).variance([[0.0, 0.0]])[0] == 0


def test_covariance_kernels():
    model = IOKR(Covariance(RBF(0.5)), alpha=ALPHA).fit(X, Y)
    assert_allclose(model.variance(NEW, full=True), joint(model.kernel_.A_), **CLOSE)
    implicit = IOKR(Covariance(RBF(0.5)), alpha=ALPHA, output_kernel=RBF(1.0)).fit(X, Y)
    with pytest.raises(ValueError, match="Eigen"):
        implicit.variance(NEW)
    explicit = IOKR(Covariance(RBF(0.5)), alpha=ALPHA, output_kernel=RBF(1.0), embedding=Eigen()).fit(X, Y)
    assert explicit.variance(NEW).shape == explicit.decision_function(NEW).shape


def test_refused_without_a_closed_form_or_without_coordinates():
    with pytest.raises(ValueError, match="quadratic losses only"):
        IOKR(loss=Huber(1.0)).fit(X, Y).variance(NEW)
    with pytest.raises(ValueError, match="needs outputs in coordinates"):
        IOKR(output_kernel=Delta()).fit(X, list("aab" * 5)).variance(NEW, full=True)
