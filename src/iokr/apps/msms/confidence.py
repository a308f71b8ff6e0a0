"""Calibration of scores out of fold: probabilities and prediction sets of each fold, calibrated on the others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.msms.out_of_fold import OutOfFold
from iokr.estimators.identification.confidence import (
    calibration_error,
    group_means,
    in_set,
    mean_rank,
    nonconformity,
    probabilities,
    quantile,
    temperature,
)

__all__ = ["Confidence"]

_SURE = 0.9


class Confidence:
    """Probabilities of every query, with the temperature and the nonconformity scores of the other folds.

    Parameters
    ----------
    found : OutOfFold
    identities : list of str
        The molecule of each spectrum of the library.
    method : str

    Attributes
    ----------
    p : list of arrays
        Probabilities of the candidates, for each query.
    best : array
        The largest of them.
    right : array
        Whether the first candidate is the truth.
    """

    def __init__(self, found: OutOfFold, identities: list[str], method: str) -> None:
        scores = found.scores[method]
        folds = found.fold[found.rows]
        n = len(scores)
        self.truth = found.truth
        self.p: list[NDArray[Any]] = [np.empty(0)] * n
        self._fold = folds
        self._calibration: dict[int, NDArray[Any]] = {}  # nonconformity scores, by the fold that they are for
        for number in np.unique(folds).tolist():
            held_out = np.flatnonzero(folds == number)
            others = np.flatnonzero(folds != number)
            if not len(others):  # all queries are in one fold
                others = held_out
            other_scores = [scores[i] for i in others]
            truth = [found.truth[i] for i in others]
            groups = [identities[found.rows[i]] for i in others]
            T = temperature(other_scores, truth)
            self._calibration[number] = group_means(nonconformity(other_scores, truth, T), groups)
            for i in held_out:
                self.p[i] = probabilities(scores[i], T)
        self.best = np.array([p.max() for p in self.p])
        self.right = np.array([mean_rank(p, t) <= 1 for p, t in zip(self.p, self.truth, strict=True)])

    def sets(self, delta: float) -> list[NDArray[Any]]:
        """Which candidates are in the prediction set at level δ, for every query."""
        levels = {number: quantile(values, delta) for number, values in self._calibration.items()}
        return [in_set(p, levels[number]) for p, number in zip(self.p, self._fold.tolist(), strict=True)]

    def coverage(self, delta: float) -> tuple[float, float]:
        """(fraction of the sets that contain the truth, mean size of the sets)."""
        sets = self.sets(delta)
        contained = [bool(members[t]) for members, t in zip(sets, self.truth, strict=True)]
        return float(np.mean(contained)), float(np.mean([members.sum() for members in sets]))

    def row(self, delta: float) -> dict[str, Any]:
        """A row of the table of confidence."""
        sure = self.best >= _SURE
        accuracy = None
        if sure.any():
            accuracy = round(100 * float(self.right[sure].mean()), 1)
        covered, size = self.coverage(delta)
        return {
            "calibration error": round(calibration_error(self.best, self.right), 3),
            "p ≥ 0.9, %": round(100 * float(sure.mean()), 1),
            "of these right, %": accuracy,
            f"sets at δ = {delta:g} hold the truth, %": round(100 * covered, 1),
            "candidates in them, mean": round(size, 2),
        }
