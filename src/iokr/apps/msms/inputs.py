"""Spectra and structures from files or from memory."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from iokr.apps.readers.records import Rejected
from iokr.apps.readers.spectra_files import SpectraFiles, read_spectra_files
from iokr.apps.report import Table
from iokr.chem import spectra as chem_spectra
from iokr.chem.cleaning import Cleaning
from iokr.chem.spectra import MassSpectra
from iokr.chem.structures.fingerprints import Fingerprints
from iokr.chem.structures.known import KnownMolecules
from iokr.chem.structures.molecules import structure_text
from iokr.data.bits import Bits

__all__ = ["Structures", "as_spectra", "cache_file", "input_table", "peaks_of", "read_spectra"]


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
        spectra = _with_structures(chem_spectra.read_spectra(spectra), structures)
    cleaning = Cleaning(min_intensity=min_intensity, min_peaks=min_peaks)
    return read_spectra_files(spectra, cleaning=cleaning, ion_mode=ion_mode, annotations=annotations)


def _with_structures(spectra: MassSpectra, structures: Sequence[Any]) -> MassSpectra:
    if len(structures) != len(spectra):
        raise ValueError(f"`structures` has {len(structures)} entries for {len(spectra)} spectra; give one each.")
    metadata = [
        {**known, "smiles": structure_text(structure)}
        for known, structure in zip(spectra.metadata, structures, strict=True)
    ]
    return MassSpectra(spectra.mz, spectra.intensity, spectra.indptr, spectra.precursor_mz, metadata)


def as_spectra(spectra: Any) -> SpectraFiles:
    """What `read_spectra` returns, or what it takes."""
    if isinstance(spectra, SpectraFiles):
        return spectra
    return read_spectra(spectra)


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

    def bits(self, smiles: Sequence[str]) -> Bits:
        """A fingerprint for each SMILES."""
        rows: Bits = self.fingerprints.transform(list(smiles))
        return rows


def input_table(what: str, files: SpectraFiles, rejections: Sequence[Rejected]) -> Table:
    """The number of spectra read, and the rejected records by reason."""
    rows: list[dict[str, Any]] = [{"records": what, "count": len(files.spectra), "status": f"of {files.n_read} read"}]
    counts = Counter((f"{one.what}: {one.reason}", one.action) for one in rejections)
    rows += [{"records": name, "count": count, "status": action} for (name, action), count in counts.most_common(20)]
    note = "`rejected.tsv` lists every record that was left out or changed, with the reason." if rejections else ""
    return Table("Input", rows, note=note)
