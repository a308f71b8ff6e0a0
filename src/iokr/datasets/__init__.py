"""Data: files that users have, and small seeded samples of every domain.

Nothing is downloaded. Files are looked for in `data_home()`; what is not there is said in one line.
"""

from iokr.datasets.communities import CommunityNetwork, make_communities
from iokr.datasets.go import ONTOLOGIES, YeastGO, information_content, load_yeast_go
from iokr.datasets.home import DataNotFound, data_files, data_home, find_data
from iokr.datasets.inflection import Inflection, load_inflection
from iokr.datasets.label_ranking import LabelRanking, label_ranking_sets, load_label_ranking
from iokr.datasets.multilabel import MultiLabel, load_multilabel
from iokr.datasets.nci import NCICancer, load_nci_cancer
from iokr.datasets.network_files import NetworkFiles, read_network
from iokr.datasets.nips import NIPSAuthors, load_nips_coauthorship
from iokr.datasets.node_files import Nodes, Rejection, read_kernels, read_nodes
from iokr.datasets.ocr import OCRLetters, load_ocr_letters
from iokr.datasets.samples import DOMAINS, sample
from iokr.datasets.usps import USPS, load_usps
from iokr.datasets.yeast import YeastNetwork, load_yeast_metabolic, load_yeast_ppi

__all__ = [
    "DOMAINS",
    "ONTOLOGIES",
    "USPS",
    "CommunityNetwork",
    "DataNotFound",
    "Inflection",
    "LabelRanking",
    "MultiLabel",
    "NCICancer",
    "NIPSAuthors",
    "NetworkFiles",
    "Nodes",
    "OCRLetters",
    "Rejection",
    "YeastGO",
    "YeastNetwork",
    "data_files",
    "data_home",
    "find_data",
    "information_content",
    "label_ranking_sets",
    "load_inflection",
    "load_label_ranking",
    "load_multilabel",
    "load_nci_cancer",
    "load_nips_coauthorship",
    "load_ocr_letters",
    "load_usps",
    "load_yeast_go",
    "load_yeast_metabolic",
    "load_yeast_ppi",
    "make_communities",
    "read_kernels",
    "read_network",
    "read_nodes",
    "sample",
]
