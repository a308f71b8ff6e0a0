"""A float32 factor for a float64 solution: half of the memory of a packed factor, and TF32 speed on a GPU."""

from __future__ import annotations

from iokr._array import Array, NotPositiveDefinite, array_namespace, tensor_products, unwarned
from iokr._component import component
from iokr._system.memory import available_memory, human_bytes
from iokr._validation.arguments import check_number
from iokr.problem import Problem, Solution
from iokr.solvers._routes import mixed_bytes
from iokr.solvers.base import Solver, join_columns, take_columns
from iokr.solvers.closed_form.cholesky import Cholesky
from iokr.solvers.closed_form.symmetric_system import Geometry
from iokr.solvers.iterative.krylov import column_norms, restarted
from iokr.solvers.iterative.symmetric import refuses_symmetric, relative_gap, relative_residual

__all__ = ["MixedPrecision"]

_EARLY = 3  # steps after which the residual must have fallen
_FALL = 100.0  # by this factor
_LIMIT = 100  # largest number of steps; a useful factor takes about ten


class _Stalled(ArithmeticError):
    """The factor is not a useful preconditioner."""


@component
class MixedPrecision(Solver):
    """(K + αI) C = Ψ in float64 by conjugate gradients, preconditioned by L Lᵀ ≈ K + αI in float32.

    n²/2 numbers of 4 bytes; on a GPU the products of the factorisation are in TF32. Each step evaluates K once in
    panels, 2n²(p + q) flops; about ten steps reach the residual of a float64 factor. It is faster on CUDA from 50 000
    points on, and where float64 is slow; under NumPy it saves memory, not time. If the factor breaks down, or the
    residual has not fallen a hundredfold after three steps, the fit is made in float64 if that fits into memory, and
    `explain()` reports it. With A = E diag(γ) Eᵀ there is one factor per distinct γ_j. Leave-one-out is that of
    `Cholesky()`.

    Parameters
    ----------
    tol : float, default=1e-10
        Residual of every column relative to its target, at least 1e-14; smaller is more accurate.

    Attributes
    ----------
    outcome_ : str
        Steps, residual and duality gap of the last fit, and whether it was made in float64.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.solvers import MixedPrecision
    >>> model = IOKR(alpha=0.1, solver=MixedPrecision()).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> model.predict([[1.0]]).round(3), model.solution_.converged
    (array([0.932]), True)
    """

    tol: float = 1e-10

    def refuses(self, problem: Problem) -> str | None:
        """The square loss, complete explicit targets and a kernel k A without a penalty are required."""
        return refuses_symmetric(problem)

    def memory(self, problem: Problem) -> float:
        """N²/2 numbers of 4 bytes, a panel of K in a product, and 8Nq."""
        return mixed_bytes(problem.gram.size, problem.Psi.shape[1], problem.like)

    def _solve(self, problem: Problem, start: Solution | None) -> Solution:
        tol = min(check_number(self.tol, "tol", minimum=1e-14), 1.0)
        points = Geometry(problem)
        operator = problem.operator
        B = points.targets(operator.rotate(problem.Psi))
        parts = []
        failure = None
        try:
            for g, group in operator.groups(B.shape[1]):
                parts.append((group, *self._columns(points, take_columns(B, group), g, problem.alpha, tol)))
        except NotPositiveDefinite:
            failure = "broke down"
        except _Stalled:
            failure = "did not precondition"
        if failure is not None:  # not in the handler: the frames of the error hold the factor
            return self._in_double(problem, failure)
        Z = join_columns([(group, solved) for group, solved, _, _ in parts])
        R = join_columns([(group, residuals) for group, _, residuals, _ in parts])
        steps = max(made for _, _, _, made in parts)
        residual = relative_residual(R, B)
        gap = relative_gap(problem, R)
        self.outcome_ = f"residual {residual:.1e} after {steps} steps with a float32 factor, duality gap {gap:.1e}."
        C = operator.unrotate(points.to_points(Z))
        constants = points.unpenalised(problem.Psi, C, operator)
        intercept = None if constants is None else constants[0, :]
        return Solution(C, max(steps, 1), gap, residual <= tol, intercept=intercept)

    def _columns(self, points: Geometry, B: Array, g: float, alpha: float, tol: float) -> tuple[Array, Array, int]:
        """(Z, residuals, steps) for the columns of one γ."""
        if g == 0:  # αZ = B
            return B / alpha, B * 0.0, 1
        xp = array_namespace(B)
        with tensor_products(B), unwarned():  # an α out of the range of float32 breaks down, and float64 is used
            factor = points.packed(single=True).factor(alpha / g)

        def precondition(R: Array) -> Array:
            size = xp.max(xp.abs(R), axis=0)  # float32 also has a smaller range
            size = xp.where(size > 0, size, xp.ones_like(size))
            return points.centre(xp.astype(factor.solve(R / size[None, :]), xp.float64)) * size[None, :] / g

        start = column_norms(B)

        def watch(steps: int, norms: Array) -> None:
            fallen = norms <= start / _FALL
            if steps == _EARLY and not bool(xp.all(fallen | (norms <= tol * start))):
                raise _Stalled

        def system(Z: Array) -> Array:
            return g * points.times(Z) + alpha * Z

        return restarted(system, B, precondition, tol, _LIMIT, watch=watch)

    def _in_double(self, problem: Problem, failure: str) -> Solution:
        """The same in float64, if that fits; `failure` is what the float32 factor did."""
        needed = Cholesky().memory(problem)
        free = available_memory(problem.like)
        if free is not None and needed > free:
            raise MemoryError(
                f"The float32 factor {failure}, and float64 needs about {human_bytes(needed)} but {human_bytes(free)} "
                "are available. To reduce memory: raise `alpha`, or `solver=ConjugateGradient(rank=2000)`."
            )
        solution = Cholesky()._solve(problem, None)
        self.outcome_ = (
            f"the float32 factor {failure}, so the fit was made in float64 by `Cholesky()`, exact to rounding."
        )
        return solution
