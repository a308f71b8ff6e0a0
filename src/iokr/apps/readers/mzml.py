"""Spectra in mzML, streamed with the standard library.

Pyteomics reads mzML too, but needs lxml and psims, downloads the ontology of the field's terms, and decompresses arrays
of any size; the few terms that are used here are known by their accession numbers.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, ParseError, iterparse

import numpy as np

from iokr.apps.readers.bounded import expecting, open_binary
from iokr.apps.readers.formats import check_file
from iokr.apps.readers.peak_lists import RawSpectrum
from iokr.apps.readers.records import TextFile

__all__ = ["read_mzml"]

Parameters = dict[str, str]  # accession number: value

_SCAN = re.compile(r"scan=(\d+)")
_MS_LEVEL = "MS:1000511"
_TITLE = "MS:1000796"
_PROFILE = "MS:1000128"
_ION_MODES = {"MS:1000130": "positive", "MS:1000129": "negative"}
_SELECTED_ION_MZ = "MS:1000744"
_CHARGE = "MS:1000041"
_COLLISION_ENERGY = "MS:1000045"
_MZ = "MS:1000514"
_INTENSITY = "MS:1000515"
_ZLIB = "MS:1000574"
_UNCOMPRESSED = "MS:1000576"
_TYPES = {"MS:1000523": "<f8", "MS:1000521": "<f4", "MS:1000522": "<i8", "MS:1000519": "<i4"}
_MAX_LENGTH = 100_000_000  # entries of an array


def read_mzml(source: TextFile) -> Iterator[RawSpectrum]:
    """Every spectrum, with its number as `line`; arrays compressed otherwise than by zlib are its problem."""
    check_file(source.path)
    groups: dict[str, Parameters] = {}
    number = 0
    damaged = expecting(source.path.name, "an mzML file, or is damaged", ParseError, EOFError, zlib.error, end=".")
    with damaged, open_binary(source.path) as file:
        for _, element in iterparse(file):
            tag = element.tag.rpartition("}")[2]
            if tag == "referenceableParamGroup":
                groups[element.get("id", "")] = _parameters(element, {})
            elif tag == "spectrum":
                number += 1
                yield _spectrum(element, number, groups)
            if tag in ("spectrum", "chromatogram"):
                element.clear()


def _spectrum(element: Element, number: int, groups: dict[str, Parameters]) -> RawSpectrum:
    spectrum = RawSpectrum(number, metadata=_metadata(element, number, groups))
    try:
        arrays = dict(_array(part, element, groups) for part in element.iterfind(".//{*}binaryDataArray"))
        spectrum.set_peaks(arrays.get(_MZ, []), arrays.get(_INTENSITY, []))
    except (ValueError, zlib.error, binascii.Error) as error:
        spectrum.problem = ("peaks not numeric", str(error))
    return spectrum


def _metadata(element: Element, number: int, groups: dict[str, Parameters]) -> dict[str, Any]:
    """What the file states about a spectrum, entries without a value left out."""
    parameters = _parameters(element, groups)
    ion = _parameters(element.find(".//{*}selectedIon"), groups)
    activation = _parameters(element.find(".//{*}activation"), groups)
    native_id = element.get("id", "")
    scan = _SCAN.search(native_id)
    name = scan.group(1) if scan else parameters.get(_TITLE) or native_id or str(number)
    optional = {
        "title": parameters.get(_TITLE),
        "ion_mode": next((mode for term, mode in _ION_MODES.items() if term in parameters), None),
        "precursor_mz": ion.get(_SELECTED_ION_MZ),
        "charge": ion.get(_CHARGE),
        "collision_energy": activation.get(_COLLISION_ENERGY),
    }
    return {
        "native_id": native_id,
        "ids": {"scans": name},
        "scans": name,
        "profile": _PROFILE in parameters,
        "ms_level": parameters.get(_MS_LEVEL, "2"),
        **{key: value for key, value in optional.items() if value},
    }


def _array(part: Element, spectrum: Element, groups: dict[str, Parameters]) -> tuple[str, list[float]]:
    """(m/z or intensity, numbers)."""
    parameters = _parameters(part, groups)
    quantity = next((term for term in (_MZ, _INTENSITY) if term in parameters), "")
    if not quantity:
        return "", []
    dtype = next((np.dtype(code) for term, code in _TYPES.items() if term in parameters), None)
    if dtype is None or not {_ZLIB, _UNCOMPRESSED} & parameters.keys():
        raise ValueError("unsupported compression or type of arrays (numpress?); convert them to zlib")
    length = int(part.get("arrayLength") or spectrum.get("defaultArrayLength") or 0)
    if not 0 <= length <= _MAX_LENGTH:
        raise ValueError(f"an array of length {length}")
    text = part.findtext("{*}binary", "")
    raw = base64.b64decode("".join(text.split()), validate=True)
    size = length * dtype.itemsize
    if _ZLIB in parameters and raw:
        raw = zlib.decompressobj().decompress(raw, size + 1)
    if len(raw) != size:
        raise ValueError(f"an array of {len(raw)} bytes, but its stated length is {length} numbers")
    return quantity, np.frombuffer(raw, dtype=dtype).astype(np.float64).tolist()


def _parameters(element: Element | None, groups: dict[str, Parameters]) -> Parameters:
    """The parameters of an element, including those of the groups it refers to; none without an element."""
    found: Parameters = {}
    if element is None:
        return found
    for reference in element.iterfind("{*}referenceableParamGroupRef"):
        found |= groups.get(reference.get("ref", ""), {})
    return found | {child.get("accession", ""): child.get("value", "") for child in element.iterfind("{*}cvParam")}
