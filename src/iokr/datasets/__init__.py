"""Synthetic networks and graphs, small samples of every domain, and the folder of published data.

Nothing is downloaded: files are expected in `data_home()`, and errors name the missing ones.
"""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.datasets.blocks import make_blocks
    from iokr.datasets.communities import CommunityNetwork, make_communities
    from iokr.datasets.home import DataNotFound, data_files, data_home, find_data
    from iokr.datasets.samples import DOMAINS, sample

__all__ = [
    "DOMAINS",
    "CommunityNetwork",
    "DataNotFound",
    "data_files",
    "data_home",
    "find_data",
    "make_blocks",
    "make_communities",
    "sample",
]

__getattr__, __dir__ = lazy_names(__name__)
