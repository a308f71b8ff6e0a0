"""Loaders of published data sets.

A loader returns a frozen value. It searches its files in `iokr.datasets.data_home()` and raises `DataNotFound` if one
is missing, `ValueError` if one has other contents.

Examples
--------
>>> from iokr.datasets import DataNotFound
>>> from iokr_lab.data import load_usps
>>> try:
...     print(load_usps().X_train.shape[1], "pixels")
... except DataNotFound:
...     print("256 pixels, once IOKR_DATA is set")
256 pixels...
"""

from iokr_lab.data.growth import Curves, Growth, Lip, load_dti, load_gait, load_growth, load_lip, load_weather
from iokr_lab.data.inflection import Inflection, load_inflection
from iokr_lab.data.label_ranking import LabelRanking, label_ranking_sets, load_label_ranking
from iokr_lab.data.massbank import MassBank, load_massbank_msms, write_massbank_files
from iokr_lab.data.msms import Spectra, load_msms_fp490
from iokr_lab.data.multilabel import MultiLabel, load_multilabel
from iokr_lab.data.nci import NCICancer, load_nci_cancer, load_nci_smiles
from iokr_lab.data.networks import (
    ONTOLOGIES,
    NIPSAuthors,
    YeastGO,
    YeastNetwork,
    information_content,
    load_nips_coauthorship,
    load_yeast_go,
    load_yeast_metabolic,
    load_yeast_ppi,
)
from iokr_lab.data.ocr import OCRLetters, load_ocr_letters
from iokr_lab.data.qm9 import load_qm9
from iokr_lab.data.quantile import QUANTILE_SETS, QuantileSet, load_quantile
from iokr_lab.data.uci import UCI_SETS, UCISet, load_uci
from iokr_lab.data.usps import USPS, load_usps

__all__ = [
    "ONTOLOGIES",
    "QUANTILE_SETS",
    "UCI_SETS",
    "USPS",
    "Curves",
    "Growth",
    "Inflection",
    "LabelRanking",
    "Lip",
    "MassBank",
    "MultiLabel",
    "NCICancer",
    "NIPSAuthors",
    "OCRLetters",
    "QuantileSet",
    "Spectra",
    "UCISet",
    "YeastGO",
    "YeastNetwork",
    "information_content",
    "label_ranking_sets",
    "load_dti",
    "load_gait",
    "load_growth",
    "load_inflection",
    "load_label_ranking",
    "load_lip",
    "load_massbank_msms",
    "load_msms_fp490",
    "load_multilabel",
    "load_nci_cancer",
    "load_nci_smiles",
    "load_nips_coauthorship",
    "load_ocr_letters",
    "load_qm9",
    "load_quantile",
    "load_uci",
    "load_usps",
    "load_weather",
    "load_yeast_go",
    "load_yeast_metabolic",
    "load_yeast_ppi",
    "write_massbank_files",
]
