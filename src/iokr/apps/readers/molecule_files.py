"""Molecules from files: the structures of library spectra, and databases sorted by mass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from iokr._validation.arguments import check_number
from iokr.apps.readers.candidate_files import Candidate, candidates_of, check_spectra
from iokr.apps.readers.formats import format_of
from iokr.apps.readers.records import Rejected, TextFile, first_of, name_of, named_rows
from iokr.apps.readers.spectra_files import SpectraFiles
from iokr.chem.adducts import parse_adduct
from iokr.chem.formulas import parse_formula, write_formula
from iokr.chem.structures.known import KnownMolecules
from iokr.chem.structures.molecules import Molecule, structure_text
from iokr.data.frames import is_table

__all__ = ["MoleculeTable", "read_database", "read_structures"]

_BATCH = 20_000  # entries of a database that are read at a time
_MAX_PPM = 20.0  # between the precursor and the structure
_SKELETON = 14  # letters of an InChIKey that identify a molecule apart from stereochemistry
_PPM = 1e-6
_STRUCTURES = ("smiles", "canonical_smiles", "inchi")
_IDS = ("candidate_id", "id", "identifier", "cid", "inchikey")
_NAMES = ("name", "compound_name", "title")


# ---------------------------------------------------------------------------------------------------------- structures


def read_structures(library: SpectraFiles, known: KnownMolecules | None = None) -> tuple[SpectraFiles, list[Molecule]]:
    """The library's spectra with a structure, and the molecule of each; the others are rejected.

    The structure is the SMILES, else the InChI. Listed, but not left out: an InChIKey of another molecule, several
    fragments, a precursor more than 20 ppm from the ion of the structure with the stated adduct. Needs the extra
    `chem`.

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
    check_spectra(library, "library")
    known = KnownMolecules() if known is None else known
    structures = [str(one.get("smiles") or one.get("inchi") or "") for one in library.spectra.metadata]
    known.read(text for text in structures if text)
    molecules: list[Molecule] = []
    rows: list[int] = []
    rejections = list(library.rejections)
    for i, spectrum in enumerate(library.spectra):
        metadata = spectrum.metadata
        where = (library.files[i], library.lines[i], str(metadata["id"]), "structure")
        if not structures[i]:
            detail = "an InChIKey alone gives no fingerprint" if metadata.get("inchikey") else ""
            rejections.append(Rejected(*where, "structure missing", "left out", detail))
            continue
        molecule = known[structures[i]]
        if isinstance(molecule, str):
            rejections.append(Rejected(*where, "structure not read", "left out", molecule))
            continue
        rows.append(i)
        molecules.append(molecule)
        for reason, action, detail in _warnings(metadata, spectrum.precursor_mz, molecule):
            rejections.append(Rejected(*where, reason, action, detail))
    kept = replace(
        library,
        spectra=library.spectra[np.array(rows, dtype=np.intp)],
        files=tuple(library.files[i] for i in rows),
        lines=tuple(library.lines[i] for i in rows),
        rejections=tuple(rejections),
    )
    return kept, molecules


def _warnings(
    metadata: Mapping[str, Any], precursor_mz: float | None, molecule: Molecule
) -> Iterator[tuple[str, str, str]]:
    """(reason, action, detail) of what contradicts the structure."""
    inchikey = str(metadata.get("inchikey") or "")
    if len(inchikey) >= _SKELETON and inchikey[:_SKELETON].upper() != molecule.identity:
        yield "InChIKey disagrees", "kept", f"{inchikey}, but the structure's is {molecule.inchikey}"
    if molecule.n_fragments > 1:
        yield "several fragments", "kept the largest", molecule.smiles
    gap = _ppm_apart(precursor_mz, str(metadata.get("adduct") or ""), molecule)
    if gap > _MAX_PPM:
        yield "precursor disagrees", "kept", f"{gap:.1f} ppm from the structure's"


def _ppm_apart(mz: float | None, adduct: str, molecule: Molecule) -> float:
    """Between the precursor and the structure's ion; 0 where one of them is not known."""
    ion = parse_adduct(adduct)
    if mz is None or ion is None:
        return 0.0
    is_ion = molecule.charge and not ion.gained  # [M]+ of a cation has not lost an electron of a neutral molecule
    expected = molecule.mass if is_ion else ion.mz(molecule.mass)
    return abs(mz - expected) / expected / _PPM


# ----------------------------------------------------------------------------------------------------------- databases


