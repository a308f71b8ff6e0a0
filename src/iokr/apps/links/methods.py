"""The models of one kind of nodes: searches over parameters, and the stack of two models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

from iokr._array import to_numpy
from iokr.apps.links.data import Matrix, Numbers
from iokr.apps.links.features import Inputs
from iokr.apps.links.settings import ALPHAS, NEIGHBORS, STRENGTHS, Settings
from iokr.apps.report import Spread, Table
from iokr.apps.report.progress import Progress, silent, stage
from iokr.estimators.areas import areas_of, score_of
from iokr.estimators.bipartite import BipartitePredictor
from iokr.estimators.links.cv import LinkPredictorCV
from iokr.estimators.links.ranking import f1_threshold, root_mean_square
from iokr.estimators.links.stack import LinkStack
from iokr.estimators.pairs.links import PairLinkPredictorCV
from iokr.kernels.algebra import Normalized
from iokr.kernels.base import Kernel
from iokr.kernels.nodes import Diffusion
from iokr.manifolds.laplacian import Laplacian
from iokr.model_selection import NodeKFold, TooFewLinks
from iokr.model_selection.links import link_splits

__all__ = [
    "COMPARED",
    "FOLDS",
    "METHODS",
    "SAMPLE",
    "STACKED",
    "FittedMethod",
    "HeldOut",
    "TrainingSet",
    "choose_and_learn",
    "compare",
    "comparison_table",
    "fit_methods",
    "methods_table",
    "parts_of",
    "percent",
    "sample_size",
    "searches",
]

METHODS = {"iokr": "LinkPredictor", "pairs": "PairLinkPredictor", "stack": "LinkStack of both"}
STACKED = ("iokr", "pairs")  # the models of a stack
STACK_FOLDS = 3  # by which the models of a stack are weighed
SAMPLE = 2000  # nodes on which parameters are chosen where there are more, half of them unlabelled if these are used
COMPARED = 800  # labelled nodes in the folds that compare models, at most


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Nodes as kernels take them, the links between them, and the nodes between which all links are known."""

    X: Any
    graph: Any  # (N, N), sparse
    labeled: Numbers

    def sample(self, size: int, seed: int, *, unlabeled: bool) -> TrainingSet:
        """At most `size` labelled nodes, and if they are used as many others, or as `COMPARED`."""
        rng = np.random.default_rng(seed)
        some = rng.permutation(self.labeled)[:size]
        others = np.setdiff1d(np.arange(self.graph.shape[0]), self.labeled)
        used = rng.permutation(others)[: max(size, COMPARED)] if unlabeled else others[:0]
        nodes = np.sort(np.concatenate([some, used]))
        return TrainingSet(self.X[nodes], self.graph[nodes][:, nodes], np.flatnonzero(np.isin(nodes, some)))


