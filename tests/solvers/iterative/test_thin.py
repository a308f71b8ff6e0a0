"""Other losses on kernels with few features equal those on the same matrix, and never form it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr import IOKR
from iokr._system.compile import compiling
from iokr.gram import ScalarGram
from iokr.kernels import RBF, Nystroem
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber, MaxMargin, Pinball
from iokr.operator_kernels import Decomposable
from iokr.solvers import ADMM, IRLS, CoordinateDescent
from iokr.solvers.iterative.thin import ThinQuadratic, weighted_by_features
from samples import each_intercept

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
Y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 1])]) + 0.2 * rng.standard_t(2, size=(90, 2))
X_new = rng.normal(size=(7, 3))
WEIGHT = np.concatenate([np.zeros(3), rng.uniform(0.5, 2.0, size=87)])
A = np.array([[1.0, 0.4], [0.4, 0.5]])


class Hidden(Nystroem):
    """The same kernel as a matrix that does not show its features."""

    def gram(self, R, S=None):
        return ScalarGram(self.block, R, S, self.diag)


CASES = {
    "huber": (Huber(0.3), ADMM(1e-8), Y),
    "reweighted": (Huber(0.3), IRLS(1e-10), Y),
    "insensitive": (EpsilonInsensitive(0.2), ADMM(1e-7), Y),
    "square beyond": (EpsilonSquare(0.2), ADMM(1e-8), Y),
    "quantiles": (Pinball(0.3), ADMM(1e-7), Y),
    "margin": (MaxMargin(), CoordinateDescent(1e-8), np.sign(Y)),
    "margin by splitting": (MaxMargin(), ADMM(1e-7), np.sign(Y)),
}


@each_intercept
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("operator", [lambda k: k, lambda k: Decomposable(k, A)], ids=["identity", "full"])
@pytest.mark.parametrize("case", CASES)
def test_equals_the_dense_fit(case, operator, weight, intercept, monkeypatch):
    loss, solver, targets = CASES[case]
    if isinstance(solver, IRLS) and isinstance(operator(RBF()), Decomposable):
        pytest.skip("reweighting needs A = aI")
    if isinstance(loss, MaxMargin) and intercept:
        pytest.skip("an intercept could follow the classes alone")

    def fitted(kernel):
        model = IOKR(operator(kernel(RBF(0.3), 10)), loss=loss, alpha=0.1, solver=solver, intercept=intercept)
        return model.fit(X, targets, weight)

    dense = fitted(Hidden)

    def refuse(self, **options):
        raise AssertionError("an n × n matrix was formed")

    monkeypatch.setattr(ScalarGram, "_evaluate", refuse)
    ours = fitted(Nystroem)
    assert ours.solution_.gap <= solver.tol
    assert ours.solution_.n_iter < 3000
    assert_allclose(ours.decision_function(X_new), dense.decision_function(X_new), atol=3 * np.sqrt(solver.tol))


@pytest.mark.parametrize("numba", [True, False])
@pytest.mark.parametrize("q", [1, 2])
def test_the_margin_without_a_matrix(numba, q):
    with compiling(numba):
        Phi, Psi = rng.normal(size=(60, 4)), rng.normal(size=(60, q))
        thin = ThinQuadratic(Phi, Psi)
        Q = (Phi @ Phi.T) * (Psi @ Psi.T)
        alpha, upper = rng.uniform(size=60), np.ones(60)
        assert_allclose(thin.product(alpha), Q @ alpha, atol=1e-10)
        gradient = Q @ alpha - 1
        before = alpha @ Q @ alpha / 2 - alpha.sum()
        thin.sweep(upper, alpha, gradient)
        assert alpha @ Q @ alpha / 2 - alpha.sum() < before
        assert_allclose(gradient, Q @ alpha - 1, atol=1e-9)
        assert alpha.min() >= 0 and alpha.max() <= 1


def test_newton_directions_of_many_free_entries(monkeypatch):
    import iokr.solvers.iterative.thin as thin_module

    Phi, Psi = rng.normal(size=(80, 3)), rng.normal(size=(80, 2))
    thin = ThinQuadratic(Phi, Psi)
    Q, free, slope = (Phi @ Phi.T) * (Psi @ Psi.T), np.arange(70), rng.normal(size=70)
    monkeypatch.setattr(thin_module, "_CORNER", 20)
    for damping, found in zip(thin_module._DAMPING, thin.directions(free, slope), strict=True):
        shift = damping * thin.diagonal[free].max()
        expected = -np.linalg.solve(Q[:70, :70] + shift * np.eye(70), slope)
        assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_reweighted_systems():
    Phi, Psi, omega = rng.normal(size=(20, 3)), rng.normal(size=(20, 2)), rng.uniform(0.1, 1.0, size=20)
    expected = np.linalg.solve(Phi @ Phi.T + 0.2 * np.diag(1 / omega), Psi)
    assert_allclose(weighted_by_features(Phi, Psi, omega, 0.2), expected, atol=1e-11)


@pytest.mark.parametrize("loss", [Huber(0.3), MaxMargin(), Pinball(0.3)], ids=repr)
def test_thousands_of_points_in_little_memory(loss, monkeypatch):
    import iokr._system.memory

    monkeypatch.setattr(
        iokr._system.memory, "available_memory", lambda like=None: 8 * 4000 * 300
    )  # n × n: 13 times that
    points = rng.normal(size=(4000, 3))
    y = np.sign(points[:, 0] + 0.1)
    model = IOKR(Nystroem(RBF(0.3), 15), loss=loss, alpha=1.0).fit(points, y)
    assert np.mean(np.sign(model.predict(points)) == y) > 0.85
