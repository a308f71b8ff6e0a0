"""Selection of kernels, crossing penalty and alpha by the pinball loss of rows left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from itertools import product
from typing import Any

import numpy as np

from iokr._array import matmul, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_folds
from iokr.data.objects import n_objects
from iokr.estimators.inputs import check_kernel
from iokr.estimators.progress import begin, end, track, with_callbacks
from iokr.estimators.quantiles.base import LEVELS, Points, QuantileRegression, Rows, solve_levels
from iokr.estimators.quantiles.levels import fit_levels
from iokr.estimators.regression.selection import best_of, check_values, drop_single_axes
from iokr.estimators.search.tally import Searching, Tally
from iokr.losses.pinball import check_levels
from iokr.metrics.intervals import pinball
from iokr.solvers.base import Solver

__all__ = ["QuantileCurvesCV"]


@component
class QuantileCurvesCV(Searching, QuantileRegression):
    """argmin over k, k_Θ, ν and α of the mean of ρ_θ(y − h(x)(θ)) over rows left out and levels.

    One eigendecomposition per fold and input kernel is reused for the rest of the grid; alphas start warm, from the
    largest.

    Parameters
    ----------
    kernel : Kernel, or a list of them, default=None
    alphas : sequence of float
    level_kernels : sequence, default=None
        Each as `level_kernel` of `QuantileCurves`; None is `RBF(9.0)` alone.
    crossings : sequence of float, default=(0.05, 0.5)
        Values of ν.
    cv : int or splitter, default=5
    levels, intercept, solver :
        As in `QuantileCurves`.

    Attributes
    ----------
    alpha_ : float
    cv_errors_ : array
        Axes kernel × level kernel × crossing × alpha, axes of length one dropped.
    best_index_ : tuple of int
    cv_results_ : dict
        The same errors as a table, `pandas.DataFrame(model.cv_results_)`, in the form of scikit-learn's searches.
    interrupted_ : bool
        True when Ctrl-C ended the search: the errors so far are kept, NaN where there are none yet.
    crossing_rate_, guarantee_, kernel_, levels_, solution_, solver_ :
        As in `QuantileCurves`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import QuantileCurvesCV
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=(60, 1))  # in no order: folds are contiguous
    >>> y = np.sin(6 * x[:, 0]) + rng.normal(size=60) / 9
    >>> model = QuantileCurvesCV(alphas=(0.01, 1.0), crossings=(0.05,), cv=3).fit(x, y)
    >>> model.alpha_, model.cv_errors_.shape
    (0.01, (2,))
    """

    kernel: Any = None
    _: KW_ONLY
    alphas: Sequence[float] = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
    level_kernels: Any = None
    crossings: Sequence[float] = (0.05, 0.5)
    cv: Any = 5
    levels: Any = LEVELS
    intercept: bool = True
    solver: Solver | None = None

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> QuantileCurvesCV:
        """Select and learn h; arguments as in `QuantileCurves.fit`."""
        kernels = list(self.kernel) if isinstance(self.kernel, (list, tuple)) else [self.kernel]
        if not kernels:
            raise ValueError("`kernel` is empty; give at least one kernel.")
        kernels = [check_kernel(kernel) for kernel in kernels]
        rows = self._rows(X, y, sample_weight, kernels[0])
        alphas, crossings = (
            check_values(self.alphas, "alphas", strict=True),
            check_values(self.crossings, "crossings", strict=False),
        )
        level_kernels = [None] if self.level_kernels is None else self.level_kernels
        if not isinstance(level_kernels, (list, tuple)) or not level_kernels:
            raise TypeError(
                f"`level_kernels` must be a list of kernels, or of matrices over the levels, got "
                f"{self.level_kernels!r:.60}."
            )
        theta, constant = check_levels(self.levels), 1.0 if self.intercept else 0.0
        posed = [fit_levels(theta, k, v, constant) for k, v in product(level_kernels, crossings)]
        splits = check_folds(self.cv, n_objects(rows.X))
        progress = begin(self, len(splits) * len(kernels), X=X, y=y)
        axes = {"kernel": kernels, "level_kernel": level_kernels, "crossing": crossings, "alpha": alphas}
        tally = Tally(axes, "cv_errors_")
        with self._searching(tally):
            errors = np.zeros((len(kernels), len(posed), len(alphas)))
            halves = [tuple(rows.take(half).counted() for half in split) for split in splits]
            halves = [(train, test) for train, test in halves if test.total > 0]
            folds = product(halves, range(len(kernels)))
            for (train, test), i in track(progress, self, folds, name="fold"):
                if i == 0:
                    kept = tally.fold(test.total, *errors.shape)
                kept[i] = self._measure(train, test, kernels[i], posed, alphas)
                errors[i] += test.total * kept[i]
            errors /= sum(test.total for _, test in halves)
            i, j, k = best_of(errors)
            rows = rows.counted()
            points = Points.of(kernels[i], rows.X, constant)
            solver = self._iterative()
            solution = solve_levels(points, rows, posed[j], alphas[k], self._center(rows), solver)
        self._keep_search(tally, errors)
        shape = (len(kernels), len(level_kernels), len(crossings), len(alphas))
        index = (i, *divmod(j, len(crossings)), k)
        self.cv_errors_, self.best_index_ = drop_single_axes(errors.reshape(shape), index)
        self._keep(rows, points, posed[j], alphas[k], solver, solution)
        end(progress, self, X=X, y=y)
        return self

    def _measure(self, train: Rows, test: Rows, kernel: Any, posed: list[Any], alphas: list[float]) -> np.ndarray:
        """Pinball losses (levels with their crossing, alphas) of rows left out."""
        constant, center, solver = 1.0 if self.intercept else 0.0, self._center(train), self._iterative()
        points = Points.of(kernel, train.X, constant)
        K = points.kernel.gram(points.kernel.represent(test.X), points.R).dense() + constant
        found = np.empty((len(posed), len(alphas)))
        for j, levels in enumerate(posed):
            solution = None
            for k in sorted(range(len(alphas)), key=lambda k: -alphas[k]):
                solution = solve_levels(points, train, levels, alphas[k], center, solver, solution)
                Q = to_numpy(matmul(K, solution.C)) @ levels.atoms(levels.theta) + center
                found[j, k] = pinball(test.y, np.sort(Q, axis=1), levels.theta, test.weight)
        return found
