"""Link prediction with the protocols of the papers: folds over nodes, parameters chosen on the training part, curves.

Nodes are indices of a Gram matrix that is computed once; methods are estimators with `fit(X, adjacency, labeled)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from iokr.apps.links.baselines import PKMR, Naive
from iokr.apps.report import CLASSES, MUTED, OURS, Figure, Spread, plot
from iokr.apps.report.figures import Canvas
from iokr.estimators.areas import both_areas
from iokr.estimators.links.predictor import LinkPredictor
from iokr.estimators.pairs.links import PairLinkPredictor
from iokr.metrics import pair_metrics
from iokr.metrics.curves import GRID, Curves
from iokr.model_selection import NodeKFold
from iokr_lab.baselines import OK3, TPPK, EMCompletion, KernelCCA, KernelMetricLearning, LocalModels
from iokr_lab.baselines.classifier import PairClassifier
from iokr_lab.lookup import Lookup
from iokr_lab.study import Case, Plan
from iokr_lab.timing import timed

Matrix = NDArray[np.float64]
IOKR_RIDGE = "IOKR-ridge"
OK3_ET = "OK3+ET"
BOOSTING = "Gradient boosting on pairs"
PAIR_MODEL = "PairModel, δ = ½"
SLOW = ("kCCA", "kML", "Local", "TPPK by SVM")  # methods whose parameters are chosen on one inner fold
MEASURES = {"roc_auc": "ROC", "average_precision": "PR"}
BOTH = "both"


@dataclass(frozen=True)
class LinkPlan(Plan):
    """Fractions of labelled nodes, values of β for ridge, number of trees, maximal number of candidates per method."""

    fractions: tuple[float, ...] = (0.05, 0.1, 0.2)
    betas: tuple[float, ...] = (0.3, 1.0, 3.0)
    n_trees: int = 100
    candidates: int | None = None


@dataclass(frozen=True)
class Fold(Case):
    """A method with one input kernel on one of five folds of nodes."""

    method: str
    view: str
    split: int
    fold: int


def measures_of(truth: Any, scores: Any, where: Any = None) -> dict[str, float]:
    """Areas under the ROC and the PR curve in percent."""
    metrics = pair_metrics(truth, scores, where=where)
    return {name: 100 * metrics[name] for name in MEASURES}


def scored(truth: Any, scores: Any) -> dict[str, Any]:
    """Both areas and both curves."""
    curves = Curves.of(truth, scores)
    return {**measures_of(truth, scores), "found": curves.roc, "precision": curves.precision}


def known_new(model: Any, K: Matrix, W: Any, train: NDArray[Any], test: NDArray[Any]) -> tuple[Matrix, float]:
    """Scores of test × training nodes and processor seconds; a model without a kernel gets K."""
    model = clone(model)
    if model.kernel is None:
        model.set_params(kernel=Lookup(K))
    _, scores, seconds = fitted_scores(model, W, train, test)
    return scores, seconds


def fitted_scores(model: Any, W: Any, train: NDArray[Any], test: NDArray[Any]) -> tuple[Any, Matrix, float]:
    """A model on node indices fitted to the training nodes, its scores of test × training nodes, processor seconds."""

    def fit_and_score() -> tuple[Any, Matrix]:
        fitted = model.fit(np.arange(len(W)), W, labeled=train)
        return fitted, fitted.decision_function(test)[:, train]

    (fitted, scores), seconds = timed(fit_and_score)
    return fitted, scores, seconds


def best(
    candidates: Sequence[Any], K: Matrix, W: Matrix, train: NDArray[Any], folds: Iterable[tuple[Any, Any]]
) -> dict[str, Any]:
    """The candidates with the largest mean ROC, mean PR, and product of odds, on test × training pairs of the folds."""
    if len(candidates) == 1:
        return dict.fromkeys((*MEASURES, BOTH), candidates[0])
    totals = {name: np.zeros(len(candidates)) for name in MEASURES}
    used = 0
    for inner, held_out in folds:
        truth = W[np.ix_(train[held_out], train[inner])].ravel()
        if not truth.any() or not W[np.ix_(train[inner], train[inner])].any():
            continue  # no link to predict or to learn from
        used += 1
        for i, candidate in enumerate(candidates):
            scores, _ = known_new(candidate, K, W, train[inner], train[held_out])
            for name, value in measures_of(truth, scores.ravel()).items():
                totals[name][i] += value
    areas = {name: total / (100 * max(used, 1)) for name, total in totals.items()}
    criteria = areas | {BOTH: both_areas(**areas)}
    return {name: candidates[int(np.argmax(values))] for name, values in criteria.items()}


def cross_validated(
    candidates: Sequence[Any],
    K: Matrix,
    W: Matrix,
    train: NDArray[Any],
    test: NDArray[Any],
    folds: Any,
    criteria: Sequence[str] = tuple(MEASURES),
) -> dict[str, Any]:
    """Choose on the training nodes, fit to all of them, and score test × training pairs.

    With two criteria, each measure evaluates the model chosen by it; with one, both measures evaluate the same model.
    Curves and seconds are those of the first criterion.
    """
    chosen = best(candidates, K, W, train, folds)
    truth = W[np.ix_(test, train)].ravel()
    scores, seconds = known_new(chosen[criteria[0]], K, W, train, test)
    cell = scored(truth, scores.ravel())
    for name in criteria[1:]:
        if chosen[name] is not chosen[criteria[0]]:
            other, _ = known_new(chosen[name], K, W, train, test)
            cell[name] = measures_of(truth, other.ravel())[name]
    return {**cell, "seconds": seconds}


def nodes_of(n: int, split: int, fold: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Training and test nodes of one of the five folds of a random split."""
    return list(NodeKFold(5, random_state=split).split(np.arange(n)))[fold]


