"""Spectra and molecules: the objects of metabolite identification; the only folder that knows RDKit."""

from iokr._spectra import MassSpectra, MassSpectrum
from iokr.chem.cleaning import Cleaning

__all__ = [
    "Cleaning",
    "MassSpectra",
    "MassSpectrum",
]
