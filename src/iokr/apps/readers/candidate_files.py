"""Candidate sets of spectra, from tables and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iokr.apps.readers.bounded import read_json
from iokr.apps.readers.formats import check_file, format_of
from iokr.apps.readers.records import Rejected, name_of, named_rows
from iokr.apps.readers.spectra_files import SpectraFiles
from iokr.chem.structures.molecules import structure_text
from iokr.data.frames import is_table

__all__ = ["Candidate", "CandidateFiles", "candidates_of", "check_spectra", "read_candidates"]

_SHOWN = 3  # ids in a message


@dataclass(frozen=True)
class Candidate:
    """A candidate molecule.

    Examples
    --------
    >>> from iokr.apps.readers import Candidate
    >>> Candidate("CCO", "c1").id
    'c1'
    """

    smiles: str
    id: str = ""
    name: str = ""
    file: str = ""
    line: int | None = None


@dataclass(frozen=True)
class CandidateFiles:
    """The candidate sets of spectra by id, and what was rejected; see `read_candidates`.

    Examples
    --------
    >>> from iokr.apps.readers import CandidateFiles
    >>> CandidateFiles({"S1": []}).rejections
    ()
    """

    sets: dict[str, list[Candidate]]
    rejections: tuple[Rejected, ...] = ()


def check_spectra(value: Any, name: str) -> None:
    """TypeError unless the value is what `read_spectra_files` returns."""
    if not isinstance(value, SpectraFiles):
        raise TypeError(f"`{name}` must be the `SpectraFiles` that `read_spectra_files` returns, got {value!r:.60}.")


def read_candidates(source: Any, spectra: SpectraFiles) -> CandidateFiles:
    """Candidate sets: a table with columns spectrum_id and smiles, or JSON {id or SMILES of the query: [SMILES …]}.

    Parameters
    ----------
    source : path, data frame, dictionary {id: structures}, or a list of structures for each spectrum
        Structures are SMILES, InChI, `Molecule` or RDKit molecules.
    spectra : SpectraFiles

    Raises
    ------
    ValueError
        When a column is missing, or no id is that of a spectrum.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr.apps.readers import read_candidates, read_spectra_files
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "library.mgf")
    ...     peaks = "41.0 1\\n55.0 2\\n77.0 3\\n"
    ...     _ = file.write_text(f"BEGIN IONS\\nTITLE=S1\\nPEPMASS=95.05\\nSMILES=Oc1ccccc1\\n{peaks}END IONS\\n")
    ...     table = Path(folder, "candidates.tsv")
    ...     _ = table.write_text("spectrum_id\\tsmiles\\nS1\\tOc1ccccc1\\nS1\\tCC\\n")
    ...     found = read_candidates(table, read_spectra_files(file))
    >>> [candidate.smiles for candidate in found.sets["S1"]]
    ['Oc1ccccc1', 'CC']
    """
    check_spectra(spectra, "spectra")
    sets, name_of_source = _candidate_sets(source, spectra)
    ids = set(spectra.ids)
    unknown = [name for name in sets if name not in ids]
    if sets and len(unknown) == len(sets):
        files = ", ".join(dict.fromkeys(spectra.files)) or "the spectra"
        raise ValueError(
            f"{name_of_source}: none of its {len(sets)} spectrum ids is in {files} (first: {unknown[0]}; ids of the "
            f"spectra: {', '.join(spectra.ids[:_SHOWN])})."
        )
    rejections = []
    for name in unknown:
        candidates = sets.pop(name)
        line = candidates[0].line if candidates else None
        detail = f"{len(candidates)} candidates"
        rejections.append(Rejected(name_of_source, line, name, "candidate set", "no such spectrum", "left out", detail))
    return CandidateFiles(sets, tuple(rejections))


def _candidate_sets(source: Any, spectra: SpectraFiles) -> tuple[dict[str, list[Candidate]], str]:
    """The candidates by id, and the name of their source."""
    if is_table(source):
        return _table_sets(source), name_of(source)
    if isinstance(source, (str, Path)):
        path = Path(source)
        sets = _json_sets(path, spectra) if format_of(path) == ".json" else _table_sets(path)
        return sets, path.name
    if not isinstance(source, Mapping):
        if not isinstance(source, Sequence):
            raise TypeError(f"`source` must be a path, a data frame, a dictionary or a list, got {source!r:.60}.")
        if len(source) != len(spectra.ids):
            raise ValueError(f"`candidates` has {len(source)} lists for {len(spectra.ids)} spectra; give one each.")
        source = dict(zip(spectra.ids, source, strict=True))
    return {str(name): candidates_of(structures) for name, structures in source.items()}, name_of(source)


def candidates_of(structures: Iterable[Any]) -> list[Candidate]:
    """Structures in memory as candidates, numbered from 1."""
    if isinstance(structures, (str, bytes)) or not isinstance(structures, Iterable):
        raise TypeError(f"`source` must be a path, a data frame or a list of structures, got {structures!r:.60}.")
    return [Candidate(structure_text(one), file=name_of(one), line=k) for k, one in enumerate(structures, start=1)]


def _table_sets(source: Any) -> dict[str, list[Candidate]]:
    sets: dict[str, list[Candidate]] = {}
    for line, row in named_rows(source, ["spectrum_id"], ["smiles"]):
        candidate = Candidate(
            structure_text(row.get("smiles", "")),  # an empty one is rejected with the structures that cannot be read
            str(row.get("candidate_id", row.get("inchikey", ""))),
            str(row.get("name", "")),
            name_of(source),
            line,
        )
        sets.setdefault(str(row.get("spectrum_id", "")), []).append(candidate)
    return sets


def _json_sets(path: Path, spectra: SpectraFiles) -> dict[str, list[Candidate]]:
    check_file(path)
    content = read_json(path)
    lists = list(content.values()) if isinstance(content, dict) else [None]
    if not all(isinstance(texts, list) and all(isinstance(text, str) for text in texts) for texts in lists):
        raise ValueError(
            f"{path.name}: expected an object of lists of SMILES, one list for each id or SMILES of a query."
        )
    by_smiles: dict[str, list[str]] = {}
    for name, smiles in zip(spectra.ids, spectra.spectra.values("smiles"), strict=True):
        by_smiles.setdefault(str(smiles or ""), []).append(name)
    ids = set(spectra.ids)
    sets: dict[str, list[Candidate]] = {}
    for key, texts in content.items():
        candidates = [Candidate(text, file=path.name) for text in texts]
        names = [key] if key in ids else by_smiles.get(key, [key])
        sets |= dict.fromkeys(names, candidates)
    return sets
