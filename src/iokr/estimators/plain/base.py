"""What `IOKRClassifier` and `IOKRRegressor` share: the model inside them, which does the work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array
from iokr.estimators.base import KernelModel
from iokr.estimators.inputs import copy_features
from iokr.estimators.progress import CallbackSupportMixin, begin, end, inside
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.estimators.search.kernels import default_kernel
from iokr.losses.base import Loss
from iokr.solvers.base import Solver

__all__ = ["PlainModel"]


class PlainModel(CallbackSupportMixin, KernelModel):  # type: ignore[misc]
    """An `IOKR` at a given alpha, or an `IOKRCV` that chooses it: `model_` has everything else that they can do."""

    kernel: Any
    alpha: float | None
    alphas: Sequence[float]
    cv: Any
    loss: Loss | None
    solver: Solver | None
    intercept: bool | None
    standardize: Any

    model_: IOKR | IOKRCV

    def _inner(self, X: Any = None) -> IOKR | IOKRCV:
        """The model that is fitted to X."""
        shared: dict[str, Any] = {"loss": self.loss, "solver": self.solver, "intercept": self.intercept}
        if self.alpha is None:
            return IOKRCV(self.kernel, alphas=self.alphas, cv=self.cv, standardize=self.standardize, **shared)
        return IOKR(default_kernel(self.kernel, self.standardize, X), alpha=self.alpha, **shared)

    def _fit_inner(self, X: Any, y: Any, sample_weight: Any) -> None:
        progress = begin(self, 1, X=X, y=y)
        model = self._inner(X)
        with inside(progress, self, model):
            model.fit(X, y, sample_weight=sample_weight)
        self.model_, self.kernel_, self.solver_ = model, model.kernel_, model.solver_
        self.alpha_ = model.alpha_ if isinstance(model, IOKRCV) else float(model.alpha)
        copy_features(model, self)
        self._finish(sample_weight)
        end(progress, self, X=X, y=y)

    def _finish(self, sample_weight: Any) -> None:
        """What else is learned, from the model that was fitted. May be overridden."""

    def _values(self, X: Any) -> Array:
        """h(x), (m, q)."""
        check_is_fitted(self)
        return self.model_.decision_function(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._inner()).input_tags
        tags.target_tags.required = True
        return tags
