"""Numbers and vectors of numbers, by kernel ridge with its standard deviation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from iokr._array import array_namespace, asarray_like, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_choice, check_same_length, check_weight
from iokr.data.frames import as_frame, check_aligned, read
from iokr.estimators.outputs import as_outputs
from iokr.estimators.plain.base import PlainModel
from iokr.estimators.progress import with_callbacks
from iokr.estimators.regression.base import left_out_values
from iokr.estimators.search.result import ALPHAS
from iokr.losses.base import Loss
from iokr.operator_kernels.base import OperatorKernel
from iokr.solvers.base import Solver

__all__ = ["IOKRRegressor"]


@component
class IOKRRegressor(RegressorMixin, PlainModel):  # type: ignore[misc]
    """h(x) = Yᵀ(K + αI)⁻¹k_x and its standard deviation: `IOKR` on numbers, as a regressor.

    With a number as `alpha` and the square loss this is `sklearn.kernel_ridge.KernelRidge`. `model_` is the `IOKR`
    inside, with all that it can do.

    Parameters
    ----------
    kernel : Kernel, OperatorKernel, or (with `alpha=None`) a list of them, default=None
        On the inputs. None searches `RBF` at seven widths about the median distance, `Laplacian` at five and `Linear`,
        as `IOKRCV` does; with an `alpha` it is `RBF()` with the median width.
    alpha : float, default=None
        λ > 0: larger shrinks h more. None takes the one among `alphas` with the smallest leave-one-out error, in closed
        form: a regressor without a tuned alpha is seldom what is wanted, and the search costs little more than a fit.
    alphas : sequence of float
        What is searched; 19 values from 1e-6 to 1e3 by default.
    cv : int, splitter or None, default=None
        How alpha is chosen: None is leave-one-out, for the square loss; K-fold for others.
    loss, solver, intercept :
        As in `IOKR`; with an intercept, the default, h(x) far from all inputs is a mean of y, and not 0 as with
        `KernelRidge`.
    standardize : {"auto", True, False}, default="auto"
        Whether the kernel acts on `Standardized` columns; "auto" is where none is given and X is a dense matrix.

    Attributes
    ----------
    alpha_ : float
    scale_ : array of shape (q,), or float
        σ̂ of `return_std`; for the square loss.
    model_ : IOKR or IOKRCV
        `model_.cv_results_` has the search.
    kernel_, solver_, n_features_in_, feature_names_in_ :
        As in `IOKR`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKRRegressor
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = IOKRRegressor().fit(X, np.sin(X[:, 0]) + np.random.default_rng(0).normal(size=40) / 10)
    >>> mean, std = model.predict([[1.5], [9.0]], return_std=True)
    >>> mean.round(2), std.round(2)
    (array([0.93, 0.17]), array([0.07, 0.78]))
    """

    kernel: Any = None
    _: KW_ONLY
    alpha: float | None = None
    alphas: Sequence[float] = ALPHAS
    cv: Any = None
    loss: Loss | None = None
    solver: Solver | None = None
    intercept: bool | None = None
    standardize: Any = "auto"

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> IOKRRegressor:
        """Learn h.

        Parameters
        ----------
        X : array, sparse matrix, frame, or sequence of n objects that the kernel takes
        y : array of shape (n,) or (n, q), or a frame
            NaN entries are missing.
        sample_weight : array of shape (n,), default=None
            A weight of 2 is the row twice.
        """
        self._fit_inner(X, y, sample_weight)
        return self

    def _finish(self, sample_weight: Any) -> None:
        """σ̂² = (1/n) Σ_i r_i c_i for every output, r_i = y_i − h₋ᵢ(x_i); one for all where an operator mixes them.

        The variance of y_i without row i is σ²/[(K + αI)⁻¹]_ii = σ² r_i/c_i, so these are the squares of leave-one-out
        residuals in its units.
        """
        self.__dict__.pop("scale_", None)
        model = self.model_
        if not model.loss_.quadratic or model.projected:
            return
        targets, C = model.targets_, to_numpy(model.solution_.C)
        Psi = to_numpy(targets.Psi)
        seen = np.ones(Psi.shape) if targets.mask is None else np.array(targets.mask, dtype=float)
        if targets.weight is not None:
            seen *= (np.asarray(targets.weight) > 0)[:, None]
        residuals = np.where(seen > 0, Psi - to_numpy(left_out_values(model)), 0.0)
        squares = residuals * C
        if isinstance(self.kernel_, OperatorKernel):
            self.scale_ = float(np.sqrt(max(squares.sum(), 0.0) / seen.sum()))
        else:
            self.scale_ = np.sqrt(np.clip(squares.sum(axis=0), 0.0, None) / np.maximum(seen.sum(axis=0), 1.0))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """h(x), in the form of y at fit: numbers, rows, or a frame with its columns and the index of X.

        Parameters
        ----------
        X : array or sequence of m objects
        return_std : bool, default=False
            The standard deviation of a new y at x, too: σ̂ √(k(x, x) − k_xᵀ(K + αI)⁻¹k_x + α), noise included, h as a
            Gaussian process with noise of variance σ̂²α; σ̂ such that leave-one-out residuals have unit variance in
            these units. For the square loss. Nothing is guaranteed of the intervals that it gives (`Conformal`).
        """
        check_is_fitted(self)
        found = self.model_.predict(X)
        if not check_choice(return_std, "return_std", (True, False)):
            return found
        variance = self.model_.variance(X)  # refuses other losses
        xp = array_namespace(variance)
        columns = xp.sqrt(variance + self.alpha_)
        columns = columns[:, None] if len(columns.shape) == 1 else columns
        std = columns * asarray_like(np.atleast_1d(self.scale_), columns)[None, :]
        std = self.model_._cast(xp.reshape(std, tuple(found.shape)))
        return found, as_frame(std, self.model_.outputs_.frame, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² = 1 − Σ(y − ŷ)² / Σ(y − mean)², the mean over the columns of y, as scikit-learn's regressors have it.

        Parameters
        ----------
        X : array or sequence of m objects
        y : array of shape (m,) or (m, q), or a frame
        sample_weight : array of shape (m,), default=None
        """
        check_is_fitted(self)
        check_aligned(X, y)
        truth = to_numpy(as_outputs(y, None))
        weight = check_weight(sample_weight, check_same_length(X, truth), X)
        from sklearn.metrics import r2_score

        return float(r2_score(truth, to_numpy(read(self.model_.predict(X), matrix=True)), sample_weight=weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
