"""Conjugate gradients: T X = B by products with T, in an inner product in which T is symmetric."""

from __future__ import annotations

from collections.abc import Callable

from iokr._array import Array, array_namespace

__all__ = ["Map", "column_norms", "conjugate_gradients", "restarted"]

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
