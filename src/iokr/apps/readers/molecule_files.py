"""Molecules from files: the structures of library spectra, sets of candidates, databases sorted by mass."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._validation.arguments import check_number
from iokr.apps.readers.records import Rejected, TextFile, kind_of, name_of, named_rows, open_file
from iokr.apps.readers.spectra_files import SpectraFiles
from iokr.chem.adducts import parse_adduct
from iokr.chem.formulas import parse_formula, write_formula
from iokr.chem.structures.known import KnownMolecules
from iokr.chem.structures.molecules import Molecule, structure_text
from iokr.data.frames import is_table

__all__ = ["Candidate", "CandidateFiles", "MoleculeTable", "read_candidates", "read_database", "read_structures"]

_TOGETHER = 20_000  # entries of a database that are read at a time
_AGREE = 20.0  # ppm between the precursor and the structure
_STRUCTURES = ("smiles", "canonical_smiles", "inchi")
_IDS = ("candidate_id", "id", "identifier", "cid", "inchikey")
_NAMES = ("name", "compound_name", "title")


@dataclass(frozen=True)
class Candidate:
    """A molecule that a spectrum may be of.

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
    """Candidates of each spectrum by its id, and what was not taken: see `read_candidates`.

    Examples
    --------
    >>> from iokr.apps.readers import CandidateFiles
    >>> CandidateFiles({"S1": []}).rejections
    ()
    """

    sets: dict[str, list[Candidate]]
    rejections: tuple[Rejected, ...] = ()


def read_structures(library: SpectraFiles, known: KnownMolecules | None = None) -> tuple[SpectraFiles, list[Molecule]]:
    """The library's spectra with a structure, and the molecule of each; the others are rejected, each with its reason.

    The structure is the SMILES, else the InChI. Warned about and kept: an InChIKey that begins otherwise, several
    fragments, a precursor that is more than 20 ppm from the structure's with the stated adduct. Needs the extra `chem`.

    Parameters
    ----------
    library : SpectraFiles
    known : KnownMolecules, optional
        Molecules that were read before.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr.apps.readers import read_spectra_files, read_structures
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "library.mgf")
    ...     peaks = "41.0 1\\n55.0 2\\n77.0 3\\n"
    ...     _ = file.write_text(f"BEGIN IONS\\nTITLE=S1\\nPEPMASS=95.05\\nSMILES=Oc1ccccc1\\n{peaks}END IONS\\n")
    ...     library, molecules = read_structures(read_spectra_files(file))
    >>> [molecule.formula for molecule in molecules]
    ['C6H6O']
    """
    _check_files(library, "library")
    read = KnownMolecules() if known is None else known
    read.read(str(text) for text in map(_structure, library.spectra.metadata) if text)
    molecules: list[Molecule] = []
    rows: list[int] = []
    rejections = list(library.rejections)
    for i, spectrum in enumerate(library.spectra):
        said = spectrum.metadata
        where = (library.files[i], library.lines[i], str(said["id"]), "structure")
        text = _structure(said)
        if not text:
            reason = "an InChIKey alone gives no fingerprint" if said.get("inchikey") else ""
            rejections.append(Rejected(*where, "structure missing", "left out", reason))
            continue
        molecule = read[str(text)]
        if isinstance(molecule, str):
            rejections.append(Rejected(*where, "structure not read", "left out", molecule))
            continue
        rows.append(i)
        molecules.append(molecule)
        stated = str(said.get("inchikey") or "")
        if len(stated) >= 14 and stated[:14].upper() != molecule.identity:
            rejections.append(Rejected(*where, "InChIKey disagrees", "kept", f"{stated} beside {molecule.inchikey}"))
        if molecule.n_fragments > 1:
            rejections.append(Rejected(*where, "several fragments", "kept the largest", molecule.smiles))
        gap = _ppm_apart(spectrum.precursor_mz, str(said.get("adduct") or ""), molecule)
        if gap > _AGREE:
            rejections.append(Rejected(*where, "precursor disagrees", "kept", f"{gap:.1f} ppm from the structure's"))
    files, lines = tuple(library.files[i] for i in rows), tuple(library.lines[i] for i in rows)
    spectra = library.spectra[np.array(rows, dtype=np.intp)]
    kept = replace(library, spectra=spectra, files=files, lines=lines, rejections=tuple(rejections))
    return kept, molecules


def _structure(said: Mapping[str, Any]) -> Any:
    return said.get("smiles") or said.get("inchi")


def _check_files(value: Any, name: str) -> None:
    if not isinstance(value, SpectraFiles):
        raise TypeError(f"`{name}` must be the `SpectraFiles` that `read_spectra_files` returns, got {value!r:.60}.")


def _ppm_apart(mz: float | None, adduct: str, molecule: Molecule) -> float:
    """Between the precursor and the structure's ion; 0 where one of them is not known."""
    ion = parse_adduct(adduct)
    if mz is None or ion is None:
        return 0.0
    # a charged molecule is measured as it is: [M]+ of a cation has lost no electron of a neutral one
    expected = molecule.mass if not ion.gained and molecule.charge else ion.mz(molecule.mass)
    return abs(mz - expected) / expected * 1e6


