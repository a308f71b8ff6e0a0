"""A float32 factor gives the float64 answer, or the fit goes over to float64 and says so.

Tests of `iokr.solvers.iterative.symmetric`.
"""

import numpy as np
import pytest

from iokr import IOKR
from iokr.kernels import RBF, Linear
from iokr.losses import Square
from iokr.operator_kernels import Decomposable
from iokr.problem import Problem
from iokr.solvers import Cholesky, ConjugateGradient, MixedPrecision
from libraries import library_of
from reference import assert_close

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(120, 4)), rng.normal(size=(120, 3))
W = rng.uniform(0, 2, size=120) * (rng.uniform(size=120) > 0.2)
A = np.diag([0.0, 1.0, 3.0]) + 0.1 * np.ones((3, 3))
EXACT = [MixedPrecision(1e-13), ConjugateGradient(1e-13, rank=40)]


@pytest.mark.parametrize("solver", EXACT, ids=repr)
@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("kernel", [RBF(0.3), Decomposable(RBF(0.3), A)], ids=["scalar", "operator"])
def test_is_the_exact_fit(solver, weight, kernel):
    exact = IOKR(kernel, alpha=0.1, solver=Cholesky()).fit(X, Y, sample_weight=weight)
    ours = IOKR(kernel, alpha=0.1, solver=solver).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(ours.decision_function(X), exact.decision_function(X), atol=1e-11)
    assert ours.solution_.converged
    assert ours.solution_.n_iter > 1
    assert "residual" in ours.solver_.explain()
    assert "duality gap" in ours.solver_.explain()


@pytest.mark.parametrize("solver", EXACT, ids=repr)
@pytest.mark.parametrize(("name", "device"), [("torch", "cpu"), ("array_api_strict", "CPU_DEVICE")])
def test_in_other_libraries(solver, name, device):
    to = library_of(name, device)
    exact = IOKR(RBF(0.3), alpha=0.1).fit(X, Y, sample_weight=W)
    ours = IOKR(RBF(0.3), alpha=0.1, solver=solver).fit(to(X), to(Y), sample_weight=W)
    np.testing.assert_allclose(to.numpy(ours.solution_.C), exact.solution_.C, atol=1e-10)


@pytest.mark.parametrize("solver", [MixedPrecision(1e-3), ConjugateGradient(1e-3, rank=10)], ids=repr)
@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
def test_the_gap_is_primal_minus_dual(solver, weight):
    """J(C) − D(λZ) = ½‖r‖², over J(0), for a solution that is not exact."""
    gram = Decomposable(RBF(0.3), A).fit(X, Y).gram(RBF(0.3).fit(X).represent(X))
    problem = Problem(gram, Y, Square(), 0.1, weight=weight)
    solution = solver.solve(problem)
    C, zero = np.asarray(solution.C), np.zeros(Y.shape)
    best = problem.objective(Cholesky().solve(problem).C)
    apart = problem.objective(C) - best
    assert -1e-12 * best <= apart <= solution.gap * problem.objective(zero) * (1 + 1e-6) + 1e-12 * best
    assert solution.gap > 1e-16


def test_a_factor_that_breaks_down_ends_in_double():
    """A smooth kernel and a small α: 1e-10 is lost in float32, where K + αI is not positive definite."""
    x = np.linspace(0, 1, 60)[:, None]
    y = np.sin(6 * x)
    for intercept in (False, True):
        ours = IOKR(RBF(0.5), alpha=1e-9, solver=MixedPrecision(), intercept=intercept).fit(x, y)
        exact = IOKR(RBF(0.5), alpha=1e-9, solver=Cholesky(), intercept=intercept).fit(x, y)
        if intercept:  # of y minus its mean, with other rounding errors
            assert_close(ours.solution_.C, exact.solution_.C, 1e-9)
        else:
            np.testing.assert_array_equal(ours.solution_.C, exact.solution_.C)
        assert "float64" in ours.solver_.explain()
        assert ours.solution_.converged


def test_double_is_refused_where_it_does_not_fit(monkeypatch):
    import iokr.solvers.iterative.mixed_precision as module

    x = np.linspace(0, 1, 60)[:, None]
    monkeypatch.setattr(module, "available_memory", lambda like=None: 1000)
    with pytest.raises(MemoryError, match=r"float32 factor .* float64 needs .* raise `alpha`"):
        IOKR(RBF(0.5), alpha=1e-9, solver=MixedPrecision()).fit(x, np.sin(6 * x))


def test_few_features_need_no_many_steps():
    """K of rank 4 + αI has five distinct eigenvalues; the preconditioner of rank 4 is K itself."""
    fitted = IOKR(Linear(), alpha=0.1, solver=ConjugateGradient(1e-12, rank=20)).fit(X, Y)
    assert fitted.solution_.n_iter <= 3


def test_a_rank_makes_fewer_steps():
    x, y = rng.normal(size=(400, 2)), rng.normal(size=(400, 2))
    steps = [
        IOKR(RBF(0.5), alpha=1e-2, solver=ConjugateGradient(1e-8, rank=rank)).fit(x, y).solution_.n_iter
        for rank in (None, 20, 200)
    ]
    assert steps[2] < steps[1] < steps[0]


@pytest.mark.parametrize("solver", [MixedPrecision(), ConjugateGradient(rank=5)], ids=repr)
def test_refuses_in_words(solver):
    with pytest.raises(ValueError, match="missing targets"):
        IOKR(RBF(0.3), solver=solver).fit(X, np.where(Y > 1, np.nan, Y))
    with pytest.raises(ValueError, match="n² numbers"):
        IOKR(RBF(0.3), output_kernel=RBF(0.3), solver=solver).fit(X, Y)


@pytest.mark.parametrize("rank", [0, -1, 1.5, "many"])
def test_odd_ranks(rank):
    with pytest.raises((ValueError, TypeError), match="`rank`"):
        IOKR(RBF(0.3), solver=ConjugateGradient(rank=rank)).fit(X, Y)


@pytest.mark.parametrize("tol", [0.0, -1.0, "small", np.nan])
def test_odd_tolerances(tol):
    with pytest.raises((ValueError, TypeError), match="`tol`"):
        IOKR(RBF(0.3), solver=MixedPrecision(tol)).fit(X, Y)
