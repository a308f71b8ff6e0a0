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
from samples import each_intercept
from tolerance import ridge_condition, rounding

rng = np.random.default_rng(0)
X, Y, NEW = rng.normal(size=(15, 2)), rng.normal(size=(15, 3)), rng.normal(size=(4, 2))
A = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.0]])
K, CROSS, ALPHA = RBF(0.5)(X), RBF(0.5)(NEW, X), 0.3
CLOSE = {"atol": 10 * rounding(45, ridge_condition(K, ALPHA, A)), "rtol": 0}


def joint(A, weight=None, mask=None, penalty=None, intercept=False):
    """Covariance of h(x) given noisy values of all outputs at the training inputs, a (q, q) block per new input."""
    q = len(A)
    if intercept:
        return with_flat_constants(np.kron(RBF(0.5)(np.vstack([X, NEW])), A), q, weight, mask, penalty)
    w = np.repeat(np.ones(len(X)) if weight is None else weight, q)
    w = w if mask is None else w * mask.ravel()
    precision = np.diag(w) + (0 if penalty is None else np.kron(penalty, np.eye(q)))
    G, cross = np.kron(K, A), np.kron(CROSS, A)
    inner = cross @ precision @ np.linalg.solve(ALPHA * np.eye(len(G)) + G @ precision, cross.T)
    return np.array([A - inner[i * q : (i + 1) * q, i * q : (i + 1) * q] for i in range(len(NEW))])


