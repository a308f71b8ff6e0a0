"""Few labelled nodes, as in B16 Tables 3, 6 and 7: EM and PKMR beside ridge under several penalties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.base import clone

from iokr.apps.links.baselines import PKMR, Naive
from iokr.apps.report import Table
from iokr.estimators.links.cv import LinkPredictorCV
from iokr.estimators.links.predictor import LinkPredictor
from iokr.manifolds import Heat, Laplacian
from iokr_lab.baselines import EMCompletion
from iokr_lab.baselines.pairs import PairLinks
from iokr_lab.links.few import BOTH_NEW, MAXIMUM, ONE_NEW, TEST, Chosen, Draw, Few, few_labels, with_maximum
from iokr_lab.links.protocol import MEASURES, PAIR_MODEL, LinkPlan, Matrix, spread
from iokr_lab.links.rules import ALPHAS
from iokr_lab.published import published
from iokr_lab.study import Case, Results
from iokr_lab.tables import beside

PERCENTS = ("5%", "10%", "20%")  # labelled, in the papers
STRENGTHS = (0.0, 0.01, 0.1, 1.0)
SMOOTHING = (0.0, 0.001, 0.01, 0.1)
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
    """Similarity of the inputs, EM, PKMR, ridge on pairs; IOKR with the penalty as printed, one that smooths, or none.

    Printed, its graph joins each node to a tenth of the others, its nearest; the one that smooths to ten.
    """
    printed = Heat(1.0, 1.0, literal=True, n_neighbors=max(1, n_nodes // 10))
    methods = {
        NAIVE: [Naive()],
        EM: [EMCompletion(alpha=alpha) for alpha in (0.1, 0.3, 1.0, 3.0)],
        BARE_EM: [EMCompletion(alpha=alpha, covariance=False) for alpha in (0.1, 0.3, 1.0, 3.0)],
        KMR: [PKMR(alpha=alpha) for alpha in (0.1, 0.3, 1.0, 3.0)],
        PAIRS: [PairLinks(mix=0.5, alpha=alpha) for alpha in (0.1, 1.0)],
        IOKR: LinkPredictorCV(alphas=ALPHAS, manifold_weights=STRENGTHS, manifold=printed),
        SMOOTH: LinkPredictorCV(alphas=ALPHAS, manifold_weights=SMOOTHING, manifold=Laplacian(1.0, 10)),
        SUPERVISED: LinkPredictorCV(alphas=ALPHAS),
    }
    return with_maximum(methods, (IOKR, SUPERVISED))


def few_cases(methods: Iterable[str], plan: LinkPlan, n_draws: int) -> list[Few]:
    """Every method at every fraction, on every draw."""
    return [Few(name, f, i) for f in plan.fractions for i in range(n_draws) for name in methods]


def seconds_of(found: Chosen, K: Matrix, W: Matrix, draw: Draw) -> float:
    """Seconds to learn and score once more, with what was chosen."""
    model = found.model
    if isinstance(model, LinkPredictor) and model.manifold is not None and not model.manifold.weight:
        # timed with its penalty even where none was chosen: any weight costs the same
        model = clone(model).set_params(manifold=clone(model.manifold).set_params(weight=STRENGTHS[1]))
    return few_labels([clone(model).set_params(kernel=None)], K, W, draw, ("roc_auc",)).seconds


# ------------------------------------------------------------------------------------------------------------- tables


def at_percents(
    results: Results, plan: LinkPlan, metric: str, kind: type[Case] = Few, **same: Any
) -> dict[str, list[float]]:
    """A metric of the cases with these fields at each fraction of labelled nodes, by its name in the papers."""
    return {
        percent: results.numbers(kind, metric, fraction=fraction, **same)
        for percent, fraction in zip(PERCENTS, plan.fractions, strict=True)
    }


def areas_row(results: Results, plan: LinkPlan, part: str, kind: type[Case] = Few, **same: Any) -> dict[str, Any]:
    """ROC at every fraction of labelled nodes, then PR, of one kind of pairs."""
    return {
        f"{short}, {percent}": spread(values)
        for measure, short in MEASURES.items()
        for percent, values in at_percents(results, plan, f"{part}.{measure}", kind, **same).items()
    }


def published_table(name: str, title: str, results: Results, plan: LinkPlan, measure: str, note: str = "") -> Table:
    """The four rows of B16's Tables 3 and 6, ours beside, and more."""
    by_largest = f"{IOKR}{MAXIMUM}", f"{UNSEEN}{MAXIMUM}"
    sources = {name: (name, ONE_NEW) for name in (NAIVE, EM, BARE_EM, KMR, PAIRS, IOKR, by_largest[0])}
    sources |= {UNSEEN: (IOKR, TEST), by_largest[1]: (by_largest[0], TEST)}
    ours = {
        row: at_percents(results, plan, f"{part}.{measure}", method=method) for row, (method, part) in sources.items()
    }
    return beside(title, published(name, MEASURES[measure]), ours, columns=PERCENTS, rows=sources, note=note)


def penalties_table(results: Results, plan: LinkPlan, rows: Mapping[str, str] | None = None) -> Table:
    """Ridge under several penalties, each kind of pairs apart."""
    rows = rows or {SUPERVISED: SUPERVISED, IOKR: "exp(−L), as printed", SMOOTH: SMOOTH}
    rows = {**rows, f"{SUPERVISED}{MAXIMUM}": f"{rows[SUPERVISED]}{MAXIMUM}"}
    lines = [
        {"penalty": label, "pairs": part, **areas_row(results, plan, part, method=method)}
        for method, label in rows.items()
        for part in (ONE_NEW, BOTH_NEW, TEST)
    ]
    return Table("Ridge under three penalties, kinds of pairs apart, percent", lines)


def seconds_table(name: str, title: str, results: Results, plan: LinkPlan) -> Table:
    """Seconds for a draw, printed and ours."""
    printed = published(name)
    ours = {method: at_percents(results, plan, "seconds", method=method) for method in printed}
    return beside(title, printed, ours, columns=PERCENTS, digits=2)
