"""Spectra from files: MGF, MSP, mzML and tables, cleaned; every rejected record has its reason."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np

from iokr._validation.arguments import check_choice
from iokr.apps.readers.formats import SPECTRA, as_path, format_of, unknown_format
from iokr.apps.readers.mzml import read_mzml
from iokr.apps.readers.peak_lists import RawSpectrum, metadata_name, read_mgf, read_msp
from iokr.apps.readers.records import Rejected, TextFile, first_of, name_of, named_rows
from iokr.chem.adducts import parse_adduct
from iokr.chem.cleaning import Cleaning
from iokr.chem.spectra import MassSpectra, MassSpectrum, read_spectra
from iokr.data.frames import is_table

__all__ = ["SpectraFiles", "read_spectra_files"]

_CHARGE = re.compile(r"([+-]?)\s*(\d*)\s*([+-]?)")
_PROFILE_GAP = 0.01  # Da, median distance of peaks: profile data are denser
_PROFILE_PEAKS = 2000  # and have more peaks
_ROW_IDS = ("identifier", "spectrum_id", "id", "title", "feature_id", "scans", "name")
_ANNOTATION_IDS = ("scan", "spectrum_id", "id", "title", "native_id")
_MZ_COLUMNS = ("mzs", "mz", "m/z")
_INTENSITY_COLUMNS = ("intensities", "intensity")
_ION_MODES = {
    **dict.fromkeys(("positive", "pos", "p", "+", "1+"), "positive"),
    **dict.fromkeys(("negative", "neg", "n", "-", "1-"), "negative"),
}

_FORMATS: dict[str, tuple[str, Callable[[TextFile], Iterator[RawSpectrum]]]] = {
    ".mgf": ("MGF", read_mgf),
    ".msp": ("MSP", read_msp),
    ".mzml": ("mzML", read_mzml),
}

Problem = tuple[str, str]  # (reason, detail) of a record that cannot be used


@dataclass(frozen=True)
class SpectraFiles:
    """Clean spectra, where each came from, and what was rejected.

    Attributes
    ----------
    spectra : MassSpectra
        With a unique `id` in the metadata of each.
    files : tuple of str
        The file of each spectrum.
    lines : tuple of int or None
        The line, or row, of each.
    rejections : tuple of Rejected
        Spectra that were left out, changed or warned about.
    n_read : int
        Records in the files: the spectra and those left out.
    ion_mode : str or None
        "positive" or "negative", None where no record states it.
    paths : tuple of Path
        The files that were read, annotations last.
    cleaning : Cleaning
        How the peaks were cleaned.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from iokr.apps.readers import read_spectra_files
    >>> text = "BEGIN IONS\\nTITLE=a\\nPEPMASS=122.06\\n77.04 10\\n95.05 5\\n105.03 100\\nEND IONS\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "one.mgf")
    ...     _ = path.write_text(text)
    ...     read_spectra_files([path]).spectra[0]
    MassSpectrum('a', 3 peaks from 77.0400 to 105.0300, precursor 122.0600)
    """

    spectra: MassSpectra
    files: tuple[str, ...]
    lines: tuple[int | None, ...]
    rejections: tuple[Rejected, ...]
    n_read: int
    ion_mode: str | None = None
    paths: tuple[Path, ...] = ()
    cleaning: Cleaning = field(default_factory=Cleaning)

    @property
    def ids(self) -> list[str]:
        """The ids of the spectra."""
        return [str(name) for name in self.spectra.values("id")]


def read_spectra_files(
    paths: Any,
    *,
    cleaning: Cleaning | None = None,
    ion_mode: str | None = None,
    annotations: Any = None,
    precursor: bool = True,
) -> SpectraFiles:
    """Clean spectra of .mgf, .msp, .mzML, .tsv, .csv and .parquet files (all but the last also .gz), or in memory.

    Parameters
    ----------
    paths : path, list of paths, data frame, or spectra
        A frame has the columns of a table file; spectra are those that `iokr.chem.MassSpectra` and the kernels on
        spectra take: `MassSpectrum`, pairs (mz, intensity), triples with the precursor's m/z, dictionaries.
    cleaning : Cleaning, optional
    ion_mode : {"positive", "negative"}, optional
        Leave out spectra of the other mode. By default all spectra must have the same mode.
    annotations : path or data frame, optional
        A table with further entries of the metadata, joined by its column `scan`, `id`, `title` or `spectrum_id`.
    precursor : bool, default=True
        Whether spectra without the m/z of the precursor are left out.

    Raises
    ------
    ValueError
        With file and line: a file that is not of its format, or contradicts itself; two ion modes.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr.apps.readers import read_spectra_files
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "library.mgf")
    ...     peaks = "41.0 1\\n55.0 2\\n77.0 3\\n"
    ...     _ = file.write_text(f"BEGIN IONS\\nTITLE=S1\\nPEPMASS=95.05\\nSMILES=Oc1ccccc1\\n{peaks}END IONS\\n")
    ...     library = read_spectra_files(file)
    >>> library.ids, library.n_read
    (['S1'], 1)
    """
    cleaning = Cleaning() if cleaning is None else cleaning
    if not isinstance(cleaning, Cleaning):
        raise TypeError(f"`cleaning` must be an `iokr.chem.Cleaning`, got {cleaning!r:.60}.")
    check_choice(ion_mode, "ion_mode", ("positive", "negative", None))
    sources = _sources(paths)
    if annotations is not None and not is_table(annotations):
        annotations = as_path(annotations, "annotations")
    more = {} if annotations is None else _annotations(annotations)

    spectra: list[MassSpectrum] = []
    origins: list[tuple[str, int | None]] = []
    rejections: list[Rejected] = []
    n_read = 0
    uses: dict[str, int] = {}  # of each id
    for source in sources:
        file = name_of(source)
        for number, record in enumerate(_records(source, rejections), start=1):
            n_read += 1
            name = record.name(number)
            for key in (name, str(record.metadata.get("scans", "")), str(record.metadata.get("native_id", ""))):
                record.metadata |= more.get(key, {})
            line = record.line or None
            spectrum = _cleaned(record, cleaning, precursor, ion_mode)
            if isinstance(spectrum, tuple):
                reason, detail = spectrum
                rejections.append(Rejected(file, line, name, "spectrum", reason, "left out", detail))
                continue
            uses[name] = uses.get(name, 0) + 1
            unique = name if uses[name] == 1 else f"{name}#{uses[name]}"
            if unique != name:
                rejections.append(Rejected(file, line, name, "spectrum", "duplicate id", "renamed", unique))
            spectrum.metadata["id"] = unique
            spectra.append(spectrum)
            origins.append((file, line))
    return SpectraFiles(
        read_spectra(spectra),
        tuple(file for file, _ in origins),
        tuple(line for _, line in origins),
        tuple(rejections),
        n_read,
        ion_mode or _common_ion_mode(spectra, sources),
        tuple(source for source in (*sources, annotations) if isinstance(source, Path)),
        cleaning,
    )


def _sources(given: Any) -> list[Any]:
    """Paths, or a single table or block of spectra."""
    if isinstance(given, (str, Path)):
        return [Path(given)]
    if is_table(given):
        return [given]
    if isinstance(given, (list, tuple)) and all(isinstance(one, (str, Path)) for one in given):
        if not given:
            raise ValueError("`paths` is empty; at least one file of spectra is needed.")
        return [Path(one) for one in given]
    return [read_spectra(given)]


def _records(source: Any, rejections: list[Rejected]) -> Iterator[RawSpectrum]:
    """The records of a file, a table or a block of spectra."""
    if isinstance(source, MassSpectra):
        for number, spectrum in enumerate(source, start=1):
            row = {"mzs": spectrum.mz, "intensities": spectrum.intensity, "precursor_mz": spectrum.precursor_mz}
            yield _table_record(number, {**spectrum.metadata, **row})
        return
    suffix = "" if is_table(source) else format_of(source)
    if suffix not in _FORMATS:
        if suffix not in ("", *SPECTRA):
            raise unknown_format(source, SPECTRA)
        yield from starmap(_table_record, named_rows(source, _MZ_COLUMNS, _INTENSITY_COLUMNS))
        return
    format, read = _FORMATS[suffix]
    text = TextFile(source)
    n_records = 0
    for record in read(text):
        n_records += 1
        yield record
    if not n_records:
        first = f" (first line {text.first[:40]!r})" if text.first else ""
        raise ValueError(f"{source.name}: no spectrum found{first}; is it an {format} file?")
    rejections.extend(text.notes())


def _common_ion_mode(spectra: Sequence[MassSpectrum], sources: Sequence[Any]) -> str | None:
    """The ion mode of all spectra; ValueError when there are two."""
    modes = Counter(spectrum.metadata["ion_mode"] for spectrum in spectra if "ion_mode" in spectrum.metadata)
    if len(modes) > 1:
        where = name_of(sources[0]) if len(sources) == 1 else f"the {len(sources)} files"
        raise ValueError(
            f"{where}: positive and negative ion mode ({modes['positive']} and {modes['negative']} spectra); a model "
            'takes one mode, select it with `ion_mode="positive"` or `ion_mode="negative"`.'
        )
    return next(iter(modes), None)


# --------------------------------------------------------------------------------------------------------- one spectrum


def _cleaned(
    record: RawSpectrum, cleaning: Cleaning, needs_precursor: bool, ion_mode: str | None
) -> MassSpectrum | Problem:
    """The clean spectrum, or why it is left out."""
    problem = record.problem or _problem_of_peaks(record) or _read_ion(record, needs_precursor)
    if problem:
        return problem
    mode = record.metadata.get("ion_mode")
    if ion_mode and mode and mode != ion_mode:
        return "other ion mode", str(mode)
    ion = record.metadata.pop("precursor_mz")
    mz, intensity = cleaning.peaks(record.mz, record.intensity, ion)
    spectrum = MassSpectrum(mz, intensity, ion, record.metadata)
    if not cleaning.usable(spectrum):
        return "too few peaks", f"{len(record.mz)} before cleaning, {len(spectrum)} after"
    return spectrum


def _problem_of_peaks(record: RawSpectrum) -> Problem | None:
    """Why the peaks cannot be used."""
    level = str(record.metadata.get("ms_level", "2")).upper().removeprefix("MS")
    if level.strip() == "1":
        return "MS level 1", ""
    mz = np.array(record.mz, dtype=np.float64)
    intensity = np.array(record.intensity, dtype=np.float64)
    checks = {
        "peaks not finite": ~np.isfinite(mz) | ~np.isfinite(intensity),
        "m/z not positive": mz <= 0,
        "negative intensity": intensity < 0,
    }
    for reason, wrong in checks.items():
        if wrong.any():
            k = int(np.argmax(wrong))
            return reason, f"peak {k + 1}: {record.mz[k]:g} {record.intensity[k]:g}"
    if len(mz) and not np.any(intensity > 0):
        return "all intensities 0", f"{len(mz)} peaks"
    is_dense = len(mz) > _PROFILE_PEAKS and float(np.median(np.diff(np.sort(mz)))) < _PROFILE_GAP
    if record.metadata.pop("profile", False) or is_dense:
        return "profile data", f"{len(mz)} points; centroid the spectra first"
    return None


def _read_ion(record: RawSpectrum, needs_precursor: bool) -> Problem | None:
    """Replace the precursor's m/z, the charge and the ion mode in the metadata by numbers and words."""
    metadata = record.metadata
    stated = metadata.pop("precursor_mz", None)
    words = [] if stated is None else str(stated).replace(",", " ").split()  # "200.1 4000" has an intensity
    try:
        value = float(words[0]) if words else math.nan
    except ValueError:
        value = math.inf
    usable = 0 < value < math.inf
    if needs_precursor and not usable:
        return ("bad precursor", f"{stated!r:.40}") if words else ("no precursor", "")
    metadata["precursor_mz"] = value if usable else None
    text = str(metadata.get("charge", ""))
    charge = _charge(text)
    if charge is not None:
        metadata["charge"] = charge
    mode = _ION_MODES.get(str(metadata.pop("ion_mode", "")).strip().lower())
    adduct = parse_adduct(str(metadata.get("adduct", "")))
    sign = None
    if adduct:
        sign = adduct.charge
    elif charge and set(text) & set("+-"):
        sign = charge
    if mode is None and sign:
        mode = "positive" if sign > 0 else "negative"
    if mode:
        metadata["ion_mode"] = mode
    return None


