"""Spectra in text files, MGF and MSP: streamed, each record with its first line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from iokr.apps.readers.file_table import is_number
from iokr.apps.readers.records import TextFile, first_of

__all__ = ["RawSpectrum", "metadata_name", "read_mgf", "read_msp"]

_SEPARATORS = re.compile(r"[\s,;]+")
_QUOTED = re.compile(r'"[^"]*"')
_PAIRS = re.compile(r'"?([A-Za-z_ ]+)=([^"]*)"')
_MISSING = frozenset({"", "n/a", "na", "nan", "null", "none", "unknown", "-"})
_IDS = ("title", "spectrum_id", "spectrumid", "feature_id", "scans", "identifier", "id", "db#", "spectrum id")
_NAMES = {  # by the name in `MassSpectrum.metadata`: the names that files use
    "precursor_mz": ("precursor_mz", "precursormz", "pepmass", "precursor", "parent_mass", "precursor mz"),
    "adduct": ("adduct", "precursor_type", "precursortype", "ion_type", "iontype", "adducts"),
    "instrument": ("instrument", "source_instrument", "instrument_type", "instrumenttype"),
    "collision_energy": ("collision_energy", "collisionenergy", "collision energy", "ce"),
    "ion_mode": ("ionmode", "ion_mode", "polarity", "mode"),
    "ms_level": ("mslevel", "ms_level", "spectrum_type", "spectrumtype"),
    "smiles": ("smiles", "canonical_smiles", "computed smiles"),
    "inchi": ("inchi", "computed inchi"),
    "inchikey": ("inchikey", "inchi_key", "inchi key", "inchiaux"),
    "formula": ("formula", "molecular_formula", "precursor_formula"),
    "name": ("name", "compound_name", "compound name"),
}
_METADATA_NAMES = {alias: name for name, aliases in _NAMES.items() for alias in aliases}
_PEAK_COUNTS = ("num peaks", "num_peaks", "numpeaks")
_NOT_STATED = -1  # number of peaks


def metadata_name(key: str) -> str:
    """The name of an entry in `MassSpectrum.metadata`."""
    return _METADATA_NAMES.get(key, key)


@dataclass
class RawSpectrum:
    """A record as it is in a file; `problem` is (reason, detail) of one that cannot be used."""

    line: int
    mz: list[float] = field(default_factory=list)
    intensity: list[float] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    problem: tuple[str, str] | None = None

    def set(self, key: str, value: str) -> None:
        """Store an entry of the header, unless its value is missing or it is there already."""
        key = key.strip().lower()
        value = value.strip()
        if value.lower() in _MISSING:
            return
        if key in _IDS:
            self.metadata.setdefault("ids", {}).setdefault(key, value)
            self.metadata.setdefault(key, value)
            return
        name = metadata_name(key)
        if name == "inchi" and not value.startswith("InChI="):
            return
        self.metadata.setdefault(name, value)

    def name(self, number: int) -> str:
        """The id: the title, or the id of spectrum, feature or scan, or the name, or the number in the file."""
        ids = self.metadata.pop("ids", {})
        return str(first_of(ids, _IDS, self.metadata.get("name") or number))

    def set_peaks(self, mz: list[float], intensity: list[float]) -> None:
        """Store all peaks."""
        if len(mz) != len(intensity):
            raise ValueError(f"{len(mz)} m/z and {len(intensity)} intensities")
        self.mz = mz
        self.intensity = intensity

    def add_peak(self, line: int, text: str) -> None:
        """Append a peak: two numbers, and anything after them."""
        parts = [part for part in _SEPARATORS.split(text) if part]
        try:
            mz = float(parts[0])
            intensity = float(parts[1])
        except (ValueError, IndexError):
            self.problem = self.problem or ("peaks not numeric", f"line {line}: {text!r:.60}")
            return
        self.mz.append(mz)
        self.intensity.append(intensity)


# ----------------------------------------------------------------------------------------------------------------- MGF


def read_mgf(text: TextFile) -> Iterator[RawSpectrum]:
    """The spectra between BEGIN IONS and END IONS; entries before the first hold for all."""
    common: list[tuple[str, str]] = []
    current: RawSpectrum | None = None
    name = text.path.name
    for number, line in text:
        if not line or line[0] in "#;!/":
            continue
        command = line.upper()
        if command == "BEGIN IONS":
            if current is not None:
                raise ValueError(
                    f"{name} line {number}: BEGIN IONS inside a spectrum that began on line {current.line}."
                )
            current = RawSpectrum(number)
        elif command == "END IONS":
            if current is None:
                raise ValueError(f"{name} line {number}: END IONS without BEGIN IONS.")
            for entry in common:
                current.set(*entry)
            yield current
            current = None
        elif _is_entry(line):
            key, _, value = line.partition("=")
            if current is None:
                common.append((key, value))
            else:
                current.set(key, value)
        elif current is not None:
            current.add_peak(number, line)
    if current is not None:
        raise ValueError(f"{name}: the file ends inside the spectrum that began on line {current.line} (no END IONS).")


def _is_entry(line: str) -> bool:
    """Whether a line is KEY=value, rather than a peak with an annotation."""
    key, equals, _ = line.partition("=")
    return bool(equals) and not is_number((key.split() or [key])[0])


# ----------------------------------------------------------------------------------------------------------------- MSP


def read_msp(text: TextFile) -> Iterator[RawSpectrum]:
    """The records that begin with `Name:`; peaks follow `Num Peaks:`, one a line or several separated by semicolons."""
    current: RawSpectrum | None = None
    n_peaks = _NOT_STATED
    for number, line in text:
        key, colon, value = line.partition(":")
        key = key.strip().lower() if colon else ""
        if key == "name":
            if current is not None:
                yield _with_checked_count(current, n_peaks)
            current = RawSpectrum(number)
            current.set("name", value)
            n_peaks = _NOT_STATED
        elif current is None or not line:
            continue
        elif n_peaks != _NOT_STATED:
            for peak in _QUOTED.sub("", line).split(";"):
                if peak.strip():
                    current.add_peak(number, peak.strip())
        elif key in _PEAK_COUNTS:
            n_peaks = int(value) if value.strip().isdecimal() else 0
            if not value.strip().isdecimal():
                current.problem = ("peaks not numeric", f"line {number}: Num Peaks is {value.strip()!r:.40}")
        elif key in ("comments", "comment"):
            for inner, content in _PAIRS.findall(value):
                current.set(inner, content)
        elif key:
            current.set(key, value)
    if current is not None:
        yield _with_checked_count(current, n_peaks)


def _with_checked_count(spectrum: RawSpectrum, n_peaks: int) -> RawSpectrum:
    """The spectrum; a number of peaks that differs from the stated one is its problem."""
    if n_peaks == _NOT_STATED:
        spectrum.problem = spectrum.problem or ("no peaks", "there is no Num Peaks")
    elif spectrum.problem is None and n_peaks != len(spectrum.mz):
        spectrum.problem = ("number of peaks", f"Num Peaks is {n_peaks}, but there are {len(spectrum.mz)}")
    return spectrum
