"""A smooth loss from its value and gradient alone: found, chosen by `Auto`, and bounded.

Tests of `iokr.solvers.iterative.lbfgs`.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from iokr import IOKR, IOKRCV
from iokr._array import array_namespace
from iokr._component import component
from iokr.estimators.regression.base import fitted_problem
from iokr.kernels import RBF, Spectrum
from iokr.losses import EpsilonInsensitive, Expectile, Huber, Loss
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import ADMM, IRLS, LBFGS
from libraries import library_of
from samples import each_intercept

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 0.2 * rng.standard_t(2, size=(40, 2))
A = np.array([[2.0, 1.0], [1.0, 2.0]])


@component
class LogCosh(Loss):
    """Σ_j log cosh(h_j − ψ_j)."""

    entrywise = True

    def value(self, H, Psi):
        xp = array_namespace(H)
        r = xp.abs(H - Psi)
        return xp.sum(r + xp.log1p(xp.exp(-2 * r)) - float(np.log(2)), axis=1)

    def gradient(self, H, Psi):
        return array_namespace(H).tanh(H - Psi)


def at_optimum(K, alpha, intercept):
    """Values of the first column by SciPy, slow and obvious."""

    def J(parameters):
        c, b = parameters[:40], intercept * parameters[40]
        r = K @ c + b - Y[:, 0]
        gradient = np.append(K @ (np.tanh(r) + alpha * c), intercept * np.tanh(r).sum())
        return np.log(np.cosh(r)).sum() + alpha / 2 * c @ K @ c, gradient

    found = minimize(J, np.zeros(41), jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 5000}).x
    return K @ found[:40] + intercept * found[40]


@each_intercept
@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_is_what_scipy_finds(alpha, intercept):
    model = IOKR(RBF(0.5), loss=LogCosh(), alpha=alpha, solver=LBFGS(tol=1e-14), intercept=intercept).fit(X, Y)
    assert_allclose(model.predict(X)[:, 0], at_optimum(RBF(0.5)(X), alpha, intercept), atol=2e-5)


def test_auto_takes_it_and_says_why():
    model = IOKR(RBF(0.5), loss=LogCosh(), alpha=0.1).fit(X, Y)
    assert isinstance(model.solver_.chosen_, LBFGS)
    assert "the norm of the gradient bounds" in str(model.solver_)
    assert model.solution_.gap <= 1e-6
    assert IOKRCV(RBF(0.5), loss=LogCosh(), alphas=(0.01, 0.1, 1.0), cv=3).fit(X, Y).alpha_ in (0.01, 0.1, 1.0)


@each_intercept
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_the_certificate_holds(tol, intercept):
    """J − min J ≤ gap · J(0), with an intercept that of the best constant."""
    model = IOKR(RBF(0.5), loss=LogCosh(), alpha=0.1, solver=LBFGS(tol), intercept=intercept).fit(X, Y)
    best = IOKR(RBF(0.5), loss=LogCosh(), alpha=0.1, solver=LBFGS(1e-15), intercept=intercept).fit(X, Y)
    problem = fitted_problem(model)
    J, least = (
        problem.objective(found.C, found.intercept[None, :] if intercept else None)
        for found in (model.solution_, best.solution_)
    )
    zero = 0 * model.solution_.C
    b = minimize(lambda b: problem.objective(zero, b[None, :]), Y.mean(axis=0)).x if intercept else np.zeros(2)
    J_0 = problem.objective(zero, b[None, :])
    assert -1e-12 * J_0 <= J - least <= model.solution_.gap * J_0 <= tol * J_0


@pytest.mark.parametrize("semi", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [RBF(0.5), Decomposable(RBF(0.5), A), Decomposable(RBF(0.5), np.diag([1.0, 0.0]))])
@pytest.mark.parametrize("loss", [Huber(0.3), Expectile(0.8)])
def test_agrees_with_admm(loss, kernel, weighted, semi):
    given = {"sample_weight": rng.uniform(0.0, 2.0, size=40) if weighted else None}
    given["X_unlabeled"] = rng.normal(size=(9, 2)) if semi else None
    models = [
        IOKR(kernel, loss=loss, alpha=0.1, manifold=Laplacian(0.3) if semi else None, solver=solver).fit(X, Y, **given)
        for solver in (LBFGS(1e-12), ADMM(1e-12))
    ]
    assert_allclose(models[0].predict(X), models[1].predict(X), atol=1e-5)


def test_missing_entries_of_radial_losses():
    holes = Y.copy()
    holes[::3, 0] = np.nan
    models = [IOKR(RBF(0.5), loss=Huber(0.3), alpha=0.1, solver=s).fit(X, holes) for s in (LBFGS(1e-12), ADMM(1e-12))]
    assert_allclose(models[0].predict(X), models[1].predict(X), atol=1e-5)
    with pytest.raises(ValueError, match="missing entries"):
        IOKR(loss=LogCosh()).fit(X, holes)


def test_structured_outputs():
    words = ["sea", "seas", "ice", "mice", "sun", "suns"]
    few = np.arange(6.0)[:, None]
    models = [
        IOKR(RBF(0.5), output_kernel=Spectrum(2), loss=Huber(0.5), alpha=0.1, solver=solver).fit(few, words)
        for solver in (LBFGS(1e-13), IRLS(1e-13))
    ]
    assert_allclose(models[0].distances(few, words), models[1].distances(few, words), atol=1e-5)


@pytest.mark.parametrize(("name", "device"), [("torch", "cpu"), ("array_api_strict", "CPU_DEVICE")])
def test_every_library(name, device):
    to = library_of(name, device)
    model = IOKR(RBF(0.5), loss=LogCosh(), alpha=0.1).fit(to(X), to(Y))
    expected = IOKR(RBF(0.5), loss=LogCosh(), alpha=0.1).fit(X, Y)
    assert_allclose(to.numpy(model.predict(to(X))), expected.predict(X), atol=1e-4)


def test_refuses_kinks():
    with pytest.raises(ValueError, match="has kinks"):
        IOKR(loss=EpsilonInsensitive(), solver=LBFGS()).fit(X, Y)


def test_a_kink_without_prox_is_refused_with_advice():
    class Kinked(LogCosh):
        smooth = False

    with pytest.raises(ValueError, match="no `prox`"):
        IOKR(loss=Kinked()).fit(X, Y)


def test_warns_when_it_stops_early():
    with pytest.warns(ConvergenceWarning):
        model = IOKR(RBF(0.5), loss=LogCosh(), alpha=1e-4, solver=LBFGS(max_iter=2)).fit(X, Y)
    assert model.solution_.gap > 1e-6 and not model.solution_.converged


def test_starts_warm():
    problem = fitted_problem(IOKR(RBF(0.5), loss=LogCosh(), alpha=0.1).fit(X, Y))
    first = LBFGS().solve(problem)
    assert LBFGS().solve(problem, first).n_iter <= 1
