"""Selection of strategy, mix, kernel and alpha of a pair model: leaving out pairs in closed form, or warm folds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, is_array, to_numpy
from iokr._component import Limits, component
from iokr._validation.arguments import FLAG, check_folds, check_same_length, one_of
from iokr.data.frames import check_aligned
from iokr.estimators.areas import SCORINGS, AreaRule, areas_by_name
from iokr.estimators.base import KernelModel
from iokr.estimators.inputs import copy_features
from iokr.estimators.pairs.model import PairModel, choose_strategy
from iokr.estimators.progress import CallbackSupportMixin, begin, end, report, with_callbacks
from iokr.estimators.regression.evaluate import check_grid
from iokr.estimators.search.engine import Part, cv_results, n_points, select
from iokr.estimators.search.result import ALPHAS, Axis, SearchResult, check_values, listed
from iokr.losses.base import Loss
from iokr.solvers.base import Solver

__all__ = ["PairModelCV"]

Split = tuple[np.ndarray, np.ndarray]
LabeledPairs = tuple[Any, np.ndarray, np.ndarray, Any]  # X, pairs, y, sample_weight

_DIGITS = 9  # scores that are equal up to rounding are ties: kernels leave many pairs exactly equal


@component
class PairModelCV(CallbackSupportMixin, KernelModel):  # type: ignore[misc]
    """argmax over strategy, δ, kernel and α of the AUC of f₋ₚ(p) over the training pairs p: `PairModel`, chosen.

    For ridge every pair is left out in closed form, from one eigendecomposition for all alphas, (2n)³ flops for n pairs
    and both orders; `cv=5` takes folds of pairs instead, for any loss, each alpha started from the one before. Pairs
    left out share their nodes with pairs that stay, so the scores are those of new pairs of known nodes: for new nodes
    they are optimistic.

    Parameters
    ----------
    kernel : Kernel, or a list of them, default=None
        As in `PairModel`; a list is searched.
    strategies : sequence of {"kernel", "duplicate", "local"}
    mixes : sequence of float
        Values of δ; without effect on "local".
    alphas : sequence of float
        Values of λ; 19 from 1e-6 to 1e3 by default.
    loss, solver :
        As in `PairModel`.
    scoring : {"roc_auc", "average_precision", "both"}, default="roc_auc"
        "both" maximises the logistic mean of the two areas, as in `LinkPredictorCV`.
    cv : int, splitter of pairs, iterable of splits, or None, default=None
        None is leave-one-out in closed form (ridge); an integer is stratified K-fold.
    refit : bool, default=True
        Whether to learn from all pairs with what was chosen.

    Attributes
    ----------
    strategy_, mix_, alpha_ :
        What was chosen; with `refit`, `kernel_` fitted.
    scores_ : array
        Axes strategy × mix × kernel × alpha, axes of length one dropped.
    areas_ : dict of str to array
        "roc_auc" and "average_precision" at the same indices.
    search_ : SearchResult
        The scores on named axes, all of them kept, those of each fold, and the choice.
    best_index_ : tuple of int
        Index of the largest score, the first of equal ones.
    cv_results_ : dict
        The scores as a table, `pandas.DataFrame(model.cv_results_)`, in the form of scikit-learn's searches.
    interrupted_ : bool
        True if the search was interrupted (Ctrl-C); unknown scores are then NaN.
    model_ : PairModel
        With what was chosen; fitted with `refit`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import PairModelCV
    >>> X = np.repeat([0.0, 1.0], 6)[:, None]  # two groups; a pair is linked within one
    >>> pairs = np.array([(i, j) for i in range(12) for j in range(i) if (i + j) % 3])
    >>> y = X[pairs[:, 0], 0] == X[pairs[:, 1], 0]
    >>> model = PairModelCV(strategies=("kernel", "local"), mixes=(0.0, 1.0), alphas=(0.1, 1.0)).fit(X, pairs, y)
    >>> model.strategy_, model.mix_, model.scores_.shape
    ('kernel', 0.0, (2, 2, 2))
    >>> model.predict([[0, 1], [0, 11]])
    array([ True, False])
    """

    kernel: Any = None
    _: KW_ONLY
    strategies: Sequence[str] = ("kernel",)
    mixes: Sequence[float] = (0.0,)
    alphas: Sequence[float] = ALPHAS
    loss: Loss | None = None
    scoring: str = "roc_auc"
    cv: Any = None
    solver: Solver | None = None
    refit: bool = True

    limits: ClassVar[Limits] = {"scoring": one_of(*SCORINGS), "refit": FLAG}
    cv_results_ = cv_results

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, pairs: Any, y: Any, sample_weight: Any = None) -> PairModelCV:
        """Select, and learn f; arguments as in `PairModel.fit`, y of two labels."""
        self._check_components()
        axes = self._axes()
        check_aligned(pairs, y, "pairs")
        pairs, labels = (to_numpy(part) if is_array(part) else np.asarray(part) for part in (pairs, y))
        check_same_length(pairs, labels, "pairs")
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        classes = np.unique(labels)
        if len(classes) != 2:
            raise ValueError(f"Areas under curves need two different labels in `y`, got {len(classes)}.")
        splits = [] if self.cv is None else list(self._splits(pairs, labels))
        n_folds = max(1, len(splits))
        data = X, pairs, labels, sample_weight
        progress = begin(self, n_points(axes) * n_folds, X=X, y=y)
        found = select(
            self,
            axes,
            self._evaluate(axes, data, labels == classes[1], splits),
            rule=AreaRule(self.scoring, "best"),
            solve=partial(self._solve_best, data),
            n_folds=n_folds,
            progress=report(progress, self),
        )
        self.strategy_, self.mix_, self.alpha_ = found.best["strategy"], found.best["mix"], found.best["alpha"]
        self.model_: PairModel = found.solution
        if self.refit:
            self.kernel_ = self.model_.kernel_
            copy_features(self.model_, self)
        end(progress, self, X=X, y=y)
        return self

    def _axes(self) -> tuple[Axis, ...]:
        """What is searched, checked, by its names in `PairModel`."""
        strategies = listed(self.strategies, "strategies")
        mixes = check_values(self.mixes, "mixes", strict=False)
        for strategy, mix in itertools.product(strategies, mixes):
            choose_strategy(strategy, 0.0 if strategy == "local" else mix)
        grid = check_grid(self.kernel, None, self.alphas, None)
        return (
            Axis("strategy", strategies),
            Axis("mix", mixes),
            Axis("kernel", grid.kernels),
            Axis("alpha", grid.alphas),
        )

    def _model(self, strategy: str, mix: float, kernel: Any) -> PairModel:
        mix = 0.0 if strategy == "local" else mix
        return PairModel(kernel, strategy=strategy, mix=mix, loss=self.loss, solver=self.solver)

    def _solve_best(self, data: LabeledPairs, found: SearchResult) -> PairModel:
        """The chosen model, fitted to all pairs with `refit`; other losses start warm, from the larger alphas down."""
        X, pairs, y, weight = data
        best = found.best
        model = self._model(best["strategy"], best["mix"], best["kernel"])
        model.set_params(alpha=best["alpha"])
        if not self.refit:
            return model
        path = [best["alpha"]]
        if model.loss is not None and not model.loss.quadratic:
            path = sorted((alpha for alpha in found.axes[-1].values if alpha > best["alpha"]), reverse=True) + path
        *_, model = model.path(X, pairs, y, path, weight)
        return model

    def _evaluate(
        self, axes: Sequence[Axis], data: LabeledPairs, linked: np.ndarray, splits: list[Split]
    ) -> Iterator[Part]:
        """Both areas at every point of the grid."""
        strategies, mixes, kernels, alphas = (axis.values for axis in axes)
        for i, strategy in enumerate(strategies):
            groups = [[j] for j in range(len(mixes))]
            if strategy == "local":  # without effect there: one model for every mix
                groups = [list(range(len(mixes)))]
            for group, (k, kernel) in itertools.product(groups, enumerate(kernels)):
                model = self._model(strategy, mixes[group[0]], kernel)
                for fold, a, areas in self._areas(model, alphas, data, linked, splits):
                    for j in group:
                        yield Part((i, j, k, a), areas, fold)

    def _areas(
        self, model: PairModel, alphas: Sequence[float], data: LabeledPairs, linked: np.ndarray, splits: list[Split]
    ) -> Iterator[tuple[int | None, int, dict[str, float]]]:
        """(fold, number of the alpha, both areas) of one model; without splits by leaving out pairs in closed form."""
        X, pairs, y, weight = data
        if not splits:
            for a, f in enumerate(model.loo_path(X, pairs, y, alphas, weight)):
                yield None, a, areas_by_name(linked, _rounded(np.nan_to_num(f)))
            return
        order = sorted(range(len(alphas)), key=lambda a: -alphas[a])
        for fold, (train, test) in enumerate(splits):
            part = None if weight is None else np.asarray(weight)[train]
            known = np.ones(len(test), dtype=bool)
            if model.strategy == "local":  # two nodes without a local model have no score
                known = np.asarray(np.isin(pairs[test], pairs[train]).any(axis=1))
            fitted = model.path(X, pairs[train], y[train], [alphas[a] for a in order], part)
            for a, one in zip(order, fitted, strict=True):
                f = np.zeros(len(test))
                f[known] = to_numpy(one.decision_function(pairs[test][known]))
                yield fold, a, areas_by_name(linked[test], _rounded(f))

    def _splits(self, pairs: np.ndarray, y: np.ndarray) -> Iterator[Split]:
        """Training pairs and held-out pairs of each fold; both labels occur in both."""
        for train, test in check_folds(self.cv, len(pairs), y, classifier=True):
            for part in (train, test):
                if len(np.unique(y[part])) < 2:
                    raise ValueError("A fold of `cv` has pairs of one label only; use fewer folds, or more pairs.")
            yield train, test

    @property
    def pairs_(self) -> np.ndarray:
        """The distinct pairs, smaller number first."""
        return self.model_.pairs_

    @property
    def classes_(self) -> np.ndarray:
        """The two labels."""
        return self.model_.classes_

    def decision_function(self, pairs: Any, X: Any = None) -> Array:
        """f({a, b}), as in `PairModel`."""
        check_is_fitted(self)
        return self.model_.decision_function(pairs, X)

    def predict(self, pairs: Any, X: Any = None) -> Array:
        """The label on the side of f({a, b}), as in `PairModel`."""
        check_is_fitted(self)
        return self.model_.predict(pairs, X)

    def score(self, X: Any, pairs: Any, y: Any) -> float:
        """The area under the ROC curve, as in `PairModel`."""
        check_is_fitted(self)
        return self.model_.score(X, pairs, y)


def _rounded(f: np.ndarray) -> np.ndarray:
    """Scores in units of the largest, to nine digits."""
    return np.round(f / max(float(np.abs(f).max()), float(np.finfo(float).tiny)), _DIGITS)
