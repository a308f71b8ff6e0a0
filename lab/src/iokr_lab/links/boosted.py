"""Link predictors against gradient boosting on pairs: random splits, parameters chosen on the training nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr.apps.report import Table, Text
from iokr.estimators.links.cv import LinkPredictorCV
from iokr.estimators.links.stack import LinkStack
from iokr.estimators.pairs.links import PairLinkPredictorCV
from iokr.kernels import Diffusion, Normalized
from iokr_lab.baselines.classifier import PairClassifier
from iokr_lab.links.protocol import (
    BOOSTING,
    BOTH,
    MEASURES,
    Matrix,
    fitted_scores,
    measures_of,
    nodes_of,
    spread,
)
from iokr_lab.lookup import Lookup
from iokr_lab.study import Case, Results
from iokr_lab.tables import Difference, difference, paired

__all__ = ["NodeSplit", "against_boosting", "split_cases", "split_work"]

PAIRS = "PairModel on all pairs"
RIDGE = "LinkPredictor"
STACK = "LinkStack of the two"
BY_ROC = "PairModel on all pairs, by ROC"
NAMES = (BOOSTING, PAIRS, BY_ROC, RIDGE, STACK)
ALPHAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
MIXES = (0.0, 0.3, 0.7)
FOLDS = 5  # one of them is held out in every split
SEEN = 2  # splits used while kernels and grids were designed; they are excluded
LEVEL = 0.05  # of significance


@dataclass(frozen=True)
class NodeSplit(Case):
    """A method on one random split of the nodes, a fifth of them held out with all their links."""

    method: str
    split: int

    def __str__(self) -> str:
        return f"{self.method}, a fifth of the nodes held out, split {self.split}"


def split_cases(repeat: int) -> list[Case]:
    """Every method on every split that was not used for the design."""
    return [NodeSplit(name, split) for name in NAMES for split in range(SEEN, SEEN + repeat)]


def _model(name: str, kernels: Sequence[Matrix], features: Any, seed: int) -> Any:
    """The model fitted to the training nodes; ours choose kernel, δ, β and λ by folds of these."""
    lookups = [Lookup(K) for K in kernels]
    if name == BOOSTING:
        return PairClassifier(lookups[0], features=features, random_state=seed)
    pairs = PairLinkPredictorCV(lookups, alphas=ALPHAS, mixes=MIXES, scoring="roc_auc" if name == BY_ROC else BOTH)
    ridge = LinkPredictorCV(
        lookups,
        alphas=ALPHAS,
        output_kernel=[Normalized(Diffusion(beta)) for beta in (0.3, 1.0)],
        scoring=BOTH,
        cv=4,
        rule="best",
    )
    if name in (PAIRS, BY_ROC):
        return pairs
    if name == RIDGE:
        return ridge
    return LinkStack([pairs, ridge], cv=3)


def split_work(case: NodeSplit, kernels: Sequence[Matrix], features: Any, W: Matrix, seed: int) -> dict[str, Any]:
    """Areas of test × training pairs, the chosen parameters, and processor seconds."""
    train, test = nodes_of(len(W), seed + case.split, 0)
    fitted, scores, seconds = fitted_scores(_model(case.method, kernels, features, seed), W, train, test)
    chosen = {name: getattr(fitted, f"{name}_", None) for name in ("alpha", "mix")}
    chosen["kernel"] = getattr(fitted, "best_index_", (None,))[0] if len(kernels) > 1 else None
    chosen["weights"] = list(fitted.weights_) if isinstance(fitted, LinkStack) else None
    found = measures_of(W[np.ix_(test, train)].ravel(), scores.ravel())
    return {**found, "seconds": seconds, "chosen": {name: v for name, v in chosen.items() if v is not None}}


Compared = list[tuple[Mapping[str, Any], Difference]]


def against_boosting(results: Results, what: str) -> tuple[Text, Table, Table]:
    """Means over the splits, and paired tests of our methods against boosting."""
    areas = {}
    rows: list[Mapping[str, Any]] = []
    for name in NAMES:
        areas[name] = {short: results.numbers(NodeSplit, measure, method=name) for measure, short in MEASURES.items()}
        spreads = {short: spread(values) for short, values in areas[name].items()}
        seconds = spread(results.numbers(NodeSplit, "seconds", method=name))
        rows.append({"method": name, **spreads, "seconds": seconds})
    compared: Compared = []
    for name in NAMES[1:]:
        for short in MEASURES.values():
            gain = difference(areas[name][short], areas[BOOSTING][short], ratio=1 / (FOLDS - 1))
            compared.append(({"ours": name, "area": short}, gain))
    n = len(areas[BOOSTING]["ROC"])
    return (
        Text("Comparison with gradient boosting on pairs", (_TEXT.format(n=n, what=what), _verdict(compared, n))),
        Table(f"{n} random split{'s' * (n > 1)}, percent", rows, ours=tuple(MEASURES.values())),
        paired("Ours minus boosting, in percentage points", compared, digits=2),
    )


_TEXT = (
    "Histogram gradient boosting of scikit-learn on products, absolute differences and the cosine of the features of "
    "two nodes, {what}, with 20 pairs without a link for each link; learning rate and depth are scikit-learn's "
    "defaults. Our methods are single models for both measures, chosen by the product of the odds of both areas on "
    "folds of the training nodes: `PairModel` on all pairs of training nodes (kernel, δ and λ; in another row by ROC "
    "alone), `LinkPredictor` (kernel, β and λ), and their `LinkStack`, which averages ranks with weights from held-out "
    "nodes. {n} random splits with a fifth of the nodes held out; pairs of a test and a training node are scored. Two "
    "other splits were used to design the grids of kernels and parameters and are excluded."
)


def _verdict(compared: Compared, n: int) -> str:
    """The methods that are better than boosting in both areas, with their significance."""
    if n < 2:
        return "A single split cannot be tested."
    by_name = {name: [(names["area"], gain) for names, gain in compared if names["ours"] == name] for name in NAMES[1:]}
    better = [name for name, gains in by_name.items() if all(gain.mean > 0 for _, gain in gains)]
    significant = [name for name in better if all(gain.p < LEVEL for _, gain in by_name[name])]
    if significant:
        names = ", ".join(significant)
        return f"Better than boosting in ROC and PR, p < {LEVEL} for both before Holm's correction: {names}."
    if not better:
        return "None of our methods is better than boosting in both areas."
    open_gains = []
    for name in better:
        for area, gain in by_name[name]:
            if not gain.p < LEVEL:
                open_gains.append(
                    f"{name} in {area}, {gain.mean:.2f} points (wins {gain.wins} of {gain.n}, p = {gain.p:.1g})"
                )
    return (
        f"On average better than boosting in both areas: {', '.join(better)}. Not significant at p < {LEVEL}: "
        f"{'; '.join(open_gains)}."
    )
