"""Calibrated probabilities and conformal sets of the best model of `metabolites`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import INK, OURS, THEIRS, Figure, Table, plot
from iokr.apps.report.figures import Canvas
from iokr.estimators.identification.confidence import (
    calibration_error,
    in_set,
    mean_rank,
    nonconformity,
    probabilities,
    quantile,
    temperature,
)

__all__ = ["Confidence", "Scores", "confidence"]

Scores = list[list[list[float]]]  # fold → query → candidate
DELTAS = (0.05, 0.1, 0.2, 0.3)
BINS = 10  # of the reliability diagram


@dataclass(frozen=True)
class Confidence:
    """The tables, the reliability diagram, and a sentence for the summary."""

    tables: list[Table]
    figure: Figure
    summary: str


def confidence(scores: Scores, truth: list[list[int]]) -> Confidence:
    """Calibration and coverage; temperature and quantiles of a fold come from the other folds."""
    highest: list[float] = []  # probability of the first candidate of each query
    right: list[bool] = []
    covered: dict[float, list[bool]] = {delta: [] for delta in DELTAS}
    sizes: dict[float, list[int]] = {delta: [] for delta in DELTAS}
    temperatures = []
    for k in range(len(scores)):
        others = [j for j in range(len(scores)) if j != k]
        values = [np.array(f) for j in others for f in scores[j]]
        true = [t for j in others for t in truth[j]]
        T = temperature(values, true)
        temperatures.append(T)
        nonconform = nonconformity(values, true, T)
        quantiles = {delta: quantile(nonconform, delta) for delta in DELTAS}
        for f, t in zip(scores[k], truth[k], strict=True):
            p = probabilities(np.array(f), T)
            highest.append(float(p.max()))
            right.append(mean_rank(p, t) <= 1)
            for delta in DELTAS:
                members = in_set(p, quantiles[delta])
                covered[delta].append(bool(members[t]))
                sizes[delta].append(int(members.sum()))
    p_first = np.array(highest)
    hits = np.array(right)
    error = calibration_error(p_first, hits)
    sets = [_set_row(delta, covered[delta], sizes[delta]) for delta in DELTAS]
    tables = [
        Table(
            "Probabilities of the reverse model, six kernels",
            [_probability_row(temperatures, error, p_first, hits)],
            ours=("calibration error",),
        ),
        Table(
            "Conformal sets",
            sets,
            ours=("coverage, %",),
            note="T and the quantiles of a fold come from the other four. Scores of different models are pooled, so "
            "coverage is empirical and not guaranteed.",
        ),
    ]
    tenth = sets[DELTAS.index(0.1)]
    summary = (
        f"The calibration error of its probabilities is {error:.3f}; sets at δ = 0.1 cover {tenth['coverage, %']} % of "
        f"the true molecules with {tenth['candidates, mean']} candidates on average."
    )
    return Confidence(tables, _reliability(p_first, hits), summary)


def _probability_row(
    temperatures: list[float], error: float, p_first: NDArray[Any], hits: NDArray[Any]
) -> dict[str, Any]:
    sure = p_first >= 0.9
    return {
        "T": " ".join(f"{T:.3g}" for T in temperatures),
        "calibration error": round(error, 3),
        "p ≥ 0.9, % of queries": round(100 * float(sure.mean()), 1),
        "of these correct, %": round(100 * float(hits[sure].mean()), 1) if sure.any() else None,
    }


def _set_row(delta: float, covered: list[bool], sizes: list[int]) -> dict[str, Any]:
    return {
        "δ": delta,
        "coverage, %": round(100 * float(np.mean(covered)), 1),
        "candidates, mean": round(float(np.mean(sizes)), 2),
        "median": float(np.median(sizes)),
    }


def _reliability(p: NDArray[Any], right: NDArray[Any]) -> Figure:
    bins = np.minimum((p * BINS).astype(int), BINS - 1)

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.plot([0, 1], [0, 1], color=THEIRS, linewidth=0.8)
        for b in range(BINS):
            members = bins == b
            if members.any():
                axes.scatter(p[members].mean(), right[members].mean(), s=3 + members.sum() / 5, color=OURS)
        axes.set(xlabel="probability of the first candidate", ylabel="share of correct ones", xlim=(0, 1), ylim=(0, 1))
        axes.tick_params(colors=INK)

    caption = "Probability against accuracy of the first candidate; areas are proportional to numbers of queries."
    return plot(draw, caption=caption)
