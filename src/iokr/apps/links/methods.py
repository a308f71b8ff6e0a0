"""The models of `iokr links` behind one face: a search over parameters, on a sample where there are many nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from iokr._array import to_numpy
from iokr._component import Component, component
from iokr.estimators.links.predictor import LinkPredictor
from iokr.estimators.links.probability import root_mean_square
from iokr.estimators.links.stack import LinkStack
from iokr.estimators.pairs.network import AllPairsCV

if TYPE_CHECKING:
    from iokr.apps.links.clock import Clock
    from iokr.apps.links.model import Task

__all__ = [
    "CHOOSE",
    "COMPARED",
    "LEARN",
    "METHODS",
    "SAMPLE",
    "STACKED",
    "Learned",
    "Sized",
    "fit_method",
    "sample_of",
    "sample_size",
    "searches",
]

METHODS = {"iokr": "LinkPredictor", "pairs": "PairModel", "stack": "LinkPredictor and PairModel together"}
SAMPLE = 2000  # nodes on which parameters are chosen where there are more, half of them unlabelled if these take part
COMPARED = 800  # labelled nodes in the folds that compare models, at most
STACKED = ("iokr", "pairs")  # the models of a stack
STACK_FOLDS = 3  # by which the models of a stack are weighed

Matrix = NDArray[np.float64]


@component
class Sized(Component):
    """A link predictor whose scores between labelled nodes have the root mean square 1: folds can be compared.

    Parameters
    ----------
    model : estimator with `fit(X, adjacency, labeled)` and `decision_function()`
    """

    model: Any = None

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> Sized:
        """Fit a clone of the model."""
        self.model_ = clone(self.model).fit(X, adjacency, labeled=labeled)
        return self

    def decision_function(self) -> Matrix:
        """Scores of all nodes."""
        S, known = to_numpy(self.model_.decision_function()), self.model_.labeled_
        return np.asarray(S / root_mean_square(S[np.ix_(known, known)]))


class Choices(dict[Any, Any]):
    """Models with the parameters that a search has chosen, by method and training links: no search is made twice."""

    def __deepcopy__(self, memo: Any) -> Choices:
        return self

    @staticmethod
    def key(method: str, adjacency: Any, labeled: Any) -> tuple[str, bytes, bytes]:
        """What a search was given."""
        W = adjacency.tocsr()
        return method, np.asarray(labeled).tobytes(), W.indptr.tobytes() + W.indices.tobytes() + W.data.tobytes()


@component
class Search(Component):
    """A search over parameters that keeps its choice.

    Parameters
    ----------
    method : str
    model : `LinkPredictorCV` or `AllPairsCV`
    choices : Choices
    watch : callable, default=None
        Called with the part that is done, and where the search is.
    """

    method: str
    model: Any
    choices: Any
    watch: Any = None

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> Search:
        """Search, and learn."""
        progress = None if self.watch is None else partial(_share, self.watch)
        self.model_ = clone(self.model).fit(X, adjacency, labeled=labeled, progress=progress)
        self.labeled_ = self.model_.labeled_
        self.choices[Choices.key(self.method, adjacency, labeled)] = _chosen(self.method, self.model_)
        return self

    def decision_function(self) -> Matrix:
        """Scores of all nodes."""
        return np.asarray(to_numpy(self.model_.decision_function()))


@component
class Stacked(Component):
    """`LinkStack` of log-odds, whose models have the parameters that they choose alone; a score is Σ_m slope_m s_m.

    Parameters
    ----------
    searches : list of Search
    """

    searches: Any

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> Stacked:
        """Choose what has not been chosen yet, weigh the models, then learn those that have a weight."""
        self.stack_ = self.weighed(X, adjacency, labeled).learn(X, adjacency, labeled=labeled)
        self.labeled_ = self.stack_.labeled_
        return self

    def weighed(self, X: Any, adjacency: Any, labeled: Any = None) -> LinkStack:
        """The stack with its weights, and no model of all nodes yet."""
        models = []
        for search in self.searches:
            key = Choices.key(search.method, adjacency, labeled)
            if key not in search.choices:
                clone(search).fit(X, adjacency, labeled=labeled)
            models.append(search.choices[key])
        return LinkStack(models, combine="logits", cv=STACK_FOLDS).weigh(X, adjacency, labeled=labeled)

    def decision_function(self) -> Matrix:
        """Scores of all nodes."""
        used = [pair for pair in zip(self.stack_.slopes_, self.stack_.models_, strict=True) if pair[1] is not None]
        return np.asarray(sum(slope * to_numpy(model.decision_function()) for slope, model in used))


def _chosen(method: str, search: Any) -> Any:
    """The model at the parameters of a search, not fitted."""
    if method == "pairs":
        model = clone(search)
        return model.set_params(kernel=clone(search.kernel_), alphas=(search.alpha_,), mixes=(search.mix_,))
    parts: dict[str, Any] = {"output_kernel": search.output_kernel, "manifold": search.model_.manifold}
    return LinkPredictor(clone(search.model_.kernel), alpha=search.alpha_, **parts)


def _share(watch: Callable[[float, str], None], done: int, total: int, what: str) -> None:
    """The part of the search that is done, and where it is."""
    watch(done / total, what)


def searches(task: Task, watch: Callable[[str, float, str], None] | None = None) -> dict[str, Any]:
    """The models that choose their parameters, by method; those asked for."""
    options, choices = task.options, Choices()
    pairs: dict[str, Any] = {} if options.alphas is None else {"alphas": options.alphas}
    models = {"iokr": task.model, "pairs": AllPairsCV(task.model.kernel, scoring=options.scoring, **pairs)}
    found: dict[str, Any] = {
        method: Search(method, model, choices, None if watch is None else partial(watch, method))
        for method, model in models.items()
    }
    found["stack"] = Stacked(list(found.values()))
    return found if options.method == "auto" else {options.method: found[options.method]}


def sample_size(task: Task) -> int | None:
    """On how many labelled nodes parameters are chosen; None is all, and all others that take part."""
    n, beside = len(task.network.labeled), task.options.unlabeled
    if task.options.all or (len(task.ids) if beside else n) <= SAMPLE:
        return None
    return min(n, SAMPLE // 2 if beside else SAMPLE)


def sample_of(task: Task, size: int, seed: int) -> tuple[Any, Any, NDArray[np.int64]]:
    """(X, links, labelled nodes) of a random part of the network; as many unlabelled nodes where they take part."""
    rng, labeled = np.random.default_rng(seed), task.network.labeled
    some = rng.permutation(labeled)[:size]
    others = np.setdiff1d(np.arange(len(task.ids)), labeled)
    beside = rng.permutation(others)[: max(size, COMPARED)] if task.options.unlabeled else others[:0]
    kept = np.sort(np.concatenate([some, beside]))
    return task.X[kept], task.graph[kept][:, kept], np.flatnonzero(np.isin(kept, some))


@dataclass(frozen=True, eq=False)
class Learned:
    """A model of a network, learned from all links, and the searches that have chosen its parameters."""

    method: str
    model: Any  # `LinkPredictor`, `AllPairsCV`, or the `LinkStack` of both
    searches: dict[str, Any] = field(default_factory=dict)  # by method; a model from a file has none
    sampled: int | None = None  # on how many labelled nodes parameters were chosen; None is all

    @property
    def parts(self) -> dict[str, tuple[Any, float]]:
        """The fitted models, and what their scores are multiplied by; of a stack those that have a weight."""
        if self.method != "stack":
            return {self.method: (self.model, 1.0)}
        found = zip(STACKED, self.model.models_, self.model.slopes_.tolist(), strict=True)
        return {name: (model, slope) for name, model, slope in found if model is not None}

    @property
    def used(self) -> tuple[str, ...]:
        """The models that scores come from, by their names."""
        return tuple(self.parts)

    @property
    def shares(self) -> dict[str, float]:
        """Of a stack: what a deviation of each model's scores weighs."""
        if self.method != "stack":
            return {}
        return dict(zip(STACKED, (self.model.weights_ * self.model.lines_[:, 0]).tolist(), strict=True))


