"""Spectra in text files, MGF and MSP: streamed, every record with the line on which it begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from iokr.apps.readers.records import TextFile

__all__ = ["RawSpectrum", "known_name", "read_mgf", "read_msp"]

_SPLIT = re.compile(r"[\s,;]+")
_QUOTED = re.compile(r'"[^"]*"')
_PAIRS = re.compile(r'"?([A-Za-z_ ]+)=([^"]*)"')
_MISSING = frozenset({"", "n/a", "na", "nan", "null", "none", "unknown", "-"})
_NAMES = {  # what files call it: what `MassSpectrum.metadata` calls it; of ids the first one counts
    **dict.fromkeys(
        ("precursor_mz", "precursormz", "pepmass", "precursor", "parent_mass", "precursor mz"), "precursor_mz"
    ),
    **dict.fromkeys(("adduct", "precursor_type", "precursortype", "ion_type", "iontype", "adducts"), "adduct"),
    **dict.fromkeys(("instrument", "source_instrument", "instrument_type", "instrumenttype"), "instrument"),
    **dict.fromkeys(("collision_energy", "collisionenergy", "collision energy", "ce"), "collision_energy"),
    **dict.fromkeys(("ionmode", "ion_mode", "polarity", "mode"), "ion_mode"),
    **dict.fromkeys(("mslevel", "ms_level", "spectrum_type", "spectrumtype"), "ms_level"),
    **dict.fromkeys(("smiles", "canonical_smiles", "computed smiles"), "smiles"),
    **dict.fromkeys(("inchi", "computed inchi"), "inchi"),
    **dict.fromkeys(("inchikey", "inchi_key", "inchi key", "inchiaux"), "inchikey"),
    **dict.fromkeys(("formula", "molecular_formula", "precursor_formula"), "formula"),
    **dict.fromkeys(("name", "compound_name", "compound name"), "name"),
}
_IDS = ("title", "spectrum_id", "spectrumid", "feature_id", "scans", "identifier", "id", "db#", "spectrum id")


@dataclass
class RawSpectrum:
    """A record as it stands in a file; `problem` is (reason, detail) of one that cannot be used."""

    line: int
    mz: list[float] = field(default_factory=list)
    intensity: list[float] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    problem: tuple[str, str] | None = None

    def set(self, key: str, value: str) -> None:
        """Keep an entry of the header under its usual name; what says that there is nothing is left out."""
        key, value = key.strip().lower(), value.strip()
        if value.lower() in _MISSING:
            return
        if key in _IDS:
            self.metadata.setdefault("ids", {}).setdefault(key, value)
            self.metadata.setdefault(key, value)
            return
        name = known_name(key)
        if name == "inchi" and not value.startswith("InChI="):
            return
        self.metadata.setdefault(name, value)

    def name(self, number: int) -> str:
        """The id: of the title, spectrum, feature, scan; else the number in the file."""
        ids = self.metadata.pop("ids", {})
        return next((ids[key] for key in _IDS if key in ids), self.metadata.get("name") or str(number))

    def add_peak(self, line: int, text: str) -> None:
        """Two numbers or more; others are the spectrum's problem."""
        parts = [part for part in _SPLIT.split(text) if part]
        try:
            mz, intensity = float(parts[0]), float(parts[1])
        except (ValueError, IndexError):
            self.problem = self.problem or ("peaks not numeric", f"line {line}: {text!r:.60}")
            return
        self.mz.append(mz)
        self.intensity.append(intensity)


def known_name(key: str) -> str:
    """The usual name of an entry, itself where there is none."""
    return _NAMES.get(key, key)


def read_mgf(text: TextFile) -> Iterator[RawSpectrum]:
    """The spectra between BEGIN IONS and END IONS; entries before the first hold for all."""
    common: list[tuple[str, str]] = []
    current: RawSpectrum | None = None
    found, name = 0, text.path.name
    for number, line in text:
        if not line or line[0] in "#;!/":
            continue
        word = line.upper()
        if word == "BEGIN IONS":
            if current is not None:
                raise ValueError(
                    f"{name} line {number}: BEGIN IONS inside a spectrum that began on line {current.line}."
                )
            current = RawSpectrum(number)
        elif word == "END IONS":
            if current is None:
                raise ValueError(f"{name} line {number}: END IONS without BEGIN IONS.")
            for key, value in common:
                current.set(key, value)
            found += 1
            yield current
            current = None
        else:
            key, equals, value = line.partition("=")
            if equals and not _is_number(key.split()[0] if key.split() else key):
                if current is None:
                    common.append((key, value))
                else:
                    current.set(key, value)
            elif current is not None:
                current.add_peak(number, line)
    if current is not None:
        raise ValueError(f"{name}: the file ends inside the spectrum that began on line {current.line} (no END IONS).")
    if not found:
        raise ValueError(f"{name}: no spectrum found (first line {text.first[:40]!r}); is it an MGF file?")


def read_msp(text: TextFile) -> Iterator[RawSpectrum]:
    """The records that begin with `Name:`; after `Num Peaks:` come the peaks, one a line or several by semicolons."""
    current: RawSpectrum | None = None
    expected, found, name = -1, 0, text.path.name
    for number, line in text:
        key, colon, value = line.partition(":")
        if colon and key.strip().lower() == "name":
            if current is not None:
                yield _finished(current, expected)
            current, expected = RawSpectrum(number), -1
            found += 1
            current.set("name", value)
        elif current is None or not line:
            continue
        elif expected < 0 and colon:
            expected = _header_entry(current, number, key.strip().lower(), value)
        elif expected >= 0:
            for peak in _QUOTED.sub("", line).split(";"):
                if peak.strip():
                    _add_peaks(current, number, peak)
    if current is not None:
        yield _finished(current, expected)
    if not found:
        raise ValueError(f"{name}: no spectrum found (first line {text.first[:40]!r}); is it an MSP file?")


def _header_entry(spectrum: RawSpectrum, line: int, key: str, value: str) -> int:
    """Keep an entry; the number of peaks where that is what it says, else −1."""
    if key in ("num peaks", "num_peaks", "numpeaks"):
        try:
            return int(value)
        except ValueError:
            spectrum.problem = ("peaks not numeric", f"line {line}: Num Peaks is {value.strip()!r:.40}")
            return 0
    if key in ("comments", "comment"):
        for inner, content in _PAIRS.findall(value):
            spectrum.set(inner, content)
    else:
        spectrum.set(key, value)
    return -1


def _add_peaks(spectrum: RawSpectrum, line: int, text: str) -> None:
    """One pair, or several in a line."""
    parts = text.split()
    if len(parts) > 2 and len(parts) % 2 == 0 and all(map(_is_number, parts)):
        for mz, intensity in zip(parts[::2], parts[1::2], strict=True):
            spectrum.add_peak(line, f"{mz} {intensity}")
    else:
        spectrum.add_peak(line, text)


def _finished(spectrum: RawSpectrum, expected: int) -> RawSpectrum:
    if expected < 0:
        spectrum.problem = spectrum.problem or ("no peaks", "there is no Num Peaks")
    elif spectrum.problem is None and expected != len(spectrum.mz):
        spectrum.problem = ("number of peaks", f"Num Peaks is {expected}, but there are {len(spectrum.mz)}")
    return spectrum


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