def with_flat_constants(G, q, weight=None, mask=None, penalty=None):
    """The same for h + b: regression in explicit features and q constants, which have no prior; G of X and NEW."""
    w = np.repeat(np.ones(len(X)) if weight is None else weight, q)
    w = w if mask is None else w * mask.ravel()
    s, U = np.linalg.eigh(G)
    features = U * np.sqrt(np.clip(s, 0, None))
    F = np.hstack([features, np.tile(np.eye(q), (len(G) // q, 1))])
    seen, new = F[: len(w)], F[len(w) :]
    precision = seen.T @ (w[:, None] * seen)
    precision[: len(G), : len(G)] += ALPHA * np.eye(len(G))
    if penalty is not None:
        some = features[: len(w)]
        precision[: len(G), : len(G)] += some.T @ np.kron(penalty, np.eye(q)) @ some
    S = ALPHA * new @ np.linalg.solve(precision, new.T)
    return np.array([S[i : i + q, i : i + q] for i in range(0, len(S), q)])


@each_intercept
def test_scalar_kernel(intercept):
    model = IOKR(RBF(0.5), alpha=ALPHA, intercept=intercept).fit(X, Y)
    expected = joint(np.eye(1), intercept=intercept)[:, 0, 0]
    assert_allclose(model.variance(NEW), expected, **CLOSE)
    assert_allclose(model.variance(NEW, full=True), expected[:, None, None] * np.eye(3), **CLOSE)
    implicit = IOKR(RBF(0.5), alpha=ALPHA, output_kernel=RBF(1.0), intercept=intercept).fit(X, Y)
    assert_allclose(implicit.variance(NEW), expected, **CLOSE)
    chosen = IOKRCV(RBF(0.5), alphas=(ALPHA,), intercept=intercept).fit(X, Y)
    assert_allclose(chosen.variance(NEW), expected, **CLOSE)


@each_intercept
def test_operator_kernel_is_the_diagonal_of_the_full_matrix(intercept):
    model = IOKR(Decomposable(RBF(0.5), A), alpha=ALPHA, intercept=intercept).fit(X, Y)
    expected = joint(A, intercept=intercept)
    assert_allclose(model.variance(NEW, full=True), expected, **CLOSE)
    assert_allclose(model.variance(NEW), np.diagonal(expected, axis1=1, axis2=2), **CLOSE)
    same = IOKR(Decomposable(RBF(0.5), 2 * np.eye(3)), alpha=ALPHA, intercept=intercept).fit(X, Y)
    expected = joint(2 * np.eye(3), intercept=intercept)
    assert_allclose(same.variance(NEW), np.diagonal(expected, axis1=1, axis2=2), **CLOSE)


@each_intercept
def test_kernel_that_does_not_separate(intercept):
    def moved(X):
        return [X, 2 * X]

    kernel = Transformable(RBF(0.5), [lambda X: X, lambda X: 2 * X])
    model = IOKR(kernel, alpha=ALPHA, intercept=intercept).fit(X, Y[:, :2])
    both, new = np.stack(moved(X), axis=1).reshape(-1, 2), np.stack(moved(NEW), axis=1).reshape(-1, 2)
    G, cross, own = RBF(0.5)(both), RBF(0.5)(new, both), RBF(0.5)(new)
    S = own - cross @ np.linalg.solve(G + ALPHA * np.eye(len(G)), cross.T)
    expected = np.array([S[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] for i in range(len(NEW))])
    if intercept:
        expected = with_flat_constants(RBF(0.5)(np.vstack([both, new])), 2)
    assert_allclose(model.variance(NEW, full=True), expected, atol=10 * rounding(30, ridge_condition(G, ALPHA)))
    assert_allclose(model.variance(NEW), np.diagonal(expected, axis1=1, axis2=2), atol=1e-10)


@each_intercept
def test_weights_penalties_and_missing_entries(intercept):
    weight = rng.integers(0, 3, size=15).astype(float)
    weighted = IOKR(RBF(0.5), alpha=ALPHA, intercept=intercept).fit(X, Y, sample_weight=weight)
    assert_allclose(weighted.variance(NEW), joint(np.eye(1), weight, intercept=intercept)[:, 0, 0], **CLOSE)
    B = rng.normal(size=(15, 15))
    L = B @ B.T / 15
    smooth = IOKR(RBF(0.5), alpha=ALPHA, manifold=Given(0.7, L), intercept=intercept).fit(X, Y)
    expected = joint(np.eye(1), penalty=0.7 * L, intercept=intercept)[:, 0, 0]
    assert_allclose(smooth.variance(NEW), expected, **CLOSE)
    holes = np.where(rng.uniform(size=Y.shape) < 0.3, np.nan, Y)
    holes[:, 0] = Y[:, 0]
    for B, kernel in ((np.eye(3), RBF(0.5)), (A, Decomposable(RBF(0.5), A))):
        expected = joint(B, mask=~np.isnan(holes), intercept=intercept)
        model = IOKR(kernel, alpha=ALPHA, intercept=intercept).fit(X, holes)
        assert_allclose(model.variance(NEW), np.diagonal(expected, axis1=1, axis2=2), **CLOSE)
        assert_allclose(model.variance(NEW, full=True), expected, **CLOSE)


def test_few_features_give_the_same_as_their_matrix():
    few = IOKR(Nystroem(RBF(0.5), n_components=6), alpha=ALPHA, intercept=False).fit(X, Y)
    phi = few.kernel_.features(NEW) @ few.kernel_.features(X).T, few.kernel_.features(X) @ few.kernel_.features(X).T
    own = np.sum(few.kernel_.features(NEW) ** 2, axis=1)
    explained = np.einsum("ij,ji->i", phi[0], np.linalg.solve(phi[1] + ALPHA * np.eye(15), phi[0].T))
    assert_allclose(few.variance(NEW), own - explained, atol=1e-10)
    assert IOKR(Linear(), intercept=False).fit(X, Y).variance([[0.0, 0.0]])[0] == 0
    few = IOKR(Nystroem(RBF(0.5), n_components=6), alpha=ALPHA).fit(X, Y)
    both = few.kernel_.features(np.vstack([X, NEW]))
    assert_allclose(few.variance(NEW), with_flat_constants(both @ both.T, 1)[:, 0, 0], atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_few_features_far_from_zero(weighted):
    """α(zᵀ(ZᵀWZ + αI)⁻¹z + 1/Σw) with the features counted from their mean, where an intercept makes them."""
    w = rng.uniform(0.5, 2.0, size=15) if weighted else np.ones(15)
    mean = w @ X / w.sum()
    Z, z = X - mean, NEW - mean
    G = Z.T @ (w[:, None] * Z) + ALPHA * np.eye(2)
    expected = ALPHA * (np.sum(z * np.linalg.solve(G, z.T).T, axis=1) + 1 / w.sum())
    for far in (0.0, 1e4):
        for kernel in (Linear(), Decomposable(Linear(), np.eye(3))):
            model = IOKR(kernel, alpha=ALPHA).fit(X + far, Y, sample_weight=w)
            found = model.variance(NEW + far).reshape(4, -1)[:, 0]
            assert_allclose(found, expected, rtol=0, atol=100 * np.finfo(float).eps * (1 + 2 * far**2))  # k(x, x)


@each_intercept
def test_covariance_kernels(intercept):
    model = IOKR(Covariance(RBF(0.5)), alpha=ALPHA, intercept=intercept).fit(X, Y)
    assert_allclose(model.variance(NEW, full=True), joint(model.kernel_.A_, intercept=intercept), **CLOSE)
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
