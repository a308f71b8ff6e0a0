"""ψ_S − h₋ₛ(x_S) = (N_SS)⁻¹ (NΨ)_S, N = I − H: leave-group-out, in blocks of groups of the same size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from iokr._array import Array, array_namespace, take_rows
from iokr.solvers.base import Path, join_columns
from iokr.solvers.closed_form.symmetric_system import Geometry, replace_rows, scatter

__all__ = [
    "Blocks",
    "blocks_of_matrix",
    "blocks_of_product",
    "leave_groups_out",
    "solve_groups",
    "times_groups",
    "with_unweighted",
]

_ENTRIES = 1 << 22  # numbers of the arrays of a batch of groups

Blocks = Callable[[np.ndarray], Array]
"""Rows of c groups of one size s, (c, s), ↦ N_SS of each, (c, s, s)."""


def blocks_of_matrix(N: Array) -> Blocks:
    """The blocks of a stored symmetric matrix."""
    return partial(take_entries, N)


def blocks_of_product(left: Array, middle: Array, B: Array | None = None, *, eye: bool = False) -> Blocks:
    """Those of 𝓑 + left diag(middle) leftᵀ, or with `eye` of I + left diag(middle) leftᵀ, without the whole matrix."""

    def blocks(rows: np.ndarray) -> Array:
        xp = array_namespace(left)
        some = xp.reshape(take_rows(left, rows.ravel()), (*rows.shape, left.shape[1]))
        N = xp.matmul(some * middle[None, None, :], xp.permute_dims(some, (0, 2, 1)))
        if B is not None:
            N = N + take_entries(B, rows)
        return N + xp.eye(rows.shape[1], dtype=N.dtype, device=N.device)[None, :, :] if eye else N

    return blocks


def take_entries(N: Array, rows: np.ndarray) -> Array:
    """N[rows, rows] of each group, (c, s, s)."""
    xp, (count, size) = array_namespace(N), rows.shape
    flat = xp.reshape(N, (-1,))
    entries = rows[:, :, None] * N.shape[1] + rows[:, None, :]
    return xp.reshape(take_rows(flat, entries.ravel()), (count, size, size))


def by_size(groups: np.ndarray, width: int) -> Iterator[np.ndarray]:
    """Rows (c, s) of the groups of each size s, at a time those with c · s · width numbers in a batch."""
    order = np.argsort(groups, kind="stable")
    sizes = np.unique(groups, return_counts=True)[1]
    first = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        starts = first[sizes == size]
        step = max(1, _ENTRIES // max(int(size) * max(width, int(size)), 1))
        for begin in range(0, len(starts), step):
            yield order[starts[begin : begin + step, None] + np.arange(size)]


def solve_groups(R: Array, blocks: Blocks, groups: np.ndarray, width: int) -> Array:
    """(N_SS)⁻¹ R_S for every group S of the rows of R."""
    xp = array_namespace(R)
    return _each(R, groups, width, lambda rows, some: xp.linalg.solve(blocks(rows), some))


def times_groups(B: Array, blocks: Blocks, groups: np.ndarray, width: int) -> Array:
    """P_SS B_S for every group S of the rows of B."""
    xp = array_namespace(B)
    return _each(B, groups, width, lambda rows, some: xp.matmul(blocks(rows), some))


def _each(B: Array, groups: np.ndarray, width: int, f: Callable[[np.ndarray, Array], Array]) -> Array:
    """Rows f(rows, B_S), in the order of B."""
    xp = array_namespace(B)
    parts, places = [], []
    for rows in by_size(groups, max(width, B.shape[1])):
        some = xp.reshape(take_rows(B, rows.ravel()), (*rows.shape, B.shape[1]))
        parts.append(xp.reshape(f(rows, some), (rows.size, B.shape[1])))
        places.append(rows.ravel())
    return take_rows(xp.concat(parts, axis=0), np.argsort(np.concatenate(places)))


def leave_groups_out(
    path: Path,
    points: Geometry,
    columns: list[tuple[np.ndarray, Array, Blocks]],
    Psi: Array,
    alpha: float,
    groups: np.ndarray,
) -> Array:
    """diag(1/√w)(N_SS)⁻¹R_S Eᵀ of all rows, from R = N√wΨE and the blocks of N of each eigenvalue of A.

    `columns` holds, for every distinct eigenvalue, its columns of ΨE, their R and the blocks.
    """
    operator, mine = path.operator, groups[points.active]
    small = points.active[points.small_rows]
    if points.leaves_nothing(mine):
        residuals = points.uncentred(operator.rotate(Psi))
    else:
        solved = [(which, solve_groups(R, blocks, mine, len(points.active))) for which, R, blocks in columns]
        residuals = join_columns(solved)
    if points.sqrt_w is not None:
        residuals = residuals / points.sqrt_w[:, None]
    return with_unweighted(path, points.active, operator.unrotate(residuals), Psi, alpha, groups, small)


def with_unweighted(
    path: Path,
    active: np.ndarray,
    residuals: Array,
    Psi: Array,
    alpha: float,
    groups: np.ndarray | None,
    small: np.ndarray | None = None,
) -> Array:
    """The residuals of all n rows from those of positive weight; a row of weight 0 is predicted without its group.

    h₋ₛ is the fit to the targets ψ_S − r_S in place of ψ_S, r_S their residuals, and fits are linear in ψ. Rows of
    `small` weight, whose r was divided by a small number, are predicted in the same way.
    """
    rest = np.setdiff1d(np.arange(path.n), active)
    rest = rest if small is None else np.union1d(rest, small)
    if not len(rest):
        return residuals
    everywhere = scatter(residuals, active, path.n)
    left = path.plain_residuals(Psi, alpha, rest)
    if groups is None:
        return replace_rows(everywhere, rest, left)
    for group in np.intersect1d(groups[rest], groups[active]):
        own = active[groups[active] == group]
        here = np.flatnonzero(groups[rest] == group)
        moved = scatter(take_rows(everywhere, own), own, path.n)
        H = path.fitted(moved, alpha, rest[here])
        left = replace_rows(left, here, take_rows(left, here) + H)
    return replace_rows(everywhere, rest, left)