def five_fold(
    case: Fold, candidates: Sequence[Any], K: Matrix, W: Matrix, seed: int, criteria: Sequence[str] = tuple(MEASURES)
) -> dict[str, Any]:
    """A method on one of five folds, its parameters chosen by four folds of the training nodes; slow methods by one."""
    split = seed + case.split
    train, test = nodes_of(len(K), split, case.fold)
    folds = list(NodeKFold(4, random_state=split).split(train))
    if case.method in SLOW:
        folds = folds[:1]
    return cross_validated(candidates, K, W, train, test, folds, criteria)


def five_fold_methods(candidates: int | None = None) -> dict[str, list[Any]]:
    """The methods that the papers compare, with their candidates; names as in the tables."""
    methods: dict[str, list[Any]] = {
        "Naive": [Naive()],
        "kCCA": [KernelCCA(kappa_x=kappa, n_components=d) for kappa in (0.1, 1.0) for d in (20, 60)],
        "kML": [KernelMetricLearning(alpha=alpha, n_components=d) for alpha in (1.0, 10.0) for d in (20, 60)],
        "Local": [LocalModels(alpha=alpha) for alpha in (1.0, 0.1)],
        "Local by ridge": [LocalModels(loss="square", alpha=alpha) for alpha in (0.03, 0.3)],
        "TPPK by ridge": [TPPK(alpha=alpha, unlinked=0.0) for alpha in (0.1, 0.3, 1.0)],
        PAIR_MODEL: [PairLinkPredictor(mix=0.5, alpha=alpha) for alpha in (0.1, 1.0)],
        "EM": [EMCompletion(alpha=alpha) for alpha in (0.1, 0.3, 1.0, 3.0)],
        "PKMR": [PKMR(alpha=alpha) for alpha in (0.1, 0.3, 1.0, 3.0)],
        IOKR_RIDGE: [LinkPredictor(alpha=alpha) for alpha in (0.03, 0.1, 0.3, 1.0, 3.0)],
    }
    return {name: grid[:candidates] for name, grid in methods.items()}


def trees(features: Any, plan: LinkPlan) -> dict[str, list[Any]]:
    """Output-kernel extra-trees on the features of the nodes, √p features per split, as no paper gives their number."""
    return {OK3_ET: [OK3(features=features, n_estimators=plan.n_trees, random_state=plan.seed)]}


def boosting(features: Any, plan: LinkPlan) -> dict[str, list[Any]]:
    """scikit-learn's histogram gradient boosting on symmetric features of pairs."""
    return {BOOSTING: [PairClassifier(features=features, random_state=plan.seed)]}


# ----------------------------------------------------------------------------------------------- tables and figures


def spread(values: Iterable[float]) -> Spread:
    """A percentage with one decimal."""
    return Spread.of(values, digits=1)


def prevalence(W: Matrix) -> float:
    """The fraction of linked pairs."""
    return float(W.sum() / (len(W) * (len(W) - 1)))


def mean_curves(cells: Iterable[Mapping[str, Any]]) -> Curves:
    """The mean of the curves in cells."""
    return Curves.mean(Curves(np.array(cell["found"]), np.array(cell["precision"])) for cell in cells)


def curves_figure(curves: Mapping[str, Curves], prevalence: float, caption: str, ours: str = IOKR_RIDGE) -> Figure:
    """ROC and precision-recall curves, one above the other for narrow screens; ours is highlighted."""
    styles = ("-", "--", "-.", ":", "-")  # combined with eight colours, every line is different
    others = [name for name in curves if name != ours]

    def look(name: str) -> dict[str, Any]:
        if name == ours:
            return {"color": OURS, "linewidth": 2.2, "zorder": 3}
        i = others.index(name)
        return {"color": CLASSES[i % len(CLASSES)], "linewidth": 1.2, "linestyle": styles[i % len(styles)]}

    def draw(canvas: Canvas) -> None:
        roc, precision = canvas.subplots(2, 1)
        for name, curve in curves.items():
            roc.plot(100 * GRID, 100 * curve.roc, **look(name), label=name)
            precision.plot(100 * GRID, 100 * curve.precision, **look(name))
        roc.plot([0, 100], [0, 100], color=MUTED, linewidth=0.6)
        precision.axhline(100 * prevalence, color=MUTED, linewidth=0.6)
        roc.set(xlabel="false alarms, %", ylabel="links found, %", xlim=(0, 100), ylim=(0, 100))
        precision.set(xlabel="links found, %", ylabel="precision, %", xlim=(0, 100), ylim=(0, 100))
        canvas.legend(loc="outside upper center", ncols=2)

    return plot(draw, caption=caption, size=(4.8, 7.4))
