"""Spectra from files: MGF, MSP, mzML and tables, cleaned; every record that is not taken has its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from iokr._validation.arguments import check_choice
from iokr.apps.readers.mzml import read_mzml
from iokr.apps.readers.peak_lists import RawSpectrum, known_name, read_mgf, read_msp
from iokr.apps.readers.records import Rejected, TextFile, as_path, kind_of, name_of, named_rows
from iokr.chem.adducts import parse_adduct
from iokr.chem.cleaning import Cleaning
from iokr.chem.spectra import MassSpectra, MassSpectrum, read_spectra
from iokr.data.frames import is_table

__all__ = ["SpectraFiles", "read_spectra_files"]

_CHARGE = re.compile(r"([+-]?)\s*(\d*)\s*([+-]?)")
_PROFILE_GAP, _PROFILE_PEAKS = 0.01, 2000
_ROW_IDS = ("identifier", "spectrum_id", "id", "title", "feature_id", "scans", "name")
_MODES = {"positive": "positive", "pos": "positive", "p": "positive", "+": "positive", "negative": "negative"}
_MODES |= {"neg": "negative", "n": "negative", "-": "negative", "1+": "positive", "1-": "negative"}


@dataclass(frozen=True)
class SpectraFiles:
    """Clean spectra, where each came from, and what was not taken.

    Attributes
    ----------
    spectra : MassSpectra
        With an `id` of its own in the metadata of each.
    files : tuple of str
        The file of each spectrum.
    lines : tuple of int or None
        The line, or row, of each.
    rejections : tuple of Rejected
        Spectra left out, and those that were changed or warned about.
    n_read : int
        Records in the files: as many as spectra and those left out together.
    ion_mode : str or None
        "positive" or "negative", None where no record says.
    paths : tuple of Path
        The files that were read, annotations last.
    cleaning : Cleaning
        What was done to the peaks.

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
        """The id of each spectrum."""
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
        Spectra of the other mode are left out. Without it all must be of one mode.
    annotations : path or data frame, optional
        A table that says more of the spectra, joined by its column `scan`, `id`, `title` or `spectrum_id`.
    precursor : bool, default=True
        Whether spectra without a precursor's m/z are left out.

    Raises
    ------
    ValueError
        With file and line: a file that is none of its kind, or contradicts itself; two ion modes.

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
    listed = _sources(paths)
    more: dict[str, dict[str, Any]] = {}
    if annotations is not None:
        annotations = annotations if is_table(annotations) else as_path(annotations, "annotations")
        more = _annotations(annotations)
    taken: list[tuple[MassSpectrum, str, int | None]] = []
    rejections: list[Rejected] = []
    n_read, used = 0, dict[str, int]()
    for source in listed:
        for number, raw in enumerate(_records(source, rejections), start=1):
            n_read += 1
            name = raw.name(number)
            for key in {name, str(raw.metadata.get("scans", "")), str(raw.metadata.get("native_id", ""))} & more.keys():
                raw.metadata = {**raw.metadata, **more[key]}
            reason = raw.problem or _wrong(raw, precursor, ion_mode)
            spectrum = None if reason else _clean(raw, cleaning)
            if spectrum is not None and not cleaning.usable(spectrum):
                reason = ("too few peaks", f"{len(raw.mz)} before cleaning, {len(spectrum)} after")
            where = (name_of(source), raw.line or None, name)
            if reason or spectrum is None:
                what, detail = reason or ("no peaks", "")
                rejections.append(Rejected(*where, "spectrum", what, "left out", detail))
                continue
            used[name] = used.get(name, 0) + 1
            if used[name] > 1:
                new = f"{name}#{used[name]}"
                rejections.append(Rejected(*where, "spectrum", "duplicate id", "renamed", new))
                name = new
            spectrum.metadata["id"] = name
            taken.append((spectrum, name_of(source), raw.line or None))
    modes = _modes([spectrum for spectrum, _, _ in taken], listed)
    block = read_spectra([spectrum for spectrum, _, _ in taken])
    files, lines = tuple(f for _, f, _ in taken), tuple(line for _, _, line in taken)
    read = tuple(source for source in (*listed, annotations) if isinstance(source, Path))
    return SpectraFiles(block, files, lines, tuple(rejections), n_read, ion_mode or modes, read, cleaning)


