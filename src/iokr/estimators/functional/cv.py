"""Selection of input kernel, curve kernel and alpha for curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np

from iokr._array import Array, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_groups
from iokr.data.objects import n_objects, take
from iokr.embeddings.basis import Basis
from iokr.estimators.functional.base import FunctionalRegression
from iokr.estimators.progress import begin, end, track, with_callbacks
from iokr.estimators.regression.posing import Data, Given, solve, square
from iokr.estimators.regression.selection import (
    ALPHAS,
    Fold,
    Grid,
    best_of,
    check_grid,
    drop_single_axes,
    row_splits,
    select_by_folds,
    select_by_leave_one_out,
    squared_errors,
)
from iokr.estimators.search.tally import Searching, Tally
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.solvers.base import Solver

__all__ = ["FunctionalCV"]


@component
class FunctionalCV(Searching, FunctionalRegression):
    """argmin over k, L and α of (1/n) Σ_i ∫(y_i − h₋ᵢ(x_i))², leave-one-curve-out in closed form.

    One eigendecomposition per input kernel is reused for every curve kernel and alpha. What is learned from all curves
    is held fixed; `cv=5` learns it anew on each fold, and takes any loss.

    Parameters
    ----------
    kernel : Kernel, or a list of them, default=None
    alphas : sequence of float
        19 from 1e-6 to 1e3 by default.
    curve_kernel : as in `Functional`, or a list of such, default=None
    cv : int, splitter or None, default=None
        None is leave-one-out (square loss); an integer is K-fold.
    basis, grid, quadrature, curve_weight, centered, loss, manifold, solver :
        As in `Functional`.

    Attributes
    ----------
    alpha_ : float
    loo_errors_ : array
        Axes kernel × curve kernel × alpha, axes of length one dropped (`cv_errors_` with `cv`).
    best_index_ : tuple of int
    cv_results_ : dict
        The same errors as a table, `pandas.DataFrame(model.cv_results_)`, in the form of scikit-learn's searches.
    interrupted_ : bool
        True when Ctrl-C ended the search: the errors so far are kept, NaN where there are none yet.
    points_, quadrature_, curve_kernel_, kernel_, embedding_, solution_, solver_ :
        As in `Functional`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import FunctionalCV
    >>> from iokr.kernels import RBF
    >>> x, theta = np.linspace(0, 1, 20)[:, None], np.linspace(0, 1, 30)
    >>> model = FunctionalCV(alphas=(1e-6, 1.0), curve_kernel=[RBF(1.0), RBF(100.0)]).fit(x, np.sin(9 * theta * x))
    >>> model.alpha_, model.loo_errors_.shape
    (1e-06, (2, 2))
    """

    kernel: Any = None
    _: KW_ONLY
    alphas: Sequence[float] = ALPHAS
    curve_kernel: Any = None
    cv: Any = None
    basis: Basis | None = None
    grid: Any = None
    quadrature: Any = "trapezoid"
    curve_weight: str = "equal"
    centered: bool = True
    loss: Loss | None = None
    manifold: Manifold | None = None
    solver: Solver | None = None

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None, groups: Any = None
    ) -> FunctionalCV:
        """Select and learn h.

        Parameters
        ----------
        X, y, sample_weight, X_unlabeled :
            As in `Functional.fit`.
        groups : sequence of n names, default=None
            Curves of one group are left out together, in closed form; with an integer `cv` they share a fold.
        """
        self._check_components()
        grid = check_grid(self.kernel, None, self.alphas, self.manifold)
        curve_kernels = list(self.curve_kernel) if isinstance(self.curve_kernel, (list, tuple)) else [self.curve_kernel]
        if not curve_kernels:
            raise ValueError("`curve_kernel` is an empty list; give at least one.")
        n_paths = len(grid.kernels) * len(curve_kernels)
        progress = begin(self, n_paths if self.cv is None else None, X=X, y=y)
        each = partial(track, progress, self, name="curve kernel")
        given = self._given(X, y, sample_weight, X_unlabeled, grid.kernels[0])
        together = None if groups is None else check_groups(groups, n_objects(given.y), several=True)
        data = self._encoded(given)
        operators = self._operators(curve_kernels, data)
        parts: dict[str, Any] = {"manifold": self.manifold, "solver": self.solver}
        posed = self._posed_grid(grid, curve_kernels, data)
        for stale in ("loo_errors_", "cv_errors_"):
            self.__dict__.pop(stale, None)
        axes: dict[str, Sequence[Any]] = {"kernel": grid.kernels, "curve_kernel": curve_kernels, "alpha": grid.alphas}
        tally = Tally(axes, "loo_errors_" if self.cv is None else "cv_errors_")
        with self._searching(tally):
            if self.cv is None:
                criterion, seen = partial(squared_errors, groups=together), tally.grid(*posed.shape)
                selected = select_by_leave_one_out(data, posed, criterion=criterion, track=each, seen=seen, **parts)
                measures, fit = selected.measures[0], selected.fit
            else:
                measures = self._by_folds(given, grid, curve_kernels, {**parts, "track": each}, together, tally)
                index = best_of(measures)
                fit = solve(data, posed.kernels[index[0]], grid.alphas[index[2]], **parts)
        self._keep_search(tally, measures)
        i, _, k = best_of(measures)
        shape = (len(grid.kernels), len(curve_kernels), len(grid.alphas))
        errors, self.best_index_ = drop_single_axes(measures.reshape(shape), (*divmod(i, len(curve_kernels)), k))
        setattr(self, "loo_errors_" if self.cv is None else "cv_errors_", errors)
        self._keep_curves(data, fit, operators[i % len(curve_kernels)])
        self.alpha_ = fit.alpha
        end(progress, self, X=X, y=y)
        return self

    def _posed_grid(self, grid: Grid, curve_kernels: list[Any], data: Data) -> Grid:
        """Every input kernel with every curve kernel: one after the other, so that a factorisation of K is shared."""
        operators = self._operators(curve_kernels, data)
        kernels = [self._posed(kernel, operator) for kernel in grid.kernels for operator in operators]
        return Grid(kernels, grid.manifold_weights, grid.alphas)

    def _by_folds(
        self,
        given: Given,
        grid: Grid,
        curve_kernels: list[Any],
        parts: dict[str, Any],
        groups: np.ndarray | None,
        tally: Tally,
    ) -> np.ndarray:
        """Mean integrated squared errors of rows left out, everything learned anew on the others."""
        n, pairwise = n_objects(given.y), grid.kernels[0].pairwise
        weight = np.ones(n) if given.weight is None else given.weight
        sums, total = np.zeros((len(grid.kernels) * len(curve_kernels), 1, len(grid.alphas))), 0.0
        for train, test in row_splits(self.cv, n, None, groups):
            data = self._encoded(given.restrict(train, pairwise=pairwise))
            embedding = data.outputs.embedding
            truth = to_numpy(take(given.y, test))
            w = np.where(np.isnan(truth), 0.0, weight[test][:, None] * self._quadrature)
            counted = float(weight[test] @ (~np.isnan(truth)).mean(axis=1))  # a curve by the nodes where it was seen

            def measure(H: Array, embedding: Any = embedding, truth: Any = truth, w: Any = w) -> float:
                return float((w * (np.nan_to_num(truth) - to_numpy(embedding.vectors(H))) ** 2).sum())

            X = square(given.X, test, train) if pairwise else take(given.X, test)
            fold = Fold(data, X, measure, counted)
            found, _ = select_by_folds([fold], self._posed_grid(grid, curve_kernels, data), tally=tally, **parts)
            sums, total = sums + found[0], total + counted
        return sums / total
