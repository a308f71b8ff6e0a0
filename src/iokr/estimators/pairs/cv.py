"""Selection of strategy, mix, kernel and alpha of a pair model: leaving out pairs in closed form, or warm folds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, is_array, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_choice, check_folds, check_same_length
from iokr.estimators.areas import AREAS, SCORINGS, areas_of, score_of
from iokr.estimators.base import KernelModel
from iokr.estimators.pairs.model import PairModel, choose_strategy
from iokr.estimators.progress import CallbackSupportMixin, begin, end, track, with_callbacks
from iokr.estimators.regression.selection import ALPHAS, best_of, check_grid, check_values, drop_single_axes
from iokr.estimators.search.tally import Searching, Tally
from iokr.losses.base import Loss
from iokr.solvers.base import Solver

__all__ = ["PairModelCV"]

_DIGITS = 9  # scores that are equal up to rounding are ties: kernels leave many pairs exactly alike


@component
class PairModelCV(Searching, CallbackSupportMixin, KernelModel):  # type: ignore[misc]
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
    best_index_ : tuple of int
        Index of the largest score, the first of equal ones.
    cv_results_ : dict
        The scores as a table, `pandas.DataFrame(model.cv_results_)`, in the form of scikit-learn's searches.
    interrupted_ : bool
        True when Ctrl-C ended the search: the scores so far are kept, NaN where there are none yet.
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

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, pairs: Any, y: Any, sample_weight: Any = None) -> PairModelCV:
        """Select, and learn f; arguments as in `PairModel.fit`, y of two labels."""
        check_choice(self.scoring, "scoring", SCORINGS)
        check_choice(self.refit, "refit", (True, False))
        self._check_components()
        strategies = _listed(self.strategies, "strategies")
        mixes = check_values(self.mixes, "mixes", strict=False)
        for strategy, mix in itertools.product(strategies, mixes):
            choose_strategy(strategy, 0.0 if strategy == "local" else mix)
        grid = check_grid(self.kernel, None, self.alphas, None)
        given, labels = (to_numpy(part) if is_array(part) else np.asarray(part) for part in (pairs, y))
        check_same_length(given, labels, "pairs")
        labels = labels.reshape(len(labels), -1)[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
        classes = np.unique(labels)
        if len(classes) != 2:
            raise ValueError(f"Areas under curves need two different labels in `y`, got {len(classes)}.")
        linked = labels == classes[1]
        axes = {"strategy": strategies, "mix": mixes, "kernel": grid.kernels, "alpha": grid.alphas}
        tally = Tally(axes, "scores_", larger=True)
        splits = None if self.cv is None else list(self._splits(given, labels))
        data = X, given, labels, sample_weight
        areas = np.empty((1 if splits is None else len(splits), 2, *tally.shape))
        progress = begin(self, areas[0, 0, ..., 0].size, X=X, y=y)
        with self._searching(tally):
            for _ in splits or ():
                tally.fold(1.0)
            kept = tally.splits or [tally.values]
            for i, j, k in track(progress, self, np.ndindex(areas.shape[2:-1]), name="model"):
                if strategies[i] == "local" and j:
                    areas[:, :, i, j, k] = areas[:, :, i, 0, k]
                else:
                    model = self._model(strategies[i], mixes[j], grid.kernels[k])
                    areas[:, :, i, j, k] = self._areas(model, grid.alphas, data, linked, splits)
                for part, found in zip(kept, areas[:, :, i, j, k], strict=True):
                    part[i, j, k] = score_of(self.scoring, found)
        areas = areas.mean(axis=0)
        self._keep_search(tally, score_of(self.scoring, areas))
        index = best_of(-score_of(self.scoring, areas))
        i, j, k, a = index
        self.strategy_, self.mix_, self.alpha_ = strategies[i], mixes[j], grid.alphas[a]
        self.scores_, self.best_index_ = drop_single_axes(score_of(self.scoring, areas), index)
        both = (drop_single_axes(values, index)[0] for values in areas)
        self.areas_ = dict(zip(AREAS, both, strict=True))
        self.model_ = self._model(self.strategy_, self.mix_, grid.kernels[k])
        self.model_.set_params(alpha=self.alpha_)
        if self.refit:
            larger = sorted((alpha for alpha in grid.alphas if alpha > self.alpha_), reverse=True)
            warm = [] if self.model_.loss is None or self.model_.loss.quadratic else larger
            *_, self.model_ = self.model_.path(X, given, labels, [*warm, self.alpha_], sample_weight)
            self.kernel_ = self.model_.kernel_
            if hasattr(self.model_, "n_features_in_"):
                self.n_features_in_ = self.model_.n_features_in_
        end(progress, self, X=X, y=y)
        return self

    def _model(self, strategy: str, mix: float, kernel: Any) -> PairModel:
        mix = 0.0 if strategy == "local" else mix
        return PairModel(kernel, strategy=strategy, mix=mix, loss=self.loss, solver=self.solver)

    def _areas(
        self,
        model: PairModel,
        alphas: list[float],
        data: tuple[Any, np.ndarray, np.ndarray, Any],
        linked: np.ndarray,
        splits: list[tuple[np.ndarray, np.ndarray]] | None,
    ) -> np.ndarray:
        """Both areas along the path of a model, (1 or folds, 2, alphas)."""
        X, pairs, y, weight = data
        if splits is None:
            paths = model.loo_path(X, pairs, y, alphas, weight)
            return np.array([areas_of(linked, _rounded(np.nan_to_num(f))) for f in paths]).T[None]
        found = np.empty((len(splits), 2, len(alphas)))
        order = sorted(range(len(alphas)), key=lambda a: -alphas[a])
        for number, (train, test) in enumerate(splits):
            part = None if weight is None else np.asarray(weight)[train]
            known = np.ones(len(test), dtype=bool)
            if model.strategy == "local":  # of two nodes without a local model nothing is known
                known = np.asarray(np.isin(pairs[test], pairs[train]).any(axis=1))
            fitted = model.path(X, pairs[train], y[train], [alphas[a] for a in order], part)
            for a, one in zip(order, fitted, strict=True):
                f = np.zeros(len(test))
                f[known] = to_numpy(one.decision_function(pairs[test][known]))
                found[number, :, a] = areas_of(linked[test], _rounded(f))
        return found

    def _splits(self, pairs: np.ndarray, y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs to learn from, and pairs to score; both labels are in each."""
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


def _listed(values: Any, name: str) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise TypeError(f"`{name}` must be a sequence, got {values!r:.60}.")
    if not values:
        raise ValueError(f"`{name}` is empty; give at least one.")
    return list(values)


def _rounded(f: np.ndarray) -> np.ndarray:
    """Scores in units of the largest, to nine digits."""
    return np.round(f / max(float(np.abs(f).max()), float(np.finfo(float).tiny)), _DIGITS)
