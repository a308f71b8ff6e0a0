"""Link prediction as the papers ran it: folds over nodes, parameters chosen on the training part, curves.

Nodes are rows of a Gram matrix that is computed once; methods are estimators with `fit(X, adjacency, labeled)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from iokr._component import component
from iokr.estimators.links.cv import both_areas
from iokr.estimators.links.predictor import LinkPredictor
from iokr.kernels.base import Kernel
from iokr.metrics import pair_metrics
from iokr.metrics.curves import GRID, Curves
from iokr.model_selection import NodeKFold
from iokr.report import CLASSES, MUTED, OURS, Figure, Spread, Table, plot
from iokr.rivals import OK3, PKMR, TPPK, EMCompletion, KernelCCA, KernelMetricLearning, LocalModels, Naive
from iokr.rivals.pairs import PairLinks

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = [
    "BOTH",
    "IOKR_RIDGE",
    "MEASURES",
    "OK3_ET",
    "PAIR_MODEL",
    "SLOW",
    "Fold",
    "Lookup",
    "Matrix",
    "Step",
    "best",
    "cross_validated",
    "curves_figure",
    "five_fold",
    "five_fold_methods",
    "measures_of",
    "published_beside_ours",
    "spread",
    "trees",
]

Matrix = NDArray[np.float64]
Step = Callable[[str], None]
IOKR_RIDGE = "IOKR-ridge"
OK3_ET = "OK3+ET"
PAIR_MODEL = "PairModel, δ = ½"
SLOW = ("kCCA", "kML", "Local")  # these choose on one inner fold
MEASURES, BOTH = ("roc_auc", "average_precision"), "both"


@component
class Lookup(Kernel):
    """k(i, j) = matrix[i, j], of a matrix that one of our kernels made: neither checked again nor copied by `clone`."""

    matrix: Any

    domain = "indices"

    def __sklearn_clone__(self) -> Self:
        return self

    def represent(self, X: Any) -> NDArray[np.intp]:
        """Row numbers."""
        return np.asarray(X, dtype=np.intp)

    def block(self, R: Any, S: Any) -> Matrix:
        """The (n, m) array of k(x_i, z_j)."""
        return np.asarray(self.matrix[np.ix_(R, S)])

    def diag(self, R: Any) -> Matrix:
        """The (n,) array of k(x_i, x_i)."""
        return np.asarray(self.matrix[R, R])


@dataclass(frozen=True)
class Fold:
    """One method on one fold: percentages, seconds for fit and scores, and curves."""

    figures: Mapping[str, float]  # ROC and PR: of one model, or each of the model that was chosen by it
    seconds: float
    curves: Curves


def measures_of(truth: Any, scores: Any, where: Any = None) -> dict[str, float]:
    """Areas under the ROC and the PR curve, in percent."""
    figures = pair_metrics(truth, scores, where=where)
    return {name: 100 * figures[name] for name in MEASURES}


def known_new(model: Any, K: Matrix, W: Any, train: NDArray[Any], test: NDArray[Any]) -> tuple[Matrix, float]:
    """Scores of test × training nodes by a model whose kernel is K unless it has one, and the seconds it takes."""
    start = perf_counter()
    model = clone(model) if model.kernel is not None else clone(model).set_params(kernel=Lookup(K))
    fitted = model.fit(np.arange(len(K)), W, labeled=train)
    scores = fitted.decision_function(test)[:, train]
    return scores, perf_counter() - start


def best(
    candidates: Sequence[Any], K: Matrix, W: Matrix, train: NDArray[Any], folds: Iterable[tuple[Any, Any]]
) -> dict[str, Any]:
    """The candidates with the highest mean ROC, mean PR, and odds of both, on known–new pairs of the folds."""
    if len(candidates) == 1:
        return dict.fromkeys((*MEASURES, BOTH), candidates[0])
    totals, used = {name: np.zeros(len(candidates)) for name in MEASURES}, 0
    for inner, held_out in folds:
        truth = W[np.ix_(train[held_out], train[inner])].ravel()
        if not truth.any() or not W[np.ix_(train[inner], train[inner])].any():
            continue  # no link to find, or none to learn from
        used += 1
        for i, candidate in enumerate(candidates):
            scores, _ = known_new(candidate, K, W, train[inner], train[held_out])
            for name, value in measures_of(truth, scores.ravel()).items():
                totals[name][i] += value
    areas = {name: total / (100 * max(used, 1)) for name, total in totals.items()}
    return {name: candidates[int(np.argmax(values))] for name, values in (areas | {BOTH: both_areas(**areas)}).items()}


def cross_validated(
    candidates: Sequence[Any],
    K: Matrix,
    W: Matrix,
    train: NDArray[Any],
    test: NDArray[Any],
    folds: Any,
    criteria: tuple[str, ...] = MEASURES,
) -> Fold:
    """Choose on the training nodes, learn from all of them, and score test × training pairs.

    Chosen by both measures, each judges the model chosen by it; by one criterion, both judge the one model. Curves and
    seconds are of the first.
    """
    chosen = best(candidates, K, W, train, folds)
    truth = W[np.ix_(test, train)].ravel()
    scores, seconds = known_new(chosen[criteria[0]], K, W, train, test)
    figures = measures_of(truth, scores.ravel())
    for name in criteria[1:]:
        if chosen[name] is not chosen[criteria[0]]:
            other, _ = known_new(chosen[name], K, W, train, test)
            figures[name] = measures_of(truth, other.ravel())[name]
    return Fold(figures, seconds, Curves.of(truth, scores))


def five_fold(
    methods: Mapping[str, Sequence[Any]],
    K: Matrix,
    W: Matrix,
    *,
    seed: int,
    inner: int = 4,
    quick: tuple[str, ...] = (),
    criteria: tuple[str, ...] = MEASURES,
    step: Step = lambda what: None,
) -> dict[str, list[Fold]]:
    """Every method on five folds of nodes, its parameters chosen by `inner` folds of the training nodes.

    The methods in `quick` choose on the first inner fold only.
    """
    found: dict[str, list[Fold]] = {name: [] for name in methods}
    for train, test in NodeKFold(5, random_state=seed).split(np.arange(len(K))):
        folds = list(NodeKFold(inner, random_state=seed).split(train))
        for name, candidates in methods.items():
            step(name)
            inside = folds[:1] if name in quick else folds
            found[name].append(cross_validated(candidates, K, W, train, test, inside, criteria))
    return found


def five_fold_methods() -> dict[str, list[Any]]:
    """What the papers compare, with the parameters to choose from; names as in their tables."""
    return {
        "Naive": [Naive()],
        "kCCA": [KernelCCA(kappa_x=kappa, n_components=d) for kappa in (0.1, 1.0) for d in (20, 60)],
        "kML": [KernelMetricLearning(alpha=alpha, n_components=d) for alpha in (1.0, 10.0) for d in (20, 60)],
        "Local": [LocalModels(alpha=alpha) for alpha in (1.0, 0.1)],
        "Local by ridge": [LocalModels(loss="square", alpha=alpha) for alpha in (0.03, 0.3)],
        "TPPK by ridge": [TPPK(alpha=alpha, unlinked=0.0) for alpha in (0.1, 0.3, 1.0)],
        PAIR_MODEL: [PairLinks(mix=0.5, alpha=alpha) for alpha in (0.1, 1.0)],
        "EM": [EMCompletion(alpha=alpha) for alpha in (0.1, 0.3, 1.0, 3.0)],
        "PKMR": [PKMR(alpha=alpha) for alpha in (0.1, 0.3, 1.0, 3.0)],
        IOKR_RIDGE: [LinkPredictor(alpha=alpha) for alpha in (0.03, 0.1, 0.3, 1.0, 3.0)],
    }


def trees(features: Any, seed: int) -> dict[str, list[Any]]:
    """Output-kernel trees on the nodes' vectors: 100 extra-trees, √p features at a split, as no paper says how many."""
    return {OK3_ET: [OK3(features=features, random_state=seed)]}


