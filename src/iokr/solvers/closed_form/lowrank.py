"""K = Φ Φᵀ with fewer features than points: everything from one thin singular value decomposition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iokr._array import Array, array_namespace, matmul, take_rows, thin_svd
from iokr._component import component
from iokr.problem import Problem
from iokr.solvers.base import Path
from iokr.solvers.closed_form.paths import ClosedForm
from iokr.solvers.closed_form.spectral import SpectralPath
from iokr.solvers.closed_form.symmetric_system import Geometry

__all__ = ["LowRank"]


@component
class LowRank(ClosedForm):
    """C = √w V [Vᵀ √w Ψ E / (α + ω γᵀ)] Eᵀ with √w Φ = V diag(√ω) Qᵀ, K = Φ Φᵀ, Φ of shape (n, p).

    Exact for kernels with few features, such as `Nystroem(kernel, rank)`: about 6np² + 4npq flops, and no n × n array.
    Every α, every eigenvalue of A and leave-one-out come from the same factors. With a covariance operator give the
    outputs in few coordinates as well: `embedding=Nystroem(rank)`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF, Nystroem
    >>> from iokr.solvers import LowRank
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> model = IOKR(Nystroem(RBF(1.0), rank=20), alpha=1e-3, solver=LowRank()).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(2)
    array([1.])
    """

    def refuses(self, problem: Problem) -> str | None:
        """Needs features, and nothing that couples all points."""
        if problem.gram.factor is None:
            return "`kernel` has no explicit features; use `Nystroem(kernel, rank)`."
        if problem.operator.oblique:
            return "a covariance operator of implicit outputs is n × n; set `embedding=Nystroem(rank)`."
        if problem.penalised:
            return "a manifold penalty couples all points; use `ManifoldEigen()`."
        if problem.mask is not None:
            return "with missing targets each column has its own points; use `Cholesky()`."
        return super().refuses(problem)

    def memory(self, problem: Problem) -> float:
        """Φ, V and LAPACK's copy, and a few arrays of the size of Ψ."""
        (n, q), Phi = problem.Psi.shape, problem.gram.factor
        return 32.0 * float(n * (n if Phi is None else Phi.shape[1]) + n * q)

    def _path(self, problem: Problem) -> Path:
        return LowRankPath(problem)


class LowRankPath(SpectralPath):
    """N = I − H = (I − V Vᵀ) + V diag(λ/(λ + ωγ)) Vᵀ; C is in the range of V, as the rest does not change h."""

    def __init__(self, problem: Problem) -> None:
        points = Geometry(problem)
        Phi = problem.gram.factor if points.whole else take_rows(problem.gram.factor, points.active)
        V, root = thin_svd(Phi if points.sqrt_w is None else points.sqrt_w[:, None] * Phi)
        super().__init__(problem, points, (root * root, V))

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """diag(1/√w)(R/Q)Eᵀ with R = N√wΨE and Q = diag N."""
        targets, T, V = self.points.targets(self.operator.rotate(Psi)), self.project(Psi), self.V
        xp = array_namespace(targets)
        D = alpha / self.shrink(alpha)
        R = (targets - matmul(V, T)) + matmul(V, D * T)
        if groups is not None:
            return self._leave_groups_out(R, V, D, Psi, alpha, groups, thin=True)
        squares = V * V
        Q = xp.clip(1 - xp.sum(squares, axis=1), min=0.0)[:, None] + matmul(squares, D)
        return self.leave_out(R, Q, Psi, alpha)

    def loo_errors(self, Psi: Array, alphas: Sequence[float], groups: np.ndarray | None = None) -> np.ndarray:
        """Those of the residuals."""
        return Path.loo_errors(self, Psi, alphas, groups)
