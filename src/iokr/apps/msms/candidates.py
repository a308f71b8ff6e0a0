"""The candidates of every spectrum: a set for each, or the molecules of a database with its formula or mass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.msms.inputs import Structures
from iokr.apps.readers.candidate_files import Candidate, read_candidates
from iokr.apps.readers.molecule_files import MoleculeTable, read_database
from iokr.apps.readers.records import Rejected, name_of
from iokr.apps.readers.spectra_files import SpectraFiles
from iokr.chem.adducts import parse_adduct
from iokr.chem.formulas import parse_formula, write_formula
from iokr.data.candidates import CandidateSets

__all__ = ["CandidateLists", "CandidateMolecule", "no_candidates", "read_candidate_lists"]


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
    rejections: tuple[Rejected, ...]
    paths: tuple[Path, ...]
    note: str  # where they come from

    def without(self, identities: Collection[str], files: SpectraFiles) -> CandidateLists:
        """The lists without these molecules; spectra with no other candidate are rejected."""
        lists = [[one for one in listed if one.identity not in identities] for listed in self.lists]
        rejections = [
            _rejected_query(files, i, "no new candidates")
            for i, listed in enumerate(lists)
            if self.lists[i] and not listed
        ]
        return CandidateLists(lists, (*self.rejections, *rejections), self.paths, self.note)

    @property
    def n_distinct(self) -> int:
        """The number of distinct molecules."""
        return len({one.identity for listed in self.lists for one in listed})

    def sets(self, rows: Sequence[int], structures: Structures) -> tuple[CandidateSets, list[list[str]]]:
        """Fingerprints and identities of the candidates of some spectra."""
        lists = [self.lists[i] for i in rows]
        bits = np.asarray(structures.bits([one.smiles for listed in lists for one in listed]))
        ends = np.cumsum([len(listed) for listed in lists])[:-1]
        return CandidateSets(np.split(bits, ends)), [[one.identity for one in listed] for listed in lists]

    def index(self, i: int, identity: str) -> int | None:
        """The place of a molecule in the list of spectrum i; None if it is not there."""
        for place, one in enumerate(self.lists[i]):
            if one.identity == identity:
                return place
        return None


def no_candidates(files: SpectraFiles) -> CandidateLists:
    """Empty lists."""
    return CandidateLists([[] for _ in files.ids], (), (), "No candidates were given.")


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
    """The candidates of `candidates`, or those that `database` has for each spectrum."""
    if (candidates is None) == (database is None):
        raise ValueError("Give either `candidates`, a list for each spectrum, or `database`, a table of molecules.")
    if candidates is not None:
        found = read_candidates(candidates, files)
        rejections = list(found.rejections)
        lists: list[Sequence[Candidate]] = [found.sets.get(name, []) for name in files.ids]
        note = f"Candidates are those of {name_of(_source(candidates))}."
    else:
        table = read_database(database, structures.known)
        rejections = list(table.rejections)
        matching = _matching(table, match, ppm, adduct)
        lists = [_matches(matching, files, i, table, rejections) for i in range(len(files.spectra))]
        how = "of the same formula" if match == "formula" else f"within {ppm:g} ppm of the precursor's mass"
        note = f"Candidates are the molecules of {name_of(_source(database))} {how}."
    structures.known.read(candidate.smiles for listed in lists for candidate in listed)
    molecules = []
    for i, listed in enumerate(lists):
        molecules.append(_molecules(files, i, listed, structures, rejections))
        if not molecules[i]:
            rejections.append(_rejected_query(files, i, "no candidates"))
    source = _source(candidates if database is None else database)
    paths = (source,) if isinstance(source, Path) else ()
    return CandidateLists(molecules, tuple(rejections), paths, note)


def _source(given: Any) -> Any:
    return Path(given) if isinstance(given, str) else given


def _rejected_query(files: SpectraFiles, i: int, reason: str, detail: str = "") -> Rejected:
    return Rejected(files.files[i], files.lines[i], files.ids[i], "query", reason, "not ranked", detail)


def _rejected_candidate(candidate: Candidate, reason: str, action: str, detail: str) -> Rejected:
    name = candidate.id or candidate.smiles[:40]
    return Rejected(candidate.file, candidate.line, name, "candidate", reason, action, detail)


# --------------------------------------------------------------------------------------------------------- a database


class _NoMatch(Exception):
    """(reason, detail) of a spectrum whose candidates cannot be looked up."""


Matching = Callable[[dict[str, Any], float], "NDArray[np.intp]"]


def _matching(table: MoleculeTable, match: str, ppm: float, adduct: str | None) -> Matching:
    """Indices of the molecules that match a spectrum's metadata and the m/z of its precursor."""

    def of_formula(metadata: dict[str, Any], precursor_mz: float) -> NDArray[np.intp]:
        formula = metadata.get("formula")
        if not formula:
            raise _NoMatch("no formula", "use --match mass")
        try:
            return table.of_formula(str(formula))
        except ValueError as error:
            raise _NoMatch("bad formula", str(error)) from None

    def of_mass(metadata: dict[str, Any], precursor_mz: float) -> NDArray[np.intp]:
        name = str(metadata.get("adduct") or adduct or "")
        ion = parse_adduct(name)
        if ion is None:
            raise _NoMatch(f"unknown adduct {name!r}" if name else "no adduct; give --adduct", "")
        if np.isnan(precursor_mz):
            raise _NoMatch("no precursor", "")
        return table.near(ion.mass(precursor_mz), ppm)

    return of_formula if match == "formula" else of_mass


