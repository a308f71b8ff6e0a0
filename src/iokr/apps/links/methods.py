"""The models of one kind of nodes: searches over parameters, and the stack of two models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from iokr._array import to_numpy
from iokr.apps.links.defaults import ALPHAS, NEIGHBORS, STRENGTHS
from iokr.apps.links.settings import Settings
from iokr.apps.report.progress import Progress, silent, stage
from iokr.estimators.links.cv import LinkPredictorCV
from iokr.estimators.links.stack import LinkStack
from iokr.estimators.pairs.links import PairLinkPredictorCV
from iokr.kernels.algebra import Normalized
from iokr.kernels.base import Kernel
from iokr.kernels.nodes import Diffusion
from iokr.manifolds.laplacian import Laplacian

__all__ = [
    "COMPARED",
    "METHODS",
    "SAMPLE",
    "STACKED",
    "FittedMethod",
    "TrainingSet",
    "choose_and_learn",
    "fit_methods",
    "parts_of",
    "sample_size",
    "searches",
]

METHODS = {"iokr": "LinkPredictor", "pairs": "PairLinkPredictor", "stack": "LinkStack of both"}
STACKED = ("iokr", "pairs")  # the models of a stack
STACK_FOLDS = 3  # by which the models of a stack are weighed
SAMPLE = 2000  # nodes on which parameters are chosen where there are more, half of them unlabelled if these are used
COMPARED = 800  # labelled nodes in the folds that compare models, at most

Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]


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
    count = len(models) + ("stack" in methods)
    for k, (name, model) in enumerate(models.items()):
        searching = stage(progress, METHODS[name], k / count, (k + 1) / count)
        found[name] = clone(model).fit(part.X, part.graph, labeled=part.labeled, progress=searching)
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
    needed = {name: models[name] for name in (STACKED if method == "stack" else (method,))}
    if size is None:
        return next(fit_methods([method], needed, data, progress=progress))
    part = data.sample(size, seed, unlabeled=settings.unlabeled)
    return replace(next(fit_methods([method], needed, part, data, progress)), n_sampled=size)
