"""Few labelled nodes as in B16, Tables 3, 6 and 7: EM, PKMR, and ridge with several penalties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.base import clone

from iokr.apps.links.baselines import PKMR, Naive
from iokr.apps.report import Table
from iokr.estimators.links.cv import LinkPredictorCV
from iokr.estimators.links.predictor import LinkPredictor
from iokr.estimators.pairs.links import PairLinkPredictor
from iokr.manifolds import Heat, Laplacian
from iokr_lab.baselines import EMCompletion
from iokr_lab.links.few import BOTH_NEW, MAXIMUM, ONE_NEW, TEST, Draw, Evaluation, Few, few_labels, with_maximum
from iokr_lab.links.protocol import MEASURES, PAIR_MODEL, LinkPlan, Matrix, spread
from iokr_lab.links.rules import ALPHAS
from iokr_lab.published import published
from iokr_lab.study import Case, Results
from iokr_lab.tables import beside

PERCENTS = ("5%", "10%", "20%")  # shares of labelled nodes in the papers
HEAT_WEIGHTS = (0.0, 0.01, 0.1, 1.0)
LAPLACIAN_WEIGHTS = (0.0, 0.001, 0.01, 0.1)
EM = "EM, transductive"
KMR = "PKMR, transductive"
IOKR = "IOKR, transductive"
UNSEEN = "IOKR, semi-supervised"
NAIVE = "Naive"
SMOOTH = "Laplacian, ten neighbours"
SUPERVISED = "no penalty"
BARE_EM = "EM, covariance left out"
PAIRS = f"{PAIR_MODEL}, transductive"


def semi_methods(n_nodes: int) -> dict[str, Any]:
    """Similarity of the inputs, EM, PKMR, ridge on pairs; IOKR with the printed penalty, a smoothing one, or none.

    The graph of the printed penalty joins each node to the nearest tenth of the others, that of the smoothing penalty
    to the ten nearest.
    """
    printed = Heat(1.0, 1.0, literal=True, n_neighbors=max(1, n_nodes // 10))
    methods = {
        NAIVE: [Naive()],
        EM: [EMCompletion(alpha=alpha) for alpha in (0.1, 0.3, 1.0, 3.0)],
        BARE_EM: [EMCompletion(alpha=alpha, covariance=False) for alpha in (0.1, 0.3, 1.0, 3.0)],
        KMR: [PKMR(alpha=alpha) for alpha in (0.1, 0.3, 1.0, 3.0)],
        PAIRS: [PairLinkPredictor(mix=0.5, alpha=alpha) for alpha in (0.1, 1.0)],
        IOKR: LinkPredictorCV(alphas=ALPHAS, manifold_weights=HEAT_WEIGHTS, manifold=printed),
        SMOOTH: LinkPredictorCV(alphas=ALPHAS, manifold_weights=LAPLACIAN_WEIGHTS, manifold=Laplacian(1.0, 10)),
        SUPERVISED: LinkPredictorCV(alphas=ALPHAS),
    }
    return with_maximum(methods, (IOKR, SUPERVISED))


def few_cases(methods: Iterable[str], plan: LinkPlan, n_draws: int) -> list[Few]:
    """Every method at every fraction, on every draw."""
    return [Few(name, f, i) for f in plan.fractions for i in range(n_draws) for name in methods]


def seconds_of(found: Evaluation, K: Matrix, W: Matrix, draw: Draw) -> float:
    """Seconds of another fit and scores with the chosen parameters."""
    model = found.model
    if isinstance(model, LinkPredictor) and model.manifold is not None and not model.manifold.weight:
        # timed with its penalty even if weight 0 was chosen: every positive weight costs the same
        model = clone(model).set_params(manifold=clone(model.manifold).set_params(weight=HEAT_WEIGHTS[1]))
    return few_labels([clone(model).set_params(kernel=None)], K, W, draw, ("roc_auc",)).seconds


# ------------------------------------------------------------------------------------------------------------- tables


def at_percents(
    results: Results, plan: LinkPlan, metric: str, kind: type[Case] = Few, **same: Any
) -> dict[str, list[float]]:
    """A metric of the cases with these fields for each share of labelled nodes, named as in the papers."""
    return {
        percent: results.numbers(kind, metric, fraction=fraction, **same)
        for percent, fraction in zip(PERCENTS, plan.fractions, strict=True)
    }


def areas_row(results: Results, plan: LinkPlan, part: str, kind: type[Case] = Few, **same: Any) -> dict[str, Any]:
    """ROC and PR for every share of labelled nodes, on one kind of pairs."""
    return {
        f"{short}, {percent}": spread(values)
        for measure, short in MEASURES.items()
        for percent, values in at_percents(results, plan, f"{part}.{measure}", kind, **same).items()
    }


def published_table(name: str, title: str, results: Results, plan: LinkPlan, measure: str, note: str = "") -> Table:
    """The four rows of B16, Tables 3 and 6, with our numbers and further rows."""
    by_largest = f"{IOKR}{MAXIMUM}", f"{UNSEEN}{MAXIMUM}"
    sources = {name: (name, ONE_NEW) for name in (NAIVE, EM, BARE_EM, KMR, PAIRS, IOKR, by_largest[0])}
    sources |= {UNSEEN: (IOKR, TEST), by_largest[1]: (by_largest[0], TEST)}
    ours = {
        row: at_percents(results, plan, f"{part}.{measure}", method=method) for row, (method, part) in sources.items()
    }
    return beside(title, published(name, MEASURES[measure]), ours, columns=PERCENTS, rows=sources, note=note)


def penalties_table(results: Results, plan: LinkPlan, rows: Mapping[str, str] | None = None) -> Table:
    """Ridge with several penalties, for each kind of pairs."""
    rows = rows or {SUPERVISED: SUPERVISED, IOKR: "exp(−L), as printed", SMOOTH: SMOOTH}
    rows = {**rows, f"{SUPERVISED}{MAXIMUM}": f"{rows[SUPERVISED]}{MAXIMUM}"}
    lines = [
        {"penalty": label, "pairs": part, **areas_row(results, plan, part, method=method)}
        for method, label in rows.items()
        for part in (ONE_NEW, BOTH_NEW, TEST)
    ]
    return Table("Ridge with several penalties by kind of pairs, percent", lines)


def seconds_table(name: str, title: str, results: Results, plan: LinkPlan) -> Table:
    """Seconds for a draw, published and ours."""
    printed = published(name)
    ours = {method: at_percents(results, plan, "seconds", method=method) for method in printed}
    return beside(title, printed, ours, columns=PERCENTS, digits=2)
