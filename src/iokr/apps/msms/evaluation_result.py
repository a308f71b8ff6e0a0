"""What `evaluate` returns: tables of methods and of confidence, the page, and the files of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from iokr.apps.msms.folds import GROUPS, Confidence, OutOfFold
from iokr.apps.msms.inputs import input_table
from iokr.apps.msms.library import Library
from iokr.apps.msms.page import (
    TOPS,
    Card,
    cards,
    figures,
    frame_of,
    records,
    rejected_frame,
    rounded,
    table_file,
    write_report,
)
from iokr.apps.report import OURS, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.apps.report.figures import Canvas
from iokr.estimators.identification.model import METHODS

__all__ = ["EvaluationResult"]

_DRAWS = 1000  # of the bootstrap over molecules
_DELTAS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
_FIELDS = ("instrument", "adduct", "class", "superclass", "compound_class")  # metadata that defines subsets of queries
_MOST_VALUES = 8  # of a field that are listed
_METHODS_NOTE = (
    "Top-k accuracies in per cent, with a bootstrap interval over molecules, and mean ± standard deviation over folds; "
    "Tanimoto similarity of the first candidate to the truth. Training spectra of a candidate are left out of its "
    "score, except in the last column."
)
_NOTES = (
    "All spectra of a molecule are held out together. Caveat: if an unknown is a molecule of the library, leaving its "
    "spectra out discards evidence; cross-validation over molecules does not include that case.",
    "Temperature and prediction sets of a fold are calibrated on the other folds. They pool different models, so their "
    "coverage is empirical, not guaranteed.",
)


@dataclass(frozen=True, eq=False)
class EvaluationResult:
    """Scores out of fold of several methods, and how well they are calibrated; made by `evaluate`.

    Attributes
    ----------
    library : Library
        The spectra, their candidates and the model.
    found : mapping of str to OutOfFold
        Scores by the groups that folds keep together: "inchikey14" first, then larger groups.
    calibration : mapping of str to Confidence
        Probabilities and prediction sets, by the same groups.
    delta : float
        The level of the prediction sets.
    seed : int
    info : mapping
        Versions, seconds, data files and their hashes.
    """

    library: Library
    found: Mapping[str, OutOfFold]
    calibration: Mapping[str, Confidence]
    delta: float
    seed: int
    info: Mapping[str, Any]

    def __repr__(self) -> str:
        top = self._top(self.by_molecule)["top-1"]
        return f"EvaluationResult({self.library.method}: top-1 {top:.1f} % of {self.n_queries} spectra)"

    @property
    def by_molecule(self) -> OutOfFold:
        """Scores with folds over molecules."""
        return next(iter(self.found.values()))

    @property
    def n_queries(self) -> int:
        """Spectra with several candidates, or whose truth is not among them."""
        return len(self.by_molecule.rows) + self.by_molecule.absent

    # ------------------------------------------------------------------------------------------------------- as tables

    @property
    def methods(self) -> pd.DataFrame:
        """A row for each method and kind of folds: top-k accuracies with a 95 % interval."""
        return frame_of(
            [
                self._method_row(found, method, GROUPS[group])
                for group, found in self.found.items()
                for method in found.scores
            ]
        )

    @property
    def confidence(self) -> pd.DataFrame:
        """A row for each kind of folds: calibration error, and coverage and size of the prediction sets."""
        return frame_of(
            [{"folds by": GROUPS[group], **part.row(self.delta)} for group, part in self.calibration.items()]
        )

    @property
    def subsets(self) -> pd.DataFrame:
        """Top-1 accuracy by number of candidates, distance to the training set, number of peaks, and metadata."""
        first = self.by_molecule.ranks(self.library.method) <= 1
        return frame_of(
            [
                {"subset": name, "queries": int(rows.sum()), "top-1": round(100 * float(np.mean(first[rows])), 1)}
                for name, rows in self._subsets().items()
                if rows.any()
            ]
        )

    @property
    def queries(self) -> pd.DataFrame:
        """A row for each query with the rank of the truth."""
        found = self.by_molecule
        scores = found.scores[self.library.method]
        return frame_of(
            {
                "spectrum_id": [self.library.files.ids[i] for i in found.rows],
                "rank": found.ranks(self.library.method),
                "n_candidates": [len(f) for f in scores],
                "fold": found.fold[found.rows],
            }
        )

    @property
    def rejected(self) -> pd.DataFrame:
        """A row for each record that was left out or changed, with the reason."""
        return rejected_frame(self.library.rejections)

    def _top(self, found: OutOfFold) -> dict[str, float]:
        """Metrics of the model."""
        return figures(found.with_absent(found.ranks(self.library.method)))

    def _method_row(self, found: OutOfFold, method: str, group: str) -> dict[str, Any]:
        identities = [self.library.identities[i] for i in found.rows]
        folds = found.fold[found.rows]
        ranks = found.ranks(method)
        first = ranks <= 1
        by_fold = [100 * float(np.mean(first[folds == number])) for number in np.unique(folds)]
        row = {
            "method": method,
            "folds by": group,
            **rounded(figures(found.with_absent(ranks))),
            "top-1, 95 % interval": _interval(first.astype(float), identities, self.seed),
            "Tanimoto to truth": round(float(np.mean(found.likeness[method])), 3),
            "top-1 over folds": str(Spread.of(by_fold, digits=1)),
        }
        if method in found.counted:
            counted = found.with_absent(found.counted[method])
            row["top-1, own spectra count"] = round(100 * float(np.mean(counted <= 1)), 1)
        return row

    def _subsets(self) -> dict[str, NDArray[Any]]:
        """Which queries belong to each subset."""
        found = self.by_molecule
        spectra = self.library.files.spectra
        sizes = np.array([len(self.library.candidates.lists[i]) for i in found.rows])
        peaks = spectra.lengths[found.rows]
        mass = spectra.precursor_mz[found.rows]
        near = found.nearest
        subsets: dict[str, NDArray[Any]] = {
            "2–5 candidates": sizes <= 5,
            "6–20 candidates": (sizes > 5) & (sizes <= 20),
            "more than 20 candidates": sizes > 20,
            "nearest training molecule, Tanimoto > 0.7": near > 0.7,
            "nearest training molecule, 0.4–0.7": (near > 0.4) & (near <= 0.7),
            "nearest training molecule, at most 0.4": near <= 0.4,
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
                subsets |= {f"{field} {name}": values == name for name in names[:_MOST_VALUES]}
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
        library = self.library
        found = self.by_molecule
        confidence = next(iter(self.calibration.values()))
        methods = records(self.methods)
        drawn = self._cards(confidence, pages)
        missed = [Text("Queries with the worst ranks")] if drawn else []
        return Report(
            "Identification accuracy",
            self._summary(),
            (
                Table(
                    f"{self.n_queries} spectra with several candidates",
                    methods,
                    note=_METHODS_NOTE,
                    ours=("top-1",),
                    our_rows=tuple(k for k, row in enumerate(methods) if row["method"] == library.method),
                ),
                _curve(found),
                Table(f"Confidence of the {library.method} model", records(self.confidence)),
                _reliability(confidence),
                _coverage(confidence),
                Table("Top-1 accuracy by subset", records(self.subsets)),
                *missed,
                *cards(drawn),
                input_table("spectra with a structure", library.files, library.rejections),
            ),
            (
                library.note,
                library.candidates.note,
                f"{found.absent} true molecules are not among their candidates and count as missed at every k; "
                f"{found.single} spectra with a single candidate are not evaluated.",
                *_NOTES,
            ),
            info=self.info,
            files={
                "queries.tsv": table_file(self.queries, safe=spreadsheet_safe),
                "rejected.tsv": table_file(self.rejected, safe=spreadsheet_safe),
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
            f"The {self.library.method} model ranks the truth first for {best['top-1']:.1f} % of {self.n_queries} "
            f"spectra, and among the first ten for {best['top-10']:.1f} %."
        )
        larger = list(self.found)[1:]
        for group in larger:
            text += f" With folds by {GROUPS[group]}, {self._top(self.found[group])['top-1']:.1f} % are first."
        if larger:
            text += " Folds by larger groups estimate the accuracy for molecules unlike those of the library."
        return text

    def _cards(self, confidence: Confidence, pages: int) -> list[Card]:
        """The queries with the worst ranks, each with the most similar spectrum of another fold."""
        found = self.by_molecule
        library = self.library
        ranks = found.ranks(library.method)
        worst = [int(k) for k in np.argsort(-ranks, kind="stable")[:pages] if ranks[k] > 1]
        if not worst:
            return []
        K = np.asarray(sum(library.matrices))
        sets = confidence.sets(self.delta)
        drawn = []
        for k in worst:
            i = int(found.rows[k])
            near = int(np.argmax(np.where(found.fold != found.fold[i], K[i, : len(found.fold)], -np.inf)))
            drawn.append(
                Card(
                    library.files.ids[i],
                    library.files.spectra[i],
                    library.files.ids[near],
                    library.files.spectra[near],
                    self._card_rows(i, found.truth[k], confidence.p[k], sets[k]),
                    library.molecules[near].smiles,
                )
            )
        return drawn

    def _card_rows(self, i: int, truth: int, p: NDArray[Any], members: NDArray[Any]) -> list[dict[str, Any]]:
        """The five best candidates of a query, the truth among them."""
        shown = [int(c) for c in np.argsort(-p, kind="stable")[:5]]
        if truth not in shown:
            shown[4:] = [truth]
        molecules = self.library.candidates.lists[i]
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
    owner, molecules = pd.factorize(np.array(names))
    sums = np.bincount(owner, hits)
    counts = np.bincount(owner)
    rng = np.random.default_rng((seed, 95))
    drawn = rng.integers(len(molecules), size=(_DRAWS, len(molecules)))
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
        axes.plot([], [], color=THEIRS, label="baselines")
        axes.set(xlabel="k", ylabel="truth among the first k, %", ylim=(0, 101), xticks=(1, *TOPS[1:]))
        axes.legend()

    return plot(draw, caption="Top-k accuracy, a line for each method.")


def _reliability(confidence: Confidence) -> Figure:
    p = confidence.best
    right = confidence.right

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.plot([0, 1], [0, 1], color=THEIRS, linewidth=0.8)
        bins = np.minimum((p * 10).astype(int), 9)
        for number in np.unique(bins):
            inside = bins == number
            axes.scatter(p[inside].mean(), right[inside].mean(), s=8 + 60 * inside.mean(), color=OURS)
        axes.set(
            xlabel="probability of the first candidate", ylabel="fraction that is correct", xlim=(0, 1), ylim=(0, 1)
        )

    return plot(
        draw,
        caption="Reliability: probability of the first candidate against accuracy; calibrated values lie on the line.",
    )


def _coverage(confidence: Confidence) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        wanted = [1 - delta for delta in _DELTAS]
        covered = [confidence.coverage(delta)[0] for delta in _DELTAS]
        axes.plot([0.5, 1], [0.5, 1], color=THEIRS, linewidth=0.8)
        axes.plot(wanted, covered, color=OURS, marker="o", markersize=3)
        axes.set(xlabel="nominal coverage, 1 − δ", ylabel="observed coverage", xlim=(0.5, 1), ylim=(0.5, 1.01))

    return plot(draw, caption="Observed against nominal coverage of the prediction sets.")
