"""A kernel that does not separate is a scalar problem on nd numbers, left out d at a time."""

from dataclasses import replace

import numpy as np
import pytest

from iokr.gram import SumGram
from iokr.solvers import Cholesky, Eigen
from iokr.solvers.closed_form.blocks import BlockPath, flatten
from reference import assert_close
from samples import problem


def stacked(**case):
    """One problem with k·I, as it is and as a sum that nobody knows to separate."""
    posed, ridge, _ = problem(**case)
    return replace(posed, gram=SumGram([posed.gram], 3)), posed, ridge


def test_the_flat_problem_has_the_same_objective():
    ours, posed, _ = stacked(weighted="zeros", holes="entries", semi=True)
    C = np.random.default_rng(0).normal(size=(14, 3))
    flat = flatten(ours)
    assert flat.gram.shape == (42, 42)
    assert_close(flat.objective(C.reshape(-1, 1)), posed.objective(C), 1e-12)


@pytest.mark.parametrize("solver", [Cholesky(), Eigen()], ids=repr)
@pytest.mark.parametrize("holes", ["none", "entries"])
@pytest.mark.parametrize("semi", [False, True])
def test_path_and_leave_one_out(solver, holes, semi):
    ours, posed, ridge = stacked(holes=holes, semi=semi, weighted="any")
    path = solver.path(ours)
    assert isinstance(path, BlockPath)
    K = ridge.K
    assert_close(K @ path.coefficients(ours.Psi, 0.1), K @ solver.path(posed).coefficients(posed.Psi, 0.1), 1e-9)
    assert_close(ours.Psi - path.loo_residuals(ours.Psi, 0.1), ridge.leave_one_out(), 1e-8)
    assert_close(path.loo_errors(ours.Psi, [0.1]), [ridge.leave_one_out_error()], 1e-8)