CHOOSE, LEARN = "choosing parameters", "learning from all links"


def fit_method(task: Task, method: str, clock: Clock, seed: int) -> Learned:
    """Parameters chosen, on a sample where there are many labelled nodes, and learned from all links."""
    labeled, sampled = task.network.labeled, sample_size(task)
    everything = task.X, task.graph, labeled
    data = everything if sampled is None else sample_of(task, sampled, seed)
    parts = STACKED if method == "stack" else (method,)

    def watch(name: str, share: float, where: str) -> None:
        several = f"{METHODS[name]}, " if len(parts) > 1 else ""
        clock.at(CHOOSE, (parts.index(name) + share) / len(parts), several + where)

    models = searches(replace(task, options=replace(task.options, method="auto")), watch)
    clock.at(CHOOSE)
    found = {name: clone(models[name]).fit(*data).model_ for name in parts}
    if method == "stack":
        stack = clone(models["stack"]).weighed(*data)
        clock.at(LEARN)
        return Learned(method, stack.learn(task.X, task.graph, labeled=labeled), found, sampled)
    fitted = found[method]
    if sampled is not None:
        clock.at(LEARN)
        fitted = _chosen(method, fitted).fit(task.X, task.graph, labeled=labeled)
        clock.at(LEARN, 1.0, METHODS[method])
    return Learned(method, fitted, found, sampled)