# ------------------------------------------------------------------------------------------------------ candidate sets


def read_candidates(source: Any, spectra: SpectraFiles) -> CandidateFiles:
    """Sets of candidates: a table with columns spectrum_id and smiles, or JSON {id or SMILES of the query: [SMILES …]}.

    Parameters
    ----------
    source : path, data frame, dictionary {id: structures}, or a list of structures for each spectrum
        Structures are SMILES, InChI, `Molecule` or RDKit molecules.
    spectra : SpectraFiles

    Raises
    ------
    ValueError
        When a column is not there, or none of the ids is that of a spectrum.

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
    _check_files(spectra, "spectra")
    ids = set(spectra.ids)
    found, file = _candidate_sets(source, spectra)
    strange = [name for name in found if name not in ids]
    if found and len(strange) == len(found):
        files = ", ".join(dict.fromkeys(spectra.files)) or "the spectra"
        named = ", ".join(spectra.ids[:3])
        raise ValueError(
            f"{file}: none of its {len(found)} spectrum ids is in {files} (first: {strange[0]}; the spectra are "
            f"named {named})."
        )
    rejections = []
    for name in strange:
        first, count = found[name][0] if found[name] else Candidate(""), len(found.pop(name))
        rejections.append(
            Rejected(file, first.line, name, "candidate set", "no such spectrum", "left out", f"{count} candidates")
        )
    return CandidateFiles(found, tuple(rejections))


def _candidate_sets(source: Any, spectra: SpectraFiles) -> tuple[dict[str, list[Candidate]], str]:
    """The candidates by id, and what the source is called."""
    if is_table(source):
        return _table_sets(source), name_of(source)
    if isinstance(source, (str, Path)):
        path = Path(source)
        return (_json_sets(path, spectra) if kind_of(path) == ".json" else _table_sets(path)), path.name
    if not isinstance(source, Mapping):
        if len(source) != len(spectra.ids):
            raise ValueError(f"`candidates` has {len(source)} lists for {len(spectra.ids)} spectra; give one each.")
        source = dict(zip(spectra.ids, source, strict=True))
    found = {str(name): _listed_candidates(listed) for name, listed in source.items()}
    return found, name_of(source)


def _listed_candidates(structures: Iterable[Any]) -> list[Candidate]:
    return [Candidate(structure_text(one), file=name_of(one), line=k) for k, one in enumerate(structures, start=1)]


def _table_sets(source: Any) -> dict[str, list[Candidate]]:
    found: dict[str, list[Candidate]] = {}
    columns: set[str] = set()
    file = name_of(source)
    for line, row in named_rows(source):
        columns |= row.keys()
        known = (str(row.get("candidate_id", row.get("inchikey", ""))), str(row.get("name", "")))
        # an empty structure gets its reason later
        candidate = Candidate(structure_text(row.get("smiles", "")), *known, file, line)
        found.setdefault(str(row.get("spectrum_id", "")), []).append(candidate)
    for name in ("spectrum_id", "smiles"):
        if name not in columns:
            raise ValueError(f"{file}: needs a column {name}; it has {', '.join(sorted(columns)[:10]) or 'none'}.")
    return found


def _json_sets(path: Path, spectra: SpectraFiles) -> dict[str, list[Candidate]]:
    with open_file(path) as file:
        try:
            content = json.loads(file.read().decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path.name} is no JSON: {error}") from None
    if not isinstance(content, Mapping) or not all(
        isinstance(value, list) and all(isinstance(s, str) for s in value) for value in content.values()
    ):
        raise ValueError(
            f"{path.name}: must be an object of lists of SMILES, one list for each id or SMILES of a query."
        )
    by_smiles: dict[str, list[str]] = {}
    for name, smiles in zip(spectra.ids, spectra.spectra.values("smiles"), strict=True):
        by_smiles.setdefault(str(smiles or ""), []).append(name)
    ids, found = set(spectra.ids), dict[str, list[Candidate]]()
    for key, texts in content.items():
        candidates = [Candidate(text, file=path.name) for text in texts]
        for name in [key] if key in ids else by_smiles.get(key, [key]):
            found[name] = candidates
    return found


# ----------------------------------------------------------------------------------------------------------- databases


@dataclass(frozen=True)
class MoleculeTable:
    """Molecules ascending in exact mass, found by bisection.

    Attributes
    ----------
    candidates : tuple of Candidate
    masses : ndarray of shape (n,)
    formulas : ndarray of shape (n,)
        In the order of Hill.
    rejections : tuple of Rejected

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.apps.readers import Candidate, MoleculeTable
    >>> masses, formulas = np.array([16.0313, 30.04695]), np.array(["CH4", "C2H6"])
    >>> table = MoleculeTable((Candidate("C"), Candidate("CC")), masses, formulas)
    >>> table.near(30.047, ppm=10).tolist()
    [1]
    """

    candidates: tuple[Candidate, ...]
    masses: NDArray[np.float64]
    formulas: NDArray[np.str_]
    rejections: tuple[Rejected, ...] = ()

    def __len__(self) -> int:
        return len(self.candidates)

    def near(self, mass: float, ppm: float = 10.0) -> NDArray[np.intp]:
        """The molecules within `ppm` of a mass."""
        mass, width = check_number(mass, "mass"), check_number(ppm, "ppm", minimum=0.0) * 1e-6 * abs(mass)
        return np.arange(
            np.searchsorted(self.masses, mass - width), np.searchsorted(self.masses, mass + width, side="right")
        )

    def of_formula(self, formula: str) -> NDArray[np.intp]:
        """The molecules of a sum formula, however it is written."""
        order, ascending = self._by_formula
        wanted = write_formula(parse_formula(formula))
        return order[np.searchsorted(ascending, wanted) : np.searchsorted(ascending, wanted, side="right")]

    @cached_property
    def _by_formula(self) -> tuple[NDArray[np.intp], NDArray[np.str_]]:
        order = np.argsort(self.formulas, kind="stable")
        return order, self.formulas[order]


def read_database(source: Any, known: KnownMolecules | None = None) -> MoleculeTable:
    """Molecules of a .csv, .tsv or .parquet table with a column smiles or inchi, of an .sdf or of a .smi file.

    Exact masses and formulas are RDKit's: the extra `chem`. What is no molecule is rejected with its reason.

    Parameters
    ----------
    source : path, data frame, or list of structures
        Structures are SMILES, InChI, `Molecule` or RDKit molecules.
    known : KnownMolecules, optional
        Molecules that were read before.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr.apps.readers import read_database
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "molecules.tsv")
    ...     _ = file.write_text("smiles\\tname\\nOc1ccccc1\\tphenol\\nno molecule\\t?\\n")
    ...     database = read_database(file)
    >>> len(database.rejections)
    1
    """
    source = Path(source) if isinstance(source, str) else source
    kept: list[tuple[float, str, Candidate]] = []
    rejections: list[Rejected] = []
    n, read = 0, KnownMolecules() if known is None else known
    rows = _database_rows(source, rejections)
    while some := list(islice(rows, _TOGETHER)):
        read.read(candidate.smiles for candidate in some)
        for candidate in some:
            n += 1
            molecule = read[candidate.smiles]
            if isinstance(molecule, Molecule):
                its = replace(candidate, smiles=molecule.smiles, id=candidate.id or str(n))
                kept.append((molecule.mass, molecule.formula, its))
            else:
                where = (name_of(source), candidate.line, candidate.id or str(n))
                rejections.append(Rejected(*where, "molecule", "structure not read", "left out", molecule))
    if not kept:
        raise ValueError(f"{name_of(source)}: no molecule found in {n} entries.")
    kept.sort(key=lambda entry: entry[0])
    masses, formulas, candidates = zip(*kept, strict=True)
    return MoleculeTable(candidates, np.array(masses), np.array(formulas, dtype=str), tuple(rejections))


def _database_rows(source: Any, rejections: list[Rejected]) -> Iterator[Candidate]:
    if not isinstance(source, Path) and not is_table(source):
        yield from _listed_candidates(source)
        return
    path = source
    kind = kind_of(path) if isinstance(path, Path) else ""
    if kind in (".sdf", ".sd"):
        yield from _read_sdf(path, rejections)
    elif kind in (".smi", ".smiles", ".ism"):
        text = TextFile(path)
        for line, content in text:
            if content and not content.startswith("#"):
                smiles, _, name = content.partition("\t") if "\t" in content else content.partition(" ")
                if line > 1 or smiles.lower() != "smiles":
                    yield Candidate(smiles, name.strip(), "", path.name, line)
        rejections.extend(text.notes())
    else:
        columns: set[str] = set()
        for line, row in named_rows(path):
            columns |= row.keys()
            structure = structure_text(_first(row, _STRUCTURES))
            yield Candidate(structure, str(_first(row, _IDS)), str(_first(row, _NAMES)), name_of(path), line)
        if not columns & set(_STRUCTURES):
            has = ", ".join(sorted(columns)[:10]) or "none"
            raise ValueError(f"{name_of(path)}: needs a column smiles or inchi; it has {has}.")


def _read_sdf(path: Path, rejections: list[Rejected]) -> Iterator[Candidate]:
    """The entries of an SDF file, one at a time; an entry's own lines are its structure."""
    text = TextFile(path, strip=False)
    start, lines, found = 1, list[str](), 0
    for number, line in text:
        if not lines:
            start = number
        if line.startswith("$$$$"):
            found += 1
            yield _sdf_entry(lines, path, start)
            lines = []
        else:
            lines.append(line)
    if any(line.strip() for line in lines):
        found += 1
        yield _sdf_entry(lines, path, start)
    if not found:
        raise ValueError(f"{path.name}: no molecule found; is it an SDF file?")
    rejections.extend(text.notes())


def _sdf_entry(lines: list[str], path: Path, start: int) -> Candidate:
    end = next((i for i, line in enumerate(lines) if line.startswith("M  END")), len(lines) - 1)
    title = lines[0].strip() if lines else ""
    return Candidate("\n".join(lines[: end + 1]), title, title, path.name, start)


def _first(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((row[name] for name in names if name in row), "")
