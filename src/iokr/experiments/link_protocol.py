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
from iokr.estimators.links import LinkPredictor
from iokr.estimators.links_path import LinkPredictorCV
from iokr.experiments.pair_links import PairLinks
from iokr.kernels.base import Kernel
from iokr.metrics import pair_metrics
from iokr.model_selection import NodeKFold
from iokr.report import CLASSES, MUTED, OURS, Figure, Spread, Table, plot
from iokr.rivals import OK3, PKMR, TPPK, EMCompletion, KernelCCA, KernelMetricLearning, LocalModels, Naive

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = [
    "BOTH_NEW",
    "IOKR_RIDGE",
    "MEASURES",
    "OK3_ET",
    "ONE_NEW",
    "SLOW",
    "TEST",
    "Chosen",
    "Curves",
    "Draw",
    "Fold",
    "Lookup",
    "Matrix",
    "Step",
    "best",
    "cross_validated",
    "curves_figure",
    "few_labels",
    "five_fold",
    "five_fold_methods",
    "labelled_draws",
    "measures_of",
    "published_beside_ours",
    "spread",
    "trees",
]

Matrix = NDArray[np.float64]
Step = Callable[[str], None]
IOKR_RIDGE = "IOKR-ridge"
OK3_ET = "OK3+ET"
SLOW = ("kCCA", "kML", "Local")  # these choose on one inner fold
MEASURES = ("roc_auc", "average_precision")
GRID = np.linspace(0, 1, 201)


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
class Curves:
    """The share of links found at each share of false alarms, and the precision at each share of links found."""

    found: Matrix
    precision: Matrix

    @classmethod
    def of(cls, truth: Any, scores: Any) -> Curves:
        """On the grid 0, 0.005, …, 1."""
        linked = np.asarray(truth).ravel()[np.argsort(-np.asarray(scores).ravel(), kind="stable")] != 0
        links, others = np.cumsum(linked), np.cumsum(~linked)
        found = np.interp(GRID, others / others[-1], links / links[-1])
        first = np.searchsorted(links, np.maximum(np.ceil(GRID * links[-1]), 1))
        return cls(found, links[first] / (first + 1))

    @classmethod
    def mean(cls, curves: Iterable[Curves]) -> Curves:
        """Point by point."""
        curves = list(curves)
        return cls(np.mean([c.found for c in curves], axis=0), np.mean([c.precision for c in curves], axis=0))


@dataclass(frozen=True)
class Fold:
    """One method on one fold: percentages, seconds for fit and scores, and curves."""

    figures: Mapping[str, float]  # ROC and PR, each of the model that was chosen by it
    by_roc: Mapping[str, float]  # both of the model chosen by ROC
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
    """The candidate with the highest mean ROC, and that with the highest mean PR, on known–new pairs of the folds."""
    if len(candidates) == 1:
        return dict.fromkeys(MEASURES, candidates[0])
    totals = {name: np.zeros(len(candidates)) for name in MEASURES}
    for inner, held_out in folds:
        truth = W[np.ix_(train[held_out], train[inner])].ravel()
        if not truth.any() or not W[np.ix_(train[inner], train[inner])].any():
            continue  # no link to find, or none to learn from
        for i, candidate in enumerate(candidates):
            scores, _ = known_new(candidate, K, W, train[inner], train[held_out])
            for name, value in measures_of(truth, scores.ravel()).items():
                totals[name][i] += value
    return {name: candidates[int(np.argmax(totals[name]))] for name in MEASURES}


def cross_validated(
    candidates: Sequence[Any], K: Matrix, W: Matrix, train: NDArray[Any], test: NDArray[Any], folds: Any
) -> Fold:
    """Choose on the training nodes, learn from all of them, and score test × training pairs."""
    chosen = best(candidates, K, W, train, folds)
    truth = W[np.ix_(test, train)].ravel()
    scores, seconds = known_new(chosen["roc_auc"], K, W, train, test)
    by_roc = measures_of(truth, scores.ravel())
    figures = dict(by_roc)
    if chosen["average_precision"] is not chosen["roc_auc"]:
        other, _ = known_new(chosen["average_precision"], K, W, train, test)
        figures["average_precision"] = measures_of(truth, other.ravel())["average_precision"]
    return Fold(figures, by_roc, seconds, Curves.of(truth, scores))


def five_fold(
    methods: Mapping[str, Sequence[Any]],
    K: Matrix,
    W: Matrix,
    *,
    seed: int,
    inner: int = 4,
    quick: tuple[str, ...] = (),
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
            found[name].append(cross_validated(candidates, K, W, train, test, folds[:1] if name in quick else folds))
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
        "PairModel, δ = ½": [PairLinks(mix=0.5, alpha=alpha) for alpha in (0.3, 3.0)],
        "EM": [EMCompletion(alpha=alpha) for alpha in (0.1, 0.3, 1.0, 3.0)],
        "PKMR": [PKMR(alpha=alpha) for alpha in (0.1, 0.3, 1.0, 3.0)],
        IOKR_RIDGE: [LinkPredictor(alpha=alpha) for alpha in (0.03, 0.1, 0.3, 1.0, 3.0)],
    }


