"""Readers of users' files: tables, networks, spectra, molecules."""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.apps.readers.molecule_files import (
        Candidate,
        CandidateFiles,
        MoleculeTable,
        read_candidates,
        read_database,
        read_structures,
    )
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
