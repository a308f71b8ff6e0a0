"""Selection of kernels, crossing penalty and alpha by the pinball loss of held-out rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from itertools import product
from typing import Any

import numpy as np

from iokr._array import asarray_like, is_array
from iokr._component import component
from iokr._validation.arguments import check_choice, check_folds
from iokr.data.objects import n_objects
from iokr.estimators.inputs import check_scalar
from iokr.estimators.outputs import encode
from iokr.estimators.progress import begin, end, report, with_callbacks
from iokr.estimators.quantiles.base import (
    LEVELS,
    Points,
    QuantileFit,
    QuantileRegression,
    Rows,
    solve_levels,
    spread,
)
from iokr.estimators.quantiles.levels import Levels, fit_levels
from iokr.estimators.regression.evaluate import Grid
from iokr.estimators.regression.kernel_search import best_kernels
from iokr.estimators.regression.posing import Data, TrainingSet
from iokr.estimators.search.ends import warn_at_end_of_widths, warn_at_ends
from iokr.estimators.search.engine import Part, cv_results, forget_search, n_points, select
from iokr.estimators.search.kernels import kernel_list, with_standardized
from iokr.estimators.search.result import ALPHAS, Axis, SearchResult, check_values, listed
from iokr.kernels.base import Kernel
from iokr.losses.pinball import check_levels
from iokr.metrics.intervals import pinball
from iokr.problem import Solution
from iokr.solvers.base import Solver
from iokr.solvers.iterative.admm import ADMM

__all__ = ["QuantileCurvesCV"]

_ALPHAS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)  # for y in units of its spread
_SMALLER = (1e-6, 1e-5, 1e-4)  # for kernels that are chosen, which may be wide
_SEARCH_TOL = 1e-3  # relative gap on folds, far below the differences between their held-out losses


@component
class QuantileCurvesCV(QuantileRegression):
    """argmin over k, k_Θ, ν and α of the mean of ρ_θ(y − h(x)(θ)) over held-out rows and levels.

    One eigendecomposition per fold and input kernel is reused for the rest of the grid; solutions are warm-started from
    the next larger alpha.

    Parameters
    ----------
    kernel : Kernel, or a list of them, default=None
        None is the best of a list for numbers (as in `IOKRCV`) by leave-one-out of the square loss on at most 1500 rows
        (`kernel_search_`).
    alphas : sequence of float, default=None
        None is (0.001, 0.01, 0.1, 1, 10)/s with s the mean distance of y from its median: a pinball loss is in units of
        y, and so is 1/alpha. If the kernel is chosen, too, which may be a wide one, it starts at 1e-6/s.
    level_kernels : sequence, default=None
        Each as `level_kernel` of `QuantileCurves`; None is `RBF(9.0)` alone.
    crossings : sequence of float, default=(0.05, 0.5)
        Values of ν.
    cv : int or splitter, default=5
    levels, intercept, solver :
        As in `QuantileCurves`.
    standardize : {"auto", True, False}, default="auto"
        Whether kernels act on `Standardized` columns; "auto" is where no kernel is given and X is a dense matrix.

    Attributes
    ----------
    alpha_ : float
    cv_errors_ : array
        Axes kernel × level kernel × crossing × alpha, without axes of length one.
    best_index_ : tuple of int
        Index of the smallest error.
    search_ : SearchResult
        The errors on all named axes, and on each fold; the two attributes above are views of it.
    cv_results_ : dict
        The same errors as a table, `pandas.DataFrame(model.cv_results_)`, in the form of scikit-learn's searches.
    interrupted_ : bool
        Whether Ctrl-C ended the search; errors that were not computed are NaN.
    crossing_rate_, guarantee_, kernel_, levels_, solution_, solver_ :
        As in `QuantileCurves`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import QuantileCurvesCV
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=(60, 1))  # not sorted, since folds are contiguous
    >>> y = np.sin(6 * x[:, 0]) + rng.normal(size=60) / 9
    >>> model = QuantileCurvesCV(alphas=(0.01, 1.0), crossings=(0.05,), cv=3).fit(x, y)
    >>> model.alpha_, model.cv_errors_.shape
    (0.01, (2,))
    """

    kernel: Any = None
    _: KW_ONLY
    alphas: Sequence[float] | None = None
    level_kernels: Any = None
    crossings: Sequence[float] = (0.05, 0.5)
    cv: Any = 5
    levels: Any = LEVELS
    intercept: bool = True
    solver: Solver | None = None
    standardize: Any = "auto"

    cv_results_ = cv_results
    _selects = True

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> QuantileCurvesCV:
        """Select and learn h; arguments as in `QuantileCurves.fit`."""
        kernels = [check_scalar(kernel, objects="X") for kernel in listed(self.kernel, "kernel")]
        given = check_choice(self.standardize, "standardize", ("auto", True, False))
        level_kernels = listed(self.level_kernels, "level_kernels")
        alphas = None if self.alphas is None else check_values(self.alphas, "alphas", strict=True)
        crossings = check_values(self.crossings, "crossings", strict=False)
        rows = self._read(X, y, sample_weight, kernels[0])
        kernel_search = None
        if self.kernel is None:
            kernel_search, kernels = self._best_kernels(rows)
        elif given is True:
            kernels = with_standardized(kernels)
        if alphas is None:
            relative = _ALPHAS if kernel_search is None else (*_SMALLER, *_ALPHAS)
            alphas = [alpha / spread(rows) for alpha in relative]
        theta = check_levels(self.levels)
        levels = {
            (j, k): fit_levels(theta, level_kernels[j], crossings[k], self._level_constant)
            for j, k in product(range(len(level_kernels)), range(len(crossings)))
        }
        splits = check_folds(self.cv, n_objects(rows.X))
        folds = [(rows.take(train).weighted(), rows.take(test).weighted()) for train, test in splits]
        folds = [(train, held_out) for train, held_out in folds if held_out.total > 0]
        axes = (
            Axis("kernel", kernels),
            Axis("level_kernel", level_kernels),
            Axis("crossing", crossings),
            Axis("alpha", alphas),
        )
        progress = begin(self, n_points(axes) * len(folds), X=X, y=y)
        parts = self._on_folds(folds, kernels, levels, alphas)
        found = select(self, axes, parts, n_folds=len(folds), progress=report(progress, self))
        self.kernel_search_ = kernel_search
        if kernel_search is not None:
            warn_at_end_of_widths(kernel_search, len(rows.y))
        warn_at_ends(found, len(rows.y))
        i, j, k, _ = found.best_index
        self._learn(rows.weighted(), kernels[i], levels[j, k], found.best["alpha"])
        end(progress, self, X=X, y=y)
        return self

    def _best_kernels(self, rows: Rows) -> tuple[SearchResult, list[Kernel]]:
        """The search for a kernel, by the square loss, and its best kernel."""
        known = rows.weighted()
        y = asarray_like(known.y[:, None], known.X) if is_array(known.X) else known.y[:, None]
        grid = Grid(kernel_list(known.X, self.standardize), [0.0], list(ALPHAS))
        found, kernels = best_kernels(self._for_square_loss, TrainingSet(known.X, y, known.weight), grid)
        if found.interrupted:
            forget_search(self)
            raise KeyboardInterrupt
        return found, kernels[:1]

    def _for_square_loss(self, part: TrainingSet) -> Data:
        outputs, targets = encode(part.y, part.weight)
        return Data(part, outputs, targets, self.intercept)

    def _on_folds(
        self,
        folds: list[tuple[Rows, Rows]],
        kernels: list[Kernel],
        levels: dict[tuple[int, int], Levels],
        alphas: list[float],
    ) -> Iterator[Part]:
        """Pinball losses of held-out rows, a path over alpha for all kernels and crossings."""
        descending = sorted(range(len(alphas)), key=lambda a: -alphas[a])
        for fold, (train, test) in enumerate(folds):
            if not len(train.y):
                raise ValueError(
                    "`sample_weight` is zero for every row of a training part; fewer folds, or other weights."
                )
            solver = ADMM(_SEARCH_TOL) if self.solver is None else self._iterative()
            for i, kernel in enumerate(kernels):
                points = Points.of(kernel, train.X)
                gram = points.training_gram()
                K = points.cross(points.kernel.represent(test.X))
                for (j, k), at_levels in levels.items():
                    errors = np.empty(len(alphas))
                    solution: Solution | None = None
                    for a in descending:  # each solution is the start of the next
                        start = solution
                        solution = solve_levels(
                            gram, train, at_levels, alphas[a], solver, start, intercept=self.intercept
                        )
                        Q = QuantileFit(points, at_levels, solution).evaluate(K, at_levels.theta)
                        errors[a] = pinball(test.y, np.sort(Q, axis=1), at_levels.theta, test.weight)
                    yield Part((i, j, k), test.total * errors, fold, test.total)
