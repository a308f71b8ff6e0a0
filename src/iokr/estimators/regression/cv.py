"""Selection of kernel, manifold weight and alpha: exact leave-one-out in closed form, or K-fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any

import numpy as np

from iokr._array import Array, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_choice, check_groups
from iokr.data.chunks import as_source
from iokr.data.frames import check_aligned
from iokr.data.objects import n_objects, take
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.estimators.outputs import FittedOutputs, known_rows
from iokr.estimators.progress import begin, end, report, track, with_callbacks
from iokr.estimators.regression.base import KernelRegression
from iokr.estimators.regression.evaluate import Fold, Grid, check_grid, leave_one_out, on_folds, row_splits
from iokr.estimators.regression.kernel_search import best_kernels
from iokr.estimators.regression.posing import Data, Fit, TrainingSet, check_data, check_observed, solve, square
from iokr.estimators.regression.streaming import check_alone, evaluate_chunks, solve_moments
from iokr.estimators.search.ends import warn_at_end_of_widths, warn_at_ends
from iokr.estimators.search.engine import cv_results, forget_search, n_points, select
from iokr.estimators.search.kernels import kernel_list, with_standardized
from iokr.estimators.search.result import ALPHAS, OneStandardError, SearchResult, smallest
from iokr.kernels.base import Kernel
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.solvers.base import Solver

__all__ = ["IOKRCV"]


@component
class IOKRCV(KernelRegression):
    """argmin over kernel, μ and α of (1/n) Σ_i ‖ψ(y_i) − h₋ᵢ(x_i)‖², exact leave-one-out in closed form.

    One factorisation per kernel (and, with a strong manifold penalty, per manifold weight) is reused for every alpha.
    Estimates from the data (`gamma_`, centring, covariance operators) are held fixed in leave-one-out; `cv=5` refits
    everything on each fold instead.

    Parameters
    ----------
    kernel : Kernel, OperatorKernel, or a list of them, default=None
        As in `IOKR`; a list is searched. None is a list for numbers, `RBF` at seven widths about the median distance,
        `Laplacian` at five and `Linear`, from which the kernel is chosen first (`kernel_search_`): by leave-one-out of
        the square loss, on at most 1500 rows. `Linear` is taken if it is not worse by a standard error, and alpha is
        then the largest whose error is within one of the smallest.
    alphas : sequence of float
        Values of λ; 19 from 1e-6 to 1e3 by default.
    manifold_weights : sequence of float, default=None
        Values of the manifold's μ; None is its own `weight`.
    cv : int, splitter or None, default=None
        None is leave-one-out in closed form (quadratic losses); an integer is K-fold, stratified for classes (the
        output kernel `Delta()`, or indicators with a one in each row). For rows in chunks (`Stream`, Dask arrays)
        leave-one-out takes two passes, K-fold one: a chunk is in the fold of its number modulo K.
    output_kernel, embedding, loss, manifold, decoder, solver, intercept :
        As in `IOKR`.
    standardize : {"auto", True, False}, default="auto"
        Whether kernels act on `Standardized` columns; "auto" is where no kernel is given and X is a dense matrix.

    Attributes
    ----------
    alpha_, manifold_weight_ : float
        The selected values.
    loo_errors_ : array
        Mean leave-one-out error, axes kernel × manifold weight × alpha, axes of length one dropped (`cv_errors_` with
        `cv`). Optimistic for a kernel that was tuned on the same rows (`model_selection.tune`).
    search_ : SearchResult
        The errors on named axes, all of them kept, those of each fold, and the choice.
    kernel_search_ : SearchResult, or None
        The search for a kernel, where none was given. With more than 1500 rows the second-best is in `search_`, too, if
        it is not worse by a standard error.
    best_index_ : tuple of int
        Index of the smallest error.
    cv_results_ : dict
        The same errors as a table, `pandas.DataFrame(model.cv_results_)`, in the form of scikit-learn's searches.
    interrupted_ : bool
        True if the search was interrupted (Ctrl-C); unknown errors are then NaN.
    kernel_, output_kernel_, embedding_, decoder_, solution_, solver_, n_features_in_ :
        As in `IOKR`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKRCV
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = IOKRCV().fit(X, np.sin(X[:, 0]))
    >>> model.kernel_, model.alpha_, model.loo_errors_.shape
    (Standardized(base=RBF(gamma=0.925347)), 1e-06, (19,))
    """

    kernel: Any = None
    _: KW_ONLY
    alphas: Sequence[float] = ALPHAS
    manifold_weights: Sequence[float] | None = None
    cv: Any = None
    output_kernel: Kernel | None = None
    embedding: Embedding | None = None
    loss: Loss | None = None
    manifold: Manifold | None = None
    decoder: Decoder | None = None
    solver: Solver | None = None
    intercept: bool | None = None
    standardize: Any = "auto"

    cv_results_ = cv_results

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, X_unlabeled: Any = None, groups: Any = None
    ) -> IOKRCV:
        """Select and learn h.

        Parameters
        ----------
        X, y, sample_weight, X_unlabeled :
            As in `IOKR.fit`.
        groups : sequence of n names, default=None
            Rows of one group are left out together, in closed form; with an integer `cv` they share a fold.
        """
        self._check_components()
        check_choice(self.standardize, "standardize", ("auto", True, False))
        grid = check_grid(self.kernel, self.manifold_weights, self.alphas, self.manifold)
        source = as_source(X, y)
        if source is not None:
            check_alone(sample_weight, X_unlabeled if groups is None else groups)
            return self._fit_chunks(source, grid)
        rows = check_data(self, X, y, sample_weight, X_unlabeled, grid.kernels[0])
        check_aligned(X, groups, "X", "groups")
        together = None if groups is None else check_groups(groups, n_objects(rows.y), several=True)
        splits = [] if self.cv is None else row_splits(self.cv, n_objects(X), y, together, self.output_kernel)
        n_folds = max(1, len(splits))
        data = self._encode_outputs(rows)
        if self.output_kernel is None and data.outputs.kernel is not None:
            raise ValueError(
                "Selection needs an output kernel in which errors are measured, such as `WeisfeilerLehman()` for "
                "graphs, as `y` does not hold vectors; set `output_kernel`, or choose `alpha` yourself."
            )
        grid = self._with_kernels(grid, rows)
        chosen = self.kernel is None
        progress = begin(self, n_points(grid.axes) * (1 if chosen else n_folds), X=X, y=y)
        kernel_search = None
        if chosen:
            kernel_search, grid = self._best_kernels(rows, grid, together, report(progress, self))
        parts: dict[str, Any] = {"manifold": self.manifold, "solver": self.solver}
        if self.cv is None:
            evaluate = leave_one_out(data, grid, groups=together, shares=chosen, **parts)
        else:
            if data.targets.mask is not None:
                check_observed(data.targets.mask)  # so that errors name rows of y, not rows of a fold
            evaluate = on_folds(self._folds(data, splits, grid), grid, **parts)

        def solve_best(found: SearchResult) -> Fit:
            best = found.best
            return solve(data, best["kernel"], best["alpha"], best["manifold__weight"], **parts)

        tell = None if chosen else report(progress, self)
        rule = OneStandardError() if chosen and self.cv is None else smallest
        found = select(self, grid.axes, evaluate, rule=rule, solve=solve_best, n_folds=n_folds, progress=tell)
        self.kernel_search_ = kernel_search
        self._set_choice(data, found.solution)
        if kernel_search is not None:
            warn_at_end_of_widths(kernel_search, data.targets.n)
        warn_at_ends(found, data.targets.n)
        end(progress, self, X=X, y=y)
        return self

    def _with_kernels(self, grid: Grid, rows: TrainingSet) -> Grid:
        """The grid with the kernels that are searched if none was given, on standardised columns where wanted."""
        if self.kernel is None:
            known, _ = known_rows(rows.X, rows.weight)
            return replace(grid, kernels=kernel_list(known, self.standardize))
        if self.standardize is True:
            return replace(grid, kernels=with_standardized(grid.kernels))
        return grid

    def _best_kernels(
        self, rows: TrainingSet, grid: Grid, groups: np.ndarray | None, progress: Any
    ) -> tuple[SearchResult, Grid]:
        """The search for a kernel, and the grid with those that it leaves."""
        encode = partial(self._encode_outputs, decoder=None)
        searched = replace(grid, manifold_weights=[0.0])
        found, kernels = best_kernels(encode, rows, searched, groups=groups, solver=self.solver, progress=progress)
        if found.interrupted:
            forget_search(self)
            raise KeyboardInterrupt
        return found, replace(grid, kernels=kernels)

    def _fit_chunks(self, source: Any, grid: Grid) -> IOKRCV:
        """Select on rows in chunks: leave-one-out in two passes, or K-fold in one."""
        progress = begin(self, None)
        chunks = partial(track, progress, self, name="chunk")
        evaluate = evaluate_chunks(self, source, grid.kernels, grid.alphas, self._output_parts(), chunks)
        found = select(self, grid.axes, evaluate)
        state, alpha = found.solution
        self._set_choice(*solve_moments(state, alpha, self.solver))
        end(progress, self)
        return self

    def _set_choice(self, data: Data, fit: Fit) -> None:
        """Keep the model at the chosen point."""
        self._set_fit(data, fit)
        self.alpha_ = fit.alpha
        self.manifold_weight_ = fit.manifold_weight

    def _folds(self, data: Data, splits: list[tuple[np.ndarray, np.ndarray]], grid: Grid) -> Iterator[Fold]:
        """The training rows of each fold, their outputs encoded anew, and the weighted errors on the others.

        The weight of a held-out row is its sample weight times the fraction of its entries that are observed.
        """
        rows, mask = data.rows, data.targets.mask
        pairwise = grid.kernels[0].pairwise
        weight = np.ones(data.targets.n) if rows.weight is None else rows.weight
        counted = weight if mask is None else weight * mask.mean(axis=1)
        for train, test in splits:
            part = self._encode_outputs(rows.restrict(train, pairwise=pairwise), decoder=None)
            S = part.outputs.embedding.represent(take(rows.y, test))
            X = square(rows.X, test, train) if pairwise else take(rows.X, test)
            measure = partial(_weighted_error, part.outputs, S, weight[test])
            yield Fold(part, X, measure, float(counted[test].sum()))


def _weighted_error(outputs: FittedOutputs, S: Any, weight: np.ndarray, H: Array) -> float:
    """Σ_i w_i ‖ψ(y_i) − h(x_i)‖²."""
    return float(weight @ to_numpy(outputs.errors(H, S)))