def _charge(text: str) -> int | None:
    """1+, 2-, +1 or 1 as a number; None for anything else, and for 0."""
    match = _CHARGE.fullmatch(text.strip())
    if not match or not match.group(2):
        return None
    size = int(match.group(2))
    if "-" in (match.group(1), match.group(3)):
        size = -size
    return size or None


# -------------------------------------------------------------------------------------------------------------- tables


def _table_record(line: int, row: dict[str, Any]) -> RawSpectrum:
    """The record of a row with the columns of MassSpecGym: mzs and intensities are lists, or texts with commas."""
    record = RawSpectrum(line)
    mz = _pop_first(row, _MZ_COLUMNS)
    intensity = _pop_first(row, _INTENSITY_COLUMNS)
    for key, value in row.items():
        record.metadata.setdefault(metadata_name(key), value)
    name = first_of(row, _ROW_IDS)
    record.metadata["ids"] = {} if name is None else {"title": str(name)}
    try:
        record.set_peaks(_numbers(mz), _numbers(intensity))
    except (TypeError, ValueError) as error:
        shown = f"mzs {str(mz)[:30]!r}, intensities {str(intensity)[:30]!r}"
        record.problem = ("peaks not numeric", f"{shown}: {error}")
    return record


def _pop_first(row: dict[str, Any], names: Sequence[str]) -> Any:
    """Remove and return the first of these entries that the row has; None without any."""
    return next((row.pop(name) for name in names if name in row), None)


def _numbers(cell: Any) -> list[float]:
    """The numbers of a list, or of a text such as "[1.0, 2.0]"."""
    if cell is None:
        return []
    if isinstance(cell, str):
        cell = cell.strip("[] ").replace(",", " ").replace(";", " ").split()
    return [float(part) for part in cell]


def _annotations(source: Any) -> dict[str, dict[str, Any]]:
    """Further metadata by the id of the spectrum."""
    found: dict[str, dict[str, Any]] = {}
    for _, row in named_rows(source, _ANNOTATION_IDS):
        key = _pop_first(row, _ANNOTATION_IDS)
        if key is not None:
            found[str(key)] = {metadata_name(name): value for name, value in row.items()}
    return found
