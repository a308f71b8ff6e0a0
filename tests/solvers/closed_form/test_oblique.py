"""An operator by two sets of eigenvectors, on weights of outputs, is the symmetric one in their coordinates."""

from dataclasses import replace

import numpy as np
import pytest

from iokr.gram import SeparableGram
from iokr.gram.operators import IdentityMatrix, Oblique, Symmetric
from iokr.solvers import Eigen, ManifoldEigen
from iokr.solvers.closed_form.spectral import ObliquePath
from reference import assert_close
from samples import problem, vectors

PHI = vectors(8, 8, seed=4)  # ψ(y_i), a row each


def pair(semi, weighted):
    """The problem with A = (1/n) Σ ψ ⊗ ψ in coordinates, and on weights."""
    posed = problem(weighted=weighted, semi=semi)[0]
    explicit = replace(posed, Psi=PHI, gram=SeparableGram(posed.gram, Symmetric(PHI.T @ PHI / 8)))
    K_Y = PHI @ PHI.T
    gamma, W = np.linalg.eigh(K_Y / 8)
    operator = Oblique(gamma, K_Y @ W / 8**0.5, W.T / 8**0.5, np.diag(K_Y))
    return explicit, replace(posed, Psi=IdentityMatrix(8, PHI), gram=SeparableGram(posed.gram, operator))


@pytest.mark.parametrize("weighted", ["none", "any", "zeros"])
@pytest.mark.parametrize("semi", [False, True])
def test_values_and_leave_one_out(semi, weighted):
    explicit, implicit = pair(semi, weighted)
    for solver in (Eigen(), ManifoldEigen()) if semi else (Eigen(),):
        one, other = solver.path(explicit), solver.path(implicit)
        for alpha in (0.01, 1.0):
            H = explicit.gram @ one.coefficients(explicit.Psi, alpha)
            B = implicit.gram @ other.coefficients(implicit.Psi, alpha)
            assert_close(B @ PHI, H, 1e-9)
            residuals = other.loo_residuals(implicit.Psi, alpha) @ PHI
            assert_close(residuals, one.loo_residuals(explicit.Psi, alpha), 1e-8)
        errors = [path.loo_errors(p.Psi, [0.01, 1.0]) for path, p in ((one, explicit), (other, implicit))]
        assert_close(errors[1], errors[0], 1e-8)
    assert isinstance(Eigen().path(implicit), ObliquePath)
