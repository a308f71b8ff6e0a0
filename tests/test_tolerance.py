"""The bounds of `tests/tolerance.py` are bounds: condition numbers are not understated."""

import numpy as np
import pytest

import reference
from reference import Ridge, assert_close
from samples import operator, regression
from tolerance import EPS, deformed_condition, ridge_condition, rounding


def test_additions_alone_are_allowed():
    assert rounding(10, 0.0) == 10 * EPS
    assert rounding(10, 1e6) == pytest.approx(10 * EPS * 1e6)


@pytest.mark.parametrize("kind", ["identity", "full", "rank one"])
@pytest.mark.parametrize("alpha", [1e-8, 1e-3, 10.0])
def test_the_condition_of_ridge(kind, alpha):
    s, A = regression(1), operator(kind, 3)
    G = np.kron(s.K, np.eye(3) if A is None else A)
    exact = np.linalg.cond(G + alpha * np.eye(len(G)))
    assert exact <= ridge_condition(s.K, alpha, A) * (1 + 1e-6)


@pytest.mark.parametrize("kind", ["identity", "full"])
def test_without_a_penalty_the_deformed_kernel_is_the_kernel(kind):
    s, A = regression(2), operator(kind, 3)
    plain = ridge_condition(s.K, 0.1, A)
    assert deformed_condition(s.K, len(s.K), 0.1, np.zeros_like(s.K), 1.0, A) == pytest.approx(plain)


@pytest.mark.parametrize("alpha", [1e-9, 1e-6, 1e-3])
def test_a_dense_solution_keeps_the_bound(alpha):
    s = regression(3, n=6, u=5)
    L = reference.graph_laplacian(s.K)
    problem = Ridge(s.K, s.Y, alpha, L=L, mu=5.0)
    rtol = rounding(6, deformed_condition(s.K, 6, alpha, L, 5.0))
    assert_close(problem.values(s.K), problem.at(exact=True).values(s.K), rtol)
