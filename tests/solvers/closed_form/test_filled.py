"""Few missing entries: the answers of the system over all observed entries."""

from dataclasses import replace

import numpy as np
import pytest

from iokr import FunctionalCV
from iokr.kernels import RBF
from iokr.solvers import Eigen
from iokr.solvers.closed_form.filled import FilledPath, by_filling
from iokr.solvers.closed_form.missing import _Entries, masked_path
from masked import ALPHA, WEIGHT, masked
from reference import assert_close

GROUPS = np.array([0, 0, 1, 1, 1, 2, 3, 3, 4, 5, 5, 6])


def shapes(q):
    """A constant and a slope."""
    return np.stack([np.ones(q), np.linspace(-1, 1, q)])


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("intercept", ["none", "free", "shapes"])
@pytest.mark.parametrize("share", [0.85, 0.97])
@pytest.mark.parametrize("alpha", [1e-4, ALPHA, 10.0])
def test_equals_the_matrix_over_observed_entries(alpha, share, intercept, weight):
    *_, problem = masked(share, weight=weight, intercept=intercept != "none", seed=1)
    if intercept == "shapes":
        problem = replace(problem, shapes=shapes(5))
    path, dense = masked_path(Eigen().path, problem), _Entries(problem)
    assert isinstance(path, FilledPath)
    tol = 1e-11 / alpha * np.linalg.norm(problem.Psi)  # K ⊗ A + αI is at least α
    ours, theirs = path.solution(problem.Psi, alpha), dense.solution(problem.Psi, alpha)
    np.testing.assert_allclose(ours.C, theirs.C, atol=tol)
    assert (ours.intercept is None) == (intercept == "none")
    if ours.intercept is not None:
        np.testing.assert_allclose(ours.intercept, theirs.intercept, atol=tol)
    tol = max(tol, 1e-13 / alpha**2 * np.linalg.norm(problem.Psi))  # theirs subtracts U Uᵀ from a matrix near it
    for groups in (None, GROUPS):
        found = path.loo_residuals(problem.Psi, alpha, groups)
        np.testing.assert_allclose(found, dense.loo_residuals(problem.Psi, alpha, groups), atol=tol)


def test_a_column_seen_in_one_row_alone():
    """Without that row nothing fixes its intercept, which is then 0."""
    *_, problem = masked(0.99, n=12, intercept=True)
    mask = np.ones(problem.mask.shape, dtype=bool)
    mask[1:, 2] = False
    problem = replace(problem, mask=mask, Psi=np.where(mask, problem.Psi, 0.0))
    path = masked_path(Eigen().path, problem)
    assert isinstance(path, FilledPath)
    assert_close(path.loo_residuals(problem.Psi, ALPHA), _Entries(problem).loo_residuals(problem.Psi, ALPHA), 1e-9)
    mask[0, 2] = False
    assert not by_filling(replace(problem, mask=mask))


def test_three_missing_entries_cost_little():
    """Errors of all curve kernels and alphas next to those of the complete curves: a smooth change, no other route."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2))
    Y = np.sin(np.linspace(0, 4, 25) * x[:, :1]) + 0.1 * rng.normal(size=(30, 25))
    gaps = Y.copy()
    gaps[[3, 9, 20], [0, 11, 24]] = np.nan
    model = FunctionalCV(RBF(0.5), curve_kernel=[RBF(10.0), RBF(100.0)], alphas=(0.01, 0.1, 1.0)).fit(x, gaps)
    whole = FunctionalCV(RBF(0.5), curve_kernel=[RBF(10.0), RBF(100.0)], alphas=(0.01, 0.1, 1.0)).fit(x, Y)
    assert "missing entries coupled" in model.solver_.explain()
    assert_close(model.loo_errors_, whole.loo_errors_, 0.05)  # 3 of 750 entries
