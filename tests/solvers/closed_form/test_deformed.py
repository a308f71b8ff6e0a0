"""K̃ = J K (αI + μLK)⁻¹ Jᵀ and its lift, for every γ."""

import numpy as np
import pytest

from iokr.solvers.closed_form.deformed import PlainKernel, Reduction
from reference import assert_close
from samples import problem

ALPHA, MU = 0.3, 0.7


@pytest.mark.parametrize("g", [1.0, 2.5])
def test_deformed_kernel_is_the_formula(g):
    posed, ridge, _ = problem(semi=True)
    reduction, n, N = Reduction(posed), posed.n_labeled, len(ridge.K)
    expected = g * (ridge.K @ np.linalg.inv(ALPHA * np.eye(N) + MU * g * ridge.L @ ridge.K))[:n, :n]
    assert_close(reduction.kernel(ALPHA, MU, g), expected, 1e-10)
    a = np.random.default_rng(0).normal(size=(n, 2))
    c = reduction.lift(a, ALPHA, MU, g)
    assert_close(g * (ridge.K @ c)[:n], expected @ a, 1e-9)


@pytest.mark.parametrize("weighted", ["none", "zeros"])
def test_without_unlabelled_points(weighted):
    posed, ridge, _ = problem(weighted=weighted)
    kernel = PlainKernel(posed)
    rows = np.arange(8) if posed.weight is None else np.flatnonzero(posed.weight)
    K = kernel.deformed(ALPHA, 2.0)
    assert_close(K, 2.0 * ridge.K[np.ix_(rows, rows)] / ALPHA, 1e-13)
    a = np.random.default_rng(0).normal(size=(len(rows), 2))
    assert_close((2.0 * ridge.K @ kernel.lift(a, ALPHA, 2.0))[rows], K @ a, 1e-12)
