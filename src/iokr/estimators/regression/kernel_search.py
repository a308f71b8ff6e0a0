"""Which kernel of a list to carry on with: exact leave-one-out of the square loss on a sample of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from iokr.data.objects import n_objects
from iokr.estimators.progress import Progress
from iokr.estimators.regression.evaluate import Grid, closed_paths, leave_one_out
from iokr.estimators.regression.posing import Data, TrainingSet
from iokr.estimators.search.engine import search
from iokr.estimators.search.kernels import KERNEL_ROWS, is_linear
from iokr.estimators.search.result import SearchResult, excess
from iokr.losses.square import Square
from iokr.solvers.base import Solver
from iokr.solvers.closed_form.paths import ClosedForm

__all__ = ["best_kernels", "sampled_rows", "with_square_loss"]

_COMMON = 0.95  # of the rows: larger differences than these have count as theirs, so that no outlier hides the others


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
    """The search on a sample of the rows, and its best kernel.

    The inner product is taken if it is not worse by a standard error, paired over rows: other kernels follow outliers
    of the inputs. A second kernel goes on, too, if it is not worse by a standard error and there are more rows.

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
    n = n_objects(rows.y)
    chosen = sampled_rows(n, rows.weight)
    known = n if rows.weight is None else int(np.count_nonzero(rows.weight > 0))
    part = replace(rows, X_unlabeled=None).restrict(chosen, pairwise=False)
    data = with_square_loss(encode(part))
    together = None if groups is None else np.unique(groups[chosen], return_inverse=True)[1]
    closed = solver if isinstance(solver, ClosedForm) else None
    parts = leave_one_out(data, grid, groups=together, solver=closed)
    found = search(grid.axes, (replace(part, solve=None) for part in parts), progress=progress)
    if found.interrupted:
        return found, []
    first, *others = np.argsort(np.min(found.values, axis=(1, 2)), kind="stable").tolist()
    linear = [i for i in others if is_linear(grid.kernels[i])]
    second = [i for i in others if i not in linear][:1] if known > len(chosen) else []
    shares = {i: _shares(data, grid, found, i, together) for i in (first, *linear, *second)}
    for i in linear:
        if _apart(shares[first], shares[i], together) <= 1.0:
            return found, [grid.kernels[i]]
    carried = [first, *(i for i in second if excess(np.stack([shares[first], shares[i]]), together)[1] <= 1.0)]
    return found, [grid.kernels[i] for i in carried]


def _shares(data: Data, grid: Grid, found: SearchResult, kernel: int, groups: np.ndarray | None) -> np.ndarray:
    """What each row adds to the error of a kernel, at its best alpha."""
    alpha = grid.alphas[int(np.argmin(found.values[kernel, 0]))]
    one = Grid([grid.kernels[kernel]], grid.manifold_weights, [alpha])
    _, _, problem, path = next(closed_paths(data, one, None, None))
    return np.asarray(path.loo_shares(data.outputs.embedding.euclidean(problem.like), [alpha], groups)[0])


def _apart(best: np.ndarray, other: np.ndarray, groups: np.ndarray | None) -> float:
    """How many standard errors the other is worse, by the differences that are common."""
    difference = other - best
    limit = np.quantile(np.abs(difference), _COMMON)
    moved = best + np.clip(difference, -limit, limit)
    if moved.sum() <= best.sum():
        return 0.0
    return float(excess(np.stack([best, moved]), groups)[1])
