"""The objective of two layers: its gradient against differences, its minimum against a closed form."""

import numpy as np
import pytest
from scipy.optimize import minimize

from iokr.estimators.autoencoder.layers import CODE_GRADIENTS, TwoLayers
from iokr.kernels import RBF, Linear
from iokr.losses import EpsilonSquare, Huber, Square
from reference import assert_close

rng = np.random.default_rng(0)
N, R, D, Q = 12, 5, 2, 4
B, T, W = rng.normal(size=(N, R)), rng.normal(size=(N, Q)), rng.normal(size=(R, D))


def differences(f, at, step=1e-5):
    """(f(x + h) − f(x − h))/2h for every entry; their error is of the order h² and eps/h."""
    found = np.empty_like(at)
    for place in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[place] += step
        down[place] -= step
        found[place] = (f(up) - f(down)) / (2 * step)
    return found


@pytest.mark.parametrize("kernel", [RBF(0.3), Linear()], ids=repr)
def test_gradient_of_a_kernel_in_its_points(kernel):
    M = rng.normal(size=(N, N))
    M = M + M.T
    Z = B @ W
    expected = differences(lambda Z: float(np.sum(M * kernel(Z))), Z)
    assert_close(CODE_GRADIENTS[type(kernel)](kernel, Z, kernel(Z), M), expected, 1e-7)


@pytest.mark.parametrize("loss", [Square(), Huber(0.5), EpsilonSquare(0.3)], ids=repr)
@pytest.mark.parametrize("kernel", [RBF(0.3), Linear()], ids=repr)
def test_gradient_of_the_objective(kernel, loss):
    """Without a closed form the objective is known to a gap of 1e-10 of J(0), about 20: 2e-9 over the step."""
    layers = TwoLayers(B, T, kernel, loss, 0.5, 0.2)
    step, error = (1e-5, 1e-7) if loss.quadratic else (1e-4, 2e-9 / 1e-4)
    expected = differences(lambda flat: TwoLayers(B, T, kernel, loss, 0.5, 0.2)(flat)[0], W.ravel(), step)
    assert_close(layers(W.ravel())[1], expected, 10 * error)


def test_the_outer_layer_is_ridge_on_codes():
    value, C, K = TwoLayers(B, T, RBF(0.3), Square(), 0.5, 0.2).outer(B @ W)
    H = K @ C
    assert_close(value, 0.5 * np.sum((T - H) ** 2) + 0.25 * np.sum(C * H), 1e-12)
    assert_close(C, np.linalg.solve(K + 0.5 * np.eye(N), T), 1e-12)


@pytest.mark.parametrize("components", [1, 2, 4])
def test_linear_layers_on_free_codes_shrink_singular_values(components):
    """K₁ = I: min ½‖T − WV‖² + (α/2)‖V‖² + (α₁/2)‖W‖² shrinks the first d singular values of T by √(αα₁)."""
    alpha, code_alpha = 0.3, 0.7
    layers = TwoLayers(np.eye(N), T, Linear(), Square(), alpha, code_alpha)
    start = np.linalg.svd(T)[0][:, :components].ravel()
    found = minimize(layers, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000})
    sigma = np.linalg.svd(T, compute_uv=False)
    t = np.sqrt(alpha * code_alpha)
    kept = np.maximum(sigma[:components] - t, 0.0)
    best = 0.5 * np.sum((sigma[:components] - kept) ** 2) + t * np.sum(kept) + 0.5 * np.sum(sigma[components:] ** 2)
    assert_close(found.fun, best, 1e-8)
