"""`tune`: widths, weights and alpha by gradients in closed form."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from iokr import IOKR
from iokr.kernels import ARD, RBF, Linear, Polynomial, Precomputed, Spectrum
from iokr.losses import Huber
from iokr.manifolds import Laplacian
from iokr.model_selection import tune
from iokr.model_selection.criteria import evidence, press
from iokr.model_selection.tuning import Search
from iokr.operator_kernels import Decomposable

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1]]) + 0.1 * rng.normal(size=(40, 2))
KERNEL = 0.8 * ARD([0.5, 0.2, 0.1]) + 0.3 * Linear()
SUM = ["kernel__left__base__gammas", "alpha"]
NAMES = ["kernel__left__base__gammas", "alpha", "kernel__right__factor", "kernel__left__factor"]


def test_the_evidence_is_that_of_a_gaussian_process():
    K, alpha = RBF(0.4)(X), 0.3
    n, q = Y.shape
    f, _, _ = evidence(np.asfortranarray(K), np.asfortranarray(Y), alpha)
    S = K + alpha * np.eye(n)
    variance = np.trace(Y.T @ np.linalg.solve(S, Y)) / (n * q)
    log_density = sum(multivariate_normal(np.zeros(n), variance * S).logpdf(y) for y in Y.T)
    assert f == pytest.approx(-log_density - n * q * (1 + np.log(2 * np.pi)) / 2, rel=1e-9)
    assert evidence(np.asfortranarray(K), np.asfortranarray(Y), alpha, False)[0] == pytest.approx(f, rel=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_press_is_the_leave_one_out_error(intercept):
    model = IOKR(RBF(0.4), alpha=0.3, intercept=intercept).fit(X, Y)
    f, _, _ = press(np.asfortranarray(RBF(0.4)(X)), np.asfortranarray(Y), 0.3, True, intercept)
    assert f == pytest.approx(np.sum((Y - model.loo_decision_function()) ** 2), rel=1e-9)


def test_the_evidence_with_an_intercept_is_that_of_contrasts():
    K, alpha = RBF(0.4)(X), 0.3
    n, q = Y.shape
    contrasts = np.linalg.svd(np.ones((1, n)))[2][1:]  # orthonormal, and orthogonal to 1
    f, _, _ = evidence(np.asfortranarray(K), np.asfortranarray(Y + 7.0), alpha, True, True)
    S = contrasts @ (K + alpha * np.eye(n)) @ contrasts.T
    Z = contrasts @ Y
    variance = np.trace(Z.T @ np.linalg.solve(S, Z)) / ((n - 1) * q)
    log_det = np.linalg.slogdet(S)[1] + np.log(n)  # log det(K + αI) + log 1ᵀ(K + αI)⁻¹1, by the Schur complement
    assert f == pytest.approx((n - 1) * q * np.log(variance) / 2 + q * log_det / 2, rel=1e-9)
    without = evidence(np.asfortranarray(K), np.asfortranarray(Y + 7.0), alpha, False, True)
    assert without[0] == pytest.approx(f, rel=1e-12)


def test_a_constant_in_the_outputs_changes_nothing():
    models = [tune(IOKR(ARD()), X, Y + c, ["kernel__gammas", "alpha"]) for c in (0.0, 1000.0)]
    np.testing.assert_allclose(models[1].kernel_.gammas_, models[0].kernel_.gammas_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(models[1].predict(X) - 1000.0, models[0].predict(X), atol=1e-5)
    with pytest.raises(ValueError, match="`y` is constant"):
        tune(IOKR(ARD()), X, 0 * Y + 3.0, ["alpha"])


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("criterion", [evidence, press])
def test_gradients_equal_central_differences(criterion, intercept):
    fitted = IOKR(KERNEL, alpha=0.2, intercept=intercept).fit(X, Y)
    search = Search.of(criterion, fitted, X, NAMES)
    z = np.concatenate([np.log(value) for value in search.first.values()])
    _, gradient = search(z)
    for i in range(len(z)):
        step = 1e-5 * (np.arange(len(z)) == i)
        slope = (search(z + step)[0] - search(z - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-6 * np.abs(gradient).max())
    assert np.allclose(gradient, approx_fprime(z, lambda z: search(z)[0], 1e-7), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("by", ["evidence", "loo"])
def test_the_criterion_falls_to_a_flat_place(by):
    model = tune(IOKR(KERNEL, alpha=0.2), X, Y, NAMES, by=by)
    tuning = model.tuning_
    assert tuning["by"] == by and tuning["path"][-1] <= tuning["path"][0] and set(tuning["values"]) == set(NAMES)
    assert model.alpha == tuning["values"]["alpha"]
    np.testing.assert_array_equal(model.kernel_.left_.base_.gammas_, tuning["values"][NAMES[0]])
    search = Search.of(evidence if by == "evidence" else press, model, X, NAMES)
    z = np.concatenate([np.log(value) for value in search.first.values()])
    f, gradient = search(z)
    assert f == pytest.approx(tuning["path"].min(), rel=1e-6)
    start = np.concatenate([np.atleast_1d(np.log(tuning["start"][name])) for name in NAMES])
    inside = np.abs(z - start) < 7.99
    assert np.abs(gradient[inside]).max() < 1e-2 * max(1.0, abs(f))


def test_a_feature_without_a_role_is_switched_off():
    model = tune(IOKR(ARD(), intercept=True), X, Y[:, 0], ["kernel__gammas", "alpha"])
    gammas = model.kernel_.gammas_
    assert gammas[0] > 100 * gammas[2] and model.tuning_["off"]["kernel__gammas"][0] is False
    isotropic = tune(IOKR(RBF()), X, Y[:, 0], ["kernel__gamma", "alpha"])
    assert model.tuning_["path"].min() < isotropic.tuning_["path"].min()
    new = rng.normal(size=(200, 3))
    errors = [np.mean((m.predict(new) - np.sin(2 * new[:, 0])) ** 2) for m in (model, isotropic)]
    assert errors[0] < errors[1]


def test_implicit_outputs_are_their_coordinates():
    words = ["ab", "abb", "aab", "ba", "bba", "baa"] * 4
    inputs = np.array([[w.count("a"), len(w)] for w in words]) + 0.1 * rng.normal(size=(24, 2))
    model = tune(IOKR(ARD(), output_kernel=Spectrum(2)), inputs, words, ["kernel__gammas", "alpha"])
    K_Y = Spectrum(2)(words)
    values, vectors = np.linalg.eigh(K_Y)
    kept = values > 1e-10 * values[-1]
    V = vectors[:, kept] * np.sqrt(values[kept])
    again = tune(IOKR(ARD(), intercept=False), inputs, V, ["kernel__gammas", "alpha"])
    assert model.tuning_["path"].min() == pytest.approx(again.tuning_["path"].min(), rel=1e-5)


def test_refusals():
    model = IOKR(ARD(), alpha=0.1)
    with pytest.raises(ValueError, match=r"3 widths and weights from 12 rows are more than 0\.2 per row"):
        tune(model, X[:12], Y[:12], ["kernel__gammas", "alpha"], prior=None)
    with pytest.raises(ValueError, match=r"2 widths and weights from 8 rows are more than 0\.2 per row"):
        tune(IOKR(1.0 * ARD() + 1.0 * Linear()), X[:8], Y[:8], [*SUM, "kernel__left__factor", "kernel__right__factor"])
    with pytest.raises(ValueError, match="chooses columns by the evidence"):
        tune(model, X, Y, ["kernel__gammas", "alpha"], by="loo", prior="sparse")
    with pytest.raises(ValueError, match="chooses columns by the evidence"):
        tune(IOKR(RBF()), X, Y, ["kernel__gamma", "alpha"], prior="sparse")
    with pytest.raises(ValueError, match="`prior` must be one of"):
        tune(model, X, Y, ["alpha"], prior="laplace")
    assert tune(model, X[:12], Y[:12], ["kernel__gammas", "alpha"], limit=None).tuning_["prior"] is None
    with pytest.raises(ValueError, match="which the model does not have"):
        tune(model, X, Y, ["kernel__gamma"])
    with pytest.raises(ValueError, match=r"has no gradient here; there is alpha\."):
        tune(IOKR(Polynomial(2)), X, Y, ["kernel__coef0"])
    with pytest.raises(TypeError, match="`kernel` must be numbers"):
        tune(model, X, Y, ["kernel"])
    with pytest.raises(ValueError, match="`by` must be one of"):
        tune(model, X, Y, ["alpha"], by="press")
    with pytest.raises(ValueError, match="square loss and no manifold"):
        tune(IOKR(ARD(), loss=Huber()), X, Y, ["alpha"])
    with pytest.raises(ValueError, match="square loss and no manifold"):
        tune(IOKR(ARD(), manifold=Laplacian(0.1)), X, Y, ["alpha"])
    with pytest.raises(ValueError, match="scalar kernel"):
        tune(IOKR(Decomposable(RBF(), np.eye(2))), X, Y, ["alpha"])
    with pytest.raises(ValueError, match="scalar kernel"):
        tune(IOKR(Precomputed()), RBF(0.3)(X), Y, ["alpha"])
    with pytest.raises(ValueError, match="missing entries"):
        tune(model, X, np.where(Y > 1, np.nan, Y), ["alpha"])
    with pytest.raises(ValueError, match="positive numbers"):
        tune(IOKR(ARD([1.0, 0.0, 1.0])), X, Y, ["kernel__gammas"])
    with pytest.raises(TypeError, match="`parameters` must be a list of names"):
        tune(model, X, Y, 0.5)
    with pytest.raises(ValueError, match="`parameters` is empty"):
        tune(model, X, Y, [])
    with pytest.raises(ValueError, match="zero throughout"):
        tune(model, X, 0 * Y, ["alpha"])