# ----------------------------------------------------------------------------------------------- tables and figures


def spread(values: Iterable[float]) -> Spread:
    """A percentage with one decimal."""
    return Spread.of(values, digits=1)


def published_beside_ours(
    title: str,
    columns: Sequence[str],
    published: Mapping[str, Mapping[str, tuple[float, float]]],
    ours: Mapping[str, Mapping[str, Iterable[float]]],
    *,
    note: str = "",
    label: str = "method",
) -> Table:
    """A row per method, and for each column the published figure and ours; – where there is none."""
    rows = []
    for name in dict.fromkeys([*published, *ours]):
        row: dict[str, Any] = {label: name}
        for column in columns:
            theirs, mine = published.get(name, {}).get(column), ours.get(name, {}).get(column)
            row[f"{column}, published"] = Spread(*theirs, digits=1) if theirs else None
            row[f"{column}, ours"] = spread(mine) if mine is not None else None
        rows.append(row)
    return Table(title, rows, note=note, ours=tuple(f"{column}, ours" for column in columns))


def curves_figure(curves: Mapping[str, Curves], prevalence: float, caption: str, ours: str = IOKR_RIDGE) -> Figure:
    """ROC and precision-recall curves, one above the other as on a telephone; ours stands out."""
    styles = ("-", "--", "-.", ":", "-")  # beside eight colours, so that no two lines look alike

    def draw(canvas: Canvas) -> None:
        roc, precision = canvas.subplots(2, 1)
        others = [name for name in curves if name != ours]
        for name, curve in curves.items():
            mine = name == ours
            look: dict[str, Any] = (
                {"color": OURS, "linewidth": 2.2, "zorder": 3}
                if mine
                else {
                    "color": CLASSES[others.index(name) % len(CLASSES)],
                    "linewidth": 1.2,
                    "linestyle": styles[others.index(name) % len(styles)],
                }
            )
            roc.plot(100 * GRID, 100 * curve.found, **look, label=name)
            precision.plot(100 * GRID, 100 * curve.precision, **look)
        roc.plot([0, 100], [0, 100], color=MUTED, linewidth=0.6)
        precision.axhline(100 * prevalence, color=MUTED, linewidth=0.6)
        roc.set(xlabel="false alarms, %", ylabel="links found, %", xlim=(0, 100), ylim=(0, 100))
        precision.set(xlabel="links found, %", ylabel="precision, %", xlim=(0, 100), ylim=(0, 100))
        canvas.legend(loc="outside upper center", ncols=2)

    return plot(draw, caption=caption, size=(4.8, 7.4))
