"""The duality gap bounds the distance to the minimum."""

from dataclasses import replace

import numpy as np
import pytest

from iokr.losses import EpsilonSquare, Huber
from iokr.solvers import ADMM
from iokr.solvers.iterative.certificate import certify, gap_bound
from iokr.solvers.iterative.reduced import labeled_problem
from samples import problem


@pytest.mark.parametrize("loss", [Huber(0.3), EpsilonSquare(0.1)], ids=repr)
@pytest.mark.parametrize("semi", [False, True])
def test_the_gap_is_true(loss, semi):
    posed = replace(problem("full", "any", semi=semi)[0], loss=loss)
    labeled = labeled_problem(posed)
    kernel, P0 = labeled.kernel(spectral=True), labeled.at_zero()
    least = posed.objective(ADMM(tol=1e-12).solve(posed).C)
    rng = np.random.default_rng(0)
    for size in (1e-3, 0.1, 1.0):
        a, W = (size * rng.normal(size=(8, 3)) for _ in range(2))
        point = a, kernel.product(a)
        found = certify(labeled, kernel, W, point, P0, 1e-6)
        away = (posed.objective(labeled.lift(found.a)) - least) / P0
        assert -1e-9 <= away <= found.gap + 1e-9
        assert found.dual <= least + 1e-9 * P0
        # Without ⟨D, 𝒦D⟩/2λ ≥ 0 in the dual, the bound is at most the gap of the plain point.
        plain = (labeled.objective(point[1], float(np.sum(a * point[1]))) - found.dual) / P0
        assert gap_bound(labeled, W, point, P0) <= plain + 1e-9
