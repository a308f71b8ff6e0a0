"""Few labelled nodes, as in B16 Tables 3, 6 and 7: EM and PKMR beside ridge under several penalties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.base import clone

from iokr.estimators.links.cv import LinkPredictorCV
from iokr.estimators.links.predictor import LinkPredictor
from iokr.manifolds import Heat, Laplacian
from iokr.report import Spread, Table
from iokr.rivals import PKMR, EMCompletion, Naive
from iokr.rivals.pairs import PairLinks
from iokr_lab.links.few import (
    BOTH_NEW,
    ONE_NEW,
    TEST,
    Chosen,
    Draw,
    few_labels,
    labelled_draws,
)
from iokr_lab.links.protocol import (
    PAIR_MODEL,
    Matrix,
    published_beside_ours,
    spread,
)
from iokr_lab.links.rules import ALPHAS

__all__ = [
    "BARE_EM",
    "EM",
    "IOKR",
    "KMR",
    "NAIVE",
    "PAIRS",
    "PERCENTS",
    "SHARES",
    "SMOOTH",
    "SMOOTHING",
    "STRENGTHS",
    "SUPERVISED",
    "UNSEEN",
    "Few",
    "Printed",
    "few_draws",
    "parse",
    "penalties_table",
    "published_table",
    "seconds_table",
    "semi_methods",
]

SHARES = (0.05, 0.1, 0.2)
PERCENTS = tuple(f"{share:.0%}" for share in SHARES)
STRENGTHS, SMOOTHING = (0.0, 0.01, 0.1, 1.0), (0.0, 0.001, 0.01, 0.1)
EM, KMR, IOKR, UNSEEN = "EM, transductive", "PKMR, transductive", "IOKR, transductive", "IOKR, semi-supervised"
NAIVE, SMOOTH, SUPERVISED = "Naive", "Laplacian, ten neighbours", "no penalty"
BARE_EM, PAIRS = "EM, covariance left out", f"{PAIR_MODEL}, transductive"
Printed = dict[str, dict[str, tuple[float, float]]]
Few = dict[tuple[str, float], list[Chosen]]


def parse(text: str, columns: tuple[str, ...]) -> Printed:
    """Printed figures, a line for each method: `name | mean deviation | …`."""
    rows = {}
    for line in text.strip().splitlines():
        name, *cells = (cell.strip() for cell in line.split("|"))
        pairs = ((float(mean), float(std)) for mean, std in (cell.split() for cell in cells))
        rows[name] = dict(zip(columns, pairs, strict=True))
    return rows


def semi_methods(n_nodes: int) -> dict[str, Any]:
    """Similarity of the inputs, EM, PKMR, ridge on pairs; IOKR with the penalty as printed, one that smooths, or none.

    Printed, its graph joins each node to a tenth of the others, its nearest; the one that smooths to ten.
    """
    printed = Heat(1.0, 1.0, literal=True, n_neighbors=max(1, n_nodes // 10))
    return {
        NAIVE: [Naive()],
        EM: [EMCompletion(alpha=alpha) for alpha in (0.1, 0.3, 1.0, 3.0)],
        BARE_EM: [EMCompletion(alpha=alpha, covariance=False) for alpha in (0.1, 0.3, 1.0, 3.0)],
        KMR: [PKMR(alpha=alpha) for alpha in (0.1, 0.3, 1.0, 3.0)],
        PAIRS: [PairLinks(mix=0.5, alpha=alpha) for alpha in (0.1, 1.0)],
        IOKR: LinkPredictorCV(alphas=ALPHAS, strengths=STRENGTHS, manifold=printed),
        SMOOTH: LinkPredictorCV(alphas=ALPHAS, strengths=SMOOTHING, manifold=Laplacian(1.0, 10)),
        SUPERVISED: LinkPredictorCV(alphas=ALPHAS),
    }


def few_draws(
    methods: Mapping[str, Any],
    K: Matrix,
    W: Matrix,
    n_test: int,
    draws: list[tuple[int, int]],
    step: Callable[[str], None],
    timed: tuple[str, ...] = (),
) -> tuple[Few, dict[tuple[str, float], list[float]]]:
    """Every method at every share of labelled nodes; and the seconds of those that are timed, parameters fixed."""
    few: Few = {(name, share): [] for name in methods for share in SHARES}
    seconds: dict[tuple[str, float], list[float]] = {(name, share): [] for name in timed for share in SHARES}
    for share in SHARES:
        for draw in labelled_draws(W, n_test, share, draws):
            for name, method in methods.items():
                step(f"{share:.0%} labelled")
                found = few_labels(method, K, W, draw)
                few[name, share].append(found)
                if name in timed:
                    seconds[name, share].append(_time(found, K, W, draw))
    return few, seconds


def _time(found: Chosen, K: Matrix, W: Matrix, draw: Draw) -> float:
    """Seconds to learn and score once more, with what was chosen."""
    model = found.model
    if isinstance(model, LinkPredictor) and model.manifold is not None and not model.manifold.strength:
        # timed with its penalty even where none was chosen: any strength costs the same
        model = clone(model).set_params(manifold=clone(model.manifold).set_params(strength=STRENGTHS[1]))
    return few_labels([clone(model).set_params(kernel=None)], K, W, draw, ("roc_auc",)).seconds


def published_table(title: str, printed: Printed, few: Few, measure: str, note: str = "") -> Table:
    """The four rows of B16's Tables 3 and 6, ours beside, and three more."""
    sources = {name: (name, ONE_NEW) for name in (NAIVE, EM, BARE_EM, KMR, PAIRS, IOKR)} | {UNSEEN: (IOKR, TEST)}
    ours = {
        row: {
            percent: [found.figures[part][measure] for found in few[method, share]]
            for percent, share in zip(PERCENTS, SHARES, strict=True)
        }
        for row, (method, part) in sources.items()
    }
    rows = {name: printed.get(name, {}) for name in sources}
    return published_beside_ours(title, PERCENTS, rows, ours, note=note)


def penalties_table(few: Few, rows: Mapping[str, str] | None = None) -> Table:
    """Ridge under several penalties, each kind of pairs apart."""
    rows = rows or {SUPERVISED: SUPERVISED, IOKR: "exp(−L), as printed", SMOOTH: SMOOTH}
    lines = []
    for name, label in rows.items():
        for part in (ONE_NEW, BOTH_NEW, TEST):
            row: dict[str, Any] = {"penalty": label, "pairs": part}
            for measure, short in (("roc_auc", "ROC"), ("average_precision", "PR")):
                for percent, share in zip(PERCENTS, SHARES, strict=True):
                    row[f"{short}, {percent}"] = spread(c.figures[part][measure] for c in few[name, share])
            lines.append(row)
    return Table("Ridge under three penalties, kinds of pairs apart, percent", lines)


def seconds_table(title: str, printed: Printed, seconds: Mapping[tuple[str, float], list[float]]) -> Table:
    """Seconds for a draw, printed and ours."""
    rows = []
    for name, theirs in printed.items():
        row: dict[str, Any] = {"method": name}
        for percent, share in zip(PERCENTS, SHARES, strict=True):
            row[f"{percent}, published"] = Spread(*theirs[percent], digits=2)
            row[f"{percent}, ours"] = Spread.of(seconds[name, share], digits=2)
        rows.append(row)
    return Table(title, rows, ours=tuple(f"{percent}, ours" for percent in PERCENTS))
