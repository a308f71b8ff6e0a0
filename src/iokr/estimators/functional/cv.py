"""Selection of input kernel, curve kernel and alpha for curves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any

import numpy as np

from iokr._array import Array, asarray_like, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_choice, check_groups
from iokr.data.curves import without_gaps
from iokr.data.frames import check_aligned
from iokr.data.objects import n_objects, take
from iokr.embeddings.basis import Basis
from iokr.embeddings.curves import Curves
from iokr.estimators.functional.base import FunctionalRegression
from iokr.estimators.functional.operator import CurveOperator, curve_operator
from iokr.estimators.inputs import check_scalar
from iokr.estimators.outputs import known_rows
from iokr.estimators.progress import begin, end, report, with_callbacks
from iokr.estimators.regression.evaluate import Fold, Grid, check_grid, leave_one_out, on_folds, row_splits
from iokr.estimators.regression.kernel_search import best_kernels
from iokr.estimators.regression.posing import Data, Fit, TrainingSet, solve, square
from iokr.estimators.search.ends import warn_at_end_of_widths, warn_at_ends
from iokr.estimators.search.engine import Part, cv_results, forget_search, n_points, select
from iokr.estimators.search.kernels import kernel_list, with_standardized
from iokr.estimators.search.result import ALPHAS, Axis, OneStandardError, SearchResult, listed, smallest
from iokr.kernels.base import Kernel
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.operator_kernels.decomposable import Decomposable
from iokr.solvers.base import Solver

__all__ = ["FunctionalCV"]


@component
class FunctionalCV(FunctionalRegression):
    """argmin over k, L and α of (1/n) Σ_i ∫(y_i − h₋ᵢ(x_i))², leave-one-curve-out in closed form.

    One eigendecomposition per input kernel is reused for every curve kernel and alpha. What is learned from all curves
    is held fixed in leave-one-out; with `cv=5` it is learned on the training rows of each fold, for any loss.

    Parameters
    ----------
    kernel : Kernel, or a list of them, default=None
        None is the best of a list for numbers (as in `IOKRCV`), by leave-one-out of curves without a curve kernel, with
        straight lines in their gaps; alpha is then the largest whose error is within a standard error of the smallest.
    alphas : sequence of float
        19 from 1e-6 to 1e3 by default.
    curve_kernel : as in `Functional`, or a list of such, default=None
    cv : int, splitter or None, default=None
        None is leave-one-out (square loss); an integer is K-fold.
    basis, grid, quadrature, curve_weight, loss, manifold, solver, intercept :
        As in `Functional`.
    standardize : {"auto", True, False}, default="auto"
        Whether kernels act on `Standardized` columns; "auto" is where no kernel is given and X is a dense matrix.

    Attributes
    ----------
    alpha_ : float
    loo_errors_ : array
        Axes kernel × curve kernel × alpha, without axes of length one (`cv_errors_` with `cv`).
    best_index_ : tuple of int
        Index of the smallest error.
    search_ : SearchResult
        The errors on all named axes, and on each fold; the two attributes above are views of it.
    cv_results_ : dict
        The same errors as a table, `pandas.DataFrame(model.cv_results_)`, in the form of scikit-learn's searches.
    interrupted_ : bool
        Whether Ctrl-C ended the search; errors that were not computed are NaN.
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
    loss: Loss | None = None
    manifold: Manifold | None = None
    solver: Solver | None = None
    intercept: bool | None = None
    standardize: Any = "auto"

    cv_results_ = cv_results

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
        standardize = check_choice(self.standardize, "standardize", ("auto", True, False))
        grid = check_grid(self.kernel, None, self.alphas, self.manifold)
        kernels = [check_scalar(kernel) for kernel in grid.kernels]
        curve_kernels = listed(self.curve_kernel, "curve_kernel")
        given, embedding = self._read(X, y, sample_weight, X_unlabeled, kernels[0])
        n = n_objects(given.y)
        check_aligned(X, groups, "X", "groups")
        together = None if groups is None else check_groups(groups, n, several=True)
        splits = [] if self.cv is None else row_splits(self.cv, n, None, together)
        data = self._encode(given, embedding)
        kernel_search = None
        if self.kernel is None:
            kernel_search, kernels = self._kernels(data, embedding, grid, together)
        elif standardize is True:
            kernels = with_standardized(kernels)
        grid = replace(grid, kernels=kernels)
        axes = (Axis("kernel", kernels), Axis("curve_kernel", curve_kernels), Axis("alpha", grid.alphas))
        n_folds = max(1, len(splits))
        progress = begin(self, n_points(axes) * n_folds, X=X, y=y)
        operators = [curve_operator(curve_kernel, data.outputs.embedding) for curve_kernel in curve_kernels]
        parts: dict[str, Any] = {"manifold": self.manifold, "solver": self.solver}
        if self.cv is None:
            evaluate = leave_one_out(
                data, _posed(grid, operators), groups=together, shares=self.kernel is None, **parts
            )
        else:
            evaluate = self._on_folds(given, embedding, splits, grid, curve_kernels, parts)

        def solve_best(found: SearchResult) -> Fit:
            i, j, _ = found.best_index
            return solve(data, Decomposable(kernels[i], operators[j].A), found.best["alpha"], **parts)

        found = select(
            self,
            axes,
            _on_axes(evaluate, len(curve_kernels)),
            rule=OneStandardError() if self.kernel is None and self.cv is None else smallest,
            solve=solve_best,
            n_folds=n_folds,
            progress=report(progress, self),
        )
        self.kernel_search_ = kernel_search
        self._keep_curves(data, found.solution, operators[found.best_index[1]])
        if kernel_search is not None:
            warn_at_end_of_widths(kernel_search, n)
        warn_at_ends(found, n)
        self.alpha_ = found.solution.alpha
        end(progress, self, X=X, y=y)
        return self

    def _kernels(
        self, data: Data, embedding: Curves, grid: Grid, groups: np.ndarray | None
    ) -> tuple[SearchResult, list[Kernel]]:
        """The search for a kernel if none was given, and the kernels that it leaves."""
        rows = data.rows
        known, _ = known_rows(rows.X, rows.weight)
        kernels = kernel_list(known, self.standardize)
        if data.targets.mask is not None:
            rows = replace(rows, y=asarray_like(without_gaps(data.outputs.embedding.points_, rows.y), rows.y))
        encode = partial(self._encode, embedding=embedding)
        found, best = best_kernels(encode, rows, replace(grid, kernels=kernels), groups=groups)
        if found.interrupted:
            forget_search(self)
            raise KeyboardInterrupt
        return found, best

    def _on_folds(
        self,
        given: TrainingSet,
        embedding: Curves,
        splits: list[tuple[np.ndarray, np.ndarray]],
        grid: Grid,
        curve_kernels: list[Any],
        parts: dict[str, Any],
    ) -> Iterator[Part]:
        """Integrated squared errors on held-out rows, everything learned anew on the training rows of each fold."""
        pairwise = grid.kernels[0].pairwise
        weight = np.ones(n_objects(given.y)) if given.weight is None else given.weight
        for number, (train, test) in enumerate(splits):
            data = self._encode(given.restrict(train, pairwise=pairwise), embedding)
            curves: Any = data.outputs.embedding
            operators = [curve_operator(curve_kernel, curves) for curve_kernel in curve_kernels]
            truth = to_numpy(take(given.y, test))
            w = np.where(np.isnan(truth), 0.0, weight[test][:, None] * embedding.quadrature)
            measure = partial(_integrated_error, curves, np.nan_to_num(truth), w)
            counted = float(weight[test] @ (~np.isnan(truth)).mean(axis=1))  # weights by the observed nodes
            X = square(given.X, test, train) if pairwise else take(given.X, test)
            for part in on_folds([Fold(data, X, measure, counted)], _posed(grid, operators), **parts):
                yield replace(part, fold=number)


def _posed(grid: Grid, operators: list[CurveOperator]) -> Grid:
    """Every input kernel with every curve kernel: one after the other, so that they share a factorisation of K."""
    return Grid(
        [Decomposable(kernel, operator.A) for kernel in grid.kernels for operator in operators],
        grid.manifold_weights,
        grid.alphas,
    )


def _on_axes(parts: Iterable[Part], n_curve_kernels: int) -> Iterator[Part]:
    """Parts of a posed grid on the axes kernel × curve kernel × alpha; there is one manifold weight."""
    for part in parts:
        pair, _, *rest = part.index
        yield replace(part, index=(*divmod(pair, n_curve_kernels), *rest))


def _integrated_error(embedding: Any, truth: np.ndarray, weight: np.ndarray, H: Array) -> float:
    """Σ_i ∫(y_i − h(x_i))² with the weights of rows and nodes."""
    return float((weight * (truth - to_numpy(embedding.vectors(H))) ** 2).sum())
