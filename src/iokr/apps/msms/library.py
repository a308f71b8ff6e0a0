"""Spectra, their molecules and their candidates, from files to what a model takes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._system.memory import available_memory, human_bytes
from iokr.apps.msms.options import Learning, Matching, Reading
from iokr.apps.readers.molecule_files import Candidate, MoleculeTable, read_candidates, read_database, read_structures
from iokr.apps.readers.records import Rejected
from iokr.apps.readers.spectra_files import SpectraFiles, read_spectra_files
from iokr.apps.report import Table
from iokr.chem.adducts import parse_adduct
from iokr.chem.formulas import parse_formula, write_formula
from iokr.chem.spectra import MassSpectra
from iokr.chem.structures.fingerprints import Fingerprints
from iokr.chem.structures.known import KnownMolecules
from iokr.chem.structures.molecules import Molecule
from iokr.data.bits import Bits

__all__ = [
    "Entry",
    "Library",
    "Molecules",
    "Sets",
    "cache_file",
    "check_room",
    "input_table",
    "read_queries",
    "read_unlabeled",
    "rejected_rows",
]


def cache_file() -> Path:
    """Where fingerprints are kept between runs."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "iokr" / "fingerprints.sqlite"


@dataclass(frozen=True)
class Entry:
    """A candidate whose structure was read."""

    candidate: Candidate
    smiles: str
    identity: str  # the first block of the InChIKey
    formula: str


@dataclass
class Molecules:
    """Molecules by their text, read once, and fingerprints by their SMILES, made once."""

    kinds: str
    cache: Path | None = None

    @cached_property
    def known(self) -> KnownMolecules:
        """Molecules by their text."""
        return KnownMolecules(self.cache)

    def bits(self, smiles: Sequence[str]) -> Bits:
        """Fingerprints, each distinct molecule once."""
        names = list(dict.fromkeys(smiles))
        at = {name: i for i, name in enumerate(names)}
        rows: Bits = Fingerprints(self.kinds, self.cache).transform(names)
        chosen: Bits = rows[np.array([at[name] for name in smiles], dtype=np.intp)]
        return chosen


@dataclass(frozen=True)
class Library:
    """Spectra with structures: what is learned from."""

    files: SpectraFiles
    molecules: list[Molecule]
    bits: Bits

    @classmethod
    def read(cls, reading: Reading, learning: Learning, molecules: Molecules) -> Library:
        """Spectra of the files that have a structure; refused when there are too few."""
        found = read_spectra_files(
            list(reading.inputs),
            cleaning=reading.cleaning,
            ion_mode=reading.ion_mode,
            annotations=reading.annotations,
        )
        files, structures = read_structures(found, molecules.known)
        distinct = len({molecule.identity for molecule in structures})
        needed = 2 * max(learning.folds, 1)
        if distinct < needed:
            raise ValueError(
                f"library: only {distinct} molecules with a usable spectrum; at least 2 × folds are needed, {needed}."
            )
        return cls(files, structures, molecules.bits([molecule.smiles for molecule in structures]))

    @property
    def identities(self) -> list[str]:
        """The molecule of each spectrum."""
        return [molecule.identity for molecule in self.molecules]

    def groups(self, learning: Learning) -> list[str]:
        """What folds keep together: a molecule, a scaffold, or molecules that are alike."""
        if learning.group == "scaffold":
            return [m.scaffold or f"acyclic {m.identity}" for m in self.molecules]
        if learning.group == "similarity":
            return _linked(self.bits, self.identities, learning.similarity)
        return self.identities

    def fold_numbers(self, learning: Learning) -> NDArray[np.intp]:
        """The fold of each spectrum; no group is in two."""
        if learning.folds_from is not None:
            values = self.files.spectra.values(learning.folds_from)
            if any(value is None for value in values):
                missing = self.files.ids[next(i for i, value in enumerate(values) if value is None)]
                raise ValueError(f"--folds-from {learning.folds_from}: spectrum {missing} has no such field.")
            names = sorted({str(value) for value in values})
            if len(names) < 2:
                raise ValueError(f"--folds-from {learning.folds_from}: all spectra have the same, {names[0]!r}.")
            fold = np.array([names.index(str(value)) for value in values])
            _check_pure(fold, self.identities)
            return fold
        groups = self.groups(learning)
        sizes = Counter(groups)
        order = sorted(sizes)
        np.random.default_rng(learning.seed).shuffle(order)
        order.sort(key=lambda name: -sizes[name])  # stable: large ones first, each where there is most room
        room = np.zeros(learning.folds)
        of: dict[str, int] = {}
        for name in order:
            of[name] = int(np.argmin(room))
            room[of[name]] += sizes[name]
        if len(order) < learning.folds:
            raise ValueError(f"There are {len(order)} groups by {learning.group}, fewer than {learning.folds} folds.")
        fold = np.array([of[name] for name in groups])
        _check_pure(fold, self.identities)
        return fold


