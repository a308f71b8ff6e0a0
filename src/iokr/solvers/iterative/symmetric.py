"""(γ_j S + λI) z_j = √w Ψe_j by preconditioned conjugate gradients, S = √w K √w evaluated in panels."""

from __future__ import annotations

from iokr._array import Array, array_namespace, asarray_like
from iokr.gram.operators import IdentityMatrix
from iokr.problem import Problem
from iokr.solvers.iterative.krylov import column_norms

__all__ = ["refuses_symmetric", "relative_gap", "relative_residual"]


def refuses_symmetric(problem: Problem) -> str | None:
    """Why a problem does not have this form, or None."""
    if not problem.loss.quadratic:
        return f"`loss` must be quadratic, got {problem.loss!r}; use `Auto()`."
    if problem.gram.operator is None:
        return "the kernel does not separate into k(x, z) A; use `ConjugateGradient()` without `rank`, or `Cholesky()`."
    if problem.gram.operator.oblique:
        return "a covariance operator of implicit outputs has a closed form; use `Eigen()`."
    if problem.gram.products_only:
        return f"{problem.gram!r} has products only; use `Auto()`."
    if problem.penalised:
        return "a manifold penalty couples all points; use `ManifoldEigen()`, or `ConjugateGradient()` without `rank`."
    if problem.mask is not None:
        return "with missing targets each column has its own points; use `Cholesky()`."
    if isinstance(problem.Psi, IdentityMatrix):
        return "weights on n outputs are n² numbers; use `Cholesky()`, or `embedding=Nystroem(n_components)`."
    return None


def relative_gap(problem: Problem, R: Array) -> float:
    """½‖R‖²/J(0): the duality gap at λZ, R the residual of the symmetric system, J(0) = ½ Σ w_i ‖ψ_i‖²."""
    xp, Psi = array_namespace(R), problem.targets
    w = asarray_like(problem.row_weight, Psi)[:, None]
    start = float(xp.sum(w * Psi * Psi))
    return float(xp.sum(R * R)) / start if start > 0 else 0.0


def relative_residual(R: Array, B: Array) -> float:
    """max_j ‖r_j‖/‖b_j‖."""
    xp = array_namespace(R)
    size = column_norms(B)
    return float(xp.max(column_norms(R) / xp.where(size > 0, size, xp.ones_like(size))))
