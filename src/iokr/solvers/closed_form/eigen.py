"""One eigendecomposition for every α and eigenvalue of A, one reduction for every α and μ; leave-one-out in both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from iokr._array import eigh_arrays, is_numpy
from iokr._component import component
from iokr._validation.arguments import check_choice
from iokr.problem import Problem
from iokr.solvers.base import Path
from iokr.solvers.closed_form.deformed import ManifoldPath, Shared
from iokr.solvers.closed_form.paths import ClosedForm, refuses_weights
from iokr.solvers.closed_form.spectral import spectral_path
from iokr.solvers.closed_form.symmetric_system import geometry

__all__ = ["Eigen", "ManifoldEigen"]


@component
class Eigen(ClosedForm):
    """C = U [Uᵀ Ψ E / (α + s γᵀ)] Eᵀ in the eigenbases K = U diag(s) Uᵀ and A = E diag(γ) Eᵀ.

    A second α costs two products. About 9n³ flops once, 3n² numbers of memory; with a manifold penalty the same in the
    coordinates of the M-form of `ManifoldEigen`.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.solvers import Eigen
    >>> print(IOKR(solver=Eigen()).fit([[0.0], [1.0]], [0.0, 1.0]).solver_)
    Eigen(), as given.
    """

    def refuses(self, problem: Problem) -> str | None:
        """A quadratic loss is required and, with a penalty, weights of comparable size."""
        return super().refuses(problem) or (refuses_weights(problem) if problem.penalised else None)

    def memory(self, problem: Problem) -> float:
        """3N² numbers: K, overwritten by U, and LAPACK's workspace; 6N² with a penalty.

        In other libraries than NumPy see `eigh_arrays`; 8.7N² with a penalty.
        """
        N, q = problem.gram.size, problem.Psi.shape[1]
        penalised = 6.0 if is_numpy(problem.like) else 8.7
        return 8.0 * float((penalised if problem.penalised else eigh_arrays(problem.like)) * N**2 + 4 * N * q)

    def _path(self, problem: Problem) -> Path:
        return spectral_path(problem, geometry(problem))


@component
class ManifoldEigen(ClosedForm):
    """C e_j = (λI + γ_j M K)⁻¹ JᵀΨe_j with M = JᵀJ + μL, for whole grids of λ and μ.

    Two exact forms. *Deformed*: one reduction of K and L is reused for every (λ, μ), each of which takes an n × n
    Cholesky factorisation, n the number of labels; its error grows with μγw_max/λ, w_max the largest eigenvalue of
    RᵀLR. *M-form*: one eigendecomposition per μ is reused for every λ; its error does not grow. By default each (λ, μ)
    takes the deformed form if it is accurate and cheaper.

    Parameters
    ----------
    form : {None, "deformed", "eigen"}, default=None
        The form; None chooses for each (λ, μ).

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.manifolds import Laplacian
    >>> from iokr.solvers import ManifoldEigen
    >>> model = IOKR(alpha=0.1, manifold=Laplacian(1.0), solver=ManifoldEigen())
    >>> model.fit([[0.0], [1.0]], [0.0, 1.0], X_unlabeled=[[0.5]]).solution_.C.shape
    (3, 1)
    """

    form: str | None = None

    def refuses(self, problem: Problem) -> str | None:
        """A quadratic loss and a penalty are required."""
        if not problem.penalised:
            return "there is no manifold penalty; set `manifold`, or use `Eigen()` or `Cholesky()`."
        check_choice(self.form, "form", (None, "deformed", "eigen"))
        if self.form == "eigen" and refuses_weights(problem):
            return refuses_weights(problem)
        if self.form == "deformed" and problem.operator.oblique:
            return "a covariance operator has as many eigenvalues as there are outputs; use `form=None`."
        return super().refuses(problem)

    def memory(self, problem: Problem) -> float:
        """7N² numbers: K, its root, RᵀLR or FᵀKF, and workspace; 9.1N² in other libraries than NumPy."""
        N, q = problem.gram.size, problem.Psi.shape[1]
        return 8.0 * float((7 if is_numpy(problem.like) else 9.1) * N**2 + 4 * N * q)

    def _path(self, problem: Problem) -> Path:
        return next(self._paths(problem, [problem.manifold_weight]))

    def _paths(self, problem: Problem, manifold_weights: Sequence[float]) -> Iterator[Path]:
        shared = Shared(problem)
        for manifold_weight in manifold_weights:
            yield ManifoldPath(replace(problem, manifold_weight=manifold_weight), shared, self.form)
