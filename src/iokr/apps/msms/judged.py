"""The page of `iokr msms evaluate`: every method in one table, confidence, where it is right, and queries drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.msms.learning import Grams, OutOfFold
from iokr.apps.msms.library import Entry, Library
from iokr.apps.msms.options import Learning, Matching
from iokr.apps.msms.page import Card, cards
from iokr.apps.msms.tables import TOPS, figures, table_text
from iokr.apps.report import OURS, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.apps.report.figures import Canvas
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

__all__ = ["GROUPS", "report_of"]

_DRAWS = 1000  # of the bootstrap over molecules
GROUPS = {"inchikey14": "molecule", "scaffold": "scaffold", "similarity": "group of similar molecules"}
_DELTAS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
_KEYS = ("instrument", "adduct", "class", "superclass", "compound_class")  # fields by which queries are told apart


def _ranks(out: OutOfFold, method: str) -> NDArray[Any]:
    return np.array([mean_rank(f, t) for f, t in zip(out.scores[method], out.truth, strict=True)])


def _with_absent(ranks: NDArray[Any], out: OutOfFold) -> NDArray[Any]:
    """With those truths that were no candidates: missed at every k."""
    return np.append(ranks, np.full(out.absent, np.inf))


def _interval(hits: NDArray[Any], names: Sequence[str], seed: int) -> str:
    """A 95 % bootstrap interval over molecules."""
    order = {name: k for k, name in enumerate(dict.fromkeys(names))}
    owner = np.array([order[name] for name in names])
    sums, counts = np.bincount(owner, hits), np.bincount(owner)
    rng = np.random.default_rng((seed, 95))
    chosen = rng.integers(len(order), size=(_DRAWS, len(order)))
    means = sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1)
    low, high = np.percentile(100 * means, [2.5, 97.5])
    return f"{low:.1f} to {high:.1f}"


def report_of(
    found: dict[str, OutOfFold],
    library: Library,
    sets: Sequence[Sequence[Entry]],
    grams: Grams,
    learning: Learning,
    matching: Matching,
    *,
    delta: float,
    pages: int,
    safe: bool = False,
) -> Report:
    """The page: `found` has the scores out of fold, by molecule first, then by larger groups."""
    first = next(iter(found))
    out = found[first]
    rows = [row for group, part in found.items() for row in _methods(part, library, learning.seed, GROUPS[group])]
    confidence = {group: _Confidence(part, library, learning.model) for group, part in found.items()}
    ranks = _ranks(out, learning.model)
    best, said = figures(_with_absent(ranks, out)), ""
    for group in list(found)[1:]:
        fall = figures(_with_absent(_ranks(found[group], learning.model), found[group]))["top-1"]
        said += f" With folds by {GROUPS[group]} it finds {fall:.1f} %."
    if said:
        said += " That is the figure for molecules unlike the library's."
    queries = [
        {"spectrum_id": library.files.ids[i], "rank": rank, "n_candidates": len(f), "fold": int(out.fold[i])}
        for i, rank, f in zip(out.rows.tolist(), ranks.tolist(), out.scores[learning.model], strict=True)
    ]
    mine = tuple(k for k, row in enumerate(rows) if row["method"] == learning.model)
    drawn = _drawn(out, confidence[first], ranks, library, sets, grams, delta, pages)
    missed = Text("Queries that were missed, the worst first") if drawn else None
    return Report(
        "How well molecules are found",
        f"The {learning.model} model finds {best['top-1']:.1f} % of {len(ranks) + out.absent} molecules first and "
        f"{best['top-10']:.1f} % among ten.{said}",
        (
            Table(
                f"{len(ranks) + out.absent} spectra with several candidates",
                rows,
                note="Top-k in per cent, mean ± deviation over folds; Tanimoto of the first candidate to the truth. "
                "Own spectra of a candidate are left out of its score, but count in the last column.",
                ours=("top-1",),
                our_rows=mine,
            ),
            _curve(out),
            Table(
                f"Confidence of the {learning.model} model",
                [{"folds by": GROUPS[group], **part.row(delta)} for group, part in confidence.items()],
            ),
            _reliability(confidence[first].best, confidence[first].right),
            _coverage(confidence[first]),
            Table("Where it is right", _breakdown(ranks, out, library)),
            *([] if missed is None else [missed]),
            *cards(drawn),
        ),
        (
            learning.in_words(),
            matching.in_words(),
            f"{out.absent} truths are not among their candidates and count as missed at every k; {out.single} sets "
            "hold one candidate, which is no question.",
            "Folds keep molecules whole. When an unknown is a molecule of the library, leaving its spectra out throws "
            "evidence away; folds by molecule do not show that case.",
            "T and the level of the sets for a fold come from the other folds; that they pool different models makes "
            "their coverage an observation, not a theorem.",
        ),
        files={"queries.tsv": table_text(queries, safe=safe)},
    )


def _methods(out: OutOfFold, library: Library, seed: int, group: str) -> list[dict[str, Any]]:
    """A row for each method."""
    names, folds = [library.identities[i] for i in out.rows], out.fold[out.rows]
    found = []
    for method in out.scores:
        ranks = _ranks(out, method)
        values = figures(_with_absent(ranks, out))
        by_fold = [100 * float(np.mean(ranks[folds == k] <= 1)) for k in np.unique(folds)]
        row = {
            "method": method,
            "folds by": group,
            **{key: round(value, 3 if key == "MRR" else 1) for key, value in values.items()},
            "95 % of top-1": _interval((ranks <= 1).astype(float), names, seed),
            "Tanimoto to the truth": round(float(np.mean(out.likeness[method])), 3) if method in out.likeness else None,
            "top-1 over folds": str(Spread.of(by_fold, digits=1)),
        }
        if method in out.counted:
            counted = _with_absent(out.counted[method], out)
            row["top-1, own count"] = round(100 * float(np.mean(counted <= 1)), 1)
        found.append(row)
    return found


class _Confidence:
    """Probabilities of every query, T and conformal values from the other folds."""

    def __init__(self, out: OutOfFold, library: Library, method: str) -> None:
        scores, folds = out.scores[method], out.fold[out.rows]
        names = [library.identities[i] for i in out.rows]
        self.truth, self.p = out.truth, [np.empty(0)] * len(scores)
        self.values: list[NDArray[Any]] = [np.empty(0)] * len(scores)  # those that the level of a query comes from
        for number in np.unique(folds):
            others = np.flatnonzero(folds != number)
            others = others if len(others) else np.flatnonzero(folds == number)
            theirs, truth = [scores[i] for i in others], [out.truth[i] for i in others]
            T = temperature(theirs, truth)
            values = group_means(nonconformity(theirs, truth, T), [names[i] for i in others])
            for i in np.flatnonzero(folds == number):
                self.p[i], self.values[i] = probabilities(scores[i], T), values
        self.best = np.array([p.max() for p in self.p])
        self.right = np.array([mean_rank(p, t) <= 1 for p, t in zip(self.p, out.truth, strict=True)])

    def sets(self, delta: float) -> list[NDArray[Any]]:
        """Which candidates are in the set, for every query."""
        levels = {id(values): quantile(values, delta) for values in self.values}
        return [in_set(p, levels[id(values)]) for p, values in zip(self.p, self.values, strict=True)]

    def coverage(self, delta: float) -> tuple[float, float]:
        """(share of sets that hold the truth, their mean size)."""
        members = self.sets(delta)
        inside = [bool(some[t]) for some, t in zip(members, self.truth, strict=True)]
        return float(np.mean(inside)), float(np.mean([some.sum() for some in members]))

    def row(self, delta: float) -> dict[str, Any]:
        """A row of the table."""
        sure = self.best >= 0.9
        inside, size = self.coverage(delta)
        return {
            "calibration error": round(calibration_error(self.best, self.right), 3),
            "p ≥ 0.9, %": round(100 * float(sure.mean()), 1),
            "of these right, %": round(100 * float(self.right[sure].mean()), 1) if sure.any() else None,
            f"sets at δ = {delta:g} hold the truth, %": round(100 * inside, 1),
            "candidates in them, mean": round(size, 2),
        }


def _drawn(
    out: OutOfFold,
    confidence: _Confidence,
    ranks: NDArray[Any],
    library: Library,
    sets: Sequence[Sequence[Entry]],
    grams: Grams,
    delta: float,
    pages: int,
) -> list[Card]:
    """Cards of the queries with the worst ranks, beside the most similar spectrum of the other folds."""
    worst = [int(k) for k in np.argsort(-ranks, kind="stable")[:pages] if ranks[k] > 1]
    if not worst:
        return []
    K, members, found = grams.matrix(np.full(len(grams.parts), 1 / len(grams.parts))), confidence.sets(delta), []
    for k in worst:
        i, p = int(out.rows[k]), confidence.p[k]
        others = np.flatnonzero(out.fold != out.fold[i])
        near = int(others[np.argmax(K[i, others])])
        order = [int(c) for c in np.argsort(-p, kind="stable")[:5]]
        shown = order if out.truth[k] in order else [*order[:4], out.truth[k]]
        candidates = [
            {
                "rank": int(1 + (p > p[c]).sum()),
                "name": "",
                "candidate_id": sets[i][c].candidate.id,
                "inchikey14": sets[i][c].identity,
                "smiles": sets[i][c].smiles,
                "probability": float(p[c]),
                "in_set": bool(members[k][c]),
                "truth": c == out.truth[k],
            }
            for c in shown
        ]
        beside = [(library.files.ids[near], library.files.spectra[near])]
        smiles = [library.molecules[near].smiles]
        found.append(Card(library.files.ids[i], library.files.spectra[i], beside, candidates, smiles))
    return found


def _breakdown(ranks: NDArray[Any], out: OutOfFold, library: Library) -> list[dict[str, Any]]:
    spectra = library.files.spectra
    sizes = np.array([len(f) for f in next(iter(out.scores.values()))])
    peaks, mass, near = spectra.lengths[out.rows], spectra.precursor_mz[out.rows], out.nearest
    parts: dict[str, NDArray[Any]] = {
        "2–5 candidates": sizes <= 5,
        "6–20 candidates": (sizes > 5) & (sizes <= 20),
        "more than 20 candidates": sizes > 20,
        "nearest training molecule: Tanimoto > 0.7": near > 0.7,
        "nearest 0.4–0.7": (near > 0.4) & (near <= 0.7),
        "nearest at most 0.4": near <= 0.4,
        "fewer than 20 peaks": peaks < 20,
        "20 to 60 peaks": (peaks >= 20) & (peaks <= 60),
        "more than 60 peaks": peaks > 60,
    }
    if not np.isnan(mass).all():
        low, high = np.nanpercentile(mass, [100 / 3, 200 / 3])
        parts |= {
            f"precursor below {low:.0f}": mass <= low,
            f"precursor {low:.0f} to {high:.0f}": (mass > low) & (mass <= high),
            f"precursor above {high:.0f}": mass > high,
        }
    for key in _KEYS:
        values = np.array([str(spectra.metadata[i].get(key) or "") for i in out.rows])
        names = [name for name in sorted(set(values.tolist())) if name]
        if len(names) > 1:
            parts |= {f"{key} {name}": values == name for name in names[:8]}
    return [
        {"queries": name, "number": int(rows.sum()), "top-1": round(100 * float(np.mean(ranks[rows] <= 1)), 1)}
        for name, rows in parts.items()
        if rows.any()
    ]


def _curve(out: OutOfFold) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        k = np.arange(1, TOPS[-1] + 1)
        for name in out.scores:
            ranks = _ranks(out, name)
            ours = name in ("reverse", "forward", "fusion")
            axes.plot(k, [100 * np.mean(ranks <= j) for j in k], color=OURS if ours else THEIRS, linewidth=0.9)
        axes.plot([], [], color=OURS, label="kernel regression")
        axes.plot([], [], color=THEIRS, label="rivals")
        axes.set(xlabel="k", ylabel="truth among the first k, %", ylim=(0, 101), xticks=(1, *TOPS[1:]))
        axes.legend()

    return plot(draw, caption="How often the truth is among the first k candidates, a line for each method.")


def _reliability(p: NDArray[Any], right: NDArray[Any]) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.plot([0, 1], [0, 1], color=THEIRS, linewidth=0.8)
        number = np.minimum((p * 10).astype(int), 9)
        for b in np.unique(number):
            mine = number == b
            axes.scatter(p[mine].mean(), right[mine].mean(), s=8 + 60 * mine.mean(), color=OURS)
        axes.set(xlabel="probability of the first candidate", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))

    return plot(draw, caption="Probabilities against how often they are right; on the line they are calibrated.")


def _coverage(confidence: _Confidence) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        wanted = [1 - delta for delta in _DELTAS]
        axes.plot([0.5, 1], [0.5, 1], color=THEIRS, linewidth=0.8)
        axes.plot(wanted, [confidence.coverage(delta)[0] for delta in _DELTAS], color=OURS, marker="o", markersize=3)
        axes.set(xlabel="coverage asked for, 1 − δ", ylabel="sets that hold the truth", xlim=(0.5, 1), ylim=(0.5, 1.01))

    return plot(draw, caption="How often the sets hold the truth, against how often they are meant to.")
