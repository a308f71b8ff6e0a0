"""Spectra and structures from files or from memory."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from iokr.apps import report
from iokr.apps.readers.candidate_files import Candidate, read_candidates
from iokr.apps.readers.molecule_files import MoleculeTable, read_database
from iokr.apps.readers.records import Rejected, name_of
from iokr.apps.readers.spectra_files import SpectraFiles, read_spectra_files
from iokr.chem import spectra as chem_spectra
from iokr.chem.adducts import parse_adduct
from iokr.chem.cleaning import Cleaning
from iokr.chem.formulas import parse_formula, write_formula
from iokr.chem.structures.fingerprints import Fingerprints
from iokr.chem.structures.known import KnownMolecules
from iokr.chem.structures.molecules import rdkit_version, structure_text
from iokr.data.candidates import CandidateSets

__all__ = [
    "CandidateLists",
    "CandidateMolecule",
    "Structures",
    "as_spectra",
    "cache_file",
    "check_given",
    "input_table",
    "peaks_of",
    "read_candidate_lists",
    "read_spectra",
    "run_info",
]


def cache_file() -> Path:
    """The file in which the commands keep fingerprints and InChIKeys between runs.

    Examples
    --------
    >>> from iokr.apps import msms
    >>> msms.cache_file().name
    'fingerprints.sqlite'
    """
    home = os.environ.get("XDG_CACHE_HOME")
    root = Path(home) if home else Path.home() / ".cache"
    return root / "iokr" / "fingerprints.sqlite"


def read_spectra(
    spectra: Any,
    *,
    structures: Sequence[Any] | None = None,
    annotations: Any = None,
    ion_mode: str | None = None,
    min_peaks: int = 3,
    min_intensity: float = 0.001,
) -> SpectraFiles:
    """Read and clean tandem mass spectra, from files or from memory.

    Parameters
    ----------
    spectra : path, list of paths, data frame, or sequence of spectra
        MGF, MSP, mzML, or tables with the columns of MassSpecGym; a `MassSpectra`, or a list of `MassSpectrum`, of
        pairs (mz, intensity), of triples with the m/z of the precursor, or of dictionaries with these entries and
        metadata.
    structures : sequence, default=None
        A structure for each spectrum in memory: SMILES, InChI, `Molecule` or RDKit molecule. None uses the `smiles` or
        `inchi` of the metadata.
    annotations : path or data frame, default=None
        Further metadata, joined by the column `scan`, `id`, `title` or `spectrum_id`.
    ion_mode : {"positive", "negative"}, default=None
        Spectra of the other mode are left out. None requires that all have the same.
    min_peaks : int, default=3
        Spectra with fewer peaks after cleaning are left out.
    min_intensity : float, default=0.001
        Smaller peaks, relative to the largest, are removed.

    Returns
    -------
    spectra : SpectraFiles
        The clean spectra with their ids, and the records that were left out, with reasons.

    Examples
    --------
    >>> from iokr.apps import msms
    >>> phenol = ([39.0, 55.0, 77.0], [0.2, 0.4, 1.0], 95.05)
    >>> found = msms.read_spectra([phenol, ([77.0], [1.0], 95.05)], structures=["Oc1ccccc1"] * 2)
    >>> found.spectra, [rejected.reason for rejected in found.rejections]
    (MassSpectra(1 spectra, 3 peaks), ['too few peaks'])
    """
    if structures is not None:
        found = chem_spectra.read_spectra(spectra)
        if len(structures) != len(found):
            raise ValueError(f"`structures` has {len(structures)} entries for {len(found)} spectra; give one each.")
        metadata = [
            {**known, "smiles": structure_text(structure)}
            for known, structure in zip(found.metadata, structures, strict=True)
        ]
        spectra = chem_spectra.MassSpectra(found.mz, found.intensity, found.indptr, found.precursor_mz, metadata)
    cleaning = Cleaning(min_intensity=min_intensity, min_peaks=min_peaks)
    return read_spectra_files(spectra, cleaning=cleaning, ion_mode=ion_mode, annotations=annotations)


def as_spectra(spectra: Any, **options: Any) -> SpectraFiles:
    """What `read_spectra` returns, or what it takes; `options` are those of `read_spectra_files`."""
    if isinstance(spectra, SpectraFiles):
        return spectra
    return read_spectra_files(spectra, **options)


def run_info(start: float, files: Sequence[Path], seed: int | None = None) -> dict[str, Any]:
    """As for every run that began at `start`, and the version of RDKit."""
    info = report.run_info(seed=seed, seconds=perf_counter() - start, files=files)
    info["versions"]["rdkit"] = rdkit_version()
    return info


def peaks_of(files: SpectraFiles) -> dict[str, Any]:
    """The data of spectra that scores depend on."""
    spectra = files.spectra
    return {
        "ids": files.ids,
        "mz": spectra.mz,
        "intensity": spectra.intensity,
        "indptr": spectra.indptr,
        "precursor_mz": spectra.precursor_mz,
        "formula": [str(formula) for formula in spectra.values("formula")],
    }


class Structures:
    """Molecules by their text and fingerprints by their SMILES, each computed once; with `cache`, once for all runs."""

    def __init__(self, kinds: str, cache: Any = None) -> None:
        self.known = KnownMolecules(cache)
        self.fingerprints = Fingerprints(kinds, cache)


def input_table(what: str, files: SpectraFiles, rejections: Sequence[Rejected]) -> report.Table:
    """The number of spectra read, and the rejected records by reason."""
    rows: list[dict[str, Any]] = [{"records": what, "count": len(files.spectra), "status": f"of {files.n_read} read"}]
    counts = Counter((f"{one.what}: {one.reason}", one.action) for one in rejections)
    rows += [{"records": name, "count": count, "status": action} for (name, action), count in counts.most_common(20)]
    note = "`rejected.tsv` lists every record that was left out or changed, with the reason." if rejections else ""
    return report.Table("Input", rows, note=note)


@dataclass(frozen=True)
class CandidateMolecule:
    """A candidate with its structure."""

    id: str
    name: str
    smiles: str
    identity: str  # the first block of the InChIKey
    formula: str


@dataclass(frozen=True)
class CandidateLists:
    """The candidates of every spectrum, and the records that were rejected."""

    lists: list[list[CandidateMolecule]]
    rejections: tuple[Rejected, ...] = ()
    paths: tuple[Path, ...] = ()
    note: str = "No candidates were given."  # where they come from

    def without(self, identities: Collection[str], files: SpectraFiles) -> CandidateLists:
        """The lists without these molecules; spectra with no other candidate are rejected."""
        lists = [[one for one in listed if one.identity not in identities] for listed in self.lists]
        rejections = [
            _rejected_query(files, i, "no new candidates")
            for i, listed in enumerate(lists)
            if self.lists[i] and not listed
        ]
        return CandidateLists(lists, (*self.rejections, *rejections), self.paths, self.note)

    def sets(self, rows: Sequence[int], structures: Structures) -> tuple[CandidateSets, list[list[str]]]:
        """Fingerprints and identities of the candidates of some spectra."""
        lists = [self.lists[i] for i in rows]
        bits = np.asarray(structures.fingerprints.transform([one.smiles for listed in lists for one in listed]))
        ends = np.cumsum([len(listed) for listed in lists])[:-1]
        return CandidateSets(np.split(bits, ends)), [[one.identity for one in listed] for listed in lists]

    def index(self, i: int, identity: str) -> int | None:
        """The place of a molecule in the list of spectrum i; None if it is not there."""
        return next((place for place, one in enumerate(self.lists[i]) if one.identity == identity), None)


def check_given(candidates: Any, database: Any) -> None:
    """One of the two."""
    if (candidates is None) == (database is None):
        raise ValueError("Give either `candidates`, a list for each spectrum, or `database`, a table of molecules.")


def read_candidate_lists(
    files: SpectraFiles,
    structures: Structures,
    *,
    candidates: Any,
    database: Any,
    match: str,
    ppm: float,
    adduct: str | None,
) -> CandidateLists:
    """The candidates of `candidates`, or those that `database` has for each spectrum; without both, empty lists."""
    if candidates is None and database is None:
        return CandidateLists([[] for _ in files.ids])
    check_given(candidates, database)
    if candidates is not None:
        source = Path(candidates) if isinstance(candidates, str) else candidates
        found = read_candidates(source, files)
        lists = [found.sets.get(name, []) for name in files.ids]
        note = f"Candidates are taken from {name_of(source)}."
        return _parsed(lists, files, structures, list(found.rejections), source, note)
    source = Path(database) if isinstance(database, str) else database
    table = read_database(source, structures.known)
    rejections = list(table.rejections)
    lists = [_matches(table, files, i, match, ppm, adduct, rejections) for i in range(len(files.spectra))]
    how = "the same formula" if match == "formula" else f"a mass within {ppm:g} ppm of the precursor's"
    note = f"Candidates are the molecules of {name_of(source)} with {how}."
    return _parsed(lists, files, structures, rejections, source, note)


def _parsed(
    lists: list[list[Candidate]],
    files: SpectraFiles,
    structures: Structures,
    rejections: list[Rejected],
    source: Any,
    note: str,
) -> CandidateLists:
    """The lists with structures in place of texts."""
    structures.known.read(candidate.smiles for listed in lists for candidate in listed)
    molecules = []
    for i, listed in enumerate(lists):
        molecules.append(_molecules(files, i, listed, structures, rejections))
        if not molecules[i]:
            rejections.append(_rejected_query(files, i, "no candidates"))
    paths = (source,) if isinstance(source, Path) else ()
    return CandidateLists(molecules, tuple(rejections), paths, note)


def _rejected_query(files: SpectraFiles, i: int, reason: str, detail: str = "") -> Rejected:
    return Rejected(files.files[i], files.lines[i], files.ids[i], "query", reason, "not ranked", detail)


def _rejected_candidate(candidate: Candidate, reason: str, action: str, detail: str) -> Rejected:
    name = candidate.id or candidate.smiles[:40]
    return Rejected(candidate.file, candidate.line, name, "candidate", reason, action, detail)


def _matches(
    table: MoleculeTable,
    files: SpectraFiles,
    i: int,
    match: str,
    ppm: float,
    adduct: str | None,
    rejections: list[Rejected],
) -> list[Candidate]:
    """The molecules of the formula of spectrum i, or of the mass of its precursor."""
    metadata = files.spectra.metadata[i]

    def rejected(reason: str, detail: str = "") -> list[Candidate]:
        rejections.append(_rejected_query(files, i, reason, detail))
        return []

    if match == "formula":
        if not metadata.get("formula"):
            return rejected("no formula", "without a formula, candidates can be matched by mass")
        try:
            found = table.of_formula(str(metadata["formula"]))
        except ValueError as error:
            return rejected("bad formula", str(error))
    else:
        name = str(metadata.get("adduct") or adduct or "")
        ion = parse_adduct(name)
        mz = float(files.spectra.precursor_mz[i])
        if not name:
            return rejected("no adduct", "a default adduct can be given")
        if ion is None:
            return rejected(f"unknown adduct {name!r}")
        if np.isnan(mz):
            return rejected("no precursor")
        found = table.near(ion.mass(mz), ppm)
    return [table.candidates[int(k)] for k in found]


def _molecules(
    files: SpectraFiles, i: int, listed: Iterable[Candidate], structures: Structures, rejections: list[Rejected]
) -> list[CandidateMolecule]:
    """The candidates whose structure can be read, each molecule once."""
    found: dict[str, tuple[Candidate, CandidateMolecule]] = {}
    for candidate in listed:
        molecule = structures.known[candidate.smiles]
        if isinstance(molecule, str):
            rejections.append(_rejected_candidate(candidate, "structure not read", "left out", molecule))
        elif molecule.identity in found:
            detail = f"{files.ids[i]}: {molecule.identity}"
            rejections.append(_rejected_candidate(candidate, "duplicate molecule", "left out", detail))
        else:
            names = (candidate.id, candidate.name, molecule.smiles, molecule.identity)
            found[molecule.identity] = candidate, CandidateMolecule(*names, _hill(molecule.formula))
    formula = _hill(files.spectra.metadata[i].get("formula"))
    others = [(candidate, one) for candidate, one in found.values() if formula and one.formula != formula]
    if 2 * len(others) < len(found):  # otherwise the list is not one of a formula
        for candidate, one in others:
            detail = f"{one.formula}, not {formula}"
            rejections.append(_rejected_candidate(candidate, "formula differs", "kept", detail))
    return [one for _, one in found.values()]


def _hill(formula: Any) -> str:
    """A sum formula in the order of Hill; empty if it is not one."""
    try:
        return write_formula(parse_formula(str(formula or "")))
    except ValueError:
        return ""
