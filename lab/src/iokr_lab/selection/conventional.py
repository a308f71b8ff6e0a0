"""Conventional models at their defaults and tuned by inner folds, and the grids, for the experiment `defaults`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, ParameterGrid, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC, SVR

from iokr._array import is_sparse
from iokr.metrics import f1_samples
from iokr_lab.label_sets.sets import best_threshold

__all__ = [
    "CLASSIFIERS",
    "GRIDS",
    "LABELLERS",
    "REGRESSORS",
    "SEARCH_ROWS",
    "TUNED_CLASSIFIERS",
    "TUNED_REGRESSORS",
    "Search",
]

Matrix = NDArray[np.float64]
Fitted = tuple[Any, str]  # the model, and the parameters that were chosen
Grid = Mapping[str, Sequence[Any]]

SEARCH_ROWS = 2000  # of kernel models, whose time grows with the cube of the rows; the last fit is on all
MOST_ITERATIONS = 400  # of boosting for numbers
MOST_ITERATIONS_CLASSES = 200  # each has a tree for every class
N_CHAINS = 5
WIDTHS = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0)  # γ in units of 1/p for p standardised columns

RIDGE_ALPHAS = tuple(np.logspace(-3, 4, 15))
KERNEL_RIDGE: Grid = {"alpha": (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0), "gamma": WIDTHS}
SUPPORT: Grid = {"C": (1.0, 10.0, 100.0, 1000.0), "gamma": WIDTHS, "epsilon": (0.01, 0.1, 0.3)}
FOREST: Grid = {"max_features": (1 / 3, 2 / 3, 1.0), "min_samples_leaf": (1, 3, 10)}
BOOSTING: Grid = {"learning_rate": (0.03, 0.1), "max_leaf_nodes": (4, 10, 31), "min_samples_leaf": (5, 20)}
LOGISTIC: Grid = {"C": (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)}
SUPPORT_CLASSES: Grid = {"C": (0.1, 1.0, 10.0, 100.0), "gamma": WIDTHS}
FOREST_CLASSES: Grid = {"max_features": ("sqrt", 1 / 3, 2 / 3), "min_samples_leaf": (1, 3, 10)}
BOOSTING_CLASSES: Grid = {"learning_rate": (0.05, 0.15), "max_leaf_nodes": (4, 31), "min_samples_leaf": (5, 20)}
LABEL_COSTS: Grid = {"C": (0.01, 0.1, 1.0, 10.0)}

GRIDS: tuple[tuple[str, str, Grid], ...] = (
    ("regression", "RidgeCV", {"alpha": RIDGE_ALPHAS}),
    ("regression", "KernelRidge", KERNEL_RIDGE),
    ("regression", "SVR", SUPPORT),
    ("regression", "random forest, tuned", FOREST),
    ("regression", "boosting, tuned", {**BOOSTING, "max_iter": (f"any up to {MOST_ITERATIONS}",)}),
    ("classification", "logistic regression", LOGISTIC),
    ("classification", "SVC", SUPPORT_CLASSES),
    ("classification", "random forest, tuned", FOREST_CLASSES),
    ("classification", "boosting, tuned", {**BOOSTING_CLASSES, "max_iter": (f"any up to {MOST_ITERATIONS_CLASSES}",)}),
    ("label sets", "logistic regression, independent and in chains", LABEL_COSTS),
)


@dataclass(frozen=True)
class Search:
    """How parameters are chosen: inner folds, and whether only every other value of a grid is tried."""

    folds: int
    seed: int
    coarse: bool = False

    def splits(self, y: Any, stratified: bool = False) -> list[tuple[Any, Any]]:
        """Training and test rows of every inner fold."""
        kind = StratifiedKFold if stratified else KFold
        return list(kind(self.folds, shuffle=True, random_state=self.seed).split(y, y))

    def grid(self, grid: Grid) -> dict[str, list[Any]]:
        """The values that are tried."""
        return {name: list(values[::2] if self.coarse else values) for name, values in grid.items()}

    def rows(self, n: int) -> NDArray[np.intp]:
        """Rows on which a kernel model is chosen."""
        if n <= SEARCH_ROWS:
            return np.arange(n)
        return np.sort(np.random.default_rng(self.seed).choice(n, SEARCH_ROWS, replace=False))


def _text(parameters: Mapping[str, Any]) -> str:
    """Names without those of the steps of a pipeline."""
    parts = []
    for name, value in sorted(parameters.items()):
        shown = f"{value:.3g}" if isinstance(value, float) else str(value)
        parts.append(f"{name.rpartition('__')[2]} = {shown}")
    return ", ".join(parts)


def _searched(
    model: Any, grid: Grid, X: Matrix, y: Any, search: Search, scoring: str, rows: NDArray[np.intp] | None = None
) -> Fitted:
    """The parameters with the best score on inner folds, fitted to all rows."""
    part = slice(None) if rows is None else rows
    splits = search.splits(y[part], stratified=scoring != _ERROR)
    found = GridSearchCV(model, search.grid(grid), scoring=scoring, cv=splits, refit=False, n_jobs=1)
    best = found.fit(X[part], y[part]).best_params_
    return clone(model).set_params(**best).fit(X, y), _text(best)


def at_defaults(estimator: Callable[..., Any], X: Matrix, y: Any, search: Search) -> Fitted:
    """An estimator with random numbers, without other arguments."""
    return estimator(random_state=search.seed).fit(X, y), ""


def tuned(estimator: Callable[..., Any], grid: Grid, scoring: str, X: Matrix, y: Any, search: Search) -> Fitted:
    """The same by inner folds."""
    return _searched(estimator(random_state=search.seed), grid, X, y, search, scoring)


_ERROR = "neg_mean_squared_error"


def _named(step: str, grid: Grid, p: int | None = None) -> Grid:
    """The grid with names of a step; γ in units of 1/p."""
    named = {}
    for name, values in grid.items():
        scaled = [value / p for value in values] if name == "gamma" and p is not None else values
        named[f"{step}__{name}"] = scaled
    return named


def _boosted(model: Any, grid: Grid, X: Matrix, y: Any, search: Search, losses: Callable[..., list[float]]) -> Fitted:
    """The parameters and the number of iterations with the smallest loss on inner folds, fitted to all rows."""
    splits = search.splits(y, stratified=isinstance(model, HistGradientBoostingClassifier))
    found = []
    for parameters in ParameterGrid(search.grid(grid)):
        candidate = clone(model).set_params(**parameters)
        curves = [losses(clone(candidate).fit(X[train], y[train]), X[test], y[test]) for train, test in splits]
        curve = np.mean(curves, axis=0)
        n_iter = int(np.argmin(curve)) + 1
        found.append((float(curve[n_iter - 1]), {**parameters, "max_iter": n_iter}))
    _, best = min(found, key=lambda one: one[0])
    return clone(model).set_params(**best).fit(X, y), _text(best)


def _squared_errors(model: Any, X: Matrix, y: Matrix) -> list[float]:
    """After each iteration."""
    return [float(np.mean((values - y) ** 2)) for values in model.staged_predict(X)]


def _log_losses(model: Any, X: Matrix, y: Any) -> list[float]:
    """After each iteration."""
    codes = np.searchsorted(model.classes_, y)
    truth = np.arange(len(y)), codes
    tiny = np.finfo(float).tiny
    return [float(-np.mean(np.log(np.maximum(P[truth], tiny)))) for P in model.staged_predict_proba(X)]


# ---------------------------------------------------------------------------------------------------------- regression


def _standardised(model: Any) -> TransformedTargetRegressor:
    """Columns and response in units of their standard deviations over the training rows."""
    return TransformedTargetRegressor(make_pipeline(StandardScaler(), model), transformer=StandardScaler())


def ridge(X: Matrix, y: Matrix, search: Search) -> Fitted:
    """Linear, with alpha by leave-one-out."""
    model = make_pipeline(StandardScaler(), RidgeCV(RIDGE_ALPHAS)).fit(X, y)
    return model, _text({"alpha": float(model[-1].alpha_)})


def kernel_ridge(X: Matrix, y: Matrix, search: Search) -> Fitted:
    """Gaussian kernel on standardised columns."""
    model = _standardised(KernelRidge(kernel="rbf"))
    grid = _named("regressor__kernelridge", KERNEL_RIDGE, X.shape[1])
    return _searched(model, grid, X, y, search, _ERROR, search.rows(len(y)))


def support(X: Matrix, y: Matrix, search: Search) -> Fitted:
    """Gaussian kernel on standardised columns."""
    grid = _named("regressor__svr", SUPPORT, X.shape[1])
    return _searched(_standardised(SVR()), grid, X, y, search, _ERROR, search.rows(len(y)))


def tuned_boosting(X: Matrix, y: Matrix, search: Search) -> Fitted:
    """By inner folds, the number of iterations among all."""
    model = HistGradientBoostingRegressor(max_iter=MOST_ITERATIONS, early_stopping=False, random_state=search.seed)
    return _boosted(model, BOOSTING, X, y, search, _squared_errors)


REGRESSORS: dict[str, Callable[[Matrix, Any, Search], Fitted]] = {
    "RidgeCV": ridge,
    "KernelRidge": kernel_ridge,
    "SVR": support,
    "random forest": partial(at_defaults, RandomForestRegressor),
    "random forest, tuned": partial(tuned, RandomForestRegressor, FOREST, _ERROR),
    "boosting": partial(at_defaults, HistGradientBoostingRegressor),
    "boosting, tuned": tuned_boosting,
}
TUNED_REGRESSORS = ("RidgeCV", "KernelRidge", "SVR", "random forest, tuned", "boosting, tuned")

# ------------------------------------------------------------------------------------------------------ classification

_LOG_LOSS = "neg_log_loss"


def logistic(X: Matrix, y: Any, search: Search) -> Fitted:
    """On standardised columns."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return _searched(model, _named("logisticregression", LOGISTIC), X, y, search, _LOG_LOSS)


