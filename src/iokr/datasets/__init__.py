"""Data: readers of users' files, and small seeded samples of every domain.

Nothing is downloaded. Files are looked for in `data_home()`; what is not there is said in one line.
"""

from iokr.datasets.blocks import make_blocks
from iokr.datasets.communities import CommunityNetwork, make_communities
from iokr.datasets.home import DataNotFound, data_files, data_home, find_data
from iokr.datasets.molecule_files import (
    Candidate,
    CandidateFiles,
    MoleculeTable,
    read_candidates,
    read_database,
    read_structures,
)
from iokr.datasets.network_files import NetworkFiles, read_network
from iokr.datasets.node_files import Nodes, Rejection, read_kernels, read_nodes
from iokr.datasets.records import Rejected
from iokr.datasets.samples import DOMAINS, sample
from iokr.datasets.spectra_files import SpectraFiles, read_spectra_files
from iokr.datasets.views import read_views

__all__ = [
    "DOMAINS",
    "Candidate",
    "CandidateFiles",
    "CommunityNetwork",
    "DataNotFound",
    "MoleculeTable",
    "NetworkFiles",
    "Nodes",
    "Rejected",
    "Rejection",
    "SpectraFiles",
    "data_files",
    "data_home",
    "find_data",
    "make_blocks",
    "make_communities",
    "read_candidates",
    "read_database",
    "read_kernels",
    "read_network",
    "read_nodes",
    "read_spectra_files",
    "read_structures",
    "read_views",
    "sample",
]
