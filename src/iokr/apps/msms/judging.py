"""`iokr msms evaluate --results --truth`: a table of candidates judged by a table of truths."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from iokr.apps.msms.tables import figures
from iokr.apps.readers.records import named_rows
from iokr.apps.report import Report, Table, run_info
from iokr.estimators.identification.confidence import mean_rank

__all__ = ["judge"]


def judge(results: Path, truth: Path) -> Report:
    """Judge a table of candidates by a table of truths, columns spectrum_id and smiles or inchikey."""
    start = perf_counter()
    known: dict[str, str] = {}
    for line, row in named_rows(truth):
        if "spectrum_id" not in row:
            raise ValueError(f"{truth.name} line {line}: needs columns spectrum_id and smiles, inchikey or inchikey14.")
        known[str(row["spectrum_id"])] = _identity(row, truth, line)
    listed: dict[str, list[tuple[float, str]]] = {}
    for line, row in named_rows(results):
        name = str(row.get("spectrum_id") or row.get("mappingfeatureid") or "")
        if not name:
            raise ValueError(f"{results.name} line {line}: needs a column spectrum_id.")
        if str(row.get("status", "ok")) != "ok":  # a query that was not ranked
            continue
        try:
            score = float(row["score"])
        except KeyError:
            raise ValueError(f"{results.name} line {line}: needs a column score.") from None
        except ValueError:
            raise ValueError(f"{results.name} line {line}: the score {row['score']!r:.40} is no number.") from None
        listed.setdefault(name, []).append((score, _identity(row, results, line)))
    if not set(known) & set(listed):
        raise ValueError(f"{truth.name}: none of its {len(known)} spectrum ids is in {results.name}.")
    ranks = []
    for name, key in known.items():
        some = listed.get(name, [])
        scores, names = np.array([score for score, _ in some]), [own for _, own in some]
        ranks.append(mean_rank(scores, names.index(key)) if key in names else np.inf)
    found = np.array(ranks)
    values = {key: round(value, 3 if key == "MRR" else 1) for key, value in figures(found).items()}
    missing = int(np.isinf(found).sum())
    report = Report(
        "How often the truth came first",
        f"The truth is first in {values['top-1']} % of {len(found)} spectra.",
        (Table("Results evaluated", [{"spectra": len(found), **values, "truth not listed": missing}]),),
        ("A truth that is not listed counts as missed at every k.",),
    )
    return report.with_info(run_info(seconds=perf_counter() - start, files=[results, truth]))


def _identity(row: dict[str, Any], path: Path, line: int) -> str:
    """The first block of the InChIKey, as it stands there or from the SMILES."""
    key = str(row.get("inchikey14") or row.get("inchikey2d") or row.get("inchikey") or "")[:14]
    if key:
        return key
    if "smiles" not in row:
        raise ValueError(f"{path.name} line {line}: needs columns spectrum_id and smiles, inchikey or inchikey14.")
    from iokr.chem.structures.molecules import BadMolecule, Molecule

    try:
        return Molecule(str(row["smiles"])).identity
    except BadMolecule as error:
        raise ValueError(f"{path.name} line {line}: {error}") from None
