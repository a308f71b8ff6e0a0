"""Which model finds the links of nodes that it has not seen? Folds of nodes, the same for every model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from iokr.apps.links.methods import COMPARED, METHODS, Sized, sample_of, searches
from iokr.apps.report import Spread, Table
from iokr.estimators.areas import areas_of, score_of
from iokr.estimators.links.ranking import f1_threshold
from iokr.model_selection import NodeKFold, cross_validate_links

if TYPE_CHECKING:
    from iokr.apps.links.clock import Clock
    from iokr.apps.links.model import Task

__all__ = ["FOLDS", "Evaluated", "compare", "compared_table"]

FOLDS = 5
_FEWEST = 20  # pairs from which a precision is told

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Pairs with a node of a fold: whether they are linked, and their scores by a model that never saw its links."""

    method: str
    areas: Matrix  # (folds, 2)
    truth: NDArray[np.bool_]
    scores: Matrix

    def precision(self, scores: Matrix) -> Matrix:
        """The fraction of links among the pairs of the folds that score at least so much, of twenty pairs or more."""
        order = np.argsort(-self.scores, kind="stable")
        hits = np.cumsum(self.truth[order]) / np.arange(1, len(order) + 1)
        above = np.searchsorted(-self.scores[order], -scores, side="right")
        return np.asarray(hits[np.clip(above, min(_FEWEST, len(hits)), len(hits)) - 1])

    def probability(self, scores: Matrix) -> Matrix:
        """Calibrated on the pairs of the folds, by isotonic regression on twenty at a time.

        A logistic curve was far too sure of the first pairs.
        """
        order = np.argsort(self.scores, kind="stable")
        parts = np.array_split(order, max(1, len(order) // _FEWEST))
        means = np.array([(self.scores[part].mean(), self.truth[part].mean()) for part in parts])
        weights = np.array([len(part) for part in parts], dtype=float)
        rule = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(*means.T, sample_weight=weights)
        return np.asarray(rule.predict(scores))

    @property
    def threshold(self) -> float:
        """That of the largest F1."""
        return f1_threshold(self.truth, self.scores)

    def state(self, *, pairs: bool) -> dict[str, Any]:
        """For a file, with the `pairs` or the areas alone."""
        told = {"truth": np.packbits(self.truth), "scores": self.scores} if pairs else {}
        return {"method": self.method, "areas": self.areas, **told}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Evaluated:
        """From a file."""
        scores = np.asarray(state.get("scores", np.zeros(0)))
        truth = np.unpackbits(np.asarray(state.get("truth", []), dtype=np.uint8), count=len(scores)).astype(bool)
        return cls(state["method"], np.asarray(state["areas"]), truth, scores)


def compare(task: Task, clock: Clock, part: str, seed: int) -> tuple[list[Evaluated], int]:
    """Every model that is asked for, best first by the scoring, and how many labelled nodes the folds hold.

    Parameters are chosen anew in every fold. Without enough links for folds the list is empty.
    """
    X, graph, labeled = sample_of(task, COMPARED, seed)
    place = {"method": 0, "fold": 0}

    def told(method: str, share: float, where: str) -> None:
        k, fold = place["method"], place["fold"]
        words = f"{METHODS[method]}, fold {min(fold + 1, FOLDS)} of {FOLDS}{', ' if where else ''}{where}"
        clock.at(part, (k * FOLDS + fold + share) / (len(models) * FOLDS), words)

    found, models = [], searches(task, told)
    for k, (method, model) in enumerate(models.items()):
        pairs: dict[int, list[tuple[Any, Any]]] = {}
        place.update(method=k, fold=0)

        def watch(
            fold: int,
            setting: str,
            truth: Any,
            scores: Any,
            *,
            pairs: dict[int, list[tuple[Any, Any]]] = pairs,
            method: str = method,
        ) -> None:
            pairs.setdefault(fold, []).append((truth, scores))
            place["fold"] = fold + 1
            told(method, 0.0, "")

        folds = NodeKFold(FOLDS, shuffle=True, random_state=seed)
        try:
            cross_validate_links(
                Sized(model), X, graph, folds, labeled=labeled, settings=("known-new", "new-new"), watch=watch
            )
            found.append(_evaluated(method, pairs))
        except ValueError:  # too few links for folds
            return [], len(labeled)

    def score(one: Evaluated) -> float:
        return float(score_of(task.options.scoring, one.areas.mean(axis=0)))

    return sorted(found, key=score, reverse=True), len(labeled)


def _evaluated(method: str, pairs: dict[int, list[tuple[Any, Any]]]) -> Evaluated:
    areas, truths, scores = [], [], []
    for parts in pairs.values():
        truth, score = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        truths.append(truth)
        scores.append(score)
        if truth.any() and not truth.all():
            areas.append(areas_of(truth, score))
    return Evaluated(method, np.array(areas), np.concatenate(truths), np.concatenate(scores))


def compared_table(evaluated: Sequence[Evaluated], n: int, many: int, scoring: str) -> Table:
    """Who won, and by how much: on folds of n of `many` labelled nodes."""
    rows = []
    for one in evaluated:
        behind = 100 * (one.areas - evaluated[0].areas)
        rows.append(
            {
                "model": METHODS[one.method],
                "AUC-ROC %": Spread.of(100 * one.areas[:, 0], digits=1),
                "AUC-PR %": Spread.of(100 * one.areas[:, 1], digits=1),
                "minus the best, ROC": None if one is evaluated[0] else Spread.of(behind[:, 0], digits=1),
                "minus the best, PR": None if one is evaluated[0] else Spread.of(behind[:, 1], digits=1),
            }
        )
    part = f"all {n} labelled nodes" if n == many else f"a sample of {n} of {many} labelled nodes"
    note = f"Pairs with a new node, {FOLDS} folds of {part}, parameters chosen anew in each; by {scoring}."
    title = f"{METHODS[evaluated[0].method]} is used" if len(evaluated) > 1 else "How good it is"
    return Table(title, rows, note=note, our_rows=(0,))
