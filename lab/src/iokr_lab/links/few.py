"""Few labelled nodes: random choices of them, parameters chosen on these alone, each kind of pairs evaluated apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from iokr.estimators.areas import AREAS, AreaRule
from iokr.estimators.links.cv import LinkPredictorCV
from iokr.estimators.links.predictor import LinkPredictor
from iokr.model_selection import NodeKFold
from iokr_lab.links.protocol import MEASURES, Lookup, Matrix, best, measures_of
from iokr_lab.study import Case

__all__ = ["BOTH_NEW", "MAXIMUM", "ONE_NEW", "TEST", "Chosen", "Draw", "Few"]
__all__ += ["evaluate", "few_labels", "labeled_draw", "with_maximum"]

MAXIMUM = ", by the largest score"
ONE_NEW = "one unlabelled"
BOTH_NEW = "both unlabelled"
TEST = "both unseen"


@dataclass(frozen=True)
class Few(Case):
    """A method with a fraction of the nodes labelled, drawn at random."""

    method: str
    fraction: float
    draw: int


@dataclass(frozen=True)
class Chosen:
    """Metrics for each kind of pairs, the fitted model, and the processor seconds to fit and score."""

    metrics: dict[str, dict[str, float]]
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

    @property
    def one_new(self) -> NDArray[np.bool_]:
        """Pairs of `nodes` with an unlabelled one."""
        new = np.arange(len(self.labeled) + len(self.unlabeled)) >= len(self.labeled)
        return new[:, None] | new[None, :]

    @property
    def both_new(self) -> NDArray[np.bool_]:
        """Pairs of `nodes` of which both are unlabelled."""
        new = np.arange(len(self.labeled) + len(self.unlabeled)) >= len(self.labeled)
        return new[:, None] & new[None, :]


def labeled_draw(W: Matrix, n_test: int, fraction: float, seed: tuple[int, int]) -> Draw:
    """A fraction of the nodes that are not for testing, labelled; drawn again while no two are linked."""
    m = round(fraction * (len(W) - n_test))
    if not W.any() or m < 2:
        raise ValueError(f"No two of {m} labelled nodes can be linked.")
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(W))
        test, labeled, unlabeled = np.split(order, [n_test, n_test + m])
        if W[np.ix_(labeled, labeled)].any():
            return Draw(labeled, unlabeled, test)


def evaluate(scores: Matrix, W: Matrix, draw: Draw) -> dict[str, dict[str, float]]:
    """Of scores between the nodes of the draw: pairs with an unlabelled node, and pairs of two."""
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
) -> Chosen:
    """Choose by five folds of the labelled nodes, once by each of `criteria`, and evaluate what was chosen by it.

    From a sequence of candidates, or from the grid of a `LinkPredictorCV`.
    """
    known = W[np.ix_(draw.labeled, draw.labeled)]
    place = np.arange(len(draw.labeled))
    folds = list(NodeKFold(5).split(place))
    metrics: dict[str, dict[str, float]] = {}
    models: dict[str, Any]
    if isinstance(method, LinkPredictorCV):
        some = any(known[np.ix_(train, train)].any() and known[held_out].any() for train, held_out in folds)
        search = clone(method).set_params(kernel=Lookup(K), cv=NodeKFold(5) if some else None)
        search.fit(draw.nodes, known, labeled=place)
        models = {name: _chosen(search, name, known) for name in criteria}
    else:
        chosen = best(method, K, W, draw.labeled, folds)
        models = {name: clone(chosen[name]).set_params(kernel=Lookup(K)) for name in chosen if name in criteria}
    for name, model in models.items():
        start = thread_time()
        scores = model.fit(draw.nodes, known, labeled=place).decision_function()
        seconds = thread_time() - start
        parts = evaluate(scores, W, draw)
        if len(draw.test):
            truth = W[np.ix_(draw.test, draw.test)]
            scores = model.decision_function(draw.test, draw.test)
            parts[TEST] = measures_of(truth, scores)
        kept = MEASURES if len(criteria) == 1 else (name,)
        for part, values in parts.items():
            metrics.setdefault(part, {}).update({measure: values[measure] for measure in kept})
    return Chosen(metrics, model, seconds)


def _chosen(search: LinkPredictorCV, criterion: str, known: Matrix) -> LinkPredictor:
    """What the criterion chooses from the grid, to be fitted."""
    manifold_weights = [search.manifold_weight_] if search.manifold_weights is None else list(search.manifold_weights)
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
    """The methods, after each search (or each of `names`) by weights the same that takes the largest score."""
    found: dict[str, Any] = {}
    for name, method in methods.items():
        found[name] = method
        if isinstance(method, LinkPredictorCV) and (names is None or name in names):
            found[f"{name}{MAXIMUM}"] = clone(method).set_params(rule="best")
    return found
