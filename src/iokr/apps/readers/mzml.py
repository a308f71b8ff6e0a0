"""Spectra in mzML: streamed with the standard library, without an ontology that would have to be fetched."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, iterparse

import numpy as np

from iokr.apps.readers.peak_lists import RawSpectrum
from iokr.apps.readers.records import open_file

__all__ = ["read_mzml"]

_SCAN = re.compile(r"scan=(\d+)")
_TYPES = {"MS:1000523": "<f8", "MS:1000521": "<f4", "MS:1000522": "<i8", "MS:1000519": "<i4"}
_MZ, _INTENSITY, _ZLIB, _PLAIN = "MS:1000514", "MS:1000515", "MS:1000574", "MS:1000576"
_LEVEL, _TITLE, _PROFILE = "MS:1000511", "MS:1000796", "MS:1000128"
_MODES = {"MS:1000130": "positive", "MS:1000129": "negative"}
_ION, _CHARGE, _ENERGY = "MS:1000744", "MS:1000041", "MS:1000045"
_LONGEST = 100_000_000  # entries of an array


def read_mzml(path: Path) -> Iterator[RawSpectrum]:
    """Every spectrum, `line` its number; levels and profile data are told apart later.

    Arrays packed otherwise than by zlib make the spectrum a problem.
    """
    groups: dict[str, dict[str, str]] = {}
    number = 0
    try:
        with open_file(path) as file:
            for _, element in iterparse(file):
                match element.tag.rpartition("}")[2]:
                    case "referenceableParamGroup":
                        groups[element.get("id", "")] = _parameters(element, {})
                    case "spectrum":
                        number += 1
                        yield _spectrum(element, number, groups)
                        element.clear()
                    case "chromatogram":
                        element.clear()
    except (ParseError, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} is no mzML file, or a damaged one: {error}.") from error
    if not number:
        raise ValueError(f"{path.name}: no spectrum found; is it an mzML file?")


def _spectrum(element: Element, number: int, groups: dict[str, dict[str, str]]) -> RawSpectrum:
    said = _parameters(element, groups)
    native = element.get("id", "")
    scan = _SCAN.search(native)
    name = scan.group(1) if scan else said.get(_TITLE) or native or str(number)
    raw = RawSpectrum(number)
    raw.metadata = {"native_id": native, "ids": {"scans": name}, "scans": name, "profile": _PROFILE in said}
    raw.metadata["ms_level"] = said.get(_LEVEL, "2")
    raw.metadata |= {"title": said[_TITLE]} if said.get(_TITLE) else {}
    modes = [mode for accession, mode in _MODES.items() if accession in said]
    raw.metadata |= {"ion_mode": modes[0]} if modes else {}
    for ion in _inside(element, "selectedIon")[:1]:
        of_ion = _parameters(ion, groups)
        raw.metadata |= {"precursor_mz": of_ion[_ION]} if _ION in of_ion else {}
        raw.metadata |= {"charge": of_ion[_CHARGE]} if of_ion.get(_CHARGE) else {}
    for activation in _inside(element, "activation")[:1]:
        energy = _parameters(activation, groups).get(_ENERGY)
        raw.metadata |= {"collision_energy": energy} if energy else {}
    try:
        arrays = dict(_array(part, element, groups) for part in _inside(element, "binaryDataArray"))
        raw.mz, raw.intensity = arrays.get(_MZ, []), arrays.get(_INTENSITY, [])
        if len(raw.mz) != len(raw.intensity):
            raise ValueError(f"{len(raw.mz)} m/z and {len(raw.intensity)} intensities")
    except (ValueError, zlib.error, binascii.Error) as error:
        raw.mz, raw.intensity, raw.problem = [], [], ("peaks not numeric", str(error))
    return raw


def _array(part: Element, spectrum: Element, groups: dict[str, dict[str, str]]) -> tuple[str, list[float]]:
    """(what it holds, numbers)."""
    said = _parameters(part, groups)
    kind = next((accession for accession in (_MZ, _INTENSITY) if accession in said), "")
    if not kind:
        return "", []
    dtype = next((np.dtype(code) for accession, code in _TYPES.items() if accession in said), None)
    if dtype is None or (_ZLIB not in said and _PLAIN not in said):
        raise ValueError("its arrays are packed in a way that is not read (numpress?); convert them to zlib")
    length = int(part.get("arrayLength") or spectrum.get("defaultArrayLength") or 0)
    if not 0 <= length <= _LONGEST:
        raise ValueError(f"an array of length {length}")
    text = "".join(text for binary in _inside(part, "binary") for text in binary.itertext())
    raw = base64.b64decode("".join(text.split()), validate=True)
    if _ZLIB in said and raw:
        raw = zlib.decompressobj().decompress(raw, length * dtype.itemsize + 1)
    if len(raw) != length * dtype.itemsize:
        raise ValueError(f"an array of {len(raw)} bytes where {length} numbers are announced")
    return kind, np.frombuffer(raw, dtype=dtype).astype(np.float64).tolist()


def _parameters(element: Element, groups: dict[str, dict[str, str]]) -> dict[str, str]:
    """{accession: value} of an element, those of the groups that it names among them."""
    found: dict[str, str] = {}
    for child in element:
        tag = child.tag.rpartition("}")[2]
        if tag == "referenceableParamGroupRef":
            found |= groups.get(child.get("ref", ""), {})
        elif tag == "cvParam":
            found[child.get("accession", "")] = child.get("value", "")
    return found


def _inside(element: Element, tag: str) -> list[Any]:
    return [child for child in element.iter() if child.tag.rpartition("}")[2] == tag]
