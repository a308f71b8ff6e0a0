"""What `identify` returns: tables of candidates and spectra, the page, and the files of a run."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from iokr._array import blocks
from iokr.apps.msms.inputs import CandidateLists, input_table
from iokr.apps.msms.model import SpectraModel
from iokr.apps.msms.page import Card, cards, frame_of, name_of, records, rejected_frame, table_file, write_report
from iokr.apps.readers.records import Rejected
from iokr.apps.readers.spectra_files import SpectraFiles
from iokr.apps.report import LiveTable, Report, Spread, Table
from iokr.chem.structures.fingerprints import Fingerprints

__all__ = ["BEST", "MANY", "IdentificationResult"]

MANY = 20_000  # distinct candidates from which the reverse model scores only the best by the forward model
BEST = 100  # of each query
_BLOCK = 64  # queries whose fingerprints are predicted together
_RERANKED = (
    f"There are more than {MANY} distinct candidates, so the reverse model scored only the {BEST} best of each "
    "spectrum by the forward model. The others follow without a score."
)
_ON_PAGE = (
    *("spectrum", "precursor", "candidates", "best", "formula", "probability", "set size", "novelty"),
    *("library match", "status"),
)
_COLUMNS = (
    *("spectrum_id", "rank", "candidate_id", "name", "smiles", "inchikey14", "formula", "score", "score_forward"),
    *("score_reverse", "score_library", "probability", "in_set", "margin", "n_candidates", "tied_with", "in_library"),
    *("library_match", "evidence", "status", "adduct"),
)
_SIRIUS = {
    "rank": "structurePerIdRank",
    "inchikey14": "InChIkey2D",
    "formula": "molecularFormula",
    "probability": "ConfidenceScoreExact",
    "spectrum_id": "mappingFeatureId",
    "spectrum": "mappingFeatureId",
}


_NOTES = (
    "Scores compare the spectrum with the prediction of the model for each candidate. Probabilities compare the "
    "candidates of one spectrum with each other, assuming that the truth is among them. Caveat: the model cannot "
    "detect that it is not; `novelty` is a rank among spectra whose truth was a candidate.",
    "If the unknown may be a molecule of the library, see `library_match`: the result of a library search, which does "
    "not change the ranking.",
)


@dataclass(frozen=True, eq=False)
class IdentificationResult:
    """Ranked candidates of spectra; made by `identify`.

    Attributes
    ----------
    model : SpectraModel
    files : SpectraFiles
        The spectra, and those that were left out.
    candidates : CandidateLists
    answers : mapping
        For each spectrum id its best candidates with scores, probabilities and evidence, as plain data.
    delta : float
        The level of the prediction sets.
    reranked : bool
        Whether only the best candidates by the forward model were scored by the reverse model.
    info : mapping
        Versions, seconds, data files and their hashes.
    """

    model: SpectraModel
    files: SpectraFiles
    candidates: CandidateLists
    answers: Mapping[str, dict[str, Any]]
    delta: float
    reranked: bool
    info: Mapping[str, Any]

    def __repr__(self) -> str:
        counts = self.counts
        return f"IdentificationResult({counts['ok']} of {sum(counts.values())} spectra with ranked candidates)"

    # ------------------------------------------------------------------------------------------------------- as tables

    @property
    def table(self) -> pd.DataFrame:
        """A row for each candidate that is listed, and for each spectrum without any."""
        rows: list[dict[str, Any]] = []
        for i, name in enumerate(self.files.ids):
            answer = self.answers.get(name)
            if answer is None:
                rows.append({"spectrum_id": name, "status": "no_candidates"})
                continue
            shared = {
                "spectrum_id": name,
                "adduct": self.files.spectra.metadata[i].get("adduct"),
                **{key: answer[key] for key in ("margin", "n_candidates", "library_match")},
                "status": "ok",
            }
            for candidate in answer["candidates"]:
                evidence = ";".join(f"{id}:{beta}:{k}:{t}" for id, beta, k, t, _ in candidate["evidence"])
                rows.append({**candidate, **shared, "evidence": evidence})
        rows += [{"spectrum_id": one.id, "status": "rejected"} for one in self._left_out()]
        return frame_of(rows, _COLUMNS)

    @property
    def spectra(self) -> pd.DataFrame:
        """A row for each spectrum: its best candidate, confidence and status."""
        rows = [self._spectrum_row(i, name) for i, name in enumerate(self.files.ids)]
        rows += [{"spectrum": one.id, "status": "rejected", "note": one.reason} for one in self._left_out()]
        return frame_of(rows)

    @property
    def rejected(self) -> pd.DataFrame:
        """A row for each record that was left out or changed, with the reason."""
        return rejected_frame(self._rejections())

    @property
    def counts(self) -> dict[str, int]:
        """The number of spectra by status."""
        n_ok = len(self.answers)
        return {"ok": n_ok, "no_candidates": len(self.files.ids) - n_ok, "rejected": len(self._left_out())}

    def predicted_fingerprints(self) -> NDArray[np.float32]:
        """Bits predicted by the forward model, β(x)ᵀY clipped to [0, 1], a row for each spectrum with candidates."""
        Y = np.asarray(self.model.bits).astype(np.float32)
        rows = np.array(self._ranked(), dtype=np.intp)
        found = np.empty((len(rows), Y.shape[1]), dtype=np.float32)
        for block in blocks(len(rows), _BLOCK):
            beta = np.asarray(self.model.identification.forward_.weights(self.files.spectra[rows[block]]))
            found[block] = np.clip(beta.astype(np.float32) @ Y, 0.0, 1.0)
        return found

    def _ranked(self) -> list[int]:
        return [i for i, name in enumerate(self.files.ids) if name in self.answers]

    def _left_out(self) -> list[Rejected]:
        return [one for one in self.files.rejections if one.action == "left out"]

    def _rejections(self) -> tuple[Rejected, ...]:
        return (*self.files.rejections, *self.candidates.rejections)

    def _spectrum_row(self, i: int, name: str) -> dict[str, Any]:
        row: dict[str, Any] = {
            "spectrum": name,
            "precursor": round(float(self.files.spectra.precursor_mz[i]), 4),
            "peaks": int(self.files.spectra.lengths[i]),
        }
        answer = self.answers.get(name)
        if answer is None:
            return {**row, "status": "no_candidates"}
        best = answer["candidates"][0]
        return {
            **row,
            "candidates": answer["n_candidates"],
            "best": name_of(best),
            "smiles": best["smiles"],
            "formula": best["formula"],
            "probability": _rounded(best["probability"], 3),
            "set size": answer["set_size"],
            "margin": _rounded(answer["margin"], 4),
            "novelty": _rounded(answer["novelty"], 3),
            "best similarity": round(answer["best_similarity"], 3),
            "library match": answer["library_match"],
            "status": "ok",
            "note": answer["note"],
        }

    # ----------------------------------------------------------------------------------------------------- as a report

    def page(
        self,
        *,
        pages: int = 20,
        format: str = "tsv",
        sirius_columns: bool = False,
        write_fingerprints: bool = False,
        spreadsheet_safe: bool = False,
    ) -> Report:
        """The report of a run, with the files of its folder.

        Parameters
        ----------
        pages : int, default=20
            Number of spectra that are drawn with their best candidates.
        format : {"tsv", "csv", "json", "parquet"}, default="tsv"
            Of the tables of candidates and of spectra.
        sirius_columns : bool, default=False
            Name columns as SIRIUS does.
        write_fingerprints : bool, default=False
            Add fingerprints.npz, see `predicted_fingerprints`.
        spreadsheet_safe : bool, default=False
            Put an apostrophe before texts that a spreadsheet would execute.
        """
        table = self.table
        spectra = self.spectra
        rows = records(spectra)
        if sirius_columns:
            table = table.rename(columns=_SIRIUS)
            spectra = spectra.rename(columns=_SIRIUS)
        else:
            table = table.drop(columns="adduct")
        files = {
            f"candidates.{format}": table_file(table, format, safe=spreadsheet_safe),
            f"spectra.{format}": table_file(spectra, format, safe=spreadsheet_safe),
            "rejected.tsv": table_file(self.rejected, safe=spreadsheet_safe),
        }
        if write_fingerprints:
            files["fingerprints.npz"] = self._fingerprint_file()
        counts = self.counts
        best = LiveTable(
            Table("Best candidates", _shown(rows), ours=("probability",)),
            details=[_details(self.answers.get(str(row["spectrum"]))) for row in rows],
            file=f"spectra.{format}",
            safe=spreadsheet_safe,
        )
        drawn = [self._card(i) for i in self._ranked()[:pages]]
        notes = [
            *_NOTES,
            self.candidates.note,
        ]
        if self.reranked:
            notes.append(_RERANKED)
        return Report(
            "Identification of unknown spectra",
            f"{counts['ok']} of {self.files.n_read} spectra have ranked candidates, {counts['no_candidates']} have "
            f"no candidates, {counts['rejected']} were rejected. {self.model.guarantee(self.delta)}",
            (best, *cards(drawn), input_table("spectra", self.files, self._rejections())),
            tuple(notes),
            info={**self.info, "counts": counts},
            files=files,
        )

    def report(self, folder: Any, *, force: bool = False, **options: Any) -> list[Path]:
        """Write the page, the tables and metrics.json to a folder; `options` are those of `page`.

        A folder with an earlier run is written over with `force` only.

        Returns
        -------
        paths : list of Path
        """
        return write_report(self.page(**options), folder, force=force, **options)

    def _fingerprint_file(self) -> bytes:
        buffer = io.BytesIO()
        ids = np.array([self.files.ids[i] for i in self._ranked()], dtype=str)
        names = Fingerprints(self.model.fingerprints).get_feature_names_out().astype(str)
        np.savez_compressed(buffer, spectrum_id=ids, bits=self.predicted_fingerprints(), names=names)
        return buffer.getvalue()

    def _card(self, i: int) -> Card:
        """The spectrum with the training spectrum that contributes most to its best candidate, or the most similar."""
        name = self.files.ids[i]
        answer = self.answers[name]
        evidence = [row for *_, row in answer["candidates"][0]["evidence"]]
        j = [*evidence, answer["nearest"]][0]
        return Card(
            name,
            self.files.spectra[i],
            self.model.ids[j],
            self.model.spectra[j],
            answer["candidates"][:5],
            self.model.smiles[j] if evidence else None,
        )


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The columns that the page shows; all are in the file."""
    names = [name for name in _ON_PAGE if any(row.get(name) not in (None, "") for row in rows)]
    shown: list[dict[str, Any]] = []
    for row in rows:
        cells = {name: row.get(name) for name in names}
        if cells.get("precursor") is not None:
            cells["precursor"] = Spread(float(row["precursor"]), np.nan, digits=4)
        cells["status"] = ", ".join(part for part in (row["status"], row.get("note")) if part)
        shown.append(cells)
    return shown


def _details(answer: dict[str, Any] | None) -> list[Table | str]:
    """What the page shows when the row of a spectrum is opened."""
    if answer is None:
        return ["No candidates."]
    rows = [
        {
            "rank": row["rank"],
            "name": name_of(row),
            "smiles": row["smiles"],
            "formula": row["formula"],
            "score": _rounded(row["score"], 4),
            "probability": _rounded(row["probability"], 3),
            "in prediction set": row["in_set"],
            "evidence": ", ".join(f"{name} ({t:.2f})" for name, _, _, t, _ in row["evidence"][:3]),
        }
        for row in answer["candidates"][:5]
    ]
    return [Table("Best candidates, with the training spectra that contribute most (Tanimoto similarity)", rows)]
