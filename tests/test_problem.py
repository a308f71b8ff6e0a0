"""The objective and its gradient, term by term."""

import numpy as np
import pytest

from reference import assert_close
from samples import problem


@pytest.mark.parametrize("semi", [False, True], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("holes", ["none", "entries"])
@pytest.mark.parametrize("weighted", ["none", "zeros"])
@pytest.mark.parametrize("kind", ["identity", "full", "rank one"])
def test_objective_and_gradient(kind, weighted, holes, semi):
    ours, ridge, _ = problem(kind, weighted, holes, semi)
    C = np.random.default_rng(2).normal(size=(len(ridge.K), 3))
    assert_close(ours.objective(C), ridge.objective(C), 1e-12)
    direction = np.random.default_rng(3).normal(size=C.shape)
    step = 1e-5
    slope = (ridge.objective(C + step * direction) - ridge.objective(C - step * direction)) / (2 * step)
    assert_close(np.sum((ours.gram @ ours.gradient(C)) * direction), slope, 1e-7)
    assert np.abs(ours.gradient(ridge.coefficients())).max() < 1e-11
