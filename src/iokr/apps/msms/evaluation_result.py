"""What `evaluate` returns: tables of methods and of confidence, the page, and the files of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.msms.confidence import Confidence
from iokr.apps.msms.inputs import input_table
from iokr.apps.msms.out_of_fold import OutOfFold
from iokr.apps.msms.page import Card, cards
from iokr.apps.msms.problem import Problem
from iokr.apps.msms.tables import (
    TOPS,
    figures,
    frame_of,
    rejected_frame,
    rejected_text,
    rounded,
    table_text,
    write_report,
)
from iokr.apps.report import OURS, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.apps.report.figures import Canvas
from iokr.estimators.identification.model import METHODS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["GROUPS", "EvaluationResult"]

GROUPS = {"inchikey14": "molecule", "scaffold": "scaffold", "similarity": "group of similar molecules"}
_DRAWS = 1000  # of the bootstrap over molecules
_DELTAS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
_FIELDS = ("instrument", "adduct", "class", "superclass", "compound_class")  # metadata that defines subsets of queries
_MOST_VALUES = 8  # of a field that are listed
_METHODS_NOTE = (
    "Top-k in per cent, mean ± deviation over folds; Tanimoto of the first candidate to the truth. Own spectra of a "
    "candidate are left out of its score, but count in the last column."
)
_NOTES = (
    "Folds keep molecules whole. When an unknown is a molecule of the library, leaving its spectra out throws evidence "
    "away; folds by molecule do not show that case.",
    "T and the level of the sets for a fold come from the other folds; that they pool different models makes their "
    "coverage an observation, not a theorem.",
)


@dataclass(frozen=True, eq=False)
class EvaluationResult:
    """Scores out of fold of several methods, and how well they are calibrated; made by `evaluate`.

    Attributes
    ----------
    problem : Problem
        The library, its candidates and the model.
    found : mapping of str to OutOfFold
        Scores by the groups that folds keep together: "inchikey14" first, then larger groups.
    delta : float
        The level of the prediction sets.
    seed : int
    info : mapping
        Versions, seconds, data files and their hashes.
    """

    problem: Problem
    found: Mapping[str, OutOfFold]
    delta: float
    seed: int
    info: Mapping[str, Any]

    def __repr__(self) -> str:
        top = self._top(self.by_molecule)["top-1"]
        return f"EvaluationResult({self.problem.method}: {top:.1f} % of {self.n_queries} molecules first)"

    @property
    def by_molecule(self) -> OutOfFold:
        """Scores with folds over molecules."""
        return next(iter(self.found.values()))

    @property
    def n_queries(self) -> int:
        """Spectra with several candidates, or whose truth is not among them."""
        return len(self.by_molecule.rows) + self.by_molecule.absent

    @cached_property
    def _confidence(self) -> dict[str, Confidence]:
        identities = self.problem.library.identities
        return {group: Confidence(found, identities, self.problem.method) for group, found in self.found.items()}

    # ------------------------------------------------------------------------------------------------------- as tables

    @property
    def methods(self) -> pd.DataFrame:
        """A row for each method and kind of folds: top-k accuracies with a 95 % interval."""
        return frame_of(self._method_rows())

    @property
    def confidence(self) -> pd.DataFrame:
        """A row for each kind of folds: calibration error, and coverage and size of the prediction sets."""
        return frame_of(self._confidence_rows())

    @property
    def subsets(self) -> pd.DataFrame:
        """Top-1 accuracy by number of candidates, distance to the training set, number of peaks, and metadata."""
        return frame_of(self._subset_rows())

    @property
    def queries(self) -> pd.DataFrame:
        """A row for each query with the rank of the truth."""
        return frame_of(self._query_rows())

    @property
    def rejected(self) -> pd.DataFrame:
        """A row for each record that was left out or changed, with the reason."""
        return rejected_frame(self.problem.rejections)

    def _top(self, found: OutOfFold) -> dict[str, float]:
        """Metrics of the model."""
        return figures(found.with_absent(found.ranks(self.problem.method)))

    def _method_rows(self) -> list[dict[str, Any]]:
        return [
            self._method_row(found, method, GROUPS[group])
            for group, found in self.found.items()
            for method in found.scores
        ]

    def _method_row(self, found: OutOfFold, method: str, group: str) -> dict[str, Any]:
        identities = [self.problem.library.identities[i] for i in found.rows]
        folds = found.fold[found.rows]
        ranks = found.ranks(method)
        first = ranks <= 1
        by_fold = [100 * float(np.mean(first[folds == number])) for number in np.unique(folds)]
        likeness = None
        if method in found.likeness:
            likeness = round(float(np.mean(found.likeness[method])), 3)
        row = {
            "method": method,
            "folds by": group,
            **rounded(figures(found.with_absent(ranks))),
            "95 % of top-1": _interval(first.astype(float), identities, self.seed),
            "Tanimoto to the truth": likeness,
            "top-1 over folds": str(Spread.of(by_fold, digits=1)),
        }
        if method in found.counted:
            counted = found.with_absent(found.counted[method])
            row["top-1, own count"] = round(100 * float(np.mean(counted <= 1)), 1)
        return row

    def _confidence_rows(self) -> list[dict[str, Any]]:
        return [{"folds by": GROUPS[group], **part.row(self.delta)} for group, part in self._confidence.items()]

    def _query_rows(self) -> list[dict[str, Any]]:
        found, method = self.by_molecule, self.problem.method
        return [
            {
                "spectrum_id": self.problem.library.files.ids[i],
                "rank": rank,
                "n_candidates": len(scores),
                "fold": int(found.fold[i]),
            }
            for i, rank, scores in zip(
                found.rows.tolist(), found.ranks(method).tolist(), found.scores[method], strict=True
            )
        ]

    def _subset_rows(self) -> list[dict[str, Any]]:
        ranks = self.by_molecule.ranks(self.problem.method)
        return [
            {"queries": name, "number": int(rows.sum()), "top-1": round(100 * float(np.mean(ranks[rows] <= 1)), 1)}
            for name, rows in self._subsets().items()
            if rows.any()
        ]

    def _subsets(self) -> dict[str, NDArray[Any]]:
        """Which queries belong to each subset."""
        found, spectra = self.by_molecule, self.problem.library.files.spectra
        sizes = np.array([len(self.problem.candidates.lists[i]) for i in found.rows])
        peaks = spectra.lengths[found.rows]
        mass = spectra.precursor_mz[found.rows]
        near = found.nearest
        subsets: dict[str, NDArray[Any]] = {
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
            subsets[f"precursor below {low:.0f}"] = mass <= low
            subsets[f"precursor {low:.0f} to {high:.0f}"] = (mass > low) & (mass <= high)
            subsets[f"precursor above {high:.0f}"] = mass > high
        for field in _FIELDS:
            values = np.array([str(spectra.metadata[i].get(field) or "") for i in found.rows])
            names = [name for name in sorted(set(values.tolist())) if name]
            if len(names) > 1:
                for name in names[:_MOST_VALUES]:
                    subsets[f"{field} {name}"] = values == name
        return subsets

    # ----------------------------------------------------------------------------------------------------- as a report

    def page(self, *, pages: int = 20, spreadsheet_safe: bool = False) -> Report:
        """The report of a run, with the files of its folder.

        Parameters
        ----------
        pages : int, default=20
            Number of queries that are drawn: those with the worst ranks.
        spreadsheet_safe : bool, default=False
            Put an apostrophe before texts that a spreadsheet would execute.
        """
        problem, found = self.problem, self.by_molecule
        confidence = next(iter(self._confidence.values()))
        rows = self._method_rows()
        drawn = self._cards(confidence, pages)
        missed = [Text("Queries that were missed, the worst first")] if drawn else []
        return Report(
            "How well molecules are found",
            self._summary(),
            (
                Table(
                    f"{self.n_queries} spectra with several candidates",
                    rows,
                    note=_METHODS_NOTE,
                    ours=("top-1",),
                    our_rows=tuple(k for k, row in enumerate(rows) if row["method"] == problem.method),
                ),
                _curve(found),
                Table(f"Confidence of the {problem.method} model", self._confidence_rows()),
                _reliability(confidence),
                _coverage(confidence),
                Table("Where it is right", self._subset_rows()),
                *missed,
                *cards(drawn),
                input_table("spectra with a structure", problem.library.files, problem.rejections),
            ),
            (
                problem.note,
                problem.candidates.note,
                f"{found.absent} truths are not among their candidates and count as missed at every k; {found.single} "
                "sets hold one candidate, which is no question.",
                *_NOTES,
            ),
            info=self.info,
            files={
                "queries.tsv": table_text(self._query_rows(), safe=spreadsheet_safe),
                "rejected.tsv": rejected_text(problem.rejections, safe=spreadsheet_safe),
            },
        )

    def report(self, folder: Any, *, force: bool = False, **options: Any) -> list[Path]:
        """Write the page, the tables and metrics.json to a folder; `options` are those of `page`, and `format`.

        A folder with an earlier run is written over with `force` only.

        Returns
        -------
        paths : list of Path
        """
        page = {name: value for name, value in options.items() if name != "format"}
        return write_report(self.page(**page), folder, force=force, **options)

    def _summary(self) -> str:
        best = self._top(self.by_molecule)
        text = (
            f"The {self.problem.method} model finds {best['top-1']:.1f} % of {self.n_queries} molecules first and "
            f"{best['top-10']:.1f} % among ten."
        )
        larger = list(self.found)[1:]
        for group in larger:
            text += f" With folds by {GROUPS[group]} it finds {self._top(self.found[group])['top-1']:.1f} %."
        if larger:
            text += " That is the figure for molecules unlike the library's."
        return text

    def _cards(self, confidence: Confidence, pages: int) -> list[Card]:
        """The queries with the worst ranks, each with the most similar spectrum of another fold."""
        found, library = self.by_molecule, self.problem.library
        ranks = found.ranks(self.problem.method)
        worst = [int(k) for k in np.argsort(-ranks, kind="stable")[:pages] if ranks[k] > 1]
        if not worst:
            return []
        K = self.problem.grams.mean()
        sets = confidence.sets(self.delta)
        drawn = []
        for k in worst:
            i = int(found.rows[k])
            others = np.flatnonzero(found.fold != found.fold[i])
            near = int(others[np.argmax(K[i, others])])
            beside = [(library.files.ids[near], library.files.spectra[near])]
            candidates = self._card_rows(i, found.truth[k], confidence.p[k], sets[k])
            smiles = [library.molecules[near].smiles]
            drawn.append(Card(library.files.ids[i], library.files.spectra[i], beside, candidates, smiles))
        return drawn

    def _card_rows(self, i: int, truth: int, p: NDArray[Any], members: NDArray[Any]) -> list[dict[str, Any]]:
        """The five best candidates of a query, the truth among them."""
        shown = [int(c) for c in np.argsort(-p, kind="stable")[:5]]
        if truth not in shown:
            shown[4:] = [truth]
        molecules = self.problem.candidates.lists[i]
        return [
            {
                "rank": int(1 + (p > p[c]).sum()),
                "name": "",
                "candidate_id": molecules[c].id,
                "inchikey14": molecules[c].identity,
                "smiles": molecules[c].smiles,
                "probability": float(p[c]),
                "in_set": bool(members[c]),
                "truth": c == truth,
            }
            for c in shown
        ]


def _interval(hits: NDArray[Any], names: list[str], seed: int) -> str:
    """A 95 % bootstrap interval over molecules."""
    number = {name: k for k, name in enumerate(dict.fromkeys(names))}
    owner = np.array([number[name] for name in names])
    sums = np.bincount(owner, hits)
    counts = np.bincount(owner)
    rng = np.random.default_rng((seed, 95))
    drawn = rng.integers(len(number), size=(_DRAWS, len(number)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.percentile(100 * means, [2.5, 97.5])
    return f"{low:.1f} to {high:.1f}"


# ------------------------------------------------------------------------------------------------------------- figures


def _curve(found: OutOfFold) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        k = np.arange(1, TOPS[-1] + 1)
        for name in found.scores:
            ranks = found.ranks(name)
            color = OURS if name in METHODS else THEIRS
            axes.plot(k, [100 * np.mean(ranks <= j) for j in k], color=color, linewidth=0.9)
        axes.plot([], [], color=OURS, label="kernel regression")
        axes.plot([], [], color=THEIRS, label="rivals")
        axes.set(xlabel="k", ylabel="truth among the first k, %", ylim=(0, 101), xticks=(1, *TOPS[1:]))
        axes.legend()

    return plot(draw, caption="How often the truth is among the first k candidates, a line for each method.")


def _reliability(confidence: Confidence) -> Figure:
    p, right = confidence.best, confidence.right

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.plot([0, 1], [0, 1], color=THEIRS, linewidth=0.8)
        bins = np.minimum((p * 10).astype(int), 9)
        for number in np.unique(bins):
            inside = bins == number
            axes.scatter(p[inside].mean(), right[inside].mean(), s=8 + 60 * inside.mean(), color=OURS)
        axes.set(xlabel="probability of the first candidate", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))

    return plot(draw, caption="Probabilities against how often they are right; on the line they are calibrated.")


def _coverage(confidence: Confidence) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        wanted = [1 - delta for delta in _DELTAS]
        covered = [confidence.coverage(delta)[0] for delta in _DELTAS]
        axes.plot([0.5, 1], [0.5, 1], color=THEIRS, linewidth=0.8)
        axes.plot(wanted, covered, color=OURS, marker="o", markersize=3)
        axes.set(xlabel="coverage asked for, 1 − δ", ylabel="sets that hold the truth", xlim=(0.5, 1), ylim=(0.5, 1.01))

    return plot(draw, caption="How often the sets hold the truth, against how often they are meant to.")
