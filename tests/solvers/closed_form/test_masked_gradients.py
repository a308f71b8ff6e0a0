"""Conjugate gradients over observed entries: the answers of the matrix over them, and of refits.

Tests of `iokr.solvers.iterative.krylov` with slices side by side, too.
"""

import numpy as np
import pytest

import iokr.solvers.closed_form.masked_gradients as gradients
from iokr import IOKR, IOKRCV
from iokr.kernels import RBF
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers.closed_form.masked_gradients import MaskedPath, by_gradients
from iokr.solvers.closed_form.missing import _Entries
from iokr.solvers.closed_form.paths import ClosedForm
from masked import ALPHA, WEIGHT, masked


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("share", [0.1, 0.6, 1.0])
@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
def test_equals_the_matrix_over_observed_entries(intercept, share, weight):
    *_, problem = masked(share, weight=weight, intercept=intercept)
    dense, path = _Entries(problem), MaskedPath(problem)
    # The iteration stops at a residual of 1e-10 of the right-hand side; K ⊗ A + αI is at least α.
    tol = 1e-10 / ALPHA * np.linalg.norm(problem.Psi) * 10
    np.testing.assert_allclose(path.coefficients(problem.Psi, ALPHA), dense.coefficients(problem.Psi, ALPHA), atol=tol)
    if intercept:
        found = path.solution(problem.Psi, ALPHA).intercept
        np.testing.assert_allclose(found, dense.solution(problem.Psi, ALPHA).intercept, atol=tol)
    np.testing.assert_allclose(
        path.loo_residuals(problem.Psi, ALPHA), dense.loo_residuals(problem.Psi, ALPHA), atol=tol
    )


@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
def test_a_full_grid_takes_one_step(intercept):
    *_, problem = masked(1.0, intercept=intercept)
    path = MaskedPath(problem)
    path.coefficients(problem.Psi, ALPHA)
    assert path.n_steps == [1]


def test_rows_left_out_in_parts_or_together(monkeypatch):
    *_, problem = masked()
    together = MaskedPath(problem).loo_residuals(problem.Psi, ALPHA)
    monkeypatch.setattr(gradients, "_ENTRIES", 1)
    np.testing.assert_allclose(MaskedPath(problem).loo_residuals(problem.Psi, ALPHA), together, atol=1e-8)


def test_leave_one_out_equals_refits(monkeypatch):
    monkeypatch.setattr(gradients, "DENSE", 0)
    X, Y, A, _ = masked()
    model = IOKR(Decomposable(RBF(0.5), A), alpha=ALPHA).fit(X, Y)
    left_out = model.loo_decision_function()
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        refit = IOKR(Decomposable(RBF(0.5), A), alpha=ALPHA).fit(X[rest], Y[rest])
        np.testing.assert_allclose(left_out[i], refit.decision_function(X[i : i + 1])[0], atol=1e-8)


def test_the_choice_is_said(monkeypatch):
    monkeypatch.setattr(gradients, "DENSE", 20)
    X, Y, A, _ = masked()
    model = IOKR(Decomposable(RBF(0.5), A), alpha=ALPHA).fit(X, Y)
    assert "conjugate gradients over the entries" in " ".join(str(model.solver_).split())
    best = IOKRCV(Decomposable(RBF(0.5), A), alphas=(0.01, 0.1, 1.0)).fit(X, Y)
    assert "observed entries coupled by A" in " ".join(str(best.solver_).split())


def test_where_the_matrix_is_kept(monkeypatch):
    monkeypatch.setattr(gradients, "DENSE", 0)
    X, Y, A, problem = masked()
    assert by_gradients(problem)
    model = IOKR(Decomposable(RBF(0.5), A), alpha=ALPHA, manifold=Laplacian(0.1)).fit(X, Y)
    assert isinstance(model.solver_.chosen_, ClosedForm)  # a penalty: the system is not symmetric
    assert "conjugate" not in str(model.solver_)
