"""Conjugate gradients: T X = B by products with T, in an inner product in which T is symmetric."""

from __future__ import annotations

from collections.abc import Callable

from iokr._array import Array, array_namespace, asarray_like
from iokr.gram.operators import IdentityMatrix
from iokr.problem import Problem
from iokr.solvers.closed_form.symmetric_system import Geometry

__all__ = [
    "Map",
    "column_norms",
    "conjugate_gradients",
    "refuses_symmetric",
    "relative_gap",
    "relative_residual",
    "restarted",
    "solve_columns",
]


Map = Callable[[Array], Array]
Done = Callable[[Array, Array], bool]


def conjugate_gradients(
    X: Array,
    R: Array,
    P: Array,
    direction: Map,
    system: Map,
    done: Done,
    limit: int,
    *,
    axis: int | tuple[int, ...] | None,
) -> tuple[Array, Array, Array, int]:
    """(X, R, ⟨R, R⟩, steps): from X with residual R = B − T X until `done(R, ⟨R, R⟩)`, at most `limit` steps.

    `direction(R)` is a stack D of arrays of the shape of X: D[0] is what X moves along, D[-1] what inner products are
    taken with, ⟨R, R⟩ = Σ R ∘ D[-1]; P is that of the first R. With a preconditioner M both are M⁻¹R. Where T is
    symmetric in ⟨a, b⟩ = aᵀ G b they are R and G R, carried side by side so that a step takes one product with G.
    `system(D)` is T D[0]. With axis 0 each column makes steps of its own, with (0, 1) each slice along
    the last of three axes, with None all make the same.
    """
    xp = array_namespace(R)

    def inner(A: Array, D: Array) -> Array:
        return xp.sum(A * D[-1, ...], axis=axis)

    size, steps = inner(R, P), 0
    while steps < limit and not done(R, size):
        T = system(P)
        t = _ratio(size, inner(T, P))
        X, R, steps = X + t * P[0, ...], R - t * T, steps + 1
        D = direction(R)
        size, before = inner(R, D), size
        P = D + _ratio(size, before) * P
    return X, R, size, steps


def restarted(
    system: Map,
    B: Array,
    precondition: Map,
    tol: float,
    limit: int,
    start: Array | None = None,
    watch: Callable[[int, Array], None] = lambda steps, residuals: None,
) -> tuple[Array, Array, int]:
    """(X, B − T X, steps): every column to ‖residual‖ ≤ tol ‖b‖, or as far as `limit` and rounding permit.

    Before each step `watch` is called with the number of steps and the norms of the residuals; it may raise.
    """
    xp = array_namespace(B)
    goal = tol * column_norms(B)

    seen = 0

    def done(R: Array, size: Array | None = None) -> bool:
        nonlocal seen
        norms = column_norms(R)
        watch(seen, norms)
        seen += size is not None
        return not bool(xp.any(norms > goal))

    def direction(R: Array) -> Array:
        return precondition(R)[None, ...]

    X = xp.zeros_like(B) if start is None else start
    R, steps = B if start is None else B - system(X), 0
    while steps < limit and not done(R):
        X, _, _, made = conjugate_gradients(
            X, R, direction(R), direction, lambda P: system(P[0, ...]), done, limit - steps, axis=0
        )
        R, steps = B - system(X), steps + made  # without the rounding of the recurrence
        if made <= 1:
            break
    return X, R, steps


def column_norms(R: Array) -> Array:
    """‖r_j‖ of every column."""
    xp = array_namespace(R)
    return xp.sqrt(xp.sum(R * R, axis=0))


def _ratio(a: Array, b: Array) -> Array:
    """a/b, and 0 if b = 0: that column is solved."""
    xp = array_namespace(a)
    return xp.where(b > 0, a / xp.where(b > 0, b, xp.ones_like(b)), xp.zeros_like(b))


Watch = Callable[[int, Array], None]


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


def solve_columns(
    points: Geometry,
    B: Array,
    gamma: Array | float,
    alpha: float,
    precondition: Map,
    tol: float,
    limit: int,
    watch: Watch,
) -> tuple[Array, Array, int]:
    """(Z, residual, steps) with ‖residual‖ ≤ tol ‖b‖ in every column, γ one for all or a row of them."""
    return restarted(lambda Z: gamma * points.times(Z) + alpha * Z, B, precondition, tol, limit, watch=watch)


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
