"""Spectra and molecules: the objects of metabolite identification.

`MassSpectrum`, `Cleaning` and the similarities of spectra need no extra; molecules and fingerprints need `iokr[chem]`.
"""

from iokr._bits import Bits
from iokr._spectra import MassSpectra, MassSpectrum
from iokr.chem.cleaning import Cleaning
from iokr.chem.fingerprints import Fingerprints
from iokr.chem.graphs import graph_smiles, molecule_graph
from iokr.chem.molecules import BadMolecule, Molecule
from iokr.chem.similarities import PeakCosine, cosine, modified_cosine

__all__ = [
    "BadMolecule",
    "Bits",
    "Cleaning",
    "Fingerprints",
    "MassSpectra",
    "MassSpectrum",
    "Molecule",
    "PeakCosine",
    "cosine",
    "graph_smiles",
    "modified_cosine",
    "molecule_graph",
]