def _matches(
    matching: Matching, files: SpectraFiles, i: int, table: MoleculeTable, rejections: list[Rejected]
) -> list[Candidate]:
    try:
        found = matching(files.spectra.metadata[i], float(files.spectra.precursor_mz[i]))
    except _NoMatch as error:
        rejections.append(_rejected_query(files, i, *error.args))
        return []
    return [table.candidates[int(k)] for k in found]


# ------------------------------------------------------------------------------------------------------------ one list


def _molecules(
    files: SpectraFiles, i: int, listed: Iterable[Candidate], structures: Structures, rejections: list[Rejected]
) -> list[CandidateMolecule]:
    """The candidates whose structure can be read, each molecule once."""
    found: dict[str, tuple[Candidate, CandidateMolecule]] = {}
    for candidate in listed:
        molecule = structures.known[candidate.smiles]
        if isinstance(molecule, str):
            rejections.append(_rejected_candidate(candidate, "structure not read", "left out", molecule))
            continue
        identity = molecule.identity
        if identity in found:
            detail = f"{files.ids[i]}: {identity}"
            rejections.append(_rejected_candidate(candidate, "duplicate molecule", "left out", detail))
            continue
        formula = _hill(molecule.formula)
        found[identity] = (
            candidate,
            CandidateMolecule(candidate.id, candidate.name, molecule.smiles, identity, formula),
        )
    _note_other_formulas(_hill(files.spectra.metadata[i].get("formula")), list(found.values()), rejections)
    return [molecule for _, molecule in found.values()]


def _note_other_formulas(
    formula: str, found: list[tuple[Candidate, CandidateMolecule]], rejections: list[Rejected]
) -> None:
    """A note for each candidate of another formula than the spectrum's, in a list where most have that formula."""
    if not formula:
        return
    others = [(candidate, molecule) for candidate, molecule in found if molecule.formula != formula]
    if 2 * len(others) < len(found):
        for candidate, molecule in others:
            detail = f"{molecule.formula}, not {formula}"
            rejections.append(_rejected_candidate(candidate, "formula differs", "kept", detail))


def _hill(formula: Any) -> str:
    """A sum formula in the order of Hill; empty if it is not one."""
    if not formula:
        return ""
    try:
        return write_formula(parse_formula(str(formula)))
    except ValueError:
        return ""
