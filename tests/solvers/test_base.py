"""What all solvers do: check, solve, warn."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from iokr.losses import Huber
from iokr.solvers import ADMM, Cholesky, Eigen
from iokr.solvers.base import join_columns, take_columns, warn_small_alpha
from reference import assert_close
from samples import problem, vectors


def test_a_solver_chooses_itself():
    solver = Eigen()
    choice = solver.choose(problem()[0])
    assert choice.solver is solver
    assert choice.reason == "as given."
    assert solver.check(problem()[0]).solver is solver


def test_a_solution_that_has_not_converged_is_warned_of():
    from dataclasses import replace

    posed = replace(problem()[0], loss=Huber(0.1))
    with pytest.warns(ConvergenceWarning, match=r"ADMM\(.*\) stopped after 1 steps"):
        ADMM(tol=1e-12, max_iter=1).solve(posed)


def test_a_path_gives_the_errors_of_its_residuals():
    posed = problem("full", "any")[0]
    path = Cholesky().path(posed)
    residuals = path.loo_residuals(posed.Psi, 0.3)
    expected = np.average(np.sum(residuals**2, axis=1), weights=posed.weight)
    assert_close(path.loo_errors(posed.Psi, [0.3]), [expected], 1e-12)


def test_columns_are_taken_and_joined():
    B = vectors(4, 5)
    groups = [np.array([3, 0]), np.array([1, 2, 4])]
    assert_close(join_columns([(group, take_columns(B, group)) for group in groups]), B, 0)
    assert take_columns(B, np.arange(5)) is B


def test_small_alphas_are_warned_of():
    with pytest.warns(RuntimeWarning, match="few correct digits"):
        warn_small_alpha(1e-14, 1.0)
    warn_small_alpha(1e-10, 1.0)
