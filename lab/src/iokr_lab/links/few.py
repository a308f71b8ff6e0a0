"""Few labelled nodes: random draws, parameters chosen on the labelled nodes, separate evaluation by kind of pairs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from iokr.estimators.areas import AREAS, AreaRule
from iokr.estimators.links.cv import LinkPredictorCV
from iokr.estimators.links.predictor import LinkPredictor
from iokr.model_selection import NodeKFold
from iokr_lab.links.protocol import MEASURES, Matrix, best, measures_of
from iokr_lab.lookup import Lookup
from iokr_lab.study import Case
from iokr_lab.timing import timed

__all__ = ["BOTH_NEW", "MAXIMUM", "ONE_NEW", "TEST", "Draw", "Evaluation", "Few"]
__all__ += ["evaluate", "few_labels", "labeled_draw", "with_maximum"]

MAXIMUM = ", by the largest score"
ONE_NEW = "one unlabelled"
BOTH_NEW = "both unlabelled"
TEST = "both unseen"


@dataclass(frozen=True)
class Few(Case):
    """A method with a random fraction of the nodes labelled."""

    method: str
    fraction: float
    draw: int


@dataclass(frozen=True)
class Evaluation:
    """Metrics for each kind of pairs, the fitted model, and the processor seconds of fit and scores."""

    metrics: dict[str, dict[str, float]]
    model: Any
    seconds: float


@dataclass(frozen=True)
class Draw:
    """One random draw of labelled, unlabelled and test nodes."""

    labeled: NDArray[np.intp]
    unlabeled: NDArray[np.intp]
    test: NDArray[np.intp]

    @property
    def nodes(self) -> NDArray[np.intp]:
        """Labelled and unlabelled nodes."""
        return np.concatenate([self.labeled, self.unlabeled])

    @property
    def _new(self) -> NDArray[np.bool_]:
        """Mask of the unlabelled ones of `nodes`."""
        return np.arange(len(self.labeled) + len(self.unlabeled)) >= len(self.labeled)

    @property
    def one_new(self) -> NDArray[np.bool_]:
        """Pairs of `nodes` with at least one unlabelled node."""
        return self._new[:, None] | self._new[None, :]

    @property
    def both_new(self) -> NDArray[np.bool_]:
        """Pairs of two unlabelled `nodes`."""
        return self._new[:, None] & self._new[None, :]


def labeled_draw(W: Matrix, n_test: int, fraction: float, seed: tuple[int, int]) -> Draw:
    """A draw with a fraction of the non-test nodes labelled; repeated until at least two of them are linked."""
    m = round(fraction * (len(W) - n_test))
    if not W.any() or m < 2:
        raise ValueError(f"at least two linked nodes are needed, got {m} labelled nodes and {int(W.sum() / 2)} links.")
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(W))
        test, labeled, unlabeled = np.split(order, [n_test, n_test + m])
        if W[np.ix_(labeled, labeled)].any():
            return Draw(labeled, unlabeled, test)


def evaluate(scores: Matrix, W: Matrix, draw: Draw) -> dict[str, dict[str, float]]:
    """Metrics of scores between the nodes of the draw, on pairs with one and with two unlabelled nodes."""
    truth = W[np.ix_(draw.nodes, draw.nodes)]
    return {
        ONE_NEW: measures_of(truth, scores, draw.one_new),
        BOTH_NEW: measures_of(truth, scores, draw.both_new),
    }


def few_labels(
    method: Sequence[Any] | LinkPredictorCV,
    K: Matrix,
    W: Matrix,
    draw: Draw,
    criteria: Sequence[str] = tuple(MEASURES),
) -> Evaluation:
    """Choose a model by five folds of the labelled nodes for each of `criteria`, and evaluate it.

    The candidates are a sequence of models, or the grid of a `LinkPredictorCV`.
    """
    known = W[np.ix_(draw.labeled, draw.labeled)]
    place = np.arange(len(draw.labeled))
    folds = list(NodeKFold(5).split(place))
    metrics: dict[str, dict[str, float]] = {}
    models: dict[str, Any]
    if isinstance(method, LinkPredictorCV):
        usable = any(known[np.ix_(train, train)].any() and known[held_out].any() for train, held_out in folds)
        search = clone(method).set_params(kernel=Lookup(K), cv=NodeKFold(5) if usable else None)
        search.fit(draw.nodes, known, labeled=place)
        models = {name: _chosen(search, name, known) for name in criteria}
    else:
        chosen = best(method, K, W, draw.labeled, folds)
        models = {name: clone(chosen[name]).set_params(kernel=Lookup(K)) for name in chosen if name in criteria}
    for name, model in models.items():

        def fit_and_score(model: Any = model) -> Matrix:
            return np.asarray(model.fit(draw.nodes, known, labeled=place).decision_function())

        scores, seconds = timed(fit_and_score)
        parts = evaluate(scores, W, draw)
        if len(draw.test):
            truth = W[np.ix_(draw.test, draw.test)]
            parts[TEST] = measures_of(truth, model.decision_function(draw.test, draw.test))
        measures = MEASURES if len(criteria) == 1 else (name,)
        for part, values in parts.items():
            metrics.setdefault(part, {}).update({measure: values[measure] for measure in measures})
    return Evaluation(metrics, model, seconds)


def _chosen(search: LinkPredictorCV, criterion: str, known: Matrix) -> LinkPredictor:
    """The model of the grid with the best value of the criterion, not fitted."""
    manifold_weights = [search.manifold_weight_]
    if search.manifold_weights is not None:
        manifold_weights = list(search.manifold_weights)
    shape = len(manifold_weights), len(search.alphas)
    areas = np.stack([search.areas_[name].reshape(shape) for name in AREAS])
    n = len(known)
    n_links = int(known.sum()) // 2
    rule = AreaRule(criterion, search.rule, n_links, n * (n - 1) // 2 - n_links)
    (j,), alpha = rule.among(areas, search.alphas, search.freedom_.reshape(shape))
    manifold = None
    if search.manifold is not None:
        manifold = clone(search.manifold).set_params(weight=manifold_weights[j])
    return LinkPredictor(
        search.kernel,
        output_kernel=search.output_kernel,
        loss=search.loss,
        alpha=alpha,
        manifold=manifold,
        solver=search.solver,
    )


def with_maximum(methods: Mapping[str, Any], names: Collection[str] | None = None) -> dict[str, Any]:
    """The methods; after each search (or each of `names`) with averaged parameters also the one with the best score."""
    found: dict[str, Any] = {}
    for name, method in methods.items():
        found[name] = method
        if isinstance(method, LinkPredictorCV) and (names is None or name in names):
            found[f"{name}{MAXIMUM}"] = clone(method).set_params(rule="best")
    return found
