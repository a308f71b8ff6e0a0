"""Kernels of input curves against their formulas; what reads curves, `iokr.data.curves`, is tested with
`Functional`."""

import numpy as np

from iokr.kernels import L2, RBF, GlobalAlignment, Laplacian, Linear, Periodic, Pointwise, Warped

RNG = np.random.default_rng(0)
X = np.cumsum(RNG.normal(size=(5, 9)), axis=1)
T = np.sort(RNG.uniform(size=9))


def weights():
    gaps = np.diff(T) / (T[-1] - T[0])
    return (np.r_[gaps, 0] + np.r_[0, gaps]) / 2


def test_l2_is_the_integral():
    np.testing.assert_allclose(L2(Linear(), T)(X), (X * weights()) @ X.T, rtol=1e-12)
    squares = (weights() * (X[:, None] - X) ** 2).sum(axis=2)
    np.testing.assert_allclose(L2(RBF(0.3), T)(X), np.exp(-0.3 * squares), rtol=1e-10)


def test_pointwise_is_the_mean_of_a_kernel_on_values():
    expected = np.mean(np.exp(-7 * np.abs(X[:, None] - X)), axis=2)
    np.testing.assert_allclose(Pointwise(Laplacian(7.0), quadrature="uniform")(X), expected, rtol=1e-12)


def test_warped_is_the_kernel_of_the_series():
    np.testing.assert_allclose(Warped(GlobalAlignment(2.0))(X), GlobalAlignment(2.0)(X), rtol=1e-12)


def test_curves_on_grids_of_their_own_meet_on_the_nodes():
    line = [(t, 2 * t + 1) for t in (np.array([0.0, 0.3, 1.0]), np.array([0.0, 0.5, 1.0]))]
    K = L2(Linear())(line)
    np.testing.assert_allclose(K, K[0, 0], rtol=1e-12)  # the same line, wherever it was seen


def test_periodic_is_the_gaussian_on_a_circle():
    t = RNG.uniform(-2, 2, size=(6, 1))
    circle = np.hstack([np.cos(2 * np.pi * t / 1.5), np.sin(2 * np.pi * t / 1.5)]) * 1.5 / (2 * np.pi)
    np.testing.assert_allclose(Periodic(3.0, 1.5)(t), RBF(3.0)(circle), rtol=1e-10)
    np.testing.assert_allclose(Periodic(3.0, 1.5)(t, t + 1.5), RBF(3.0)(circle), rtol=1e-10)
