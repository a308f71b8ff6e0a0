"""Searches of the library compared with loops over single models on the yeast networks, split by split.

The loops are what a user would write without shared factorisations: one `LinkPredictor` for each width, β and alpha on
each inner fold, scored by scikit-learn; one path of `PairModel` for each strategy and δ on each inner split.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from iokr.apps.report import Report, Table, Text
from iokr.estimators.areas import AREAS, AreaRule, both_areas
from iokr.estimators.links.cv import LinkPredictorCV
from iokr.estimators.links.predictor import LinkPredictor
from iokr.estimators.pairs.cv import PairModelCV
from iokr.estimators.pairs.model import PairModel
from iokr.kernels import Diffusion, Normalized
from iokr.kernels.vectors import RBF
from iokr.losses.margin import MaxMargin
from iokr.model_selection import NodeKFold
from iokr.solvers.iterative.coordinate_descent import CoordinateDescent
from iokr_lab.data.networks import load_yeast_ppi
from iokr_lab.links.protocol import nodes_of
from iokr_lab.links.rules import ALPHAS
from iokr_lab.links.yeast_ppi import SIGMAS
from iokr_lab.lookup import Lookup
from iokr_lab.pairs import pairs
from iokr_lab.pairs.pairs import DUPLICATE, KERNEL, PairsPlan, alpha_of
from iokr_lab.study import Case, Results, Study
from iokr_lab.timing import timed

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]
Chosen = dict[str, Any]  # "kernel", "beta", "alpha", or "strategy", "mix", "alpha"
STRATEGIES = (KERNEL, DUPLICATE)


@dataclass(frozen=True)
class ChoicesPlan(PairsPlan):
    """The grids of both searches; `repeat` is the number of splits of the nodes into five folds."""

    repeat: int = 1
    sigmas: tuple[float, ...] = SIGMAS
    betas: tuple[float, ...] = (0.3, 1.0, 3.0)
    alphas: tuple[float, ...] = ALPHAS
    link_folds: int = 5


@dataclass(frozen=True)
class Links(Case):
    """A fold of a split of the nodes."""

    split: int
    fold: int

    def __str__(self) -> str:
        return f"links, {super().__str__()}"


@dataclass(frozen=True)
class Pairs(Case):
    """A network, the inputs of its nodes, and a fold of its pairs."""

    network: str
    inputs: str
    fold: int


@dataclass(frozen=True)
class Data:
    """Links, a Gram matrix of the nodes for each width, and the data of the experiment on pairs."""

    W: Matrix
    grams: list[Matrix]
    pairs: pairs.Data


def load(plan: ChoicesPlan) -> Data:
    """The interaction network, and the metabolic network for pairs."""
    network = load_yeast_ppi()
    grams = [RBF(1 / (2 * sigma**2))(network.expression) for sigma in plan.sigmas]
    return Data(network.adjacency.toarray(), grams, pairs.load(plan))


def cases(plan: ChoicesPlan, data: Data) -> list[Case]:
    """Every fold of both searches."""
    return [
        *(Links(split, fold) for split in range(plan.repeat) for fold in range(plan.link_folds)),
        *(Pairs(row.network, row.inputs, fold) for row in pairs.POSSIBLE for fold in range(plan.folds)),
    ]


def work(case: Links | Pairs, plan: ChoicesPlan, data: Data) -> dict[str, Any]:
    """What the search and the loop choose, and their processor seconds."""
    if isinstance(case, Links):
        train, _ = nodes_of(len(data.W), plan.seed + case.split, case.fold)
        return _compared(lambda: search_links(case, plan, data, train), lambda: loop_links(case, plan, data, train))
    K = Lookup(data.pairs.grams[case.network, case.inputs])
    every_pair, every_y = data.pairs.pairs[case.network]
    folds = StratifiedKFold(plan.folds, shuffle=True, random_state=plan.seed)
    train, _ = list(folds.split(every_pair, every_y))[case.fold]
    ends = every_pair[train]
    y = every_y[train]
    inner = StratifiedKFold(max(plan.inner, 5), shuffle=True, random_state=plan.seed + 1)
    splits = list(itertools.islice(inner.split(ends, y), plan.inner))
    return _compared(lambda: search_pairs(plan, K, ends, y, splits), lambda: loop_pairs(plan, K, ends, y, splits))


def _compared(search: Any, loop: Any) -> dict[str, Any]:
    ours, our_seconds = timed(search)
    theirs, their_seconds = timed(loop)
    seconds = {"search": round(our_seconds, 2), "loop": round(their_seconds, 2)}
    return {"search": ours, "loop": theirs, "seconds": seconds}


# --------------------------------------------------------------------------------------------------------------- links


def search_links(case: Links, plan: ChoicesPlan, data: Data, train: NDArray[np.intp]) -> dict[str, Chosen]:
    """The choice of `LinkPredictorCV` by both areas, and from the same search by each area alone."""
    model = LinkPredictorCV(
        [Lookup(K) for K in data.grams],
        alphas=plan.alphas,
        output_kernel=[Normalized(Diffusion(beta)) for beta in plan.betas],
        cv=NodeKFold(4, random_state=plan.seed + case.split),
        scoring="both",
        rule="best",
    ).fit(np.arange(len(data.W)), data.W, labeled=train)
    sigma = next(s for s, K in zip(plan.sigmas, data.grams, strict=True) if K is model.kernel_.matrix)
    found = {"both": {"sigma": sigma, "beta": model.output_kernel_.base.beta, "alpha": model.alpha_}}
    shape = len(plan.sigmas), len(plan.betas), len(plan.alphas)
    areas = np.stack([model.areas_[name].reshape(shape) for name in AREAS])
    for scoring in AREAS:
        (i, j), alpha = AreaRule(scoring, "best").among(areas, plan.alphas)
        found[scoring] = {"sigma": plan.sigmas[i], "beta": plan.betas[j], "alpha": alpha}
    return found


def loop_links(case: Links, plan: ChoicesPlan, data: Data, train: NDArray[np.intp]) -> dict[str, Chosen]:
    """One `LinkPredictor` for each point of the grid and inner fold, scored on pairs with a node of the fold."""
    shape = len(plan.sigmas), len(plan.betas), len(plan.alphas)
    areas = np.zeros((2, *shape))
    W = data.W[np.ix_(train, train)]
    for fit, left_out in NodeKFold(4, random_state=plan.seed + case.split).split(train):
        new = np.isin(np.arange(len(train)), left_out)
        scored = np.triu(new[:, None] | new[None, :], k=1)
        truth = W[scored]
        for i, j, k in np.ndindex(shape):
            model = LinkPredictor(
                Lookup(data.grams[i][np.ix_(train, train)]),
                output_kernel=Normalized(Diffusion(plan.betas[j])),
                alpha=plan.alphas[k],
            ).fit(fit, W[np.ix_(fit, fit)])
            nodes = np.arange(len(train))
            scores = model.decision_function(nodes, nodes)[scored]
            areas[:, i, j, k] += roc_auc_score(truth, scores), average_precision_score(truth, scores)
    areas /= 4
    found = {}
    for scoring, values in (("both", both_areas(*areas)), *zip(AREAS, areas, strict=True)):
        i, j, k = _place_of_largest(values)
        found[scoring] = {"sigma": plan.sigmas[i], "beta": plan.betas[j], "alpha": plan.alphas[k]}
    return found


def _place_of_largest(values: Matrix) -> list[int]:
    return [int(index) for index in np.unravel_index(int(np.argmax(values)), values.shape)]


# --------------------------------------------------------------------------------------------------------------- pairs


def search_pairs(plan: ChoicesPlan, K: Lookup, ends: Any, y: Any, splits: Any) -> dict[str, Chosen]:
    """The choice of `PairModelCV` over strategies, δ and C."""
    alphas = [alpha_of(cost) for cost in plan.costs]
    model = PairModelCV(
        K,
        strategies=STRATEGIES,
        mixes=plan.mixes,
        alphas=alphas,
        loss=MaxMargin(),
        cv=splits,
        solver=CoordinateDescent(plan.tol_inner, plan.steps),
        refit=False,
    ).fit(np.arange(len(K.matrix)), ends, y)
    cost = plan.costs[alphas.index(model.alpha_)]
    return {"roc_auc": {"strategy": model.strategy_, "mix": model.mix_, "C": cost}}


def loop_pairs(plan: ChoicesPlan, K: Lookup, ends: Any, y: Any, splits: Any) -> dict[str, Chosen]:
    """One `PairModel` for each strategy and δ, along C, on each inner split."""
    alphas = [alpha_of(cost) for cost in plan.costs]
    shape = len(STRATEGIES), len(plan.mixes), len(alphas)
    areas = np.zeros(shape)
    for fit, check in splits:
        for i, j in np.ndindex(shape[:2]):
            model = PairModel(
                K,
                strategy=STRATEGIES[i],
                mix=plan.mixes[j],
                loss=MaxMargin(),
                solver=CoordinateDescent(plan.tol_inner, plan.steps),
            )
            path = model.path(np.arange(len(K.matrix)), ends[fit], y[fit], alphas)
            areas[i, j] += [pairs.roc(y[check], one.decision_function(ends[check])) for one in path]
    i, j, k = _place_of_largest(areas)
    return {"roc_auc": {"strategy": STRATEGIES[i], "mix": plan.mixes[j], "C": plan.costs[k]}}


# ---------------------------------------------------------------------------------------------------------------- page


def page(results: Results, plan: ChoicesPlan, data: object) -> Report:
    """A row for every split and criterion: both choices, and whether they are equal."""
    rows = {kind: _rows(results, kind) for kind in (Links, Pairs)}
    counts = {kind: sum(row["the same"] == "yes" for row in found) for kind, found in rows.items()}
    summary = (
        f"LinkPredictorCV and a loop over LinkPredictor make the same choice in {counts[Links]} of "
        f"{len(rows[Links])} cases, PairModelCV and a loop over PairModel in {counts[Pairs]} of {len(rows[Pairs])}."
    )
    return Report(
        "Searches against loops",
        summary,
        (
            Text("Interactions of yeast proteins: σ, β and alpha", (_LINKS,)),
            Table("LinkPredictorCV and a loop", rows[Links], ours=("search",)),
            Text("Unordered pairs: strategy, δ and C", (_PAIRS,)),
            Table("PairModelCV and a loop", rows[Pairs], ours=("search",)),
        ),
        ("Seconds are processor seconds for all criteria of a split together.",),
    )


_LINKS = (
    "Five folds of proteins. On the training proteins of each fold, the width of the expression kernel, β of the "
    "diffusion kernel and alpha are chosen by four-fold cross-validation, by ROC, by PR and by both; the experiment "
    "yeast-ppi uses this search. The loop fits one LinkPredictor for each point of the grid and each inner fold and "
    "computes its areas with scikit-learn."
)
_PAIRS = (
    "Folds, decoys and solver are those of the experiment pairs. One PairModelCV searches strategy, δ and C together; "
    "the loop fits a path of PairModel for each strategy and δ. At δ = 0 both strategies are the same model, solved "
    "to a tolerance in two ways."
)


def _rows(results: Results, kind: type[Case]) -> list[dict[str, Any]]:
    rows = []
    for case, cell in results.of(kind).items():
        for criterion, ours in cell["search"].items():
            theirs = cell["loop"][criterion]
            rows.append(
                {
                    "split": str(case),
                    "criterion": criterion,
                    "search": _text(ours),
                    "loop": _text(theirs),
                    "the same": "yes" if ours == theirs else "no",
                    "seconds, search": cell["seconds"]["search"],
                    "seconds, loop": cell["seconds"]["loop"],
                }
            )
    return rows


SYMBOLS = {"sigma": "σ", "beta": "β", "alpha": "α", "mix": "δ", "C": "C"}


def _text(chosen: Chosen) -> str:
    parts = [chosen["strategy"]] if "strategy" in chosen else []
    parts += [f"{SYMBOLS[name]} = {value:.3g}" for name, value in chosen.items() if name in SYMBOLS]
    return ", ".join(parts)


PLANS = {
    "short": ChoicesPlan(
        sigmas=(4.0, 8.0),
        betas=(1.0, 3.0),
        alphas=(0.1, 1.0),
        link_folds=1,
        mixes=(0.0, 1.0),
        decoys=1,
        costs=(1.0, 8.0),
        folds=2,
        tol_inner=2e-2,
    ),
    "default": ChoicesPlan(),
}
STUDY = Study(plans=PLANS, load=load, cases=cases, work=work, page=page)