def _check_pure(fold: NDArray[np.intp], identities: Sequence[str]) -> None:
    seen: dict[str, int] = {}
    for number, name in zip(fold.tolist(), identities, strict=True):
        if seen.setdefault(name, number) != number:
            raise ValueError(f"The molecule {name} is in two folds; the folds must keep molecules whole.")


def _linked(bits: Bits, identities: Sequence[str], threshold: float) -> list[str]:
    """Single linkage: molecules with a chain of neighbours of Tanimoto at least `threshold` are one group."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    from iokr.kernels.structured.sets import Tanimoto

    first = {name: i for i, name in reversed(list(enumerate(identities)))}
    names, rows = list(first), np.array(list(first.values()))
    kernel = Tanimoto()
    R = kernel.represent(bits[rows])
    pairs = []
    for start in range(0, len(rows), 1024):
        block = np.asarray(kernel.block(R[start : start + 1024], R))
        i, j = np.nonzero(block >= threshold)
        pairs.append((i + start, j))
    i, j = (np.concatenate(part) for part in zip(*pairs, strict=True))
    _, label = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(len(rows), len(rows))), directed=False)
    of = dict(zip(names, label.tolist(), strict=True))
    return [f"group {of[name]}" for name in identities]


def read_unlabeled(reading: Reading, learning: Learning, library: Library) -> MassSpectra | None:
    """Spectra without structures of --unlabeled; None without any."""
    if not learning.unlabeled:
        return None
    found = read_spectra_files(
        list(learning.unlabeled), cleaning=reading.cleaning, ion_mode=reading.ion_mode or library.files.ion_mode
    )
    if not len(found.spectra):
        raise ValueError(f"--unlabeled: none of its {found.n_read} spectra can be used.")
    if found.ion_mode and library.files.ion_mode and found.ion_mode != library.files.ion_mode:
        raise ValueError(
            f"--unlabeled: spectra of {found.ion_mode} ion mode, and the library is of {library.files.ion_mode}."
        )
    return found.spectra


def check_room(n: int, learning: Learning, limit: float | None, *, rivals: bool = False) -> None:
    """Refuse n spectra whose matrices do not fit into `limit` bytes, or into the memory that there is."""
    kernels = {"peaks,losses": 2, "six": 6}.get(learning.kernels, 1)
    needed = 8.0 * n**2 * (kernels + 7 + (3 if rivals else 0))  # Gram matrices, both models, what fitting them takes
    available = available_memory()
    allowed = limit if limit is not None else available
    if allowed is not None and needed > allowed:
        said = f"--memory allows {human_bytes(allowed)}" if limit is not None else f"{human_bytes(allowed)} are free"
        raise MemoryError(
            f"learning from {n} spectra needs about {human_bytes(needed)}, and {said}; take fewer spectra, "
            "use --kernels peaks, or a machine with more memory."
        )


def read_queries(reading: Reading) -> SpectraFiles:
    """Spectra to be identified; structures are not asked for."""
    return read_spectra_files(
        list(reading.inputs), cleaning=reading.cleaning, ion_mode=reading.ion_mode, annotations=reading.annotations
    )


@dataclass(frozen=True)
class Sets:
    """The candidates of every spectrum, and what was not taken."""

    entries: list[list[Entry]]
    rejections: tuple[Rejected, ...]

    def without(self, known: Collection[str], files: SpectraFiles) -> Sets:
        """The sets without molecules that are known; queries with no other are told."""
        entries = [[entry for entry in some if entry.identity not in known] for some in self.entries]
        rejections = [
            Rejected(files.files[i], files.lines[i], files.ids[i], "query", "no new candidates", "not ranked", "")
            for i, some in enumerate(entries)
            if self.entries[i] and not some
        ]
        return Sets(entries, (*self.rejections, *rejections))

    def many(self, most: int) -> bool:
        """Whether there are more than `most` distinct candidates."""
        return len({entry.identity for some in self.entries for entry in some}) > most

    @classmethod
    def of(cls, files: SpectraFiles, matching: Matching, molecules: Molecules) -> Sets:
        """The sets of a file, or those that a database gives."""
        if matching.candidates is not None:
            found = read_candidates(matching.candidates, files)
            rejections = list(found.rejections)
            given = [found.sets.get(name, []) for name in files.ids]
        elif matching.database is not None:
            table = read_database(matching.database, molecules.known)
            rejections = list(table.rejections)
            given = [
                [table.candidates[int(k)] for k in _matching(files, i, table, matching, rejections)]
                for i in range(len(files.spectra))
            ]
        else:
            raise ValueError("give --candidates, a set for each spectrum, or --database, a table of molecules.")
        molecules.known.read(candidate.smiles for some in given for candidate in some)
        entries = []
        for i, candidates in enumerate(given):
            entries.append(_read_set(files, i, candidates, molecules, rejections))
            if not entries[-1]:
                where = (files.files[i], files.lines[i], files.ids[i])
                rejections.append(Rejected(*where, "query", "no candidates", "not ranked", ""))
        return cls(entries, tuple(rejections))


def _matching(
    files: SpectraFiles, i: int, table: MoleculeTable, matching: Matching, rejections: list[Rejected]
) -> Iterable[Any]:
    """Numbers of the molecules of the formula, or in the mass window, of spectrum i."""
    known = files.spectra.metadata[i]
    where = (files.files[i], files.lines[i], files.ids[i], "query")
    if matching.match == "formula":
        formula = known.get("formula")
        if not formula:
            rejections.append(Rejected(*where, "no formula", "not ranked", "use --match mass"))
            return ()
        try:
            return table.of_formula(str(formula))
        except ValueError as error:
            rejections.append(Rejected(*where, "bad formula", "not ranked", str(error)))
            return ()
    name = str(known.get("adduct") or matching.adduct or "")
    adduct = parse_adduct(name)
    if adduct is None:
        what = f"unknown adduct {name!r}" if name else "no adduct; give --adduct"
        rejections.append(Rejected(*where, what, "not ranked", ""))
        return ()
    ion = float(files.spectra.precursor_mz[i])
    if np.isnan(ion):
        rejections.append(Rejected(*where, "no precursor", "not ranked", ""))
        return ()
    return table.near(adduct.mass(ion), matching.ppm)


def _read_set(
    files: SpectraFiles, i: int, candidates: Sequence[Candidate], molecules: Molecules, rejections: list[Rejected]
) -> list[Entry]:
    """Candidates whose structures are read, each molecule once."""
    found: list[Entry] = []
    seen: set[str] = set()
    formula = _hill(files.spectra.metadata[i].get("formula"))
    for candidate in candidates:
        where = (candidate.file, candidate.line, candidate.id or candidate.smiles[:40], "candidate")
        molecule = molecules.known[candidate.smiles]
        if isinstance(molecule, str):
            rejections.append(Rejected(*where, "structure not read", "left out", molecule))
            continue
        if molecule.identity in seen:
            rejections.append(
                Rejected(*where, "duplicate molecule", "left out", f"{files.ids[i]}: {molecule.identity}")
            )
            continue
        seen.add(molecule.identity)
        found.append(Entry(candidate, molecule.smiles, molecule.identity, _hill(molecule.formula)))
    others = [entry for entry in found if formula and entry.formula != formula]
    if 2 * len(others) < len(found):  # else it is no set of one formula
        for entry in others:
            where = (entry.candidate.file, entry.candidate.line, entry.candidate.id or entry.smiles[:40], "candidate")
            rejections.append(Rejected(*where, "formula differs", "kept", f"{entry.formula}, not {formula}"))
    return found


def _hill(formula: Any) -> str:
    if not formula:
        return ""
    try:
        return write_formula(parse_formula(str(formula)))
    except ValueError:
        return ""


def rejected_rows(*parts: Sequence[Rejected]) -> list[dict[str, Any]]:
    """Rows of rejected.tsv."""
    return [
        {
            "file": r.file,
            "line": r.line,
            "id": r.id,
            "what": r.what,
            "reason": r.reason,
            "action": r.action,
            "detail": r.detail,
        }
        for part in parts
        for r in part
    ]


def input_table(what: str, files: SpectraFiles, rejections: Sequence[Rejected]) -> Table:
    """What was read, and what did not fit, by reason."""
    rows: list[dict[str, Any]] = [{"what": what, "count": len(files.spectra), "": f"of {files.n_read} read"}]
    counts = Counter((f"{r.what}: {r.reason}", r.action) for r in rejections)
    rows += [{"what": name, "count": count, "": action} for (name, action), count in counts.most_common(20)]
    note = "Every record that did not fit is listed in `rejected.tsv`." if rejections else ""
    return Table("Input", rows, note=note)
