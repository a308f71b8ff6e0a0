"""Choosing by areas under the ROC and PR curves of pairs: the largest, or a mean weighted by their standard error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from iokr.estimators.search.result import Choice
from iokr.metrics.pairs import pair_metrics

__all__ = [
    "AREAS",
    "SCORINGS",
    "AreaRule",
    "areas_by_name",
    "areas_of",
    "both_areas",
    "freedom",
    "score_of",
    "standard_error",
]

AREAS = ("roc_auc", "average_precision")
SCORINGS = (*AREAS, "both")

_LEAST = 1e-12  # smaller standard errors count as zero: only the largest score has a weight


def areas_by_name(linked: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Both areas, from one sort."""
    metrics = pair_metrics(linked, scores)
    return {name: metrics[name] for name in AREAS}


def areas_of(linked: np.ndarray, scores: np.ndarray) -> list[float]:
    """Both areas, in the order of `AREAS`."""
    return list(areas_by_name(linked, scores).values())


def both_areas(roc_auc: Any, average_precision: Any) -> Any:
    """σ(½[logit r + logit p]) = √(rp) / (√(rp) + √((1−r)(1−p))), the logistic mean of the areas r and p.

    The area under the ROC curve lies between ½ and 1 and varies by hundredths; the average precision starts at the
    prevalence and varies by multiples. Odds put them on one scale: doubling the odds that a link precedes another pair
    counts as much as doubling the odds that a listed pair is a link.
    """
    r = np.asarray(roc_auc)
    p = np.asarray(average_precision)
    good = np.sqrt(r * p)
    bad = np.sqrt((1 - r) * (1 - p))
    return good / (good + bad)


def score_of(scoring: str, areas: Any) -> np.ndarray:
    """The score that `scoring` maximises, from both areas along the first axis."""
    if scoring == "both":
        return np.asarray(both_areas(*areas))
    return np.asarray(areas[AREAS.index(scoring)])


def standard_error(scoring: str, areas: Any, n_links: int, n_others: int) -> float:
    """Standard error s of an area measured on n₊ links and n₋ other pairs, as if pairs were independent.

    ROC: s² = [r(1−r) + (n₊−1)(r/(2−r) − r²) + (n₋−1)(2r²/(1+r) − r²)] / (n₊n₋) (Hanley and McNeil, 1982). PR:
    s² = p(1−p)/n₊ (Boyd, Eng and Page, 2013). Both: m(1−m)·½[s_r/(r(1−r)) + s_p/(p(1−p))] with m their logistic mean,
    for perfectly correlated errors.
    """
    r, p = (float(area) for area in areas)
    one_link = (n_links - 1) * (r / (2 - r) - r**2)
    one_other = (n_others - 1) * (2 * r**2 / (1 + r) - r**2)
    s_r = np.sqrt(max(r * (1 - r) + one_link + one_other, 0.0) / (n_links * n_others))
    s_p = np.sqrt(p * (1 - p) / n_links)
    if scoring == "roc_auc":
        return float(s_r)
    if scoring == "average_precision":
        return float(s_p)
    if not (0 < r < 1 and 0 < p < 1):
        return 0.0
    m = float(both_areas(r, p))
    return float(m * (1 - m) * (s_r / (r * (1 - r)) + s_p / (p * (1 - p))) / 2)


def freedom(spectrum: np.ndarray, alphas: Sequence[float]) -> np.ndarray:
    """The fraction of d(α) = Σ_l s_l/(s_l + α), the degrees of freedom, lost nearest to each alpha; sums to one.

    Outside the spectrum of K the solution does not depend on alpha: such values have no weight, however many there are
    in a grid. A grid on which d is constant has equal weights.
    """
    if len(alphas) == 1:
        return np.ones(1)
    order = np.argsort(alphas)
    logs = np.log(np.asarray(alphas, dtype=float)[order])
    middle = (logs[1:] + logs[:-1]) / 2
    edges = np.concatenate([2 * logs[:1] - middle[:1], middle, 2 * logs[-1:] - middle[-1:]])
    s = np.clip(spectrum, 0.0, None)
    d = np.sum(s / (s + np.exp(edges)[:, None]), axis=1)
    lost = np.empty(len(logs))
    lost[order] = np.clip(d[:-1] - d[1:], 0.0, None)
    total = float(lost.sum())
    return lost / total if total > _LEAST * len(s) else np.full(len(logs), 1 / len(logs))


@dataclass(frozen=True)
class AreaRule:
    """The member of a grid, and the alpha on its path, with the best areas: a rule of `search`.

    "best": the largest score r, the first of equal ones. "averaged": with weights w(α) = m(α) exp((r(α) − max r)/s)
    along the path of a member, s the standard error of its best score and m(α) the degrees of freedom about α (the
    measure "freedom"), log α is the mean of log α under w, and the member is that with the largest mean of r under w.
    For s → 0 this is the maximum; the fewer the links, the more of the path counts.
    """

    scoring: str
    rule: str
    n_links: int = 1  # sample sizes of the standard error
    n_others: int = 1

    measures: ClassVar[tuple[str, ...]] = AREAS  # for every scoring
    larger: ClassVar[bool] = True  # areas are scores

    def values(self, measures: Mapping[str, np.ndarray]) -> np.ndarray:
        """The score, from both areas."""
        return score_of(self.scoring, [measures[name] for name in AREAS])

    def choose(self, measures: Mapping[str, np.ndarray], path: Sequence[float]) -> Choice:
        """The score of a member, its alpha, and the index of the nearest alpha of the path."""
        areas = np.array([measures[name] for name in AREAS])
        score, alpha = self.along(areas, path, measures.get("freedom", 1.0))
        if self.rule == "best":
            nearest = int(np.argmax(score_of(self.scoring, areas)))
        else:
            nearest = int(np.argmin(np.abs(np.log(path) - np.log(alpha))))
        return Choice(score, nearest, alpha)

    def along(self, areas: np.ndarray, alphas: Sequence[float], m: np.ndarray | float = 1.0) -> tuple[float, float]:
        """The score of a member and its alpha, from the areas along its path, (2, alphas), and m = `freedom`."""
        r = score_of(self.scoring, areas)
        best = int(np.argmax(r))
        if self.rule != "best" and len(alphas) > 1:
            s = max(standard_error(self.scoring, areas[:, best], self.n_links, self.n_others), _LEAST)
            w = m * np.exp((r - r[best]) / s)
            if w.sum() > 0:  # else all good scores lie outside the spectrum
                w /= w.sum()
                return float(w @ r), float(np.exp(w @ np.log(alphas)))
        return float(r[best]), alphas[best]

    def among(
        self, areas: np.ndarray, alphas: Sequence[float], m: np.ndarray | None = None
    ) -> tuple[tuple[int, ...], float]:
        """The index of the best member and its alpha, from areas (2, ..., alphas) and the freedom (..., alphas)."""
        m = np.ones(areas.shape[1:]) if m is None else m
        members = np.ndindex(areas.shape[1:-1])
        found = {member: self.along(areas[(slice(None), *member)], alphas, m[member]) for member in members}
        member = max(found, key=lambda member: found[member][0])  # the first of equal ones
        return tuple(int(i) for i in member), found[member][1]
