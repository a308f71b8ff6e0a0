"""Quantiles, expectiles and dead zones: what they minimise, and against an interior point.

Tests of `iokr.losses.pinball` and `iokr.losses.epsilon`.
"""

import numpy as np
import pytest

from iokr import IOKR
from iokr.kernels import RBF
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Expectile, Huber, Insensitive, Pinball, Square
from iokr.operator_kernels import Decomposable
from iokr.problem import Problem
from iokr.solvers import ADMM

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 1))
Y = np.column_stack([np.sin(2 * X[:, 0]), np.cos(2 * X[:, 0])]) + 0.3 * RNG.normal(size=(20, 2))
A = np.array([[1.0, 0.6], [0.6, 1.0]])


def objective(loss, alpha, weight=None, solver=None):
    """J at the answer, and the answer."""
    kernel = Decomposable(RBF(1.0), A).fit(X, Y)
    problem = Problem(kernel.gram(kernel.represent(X)), Y, loss, alpha, weight=weight)
    solution = (solver or ADMM(1e-10)).solve(problem)
    return problem.objective(solution.C), problem.gram @ solution.C, solution


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("levels", [0.3, (0.2, 0.9)], ids=str)
def test_pinball_equals_an_interior_point(levels, alpha):
    cp = pytest.importorskip("cvxpy")
    theta = np.broadcast_to(np.atleast_1d(levels), (2,))
    weight = RNG.uniform(0.5, 2.0, size=20)
    G = np.kron(RBF(1.0)(X), A)
    s, U = np.linalg.eigh(G)
    F = U[:, s > 1e-13 * s[-1]] * np.sqrt(s[s > 1e-13 * s[-1]])  # h = F b, ‖h‖² = ‖b‖²
    b = cp.Variable(F.shape[1])
    e = Y.ravel() - F @ b
    t = np.tile(theta, 20)
    fit = cp.sum(cp.multiply(np.repeat(weight, 2), cp.maximum(cp.multiply(t, e), cp.multiply(t - 1, e))))
    least = cp.Problem(cp.Minimize(fit + alpha / 2 * cp.sum_squares(b))).solve(solver=cp.CLARABEL)
    found, _, solution = objective(Pinball(levels), alpha, weight)
    scale = float(weight @ Pinball(levels).value(0 * Y, Y))
    assert abs(found - least) <= 1e-7 * scale  # the interior point's own accuracy
    assert solution.gap <= 1e-10


def test_a_weight_of_two_is_the_row_twice():
    kernel = Decomposable(RBF(1.0), A)
    twice = np.r_[np.arange(20), 3]
    loss, solver = Pinball((0.2, 0.7)), ADMM(1e-12)
    weighted = IOKR(kernel, loss=loss, alpha=0.1, solver=solver).fit(X, Y, sample_weight=1.0 + (np.arange(20) == 3))
    repeated = IOKR(kernel, loss=loss, alpha=0.1, solver=solver).fit(X[twice], Y[twice])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)
    assert weighted.solution_.converged and repeated.solution_.converged


def test_limits():
    half = objective(Expectile(0.5), 0.1)[1]
    exact = IOKR(Decomposable(RBF(1.0), A), alpha=0.2, intercept=False)  # a quarter of r² and α/2 are half of both
    np.testing.assert_allclose(half, exact.fit(X, Y).predict(X), atol=1e-4)
    both = [
        IOKR(Decomposable(RBF(1.0), A), loss=loss, alpha=alpha, solver=solver).fit(X, Y).predict(X)
        for loss, alpha, solver in ((Expectile(0.5), 0.1, ADMM(1e-10)), (Square(), 0.2, None))
    ]
    np.testing.assert_allclose(*both, atol=1e-4)
    median = IOKR(RBF(1.0), loss=Pinball(0.5), alpha=1e6, solver=ADMM(1e-10)).fit(X[:19], Y[:19])
    np.testing.assert_allclose(median.predict(X), np.tile(np.median(Y[:19], axis=0), (20, 1)), atol=1e-4)
    np.testing.assert_allclose(objective(Pinball(0.5), 1e6)[1], 0.0, atol=1e-4)
    for plain, wrapped in (
        (Huber(0.4), Insensitive(Huber(0.4), 0.0)),
        (EpsilonInsensitive(0.5), Insensitive(EpsilonInsensitive(0.2), 0.3)),  # dead zones add up
        (EpsilonSquare(0.5), Insensitive(EpsilonSquare(0.2), 0.3)),
    ):
        np.testing.assert_allclose(objective(wrapped, 0.1)[0], objective(plain, 0.1)[0], rtol=1e-8)


def test_epsilon_huber_is_certified():
    assert objective(Insensitive(Huber(0.3), 0.1), 0.05)[2].gap <= 1e-10


@pytest.mark.parametrize("loss", [Pinball((0.2, 0.9)), Expectile((0.2, 0.9)), Insensitive(Huber(0.3), 0.2)], ids=repr)
def test_prox_and_dual(loss):
    """u = prox(z) minimises, and W = t(u − z) attains the Fenchel equality ℓ(u) + ℓ*(−W) = −⟨W, u⟩."""
    Z, Psi, t = RNG.normal(size=(3, 30, 2))
    t = np.abs(t[:, 0]) + 0.1
    u = loss.prox(Z, Psi, t)

    def cost(v):
        return loss.value(v, Psi) + t / 2 * ((v - Z) ** 2).sum(axis=1)

    for _ in range(20):
        assert np.all(cost(u) <= cost(u + 0.1 * RNG.normal(size=u.shape)) + 1e-12)
    W = t[:, None] * (u - Z)
    np.testing.assert_allclose(loss.value(u, Psi) - loss.dual(W, Psi, np.ones(30)), -(W * u).sum(axis=1), atol=1e-10)


def test_a_level_and_a_weight_for_each_output_may_be_equal():
    """Outputs are other quantities: the same level for all of them is one level, written out."""
    for one, each in (
        (Pinball(0.2), Pinball((0.2, 0.2))),
        (Pinball(0.2, 3.0), Pinball((0.2, 0.2), (3.0, 3.0))),
        (Pinball((0.7, 0.7), 3.0), Pinball(0.7, (3.0, 3.0))),
        (Expectile(0.2), Expectile((0.2, 0.2))),
    ):
        np.testing.assert_array_equal(one.value(0 * Y, Y), each.value(0 * Y, Y))
        fits = [IOKR(RBF(1.0), loss=loss, alpha=0.1).fit(X, Y).predict(X) for loss in (one, each)]
        np.testing.assert_allclose(*fits, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(Pinball(0.5, (1.0, 3.0)).value(0 * Y, Y), np.abs(Y) @ [0.5, 1.5], rtol=1e-12)


def test_bad_parameters():
    model = IOKR(RBF(1.0), solver=ADMM())
    for loss, words in (
        (Pinball(1.0), "between 0 and 1"),
        (Pinball((0.2, 0.5, 0.9)), "2 outputs"),
        (Pinball((0.2, 0.5), (1.0, -1.0)), "positive"),
        (Pinball(0.5, (1.0, 2.0, 3.0)), "2 outputs"),
        (Expectile(0.0), "between 0 and 1"),
        (Insensitive(Huber(), -1.0), "epsilon"),
    ):
        with pytest.raises(ValueError, match=words):
            model.set_params(loss=loss).fit(X, Y)
    with pytest.raises(TypeError, match="base"):
        model.set_params(loss=Insensitive(Square())).fit(X, Y)
