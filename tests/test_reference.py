"""The reference itself is checked: the dense system against the minimiser in explicit features."""

import numpy as np
import pytest

import reference
from reference import Ridge, assert_close
from samples import GAMMA, OPERATORS, missing, operator, regression, weights


def problem(kind: str, seed: int = 0) -> tuple[Ridge, np.ndarray, np.ndarray, np.ndarray]:
    s = regression(seed, n=8, u=4)
    L = reference.graph_laplacian(s.K, 3)
    ridge = Ridge(s.K, missing("entries", s.Y), 0.1, operator(kind, 3), L, 0.7, weights("zeros", 8))
    joint = np.block([[s.K, s.K_new.T], [s.K_new, reference.gram(reference.rbf(GAMMA), s.X_new)]])
    values, vectors = np.linalg.eigh(joint)
    features = vectors * np.sqrt(np.clip(values, 0, None))
    return ridge, features[: len(s.K)], features[len(s.K) :], s.K_new


@pytest.mark.parametrize("kind", OPERATORS)
def test_dense_system_minimises_the_objective(kind):
    ridge, Phi, Phi_star, K_star = problem(kind)
    assert_close(ridge.values(K_star), reference.minimiser(ridge, Phi, Phi_star), 1e-11)
    rng = np.random.default_rng(1)
    C = ridge.coefficients()
    for _ in range(5):
        assert ridge.objective(C) <= ridge.objective(C + 1e-2 * rng.normal(size=C.shape))


def test_decimals_agree_with_doubles():
    ridge, _, _, K_star = problem("singular")
    assert_close(ridge.values(K_star), ridge.at(exact=True).values(K_star), 1e-12)


def test_decimal_solve_has_sixty_digits():
    """The Hilbert matrix of order 12 (condition number 1e16) and a right-hand side with solution 1, …, 1."""
    one = reference.Decimal(1)
    with reference.localcontext(prec=reference.DIGITS):
        H = np.array([[one / (i + j + 1) for j in range(12)] for i in range(12)], dtype=object)
        x = reference.solve(H, H.sum(axis=1))
    assert max(abs(x - one)) < reference.Decimal("1e-40")


def test_exponential_of_a_diagonal_matrix():
    assert_close(reference.exponential(np.diag([-3.0, 0.0, 1.5])), np.diag(np.exp([-3.0, 0.0, 1.5])), 1e-13)