def trees(features: Any, seed: int) -> dict[str, list[Any]]:
    """Output-kernel trees on the nodes' vectors: 100 extra-trees, √p features at a split, as no paper says how many."""
    return {OK3_ET: [OK3(features=features, random_state=seed)]}


# ----------------------------------------------------------------------------------------------- few labelled nodes

ONE_NEW, BOTH_NEW, TEST = "one unlabelled", "both unlabelled", "both unseen"


@dataclass(frozen=True)
class Chosen:
    """Figures for each kind of pairs, the fitted model, and the seconds to choose (if it does), fit and score."""

    figures: Mapping[str, Mapping[str, float]]
    model: Any
    seconds: float


@dataclass(frozen=True)
class Draw:
    """One random choice of labelled, unlabelled and test nodes."""

    labeled: NDArray[np.intp]
    unlabeled: NDArray[np.intp]
    test: NDArray[np.intp]

    @property
    def nodes(self) -> NDArray[np.intp]:
        """Labelled and unlabelled."""
        return np.concatenate([self.labeled, self.unlabeled])


def labelled_draws(W: Matrix, n_test: int, share: float, seeds: Iterable[tuple[int, int]]) -> list[Draw]:
    """A share of the nodes that are not for testing, labelled, for each seed; drawn again while no two are linked."""
    m = round(share * (len(W) - n_test))
    if not W.any() or m < 2:
        raise ValueError(f"No two of {m} labelled nodes can be linked.")
    draws = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        while True:
            order = rng.permutation(len(W))
            test, labeled, unlabeled = np.split(order, [n_test, n_test + m])
            if W[np.ix_(labeled, labeled)].any():
                break
        draws.append(Draw(labeled, unlabeled, test))
    return draws


Shares = dict[str, dict[str, float]]  # which pairs are judged: ROC and PR


def judge(scores: Matrix, W: Matrix, draw: Draw) -> Shares:
    """Of scores between the nodes of the draw: pairs with an unlabelled node, and pairs of two."""
    new = np.arange(len(scores)) >= len(draw.labeled)
    truth = W[np.ix_(draw.nodes, draw.nodes)]
    return {
        ONE_NEW: measures_of(truth, scores, new[:, None] | new[None, :]),
        BOTH_NEW: measures_of(truth, scores, new[:, None] & new[None, :]),
    }


def few_labels(
    method: Sequence[Any] | LinkPredictorCV,
    K: Matrix,
    W: Matrix,
    draw: Draw,
    criteria: tuple[str, ...] = MEASURES,
) -> Chosen:
    """Choose on the labelled nodes, once by each of `criteria`, and judge what was chosen by it.

    A sequence of candidates is chosen from by five folds of the labelled nodes, a `LinkPredictorCV` by itself.
    """
    known = W[np.ix_(draw.labeled, draw.labeled)]
    place = np.arange(len(draw.labeled))
    figures: Shares = {}
    models: dict[str, Any] = {}
    if isinstance(method, LinkPredictorCV):
        for name in criteria:
            models[name] = clone(method).set_params(kernel=Lookup(K), scoring=name)
    else:
        folds = list(NodeKFold(5).split(place))
        models = {name: clone(model) for name, model in best(method, K, W, draw.labeled, folds).items()}
        models = {name: model.set_params(kernel=Lookup(K)) for name, model in models.items() if name in criteria}
    for name, model in models.items():
        start = perf_counter()
        scores = model.fit(draw.nodes, known, labeled=place).decision_function()
        seconds = perf_counter() - start
        parts = judge(scores, W, draw)
        if len(draw.test):
            truth, scores = W[np.ix_(draw.test, draw.test)], model.decision_function(draw.test, draw.test)
            parts[TEST] = measures_of(truth, scores)
        kept = MEASURES if len(criteria) == 1 else (name,)
        for part, values in parts.items():
            figures.setdefault(part, {}).update({measure: values[measure] for measure in kept})
    return Chosen(figures, model, seconds)


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
    """ROC and precision-recall curves side by side; ours stands out."""
    styles = ("-", "--", "-.", ":", "-")  # beside eight colours, so that no two lines look alike

    def draw(canvas: Canvas) -> None:
        left, right = canvas.subplots(1, 2)
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
            left.plot(100 * GRID, 100 * curve.found, **look, label=name)
            right.plot(100 * GRID, 100 * curve.precision, **look)
        left.plot([0, 100], [0, 100], color=MUTED, linewidth=0.6)
        right.axhline(100 * prevalence, color=MUTED, linewidth=0.6)
        left.set(xlabel="false alarms, %", ylabel="links found, %", xlim=(0, 100), ylim=(0, 100))
        right.set(xlabel="links found, %", ylabel="precision, %", xlim=(0, 100), ylim=(0, 100))
        canvas.legend(loc="outside upper center", ncols=3)

    return plot(draw, caption=caption, size=(7.2, 4.0))