def support_classes(X: Matrix, y: Any, search: Search) -> Fitted:
    """Gaussian kernel on standardised columns, by accuracy; probabilities by Platt's sigmoid on inner folds."""
    model = make_pipeline(StandardScaler(), SVC())
    grid = _named("svc", SUPPORT_CLASSES, X.shape[1])
    best, chosen = _searched(model, grid, X, y, search, "accuracy", search.rows(len(y)))
    splits = search.splits(y, stratified=True)
    return CalibratedClassifierCV(clone(best), cv=splits, ensemble=False).fit(X, y), chosen


def tuned_boosting_classes(X: Matrix, y: Any, search: Search) -> Fitted:
    """By inner folds, the number of iterations among all."""
    model = HistGradientBoostingClassifier(
        max_iter=MOST_ITERATIONS_CLASSES, early_stopping=False, random_state=search.seed
    )
    return _boosted(model, BOOSTING_CLASSES, X, y, search, _log_losses)


CLASSIFIERS: dict[str, Callable[[Matrix, Any, Search], Fitted]] = {
    "logistic regression": logistic,
    "SVC": support_classes,
    "random forest": partial(at_defaults, RandomForestClassifier),
    "random forest, tuned": partial(tuned, RandomForestClassifier, FOREST_CLASSES, _LOG_LOSS),
    "boosting": partial(at_defaults, HistGradientBoostingClassifier),
    "boosting, tuned": tuned_boosting_classes,
}
TUNED_CLASSIFIERS = ("logistic regression", "SVC", "random forest, tuned", "boosting, tuned")

