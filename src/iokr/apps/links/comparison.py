"""Models compared on held-out nodes, in the same folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from iokr.apps.links.methods import METHODS, FittedMethod, TrainingSet, fit_methods
from iokr.apps.report import Spread, Table
from iokr.apps.report.progress import Progress, silent, stage
from iokr.estimators.areas import areas_of, score_of
from iokr.estimators.links.ranking import f1_threshold, root_mean_square
from iokr.model_selection import NodeKFold, TooFewLinks
from iokr.model_selection.links import link_splits

__all__ = ["FOLDS", "HeldOut", "compare", "comparison_table", "methods_table", "percent"]

FOLDS = 5
_FEWEST = 20  # pairs from which a precision is estimated

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Pairs with a node of a fold: whether they are linked, and their scores by a model that never saw its links.

    Scores are in units of the root mean square of those between the nodes of training, so that folds can be compared.
    """

    method: str
    areas: Matrix  # (folds, 2)
    truth: NDArray[np.bool_]
    scores: Matrix

    @classmethod
    def of(cls, method: str, folds: Sequence[tuple[NDArray[np.bool_], Matrix]]) -> HeldOut:
        """From (truth, scores) of each fold."""
        areas = [areas_of(truth, scores) for truth, scores in folds if truth.any() and not truth.all()]
        if not areas:
            raise TooFewLinks("No fold of nodes has links and other pairs to tell apart.")
        truth, scores = (np.concatenate(part) for part in zip(*folds, strict=True))
        return cls(method, np.array(areas), truth, scores)

    def precision(self, scores: Matrix) -> Matrix:
        """The fraction of links among the held-out pairs that score at least as high, of twenty pairs or more."""
        order = np.argsort(-self.scores, kind="stable")
        hits = np.cumsum(self.truth[order]) / np.arange(1, len(order) + 1)
        above = np.searchsorted(-self.scores[order], -scores, side="right")
        return np.asarray(hits[np.clip(above, min(_FEWEST, len(hits)), len(hits)) - 1])

    def probability(self, scores: Matrix) -> Matrix:
        """Calibrated on the held-out pairs, by isotonic regression on twenty at a time.

        A logistic curve was overconfident for the first pairs.
        """
        order = np.argsort(self.scores, kind="stable")
        parts = np.array_split(order, max(1, len(order) // _FEWEST))
        means = np.array([(self.scores[part].mean(), self.truth[part].mean()) for part in parts])
        weights = np.array([len(part) for part in parts], dtype=float)
        rule = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(*means.T, sample_weight=weights)
        return np.asarray(rule.predict(scores))

    @property
    def threshold(self) -> float:
        """The score above which F1 is largest."""
        return f1_threshold(self.truth, self.scores)

    def state(self, *, pairs: bool) -> dict[str, Any]:
        """For a file, with the `pairs` or the areas alone."""
        scored = {"truth": np.packbits(self.truth), "scores": self.scores} if pairs else {}
        return {"method": self.method, "areas": self.areas, **scored}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> HeldOut:
        """From a file."""
        scores = np.asarray(state.get("scores", np.zeros(0)))
        truth = np.unpackbits(np.asarray(state.get("truth", []), dtype=np.uint8), count=len(scores)).astype(bool)
        return cls(state["method"], np.asarray(state["areas"]), truth, scores)


def compare(
    methods: Sequence[str],
    models: Mapping[str, Any],
    data: TrainingSet,
    scoring: str,
    seed: int,
    progress: Progress = silent,
) -> list[HeldOut]:
    """Every method on pairs with a new node, the best one by the scoring first; parameters are chosen in every fold."""
    pairs: dict[str, list[tuple[Any, Any]]] = {method: [] for method in methods}
    folds = NodeKFold(FOLDS, shuffle=True, random_state=seed)
    for split in link_splits(data.graph, folds, data.labeled, ("known-new", "new-new")):
        part = TrainingSet(data.X, split.graph, split.train)
        k = split.fold
        in_fold = stage(progress, f"fold {k + 1} of {FOLDS}", k / FOLDS, (k + 1) / FOLDS)
        for fitted in fit_methods(methods, models, part, progress=in_fold):
            rankings = [part[1:] for part in split.held_out(_in_units(fitted, split.train))]
            truth, scores = (np.concatenate(part) for part in zip(*rankings, strict=True))
            pairs[fitted.method].append((truth, scores))
    found = [HeldOut.of(method, folds) for method, folds in pairs.items()]
    return sorted(found, key=lambda one: float(score_of(scoring, one.areas.mean(axis=0))), reverse=True)


def _in_units(fitted: FittedMethod, known: NDArray[np.int64]) -> Matrix:
    """Scores of all pairs, those between the known nodes with a root mean square of 1."""
    S = fitted.decision_function()
    return np.asarray(S / root_mean_square(S[np.ix_(known, known)]))


def comparison_table(held_out: Sequence[HeldOut], n: int, n_labeled: int, scoring: str) -> Table:
    """Every model, the best one first: folds of n of `n_labeled` labelled nodes."""
    part = f"all {n} labelled nodes" if n == n_labeled else f"a sample of {n} of {n_labeled} labelled nodes"
    note = f"Pairs with a held-out node in {FOLDS} folds of {part}; parameters are chosen within each fold."
    best = METHODS[held_out[0].method]
    title = f"Models on held-out nodes; {best} is the best by {scoring}"
    if len(held_out) == 1:
        title = "Accuracy on held-out nodes"
    return methods_table({one.method: one.areas for one in held_out}, title, note)


def methods_table(areas: Mapping[str, Matrix], title: str, note: str) -> Table:
    """Means and deviations over folds of both areas of every method, and the differences to the first one."""
    first = next(iter(areas))
    rows: list[dict[str, Any]] = []
    for method, found in areas.items():
        row: dict[str, Any] = {"model": METHODS[method]}
        for j, area in enumerate(("AUC-ROC", "AUC-PR")):
            row[f"{area} %"] = percent(found[:, j])
        for j, area in enumerate(("AUC-ROC", "AUC-PR")):
            row[f"{area} minus the best"] = None if method == first else percent(found[:, j] - areas[first][:, j])
        rows.append(row)
    return Table(title, rows, note=note, our_rows=(0,))


def percent(values: Matrix) -> Spread | None:
    """Mean and deviation of fractions in percent; None for an empty list."""
    known = values[~np.isnan(values)]
    return Spread.of(100 * known, digits=1) if len(known) else None
