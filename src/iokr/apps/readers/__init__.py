"""Readers of users' files: networks, nodes, kernels, spectra, candidates and molecules.

Readers take paths. They return values with everything they read and a list of what they rejected, with file, line and
reason; errors name file and line.

=======================================  ===========================================================================
`read_nodes`, `read_views`,              tables: .tsv, .csv, .txt (spaces), each also with .gz; .xlsx, .parquet,
`read_kernels`, `read_network`           .feather, AnnData's .h5ad, .npy, .npz
edges of `read_network`                  tables, .sif, .graphml, .gml, .cyjs, .json, .adjlist (Cytoscape, NetworkX)
`read_spectra_files`                     .mgf, .msp, .mzML, and tables .tsv, .csv, .parquet
`read_candidates`                        tables .tsv, .csv, .txt, .parquet, and .json
`read_database`                          .sdf, .smi, and tables .tsv, .csv, .txt, .parquet
=======================================  ===========================================================================

``file.xlsx:sheet``, ``file.npz:array`` and ``file.h5ad:layer`` select a part of a file. Errors about other formats say
how to convert them (`iokr.apps.readers.formats`). Parquet and Feather need the extra ``parquet``, Excel ``excel``,
AnnData ``h5ad``, GraphML ``report``, structures of molecules ``chem``.
"""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.apps.readers.candidate_files import Candidate, CandidateFiles, read_candidates
    from iokr.apps.readers.molecule_files import MoleculeTable, read_database, read_structures
    from iokr.apps.readers.network_files import NetworkFiles, read_network
    from iokr.apps.readers.node_files import Nodes, Rejection, read_kernels, read_nodes
    from iokr.apps.readers.records import Rejected
    from iokr.apps.readers.spectra_files import SpectraFiles, read_spectra_files
    from iokr.apps.readers.views import read_views

__all__ = [
    "Candidate",
    "CandidateFiles",
    "MoleculeTable",
    "NetworkFiles",
    "Nodes",
    "Rejected",
    "Rejection",
    "SpectraFiles",
    "read_candidates",
    "read_database",
    "read_kernels",
    "read_network",
    "read_nodes",
    "read_spectra_files",
    "read_structures",
    "read_views",
]

__getattr__, __dir__ = lazy_names(__name__)