def _sources(given: Any) -> list[Any]:
    """Paths, or one table or block of spectra."""
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
    if not isinstance(source, Path):
        yield from _read_rows(source, named_rows(source) if is_table(source) else _rows_of_spectra(source))
        return
    path = source
    kind = kind_of(path)
    if kind in (".mgf", ".msp"):
        text = TextFile(path)
        yield from (read_mgf if kind == ".mgf" else read_msp)(text)
        rejections.extend(text.notes())
    elif kind == ".mzml":
        yield from read_mzml(path)
    elif kind in (".tsv", ".csv", ".parquet", ".pq"):
        yield from _read_rows(path, named_rows(path))
    else:
        raise ValueError(
            f"{path.name}: cannot tell what kind of file this is; its name must end in .mgf, .msp, .mzML, .tsv, .csv "
            "or .parquet."
        )


# --------------------------------------------------------------------------------------------------------- one spectrum


def _wrong(raw: RawSpectrum, precursor: bool, ion_mode: str | None) -> tuple[str, str] | None:
    """(reason, detail) of a record that cannot be used; its entries become numbers on the way."""
    level = str(raw.metadata.get("ms_level", "2")).upper().removeprefix("MS")
    if level.strip() == "1":
        return "MS level 1", ""
    mz, intensity = np.array(raw.mz, dtype=np.float64), np.array(raw.intensity, dtype=np.float64)
    for wrong, reason in (
        (~np.isfinite(mz) | ~np.isfinite(intensity), "peaks not finite"),
        (mz <= 0, "m/z not positive"),
        (intensity < 0, "negative intensity"),
    ):
        if wrong.any():
            first = int(np.argmax(wrong))
            return reason, f"peak {first + 1}: {raw.mz[first]:g} {raw.intensity[first]:g}"
    if len(mz) and not np.any(intensity > 0):
        return "all intensities 0", f"{len(mz)} peaks"
    if raw.metadata.pop("profile", False) or (
        len(mz) > _PROFILE_PEAKS and float(np.median(np.diff(np.sort(mz)))) < _PROFILE_GAP
    ):
        return "profile data", f"{len(mz)} points; centroid the spectra first"
    problem = _ion(raw, precursor)
    if problem:
        return problem
    mode = raw.metadata.get("ion_mode")
    if ion_mode and mode and mode != ion_mode:
        return "other ion mode", str(mode)
    return None


def _ion(raw: RawSpectrum, needed: bool) -> tuple[str, str] | None:
    """The precursor's m/z, charge and ion mode as numbers and words."""
    said = raw.metadata.pop("precursor_mz", None)
    numbers = str(said).replace(",", " ").split() if said is not None else []
    try:
        value = float(numbers[0]) if numbers else None
    except ValueError:
        value = None
        if needed:
            return "bad precursor", f"{said!r:.40}"
    if value is not None and not (np.isfinite(value) and value > 0):
        if needed:
            return "bad precursor", f"{value:g}"
        value = None
    if value is None and needed:
        return "no precursor", ""
    raw.metadata["precursor_mz"] = value
    text = str(raw.metadata.get("charge", ""))
    charge = _charge(text)
    if charge is not None:
        raw.metadata["charge"] = charge
    word = _MODES.get(str(raw.metadata.pop("ion_mode", "")).strip().lower())
    adduct = parse_adduct(str(raw.metadata.get("adduct", "")))
    sign = adduct.charge if adduct else charge if charge and set(text) & set("+-") else None
    if word is None and sign:
        word = "positive" if sign > 0 else "negative"
    if word:
        raw.metadata["ion_mode"] = word
    return None


