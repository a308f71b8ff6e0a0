"""Data: files that users have, and small seeded samples of every domain.

Nothing is downloaded. Files are looked for in `data_home()`; what is not there is said in one line.
"""

from iokr.datasets.home import DataNotFound, data_files, data_home, find_data
from iokr.datasets.multilabel import MultiLabel, load_multilabel
from iokr.datasets.samples import DOMAINS, sample
from iokr.datasets.usps import USPS, load_usps

__all__ = [
    "DOMAINS",
    "USPS",
    "DataNotFound",
    "MultiLabel",
    "data_files",
    "data_home",
    "find_data",
    "load_multilabel",
    "load_usps",
    "sample",
]
