"""One eigendecomposition for every α, every eigenvalue of A and leave-one-out."""

from __future__ import annotations

from iokr._component import component
from iokr.problem import Problem
from iokr.solvers.base import Path
from iokr.solvers.closed_form.paths import ClosedForm, refuses_weights
from iokr.solvers.closed_form.spectral import spectral_path
from iokr.solvers.closed_form.symmetric_system import geometry

__all__ = ["Eigen"]


@component
class Eigen(ClosedForm):
    """C = U [Uᵀ Ψ E / (α + s γᵀ)] Eᵀ in the eigenbases K = U diag(s) Uᵀ and A = E diag(γ) Eᵀ.

    A second α costs two products. About 9n³ flops once, 3n² numbers of memory; with a manifold penalty the same in
    the coordinates of `ManifoldEigen`'s M-form.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.solvers import Eigen
    >>> print(IOKR(solver=Eigen()).fit([[0.0], [1.0]], [0.0, 1.0]).solver_)
    Eigen(), as given.
    """

    def refuses(self, problem: Problem) -> str | None:
        """Needs a quadratic loss and, with a penalty, weights of comparable size."""
        return super().refuses(problem) or (refuses_weights(problem) if problem.penalised else None)

    def memory(self, problem: Problem) -> float:
        """3N² numbers: K, overwritten by U, and LAPACK's workspace; 6N² with a penalty."""
        N, q = problem.gram.size, problem.Psi.shape[1]
        return 8.0 * float((6 if problem.penalised else 3) * N**2 + 4 * N * q)

    def _path(self, problem: Problem) -> Path:
        return spectral_path(problem, geometry(problem))