def sample_size(n_labeled: int, n_nodes: int, settings: Settings) -> int | None:
    """The number of labelled nodes on which parameters are chosen; None is all, and all others that are used."""
    n_used = n_nodes if settings.unlabeled else n_labeled
    if settings.search_all or n_used <= SAMPLE:
        return None
    return min(n_labeled, SAMPLE // 2 if settings.unlabeled else SAMPLE)


def searches(kernels: list[Kernel], settings: Settings) -> dict[str, Any]:
    """The models that the settings ask for, each with a search for its parameters; for a stack those of its models."""
    alphas: dict[str, Any] = {} if settings.alphas is None else {"alphas": settings.alphas}
    found = {
        "iokr": LinkPredictorCV(
            kernels,
            alphas=settings.alphas or ALPHAS,
            manifold_weights=STRENGTHS if settings.unlabeled else None,
            scoring=settings.scoring,
            output_kernel=Normalized(Diffusion(settings.beta)),
            manifold=Laplacian(n_neighbors=NEIGHBORS) if settings.unlabeled else None,
        ),
        "pairs": PairLinkPredictorCV(kernels, scoring=settings.scoring, **alphas),
    }
    return {name: found[name] for name in STACKED if settings.method in (name, "stack", "auto")}


def bipartite(rows: Inputs, columns: Inputs, settings: Settings) -> BipartitePredictor:
    """The model, which chooses kernels and alpha by leaving out rows and columns."""
    alphas = settings.alphas or ALPHAS[::2]
    scoring = None if settings.scoring == "roc_auc" else settings.scoring
    return BipartitePredictor(rows.kernels, columns.kernels, alpha=alphas, scoring=scoring)


@dataclass(frozen=True, eq=False)
class FittedMethod:
    """A model of a network, and the searches that have chosen its parameters."""

    method: str
    model: Any  # a fitted `LinkModel` of `iokr.estimators`, or the `LinkStack` of two
    searches: Mapping[str, Any]  # fitted, by method
    n_sampled: int | None = None  # labelled nodes that parameters were chosen on; None is all

    def decision_function(self) -> Matrix:
        """The scores of all pairs of nodes of training."""
        parts = [slope * to_numpy(model.decision_function()) for _, model, slope in parts_of(self.method, self.model)]
        return np.asarray(sum(parts[1:], start=parts[0]))


def parts_of(method: str, model: Any) -> list[tuple[str, Any, float]]:
    """(method, model, slope) of each fitted model whose scores are summed: one, or those of a stack with a weight."""
    if method != "stack":
        return [(method, model, 1.0)]
    parts = zip(STACKED, model.models_, model.slopes_.tolist(), strict=True)
    return [(name, part, slope) for name, part, slope in parts if part is not None]


def fit_methods(
    methods: Sequence[str],
    models: Mapping[str, Any],
    part: TrainingSet,
    everything: TrainingSet | None = None,
    progress: Progress = silent,
) -> Iterator[FittedMethod]:
    """Parameters chosen on a part of the data, then models fitted to everything, one method after the other.

    The models of a stack have the parameters that they choose alone: no search is made twice.
    """
    found: dict[str, Any] = {}
    needed = [name for name in models if name in methods or "stack" in methods]
    count = len(needed) + ("stack" in methods)
    for k, name in enumerate(needed):
        searching = stage(progress, METHODS[name], k / count, (k + 1) / count)
        found[name] = clone(models[name]).fit(part.X, part.graph, labeled=part.labeled, progress=searching)
        if name in methods:
            fitted = found[name]
            if everything is not None:
                fitted = fitted.unfitted().fit(everything.X, everything.graph, labeled=everything.labeled)
            yield FittedMethod(name, fitted, {name: found[name]})
    if "stack" in methods:
        stack = LinkStack([search.unfitted() for search in found.values()], combine="logits", cv=STACK_FOLDS)
        stack = stack.weigh(part.X, part.graph, labeled=part.labeled)
        whole = part if everything is None else everything
        yield FittedMethod("stack", stack.learn(whole.X, whole.graph, labeled=whole.labeled), found)


def choose_and_learn(
    method: str,
    models: Mapping[str, Any],
    data: TrainingSet,
    settings: Settings,
    seed: int,
    progress: Progress = silent,
) -> FittedMethod:
    """A model with parameters chosen on the data, or on a sample of many nodes, and learned from all of them."""
    size = sample_size(len(data.labeled), data.graph.shape[0], settings)
    if size is None:
        return next(fit_methods([method], models, data, progress=progress))
    part = data.sample(size, seed, unlabeled=settings.unlabeled)
    return replace(next(fit_methods([method], models, part, data, progress)), n_sampled=size)


FOLDS = 5
_FEWEST = 20  # pairs from which a precision is estimated


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Pairs with a node of a fold: whether they are linked, and their scores by a model that never saw its links.

    Scores are in units of the root mean square of those between the nodes of training, so that folds can be compared.
    """

    method: str
    areas: Matrix  # (folds, 2)
    truth: NDArray[np.bool_]
    scores: Matrix

    @classmethod
    def of(cls, method: str, folds: Sequence[tuple[NDArray[np.bool_], Matrix]]) -> HeldOut:
        """From (truth, scores) of each fold."""
        areas = [areas_of(truth, scores) for truth, scores in folds if truth.any() and not truth.all()]
        if not areas:
            raise TooFewLinks("No fold of nodes has links and other pairs to tell apart.")
        truth, scores = (np.concatenate(part) for part in zip(*folds, strict=True))
        return cls(method, np.array(areas), truth, scores)

    def precision(self, scores: Matrix) -> Matrix:
        """The fraction of links among the held-out pairs that score at least as high, of twenty pairs or more."""
        order = np.argsort(-self.scores, kind="stable")
        hits = np.cumsum(self.truth[order]) / np.arange(1, len(order) + 1)
        above = np.searchsorted(-self.scores[order], -scores, side="right")
        return np.asarray(hits[np.clip(above, min(_FEWEST, len(hits)), len(hits)) - 1])

    def probability(self, scores: Matrix) -> Matrix:
        """Calibrated on the held-out pairs, by isotonic regression on twenty at a time.

        A logistic curve was overconfident for the first pairs.
        """
        order = np.argsort(self.scores, kind="stable")
        parts = np.array_split(order, max(1, len(order) // _FEWEST))
        means = np.array([(self.scores[part].mean(), self.truth[part].mean()) for part in parts])
        rule = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        rule.fit(*means.T, sample_weight=np.array([len(part) for part in parts], dtype=float))
        return np.asarray(rule.predict(scores))

    @property
    def threshold(self) -> float:
        """The score above which F1 is largest."""
        return f1_threshold(self.truth, self.scores)

    def state(self, *, pairs: bool) -> dict[str, Any]:
        """For a file, with the `pairs` or the areas alone."""
        scored = {"truth": np.packbits(self.truth), "scores": self.scores} if pairs else {}
        return {"method": self.method, "areas": self.areas, **scored}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> HeldOut:
        """From a file."""
        scores = np.asarray(state.get("scores", np.zeros(0)))
        truth = np.unpackbits(np.asarray(state.get("truth", []), dtype=np.uint8), count=len(scores)).astype(bool)
        return cls(state["method"], np.asarray(state["areas"]), truth, scores)


def compare(
    methods: Sequence[str],
    models: Mapping[str, Any],
    data: TrainingSet,
    scoring: str,
    seed: int,
    progress: Progress = silent,
) -> list[HeldOut]:
    """Every method on pairs with a new node, the best one by the scoring first; parameters are chosen in every fold."""
    pairs: dict[str, list[tuple[Any, Any]]] = {method: [] for method in methods}
    folds = NodeKFold(FOLDS, shuffle=True, random_state=seed)
    for split in link_splits(data.graph, folds, data.labeled, ("known-new", "new-new")):
        part = TrainingSet(data.X, split.graph, split.train)
        k = split.fold
        in_fold = stage(progress, f"fold {k + 1} of {FOLDS}", k / FOLDS, (k + 1) / FOLDS)
        for fitted in fit_methods(methods, models, part, progress=in_fold):
            S = fitted.decision_function()
            S = S / root_mean_square(S[np.ix_(split.train, split.train)])  # folds can be compared
            _, truth, scores = zip(*split.held_out(S), strict=True)
            pairs[fitted.method].append((np.concatenate(truth), np.concatenate(scores)))
    found = [HeldOut.of(method, folds) for method, folds in pairs.items()]
    return sorted(found, key=lambda one: float(score_of(scoring, one.areas.mean(axis=0))), reverse=True)


def comparison_table(held_out: Sequence[HeldOut], n: int, n_labeled: int, scoring: str) -> Table:
    """Every model, the best one first: folds of n of `n_labeled` labelled nodes."""
    part = f"all {n} labelled nodes" if n == n_labeled else f"a sample of {n} of {n_labeled} labelled nodes"
    note = f"Pairs with a held-out node in {FOLDS} folds of {part}; parameters are chosen within each fold."
    return methods_table({one.method: one.areas for one in held_out}, scoring, note)


def methods_table(areas: Mapping[str, Matrix], scoring: str, note: str) -> Table:
    """Means and deviations over folds of both areas of every method, the best one first, and the differences to it."""
    best, best_areas = next(iter(areas.items()))
    rows = [
        {
            "model": METHODS[method],
            "AUC-ROC %": percent(found[:, 0]),
            "AUC-PR %": percent(found[:, 1]),
            "AUC-ROC minus the best": None if method == best else percent(found[:, 0] - best_areas[:, 0]),
            "AUC-PR minus the best": None if method == best else percent(found[:, 1] - best_areas[:, 1]),
        }
        for method, found in areas.items()
    ]
    several = f"Models on held-out nodes; {METHODS[best]} is the best by {scoring}"
    return Table(several if len(rows) > 1 else "Accuracy on held-out nodes", rows, note=note, our_rows=(0,))


def percent(values: Matrix) -> Spread | None:
    """Mean and deviation of fractions in percent; None for an empty list."""
    known = values[~np.isnan(values)]
    return Spread.of(100 * known, digits=1) if len(known) else None
