"""A model of the links of a network: parameters chosen, learned from all links, evaluated on held-out nodes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any, Unpack

import numpy as np
import pandas as pd

from iokr.apps.links.data import LinkData, Matrix
from iokr.apps.links.described import chosen_across, chosen_table, describe
from iokr.apps.links.features import FeatureFormat, Inputs, inputs_of
from iokr.apps.links.methods import (
    COMPARED,
    FOLDS,
    SAMPLE,
    HeldOut,
    TrainingSet,
    bipartite,
    choose_and_learn,
    compare,
    comparison_table,
    parts_of,
    searches,
)
from iokr.apps.links.nodes import ModelNodes, PairScores
from iokr.apps.links.page import model_report
from iokr.apps.links.settings import FitOptions, Settings, check_arguments
from iokr.apps.report import Report, Table, run_info
from iokr.apps.report.progress import Progress, silent, stage
from iokr.estimators.areas import areas_of
from iokr.estimators.bipartite import BipartitePredictor
from iokr.estimators.links.ranking import f1_threshold, fit_logistic
from iokr.model_selection import TooFewLinks

__all__ = ["TOO_FEW", "LinkModel", "fit", "training_set"]

_PARTS = 3  # into which rows, and columns, are cut where both are new


@dataclass(frozen=True, eq=False, repr=False)
class LinkModel:
    """What is learned from a network: a fitted model, its nodes, and how good it is.

    Attributes
    ----------
    method : {"iokr", "pairs", "stack", "across"}
        "across" is the model of two kinds of nodes.
    estimator : `LinkPredictorCV`, `LinkPredictor`, `LinkStack` or `BipartitePredictor`
        Fitted; its inputs are scaled features.
    nodes : ModelNodes
        Nodes and known links of training.
    threshold : float
        The score above which F1 is largest, on held-out pairs.
    comparison : DataFrame
        Areas under ROC and precision-recall curves on nodes that are held out; of several methods the best one first.
        Empty where there are too few links for folds.
    chosen : DataFrame
        Parameters that were chosen.
    description : str
        The model in a sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.apps import links
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> network = links.read(nodes=X, edges=np.argwhere(np.triu(abs(X - X.T) < 0.5, 1)))
    >>> model = links.fit(network, method="iokr", alphas=(0.01, 0.1))
    >>> model
    LinkModel(LinkPredictorCV, 40 nodes)
    >>> bool(model.comparison["AUC-ROC %"][0] > 90)
    True
    """

    method: str
    estimator: Any
    nodes: ModelNodes
    formats: tuple[FeatureFormat, ...]  # of the features of each kind; none with kernel matrices
    threshold: float
    scoring: str
    comparison_table: Table | None
    chosen_table: Table | None
    description: str
    held_out: tuple[HeldOut, ...] = ()  # of one kind of nodes: each method, the best one first
    n_compared: int = 0  # labelled nodes in its folds
    logistic: tuple[float, float] | None = None  # of two kinds: a score as log odds
    caveat: str = ""  # where the model was not evaluated: why
    network: LinkData | None = None  # None when the model comes from a file
    info: dict[str, Any] = field(default_factory=dict)  # of the run: seed, seconds, versions, files
    files: tuple[Path, ...] = ()  # that the model comes from

    def __repr__(self) -> str:
        return f"LinkModel({type(self.estimator).__name__}, {len(self.nodes.ids)} nodes)"

    @property
    def parts(self) -> list[tuple[str, Any, float]]:
        """(method, model, slope) of the fitted models whose scores are summed."""
        return parts_of(self.method, self.estimator)

    @property
    def comparison(self) -> pd.DataFrame:
        """How well links of held-out nodes are found."""
        return _frame(self.comparison_table)

    @property
    def chosen(self) -> pd.DataFrame:
        """The parameters that were chosen."""
        return _frame(self.chosen_table)

    def report(self) -> Report:
        """How good the model is and what was chosen, as tables of a page."""
        return model_report(self)

    def calibrated(self, scores: Matrix, unit: float) -> dict[str, Matrix]:
        """Columns of probabilities for scores; `unit` is the size of scores between labelled nodes."""
        if self.logistic is not None:
            a, b = self.logistic
            return {"probability": 1 / (1 + np.exp(-np.clip(a * scores + b, -500, 500)))}
        if not self.held_out:
            return {}
        best = self.held_out[0]
        return {"probability": best.probability(scores / unit), "expected precision": best.precision(scores / unit)}


def _frame(table: Table | None) -> pd.DataFrame:
    return pd.DataFrame([] if table is None else table.flat())


def fit(network: LinkData, *, seed: int = 0, progress: Progress = silent, **options: Unpack[FitOptions]) -> LinkModel:
    """Compare models in folds of nodes, choose parameters, and learn from all known links.

    Parameters
    ----------
    network : LinkData
    seed : int, default=0
        Random seed.
    progress : callable, default=silent
        Called with steps done, steps in all, and what is being done.
    **options :
        See `FitOptions`.

    Returns
    -------
    LinkModel

    Raises
    ------
    ValueError
        When options have no effect on this network, or there is nothing to learn from.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.apps import links
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> network = links.read(nodes=X, edges=np.argwhere(np.triu(abs(X - X.T) < 0.5, 1)))
    >>> model = links.fit(network, alphas=(0.01, 0.1))
    >>> len(model.comparison), bool(model.comparison["AUC-ROC %"][0] > 90)
    (3, True)
    """
    check_arguments({**network.arguments, **options})
    settings = Settings(**options)
    start = perf_counter()
    model = (_fit_two_kinds if network.across else _fit_one_kind)(network, settings, seed, progress)
    info = run_info(seed=seed, seconds=perf_counter() - start, files=network.files)
    return replace(model, network=network, files=network.files, info=info)


# ---------------------------------------------------------------------------------------------------- one kind of nodes

TOO_FEW = (
    "There are too few links for folds of nodes, so probabilities are not available, and the threshold is optimistic."
)


def training_set(network: LinkData, settings: Settings) -> tuple[TrainingSet, Inputs]:
    """The network as models take it, and the kernels to choose from.

    Weights of links are divided by their mean, so that the diffusion time does not depend on their unit.
    """
    nodes = network.rows
    inputs = inputs_of(nodes, settings, network.labeled)
    if nodes.X is not None and not np.ptp(nodes.X, axis=0).any():
        names = " and ".join(str(path) for path in network.files[: len(nodes.views)]) or "`nodes`"
        raise ValueError(
            f"{names}: every feature is constant over all {len(nodes.ids)} nodes; give features that vary."
        )
    known = network.links / network.links.data.max()  # so that their sum does not overflow
    return TrainingSet(inputs.X, known / known.data.mean(), network.labeled), inputs


def _fit_one_kind(network: LinkData, settings: Settings, seed: int, progress: Progress) -> LinkModel:
    data, inputs = training_set(network, settings)
    models = searches(inputs.kernels, settings)
    compared = data.sample(COMPARED, seed, unlabeled=settings.unlabeled)
    n_compared = len(compared.labeled)
    part = _share_of_folds(n_compared, len(data.labeled))
    comparing = stage(progress, "comparing models", 0, part)
    try:
        held_out = compare(settings.methods, models, compared, settings.scoring, seed, comparing)
    except TooFewLinks:  # any other error ends the run
        held_out = []
    method = held_out[0].method if held_out else settings.methods[0]
    choosing = stage(progress, "choosing parameters", part, 1)
    fitted = choose_and_learn(method, models, data, settings, seed, choosing)
    used = parts_of(fitted.method, fitted.model)
    nodes = ModelNodes.of(network, [inputs.X])
    return LinkModel(
        method,
        fitted.model,
        nodes,
        _formats(network, [inputs]),
        threshold=_threshold(nodes, PairScores.of(used, nodes), held_out),
        scoring=settings.scoring,
        comparison_table=(
            comparison_table(held_out, n_compared, len(data.labeled), settings.scoring) if held_out else None
        ),
        chosen_table=chosen_table(network, settings, fitted),
        description=describe(network, settings, [name for name, _, _ in used]),
        held_out=tuple(held_out),
        n_compared=n_compared,
        caveat="" if held_out else TOO_FEW,
    )


def _share_of_folds(n_compared: int, n: int) -> float:
    """The part of the work that folds of nodes are, where eigenvectors cost n³."""
    folds = FOLDS * (n_compared * (1 - 1 / FOLDS)) ** 3
    return folds / (folds + min(n, SAMPLE) ** 3)


def _threshold(nodes: ModelNodes, scores: PairScores, held_out: list[HeldOut]) -> float:
    """The score above which F1 is largest on held-out pairs or, without folds, on those that were learned from."""
    known = nodes.labeled
    if held_out:
        return scores.size(known) * held_out[0].threshold
    a, b = np.triu_indices(len(known), k=1)
    linked = nodes.adjacency[known][:, known].toarray()[a, b] != 0
    return f1_threshold(linked, scores.of_pairs(np.column_stack([known[a], known[b]])))


def _formats(network: LinkData, inputs: list[Inputs]) -> tuple[FeatureFormat, ...]:
    if network.rows.X is None:
        return ()
    return tuple(
        FeatureFormat.of(nodes, network.layout, network.missing, one.scaling)
        for nodes, one in zip(network.sides, inputs, strict=True)
    )


# --------------------------------------------------------------------------------------------------- two kinds of nodes


def _fit_two_kinds(network: LinkData, settings: Settings, seed: int, progress: Progress) -> LinkModel:
    rows, columns = (inputs_of(nodes, settings) for nodes in network.sides)
    X = rows.X
    Z = columns.X
    Y = network.links.toarray()
    progress(0, 2, "choosing parameters")
    estimator = bipartite(rows, columns, settings).fit(X, Z, Y)
    progress(1, 2, "evaluating")
    scores = {leave: np.asarray(estimator.loo_decision_function(leave)) for leave in ("row", "column")}
    threshold = estimator.best_threshold()
    a, b = fit_logistic(Y.ravel() > 0, scores["row"].ravel())
    scores["both"] = _both_left_out(estimator, X, Z, Y, seed)
    return LinkModel(
        "across",
        estimator,
        ModelNodes.of(network, [X, Z]),
        _formats(network, [rows, columns]),
        threshold=threshold,
        scoring=settings.scoring,
        comparison_table=_left_out_table(network, Y, scores),
        chosen_table=chosen_across(network, settings, estimator, threshold),
        description=describe(network, settings, ["across"]),
        logistic=(float(a), float(b)),
    )


def _both_left_out(model: BipartitePredictor, X: Matrix, Z: Matrix, Y: Matrix, seed: int) -> Matrix:
    """Scores of every pair by a model that knows neither its row nor its column; NaN where too little is left."""
    n, m = Y.shape
    S = np.full((n, m), np.nan)
    rng = np.random.default_rng(seed)
    rows, columns = (np.array_split(rng.permutation(size), min(_PARTS, size)) for size in (n, m))
    kernels = model.row_model_.kernel.kernel, model.column_model_.kernel.kernel
    alone = BipartitePredictor(*kernels, alpha=model.alpha_)
    for one, other in product(rows, columns):
        i = np.setdiff1d(np.arange(n), one)
        j = np.setdiff1d(np.arange(m), other)
        known = Y[np.ix_(i, j)]
        if known.any():
            S[np.ix_(one, other)] = alone.fit(X[i], Z[j], known).decision_function(X[one], Z[other])
    return S


def _left_out_table(network: LinkData, Y: Matrix, scores: dict[str, Matrix]) -> Table:
    """How well links of a new row, of a new column, and of both are found."""
    rows = []
    for pairs, S in zip(network.kinds_of_pairs, scores.values(), strict=True):
        seen = ~np.isnan(S)
        truth = Y[seen] > 0
        if truth.any() and not truth.all():
            roc, precision = areas_of(truth, S[seen])
            rows.append(
                {
                    "pairs": pairs,
                    "AUC-ROC %": round(100 * roc, 1),
                    "AUC-PR %": round(100 * precision, 1),
                    "linked %": round(100 * float(truth.mean()), 2),
                }
            )
    note = (
        "One node of a kind is left out at a time, and thirds of either kind where both are new. Optimistic: kernels "
        "and alpha were chosen by the first two rows."
    )
    return Table("Accuracy on held-out links", rows, ours=("AUC-ROC %",), note=note)