def _charge(text: str) -> int | None:
    """1+, 2-, +1, 1; None for anything else, and for 0."""
    found = _CHARGE.fullmatch(text.strip())
    if not found or not found.group(2):
        return None
    size = int(found.group(2)) * (-1 if "-" in (found.group(1), found.group(3)) else 1)
    return size or None


def _clean(raw: RawSpectrum, cleaning: Cleaning) -> MassSpectrum:
    ion = raw.metadata.pop("precursor_mz")
    return MassSpectrum(*cleaning.peaks(raw.mz, raw.intensity, ion), ion, raw.metadata)


def _modes(spectra: Sequence[MassSpectrum], sources: Sequence[Any]) -> str | None:
    """The ion mode of all; two of them cannot be in one model."""
    said = [spectrum.metadata.get("ion_mode") for spectrum in spectra]
    counts = {mode: said.count(mode) for mode in ("positive", "negative")}
    if all(counts.values()):
        where = name_of(sources[0]) if len(sources) == 1 else f"the {len(sources)} files"
        raise ValueError(
            f"{where}: {counts['positive']} spectra of positive and {counts['negative']} of negative ion mode, which "
            "are not mixed in one model; choose with --ion-mode positive or negative."
        )
    return next((mode for mode, count in counts.items() if count), None)


# -------------------------------------------------------------------------------------------------------------- tables


def _rows_of_spectra(spectra: MassSpectra) -> Iterator[tuple[int, dict[str, Any]]]:
    """A row for each spectrum, as a table of them has it."""
    for number, spectrum in enumerate(spectra, start=1):
        row = {"mzs": spectrum.mz, "intensities": spectrum.intensity, "precursor_mz": spectrum.precursor_mz}
        yield number, {**spectrum.metadata, **{name: cell for name, cell in row.items() if cell is not None}}


def _read_rows(source: Any, rows: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[RawSpectrum]:
    """A row each, with the columns of MassSpecGym: mzs and intensities are lists, or texts with commas."""
    columns: set[str] = set()
    for line, row in rows:
        columns |= row.keys()
        raw = RawSpectrum(line)
        mz = next((row.pop(k) for k in ("mzs", "mz", "m/z") if k in row), None)
        intensity = next((row.pop(k) for k in ("intensities", "intensity") if k in row), None)
        for key, value in row.items():
            raw.metadata.setdefault(known_name(key), value)
        name = next((str(row[k]) for k in _ROW_IDS if k in row), None)
        raw.metadata["ids"] = {} if name is None else {"title": name}
        try:
            raw.mz, raw.intensity = _numbers(mz), _numbers(intensity)
            if len(raw.mz) != len(raw.intensity):
                raw.problem = ("peaks not numeric", f"{len(raw.mz)} m/z and {len(raw.intensity)} intensities")
        except (TypeError, ValueError):
            raw.problem = ("peaks not numeric", f"mzs {str(mz)[:30]!r}, intensities {str(intensity)[:30]!r}")
        yield raw
    for name, others in {"mzs": ("mz", "m/z"), "intensities": ("intensity",)}.items():
        if not columns & {name, *others}:
            has = ", ".join(sorted(columns)[:10]) or "none"
            raise ValueError(f"{name_of(source)}: needs a column {name}; it has {has}.")


def _numbers(cell: Any) -> list[float]:
    if cell is None:
        return []
    parts = cell.strip("[] ").replace(",", " ").replace(";", " ").split() if isinstance(cell, str) else list(cell)
    return [float(part) for part in parts]


def _annotations(source: Any) -> dict[str, dict[str, Any]]:
    """What a table says of the spectrum with each id."""
    found: dict[str, dict[str, Any]] = {}
    columns: set[str] = set()
    for _, row in named_rows(source):
        columns |= row.keys()
        key = next((str(row.pop(k)) for k in ("scan", "spectrum_id", "id", "title", "native_id") if k in row), None)
        if key is not None:
            found[key] = {known_name(name): value for name, value in row.items()}
    if not found:
        has = ", ".join(sorted(columns)[:10]) or "none"
        raise ValueError(f"{name_of(source)}: needs a column scan, spectrum_id, id or title; it has {has}.")
    return found
