"""Which kernel of a list to carry on with: exact leave-one-out of the square loss on a sample of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from iokr._array import to_numpy
from iokr.estimators.progress import Progress
from iokr.estimators.regression.evaluate import Grid, closed_paths, leave_one_out
from iokr.estimators.regression.posing import Data, TrainingSet
from iokr.estimators.search.engine import search
from iokr.estimators.search.kernels import KERNEL_ROWS
from iokr.estimators.search.result import SearchResult
from iokr.losses.square import Square
from iokr.solvers.base import Solver
from iokr.solvers.closed_form.paths import ClosedForm

__all__ = ["best_kernels", "sampled_rows", "with_square_loss"]


def sampled_rows(n: int, weight: np.ndarray | None = None) -> np.ndarray:
    """At most `KERNEL_ROWS` rows of positive weight, drawn once and for all, in their order."""
    known = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
    if len(known) <= KERNEL_ROWS:
        return known
    return np.sort(np.random.default_rng(0).choice(known, KERNEL_ROWS, replace=False))


def with_square_loss(data: Data) -> Data:
    """The same data, for which leave-one-out has a closed form."""
    if data.outputs.loss.quadratic:
        return data
    outputs = replace(data.outputs, loss=Square())
    return replace(data, outputs=outputs, targets=replace(data.targets, rest=None))


def best_kernels(
    encode: Callable[[TrainingSet], Data],
    rows: TrainingSet,
    grid: Grid,
    *,
    groups: np.ndarray | None = None,
    solver: Solver | None = None,
    progress: Progress | None = None,
) -> tuple[SearchResult, list[Any]]:
    """The search on a sample of the rows, and its best kernel; the second, too, if they are within a standard error.

    Parameters
    ----------
    encode : callable
        From some of the rows to data.
    rows : TrainingSet
    grid : Grid
        Kernels and alphas.
    groups : array of n integers, default=None
        Rows of one group are left out together.
    solver : Solver, default=None
        Of the model; a closed form is used, otherwise `Auto`.
    progress : callable, default=None
        As in `search`.

    Returns
    -------
    found : SearchResult
        Errors on the axes kernel × manifold weight × alpha.
    kernels : list of one or two kernels
    """
    chosen = sampled_rows(len(rows.y), rows.weight)
    part = replace(rows, X_unlabeled=None).restrict(chosen, pairwise=False)
    data = with_square_loss(encode(part))
    together = None if groups is None else np.unique(groups[chosen], return_inverse=True)[1]
    closed = solver if isinstance(solver, ClosedForm) else None
    parts = leave_one_out(data, grid, groups=together, solver=closed)
    found = search(grid.axes, (replace(part, solve=None) for part in parts), progress=progress)
    if found.interrupted:
        return found, []
    errors = np.min(found.values, axis=(1, 2))
    first, *others = (int(i) for i in np.argsort(errors, kind="stable"))
    if not others:
        return found, [grid.kernels[first]]
    second = others[0]
    leading, following = (_row_errors(data, grid, found, kernel, together) for kernel in (first, second))
    difference = following - leading
    kernels = [grid.kernels[first]]
    if difference.mean() < difference.std() / np.sqrt(len(difference)):
        kernels.append(grid.kernels[second])
    return found, kernels


def _row_errors(data: Data, grid: Grid, found: SearchResult, kernel: int, groups: np.ndarray | None) -> np.ndarray:
    """w_i ‖ψ(y_i) − h₋ᵢ(x_i)‖² of each row, at the best alpha of a kernel."""
    alpha = grid.alphas[int(np.argmin(found.values[kernel, 0]))]
    one = Grid([grid.kernels[kernel]], grid.manifold_weights, [alpha])
    _, _, problem, path = next(closed_paths(data, one, None, None))
    R = to_numpy(path.loo_residuals(data.outputs.embedding.euclidean(problem.like), alpha, groups))
    weight = problem.row_weight if problem.mask is None else problem.row_weight[:, None] * problem.mask
    return np.asarray((weight.reshape(len(R), -1) * R**2).sum(axis=1))