# ---------------------------------------------------------------------------------------------------------- label sets

Labelled = tuple[Matrix, float, str]  # probabilities of labels, the threshold, and the parameters that were chosen


def _logistic(cost: float) -> LogisticRegression:
    return LogisticRegression(C=cost, solver="liblinear")


class _Chains:
    """The mean of the probabilities of chains in random orders."""

    def __init__(self, cost: float, seed: int) -> None:
        self.chains = [ClassifierChain(_logistic(cost), order="random", random_state=seed + i) for i in range(N_CHAINS)]

    def fit(self, X: Any, Y: Matrix) -> _Chains:
        for chain in self.chains:
            chain.fit(X, Y)
        return self

    def predict_proba(self, X: Any) -> Matrix:
        mean: Matrix = np.mean([chain.predict_proba(X) for chain in self.chains], axis=0)
        return mean


def _labels(make: Callable[[float], Any], X: Any, Y: Matrix, X_new: Any, search: Search) -> Labelled:
    """Probabilities, and the threshold: C and the threshold have the largest F1 on inner folds."""
    scaler = MaxAbsScaler() if is_sparse(X) else StandardScaler()
    Z = scaler.fit_transform(X)
    found = []
    for cost in search.grid(LABEL_COSTS)["C"]:
        left_out = np.zeros(Y.shape)
        for train, test in search.splits(Y):
            left_out[test] = make(cost).fit(Z[train], Y[train]).predict_proba(Z[test])
        threshold = float(best_threshold(Y, left_out))
        found.append((f1_samples(Y, left_out > threshold), cost, threshold))
    _, cost, threshold = max(found)
    scores = make(cost).fit(Z, Y).predict_proba(scaler.transform(X_new))
    return scores, threshold, _text({"C": cost, "threshold": threshold})


def independent(X: Any, Y: Matrix, X_new: Any, search: Search) -> Labelled:
    """A model for each label."""
    return _labels(lambda cost: OneVsRestClassifier(_logistic(cost)), X, Y, X_new, search)


def chains(X: Any, Y: Matrix, X_new: Any, search: Search) -> Labelled:
    """A model for each label on the inputs and the labels before it, in random orders."""
    return _labels(lambda cost: _Chains(cost, search.seed), X, Y, X_new, search)


LABELLERS: dict[str, Callable[[Any, Matrix, Any, Search], Labelled]] = {
    "logistic regression": independent,
    "classifier chains": chains,
}
