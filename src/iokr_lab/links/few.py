"""Few labelled nodes: random choices of them, parameters chosen on these alone, each kind of pairs judged apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from iokr.estimators.links.cv import LinkPredictorCV, both_areas
from iokr.estimators.links.predictor import LinkPredictor
from iokr.model_selection import NodeKFold
from iokr_lab.links.protocol import BOTH, MEASURES, Lookup, Matrix, best, measures_of

__all__ = [
    "BOTH_NEW",
    "ONE_NEW",
    "TEST",
    "Chosen",
    "Draw",
    "few_labels",
    "judge",
    "labelled_draws",
]

ONE_NEW, BOTH_NEW, TEST = "one unlabelled", "both unlabelled", "both unseen"


@dataclass(frozen=True)
class Chosen:
    """Figures for each kind of pairs, the fitted model, and the seconds to fit and score."""

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
    """Choose by five folds of the labelled nodes, once by each of `criteria`, and judge what was chosen by it.

    From a sequence of candidates, or from the grid of a `LinkPredictorCV`.
    """
    known = W[np.ix_(draw.labeled, draw.labeled)]
    place = np.arange(len(draw.labeled))
    figures: Shares = {}
    models: dict[str, Any] = {}
    folds = list(NodeKFold(5).split(place))
    if isinstance(method, LinkPredictorCV):
        some = any(known[np.ix_(train, train)].any() and known[held_out].any() for train, held_out in folds)
        search = clone(method).set_params(kernel=Lookup(K), cv=NodeKFold(5) if some else None)
        search.fit(draw.nodes, known, labeled=place)
        models = {name: _chosen(search, name) for name in criteria}
    else:
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


def _chosen(search: LinkPredictorCV, criterion: str) -> LinkPredictor:
    """The point of the grid where the criterion is largest, to be fitted."""
    areas = search.areas_
    values = both_areas(**areas) if criterion == BOTH else areas[criterion]
    strengths = [search.strength_] if search.strengths is None else list(search.strengths)
    j, k = np.unravel_index(int(np.argmax(values)), (len(strengths), len(search.alphas)))
    manifold = None
    if search.manifold is not None:
        manifold = clone(search.manifold).set_params(strength=strengths[int(j)])
    return LinkPredictor(
        search.kernel,
        output_kernel=search.output_kernel,
        loss=search.loss,
        alpha=search.alphas[int(k)],
        manifold=manifold,
        solver=search.solver,
    )
