"""Evaluation of a table of ranked candidates, of `identify` or of another program, by a table of true molecules."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.msms.tables import figures, frame_of, rounded, write_report
from iokr.apps.readers.records import name_of, named_rows
from iokr.apps.report import Report, Table, run_info
from iokr.chem.structures.molecules import BadMolecule, Molecule
from iokr.estimators.identification.confidence import mean_rank

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableEvaluation", "evaluate_table"]

_NEEDED = "needs columns spectrum_id and smiles, inchikey or inchikey14"


@dataclass(frozen=True, eq=False)
class TableEvaluation:
    """Ranks of the true molecules in a table of candidates; made by `evaluate_table`.

    Attributes
    ----------
    ids : list of str
        The spectra of the table of truths.
    ranks : array
        The rank of each truth; ∞ where it is not listed.
    info : mapping
    """

    ids: list[str]
    ranks: NDArray[np.float64]
    info: dict[str, Any]

    def __repr__(self) -> str:
        return f"TableEvaluation(top-1 {self.metrics['top-1']} % of {len(self.ids)} spectra)"

    @property
    def metrics(self) -> dict[str, float]:
        """Top-k accuracies in per cent, and the mean reciprocal rank."""
        return rounded(figures(self.ranks))

    @property
    def queries(self) -> pd.DataFrame:
        """A row for each spectrum with the rank of its truth."""
        return frame_of([{"spectrum_id": name, "rank": rank} for name, rank in zip(self.ids, self.ranks, strict=True)])

    def page(self) -> Report:
        """The report of a run."""
        missing = int(np.isinf(self.ranks).sum())
        n = len(self.ids)
        return Report(
            "Identification accuracy",
            f"The truth is first for {self.metrics['top-1']} % of {n} spectra.",
            (Table("Ranks of the truth", [{"spectra": n, **self.metrics, "truth not listed": missing}]),),
            ("Truths that are not listed count as missed at every k.",),
            info=self.info,
        )

    def report(self, folder: Any, *, force: bool = False, **options: Any) -> list[Path]:
        """Write the page, the table and metrics.json to a folder; `options` are `format` and `spreadsheet_safe`."""
        return write_report(self.page(), folder, force=force, **options)


def evaluate_table(results: Any, truth: Any) -> TableEvaluation:
    """Evaluate a table of ranked candidates, as `identify` returns and writes them.

    Parameters
    ----------
    results : path or data frame
        A row for each candidate, with the columns spectrum_id, score, and smiles, inchikey or inchikey14.
    truth : path or data frame
        A row for each spectrum, with the columns spectrum_id, and smiles, inchikey or inchikey14.

    Examples
    --------
    >>> import pandas as pd
    >>> from iokr.apps import msms
    >>> results = pd.DataFrame({"spectrum_id": ["a", "a"], "score": [0.9, 0.1], "smiles": ["CCO", "COC"]})
    >>> truth = pd.DataFrame({"spectrum_id": ["a"], "smiles": ["COC"]})
    >>> msms.evaluate_table(results, truth).ranks
    array([2.])
    """
    start = perf_counter()
    results = Path(results) if isinstance(results, str) else results
    truth = Path(truth) if isinstance(truth, str) else truth
    known = _truths(truth)
    ranked = _ranked(results)
    if not set(known) & set(ranked):
        raise ValueError(f"{name_of(truth)}: none of its {len(known)} spectrum ids is in {name_of(results)}.")
    ranks = []
    for name, identity in known.items():
        scores, identities = ranked.get(name, ([], []))
        rank = np.inf
        if identity in identities:
            rank = mean_rank(np.array(scores), identities.index(identity))
        ranks.append(rank)
    files = [path for path in (results, truth) if isinstance(path, Path)]
    info = run_info(seconds=perf_counter() - start, files=files)
    return TableEvaluation(list(known), np.array(ranks), info)


def _truths(source: Any) -> dict[str, str]:
    """The molecule of each spectrum."""
    found: dict[str, str] = {}
    for line, row in named_rows(source):
        if "spectrum_id" not in row:
            raise ValueError(f"{name_of(source)} line {line}: {_NEEDED}.")
        found[str(row["spectrum_id"])] = _identity(row, source, line)
    return found


def _ranked(source: Any) -> dict[str, tuple[list[float], list[str]]]:
    """(scores, molecules) of the candidates of each spectrum; spectra without ranked candidates are left out."""
    found: dict[str, tuple[list[float], list[str]]] = {}
    for line, row in named_rows(source):
        name = str(row.get("spectrum_id") or row.get("mappingfeatureid") or "")
        if not name:
            raise ValueError(f"{name_of(source)} line {line}: needs a column spectrum_id.")
        if str(row.get("status", "ok")) == "ok":
            scores, identities = found.setdefault(name, ([], []))
            scores.append(_score(row, source, line))
            identities.append(_identity(row, source, line))
    return found


def _score(row: dict[str, Any], source: Any, line: int) -> float:
    if "score" not in row:
        raise ValueError(f"{name_of(source)} line {line}: needs a column score.")
    try:
        return float(row["score"])
    except ValueError:
        raise ValueError(
            f"{name_of(source)} line {line}: `score` must be a number, got {row['score']!r:.40}."
        ) from None


def _identity(row: dict[str, Any], source: Any, line: int) -> str:
    """The first block of the InChIKey, as the row has it or from its SMILES."""
    key = str(row.get("inchikey14") or row.get("inchikey2d") or row.get("inchikey") or "")[:14]
    if key:
        return key
    if "smiles" not in row:
        raise ValueError(f"{name_of(source)} line {line}: {_NEEDED}.")
    try:
        return Molecule(str(row["smiles"])).identity
    except BadMolecule as error:
        raise ValueError(f"{name_of(source)} line {line}: {error}") from None
