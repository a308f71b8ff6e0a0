"""A Newton step near the fixed point of ADMM squares the distance to it."""

from dataclasses import replace

import numpy as np
import pytest

from iokr.losses import EpsilonSquare, Huber, MaxMargin
from iokr.solvers.iterative.admm_newton import newton
from iokr.solvers.iterative.reduced import labeled_problem
from samples import problem


def residual(labeled, kernel, z, rho):
    """Φ(z) = u − v(2u − z), u = prox(z)."""
    u = labeled.loss.prox(z, labeled.targets(z), rho / labeled.weight)
    return u - kernel.resolve(2 * u - z, labeled.lam / rho)[1]


@pytest.mark.parametrize("kind", ["identity", "full"])
@pytest.mark.parametrize("loss", [Huber(0.3), EpsilonSquare(0.1)], ids=repr)
@pytest.mark.parametrize("semi", [False, True])
def test_two_steps_find_the_fixed_point_from_nearby(loss, kind, semi):
    labeled = labeled_problem(replace(problem(kind, semi=semi)[0], loss=loss))
    kernel, z = labeled.kernel(spectral=True), np.zeros((8, 3))
    for _ in range(100):
        z = z - residual(labeled, kernel, z, 1.0)
    z = z + 1e-4 * np.random.default_rng(0).normal(size=z.shape)
    away = np.linalg.norm(residual(labeled, kernel, z, 1.0))
    for _ in range(2):
        step = newton(labeled, kernel, z, 1.0)
        assert step is not None
        z = step[0]
    assert away > 1e-6
    assert np.linalg.norm(residual(labeled, kernel, z, 1.0)) < 1e-12


def test_what_has_no_newton_step():
    posed = problem()[0]
    labeled = labeled_problem(replace(posed, loss=MaxMargin()))
    assert newton(labeled, labeled.kernel(spectral=True), np.zeros((8, 3)), 1.0) is None
    labeled = labeled_problem(replace(posed, loss=Huber()))
    assert newton(labeled, labeled.kernel(spectral=False), np.zeros((8, 3)), 1.0) is None
