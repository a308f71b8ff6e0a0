"""Mass spectra, sum formulas, adducts and molecules.

Spectra, their cleaning and their similarities, formulas and adducts need no extra. Molecules and fingerprints, in
`iokr.chem.structures`, need RDKit: the extra `chem`.
"""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.chem.cleaning import Cleaning
    from iokr.chem.similarities import PeakCosine, cosine, modified_cosine
    from iokr.chem.spectra import MassSpectra, MassSpectrum
    from iokr.chem.structures.fingerprints import Fingerprints
    from iokr.chem.structures.graphs import graph_smiles, molecule_graph
    from iokr.chem.structures.molecules import BadMolecule, Molecule
    from iokr.data.bits import Bits

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

__getattr__, __dir__ = lazy_names(__name__)