@dataclass(frozen=True)
class MoleculeTable:
    """Molecules in ascending order of exact mass, searched by bisection.

    Attributes
    ----------
    candidates : tuple of Candidate
    masses : ndarray of shape (n,)
    formulas : ndarray of shape (n,)
        In Hill order.
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
        mass = check_number(mass, "mass")
        width = check_number(ppm, "ppm", minimum=0.0) * _PPM * abs(mass)
        first = np.searchsorted(self.masses, mass - width)
        end = np.searchsorted(self.masses, mass + width, side="right")
        return np.arange(first, end)

    def of_formula(self, formula: str) -> NDArray[np.intp]:
        """The molecules of a sum formula, in any notation."""
        return self._by_formula.get(write_formula(parse_formula(formula)), np.empty(0, dtype=np.intp))

    @cached_property
    def _by_formula(self) -> dict[str, NDArray[np.intp]]:
        return dict(pd.Series(self.formulas).groupby(self.formulas).indices)


def read_database(source: Any, known: KnownMolecules | None = None) -> MoleculeTable:
    """Molecules of a .csv, .tsv or .parquet table with a column smiles or inchi, of an .sdf or of a .smi file.

    Exact masses and formulas are RDKit's (the extra `chem`). Entries that are not molecules are rejected.

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
    known = KnownMolecules() if known is None else known
    found: list[tuple[float, str, Candidate]] = []
    rejections: list[Rejected] = []
    n_entries = 0
    entries = _entries(source, rejections)
    while batch := list(islice(entries, _BATCH)):
        known.read(candidate.smiles for candidate in batch)
        for candidate in batch:
            n_entries += 1
            name = candidate.id or str(n_entries)
            molecule = known[candidate.smiles]
            if isinstance(molecule, str):
                where = (name_of(source), candidate.line, name, "molecule")
                rejections.append(Rejected(*where, "structure not read", "left out", molecule))
                continue
            found.append((molecule.mass, molecule.formula, replace(candidate, smiles=molecule.smiles, id=name)))
    if not found:
        raise ValueError(f"{name_of(source)}: no molecule found in {n_entries} entries; see `read_database`.")
    found.sort(key=lambda entry: entry[0])
    masses, formulas, candidates = zip(*found, strict=True)
    return MoleculeTable(candidates, np.array(masses), np.array(formulas, dtype=str), tuple(rejections))


def _entries(source: Any, rejections: list[Rejected]) -> Iterator[Candidate]:
    """The entries of a file, a table or a list, one at a time."""
    if is_table(source):
        return _table_entries(source)
    if not isinstance(source, Path):
        return iter(candidates_of(source))
    suffix = format_of(source)
    if suffix in (".sdf", ".sd"):
        return _sdf_entries(source, rejections)
    if suffix in (".smi", ".smiles", ".ism"):
        return _smiles_entries(source, rejections)
    return _table_entries(source)


def _table_entries(source: Any) -> Iterator[Candidate]:
    for line, row in named_rows(source, _STRUCTURES):
        structure = structure_text(first_of(row, _STRUCTURES, ""))
        name = str(first_of(row, _IDS, ""))
        yield Candidate(structure, name, str(first_of(row, _NAMES, "")), name_of(source), line)


def _smiles_entries(path: Path, rejections: list[Rejected]) -> Iterator[Candidate]:
    """SMILES and name on each line, separated by a tab or a space; the first line may be a header."""
    text = TextFile(path)
    for line, content in text:
        if not content or content.startswith("#"):
            continue
        smiles, _, name = content.partition("\t" if "\t" in content else " ")
        if line > 1 or smiles.lower() != "smiles":
            yield Candidate(smiles, name.strip(), "", path.name, line)
    rejections.extend(text.notes())


def _sdf_entries(path: Path, rejections: list[Rejected]) -> Iterator[Candidate]:
    """The entries of an SDF file, which end with $$$$; the structure is a mol block."""
    text = TextFile(path, strip=False)
    lines: list[str] = []
    start = 1
    for number, line in text:
        if not line.startswith("$$$$"):
            lines.append(line.rstrip("\r\n"))
            continue
        yield _sdf_entry(lines, path, start)
        lines = []
        start = number + 1
    if any(line.strip() for line in lines):
        yield _sdf_entry(lines, path, start)
    elif start == 1:
        raise ValueError(f"{path.name}: no molecule found; is it an SDF file?")
    rejections.extend(text.notes())


def _sdf_entry(lines: list[str], path: Path, start: int) -> Candidate:
    """The mol block, up to M  END; its first line is the title."""
    end = next((i for i, line in enumerate(lines) if line.startswith("M  END")), len(lines) - 1)
    title = lines[0].strip() if lines else ""
    return Candidate("\n".join(lines[: end + 1]), title, title, path.name, start)
