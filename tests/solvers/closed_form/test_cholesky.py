"""The plain case, written as the equation, is the path's; and what happens when rounding makes K + αI indefinite."""

import numpy as np
import pytest

from iokr.kernels import Precomputed
from iokr.losses import Square
from iokr.problem import Problem
from iokr.solvers import Cholesky, Eigen
from reference import assert_close
from samples import problem


@pytest.mark.parametrize("kind", ["identity", "scaled"])
def test_the_plain_case_is_the_path(kind):
    posed = problem(kind)[0]
    path = Cholesky().path(posed)
    assert_close(Cholesky().solve(posed).C, path.coefficients(posed.Psi, posed.alpha), 0)


@pytest.mark.filterwarnings("ignore:`alpha`")
def test_eigenvalues_are_clipped_where_the_factorisation_fails():
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=(30, 2))
    K = Phi @ Phi.T
    K -= 1e-13 * np.eye(30)  # as rounding might
    kernel = Precomputed(K)
    gram = kernel.fit(np.arange(30)).gram(kernel.represent(np.arange(30)))
    posed = Problem(gram, rng.normal(size=(30, 1)), Square(), 1e-15)
    with pytest.warns(RuntimeWarning, match="few correct digits"):
        C = Cholesky().solve(posed).C
    with pytest.warns(RuntimeWarning, match="few correct digits"):
        expected = Eigen().solve(posed).C
    assert_close(K @ C, K @ expected, 1e-6)
