"""Made networks and graphs, small seeded samples of every domain, and where published data is looked for.

Nothing is downloaded. Files are looked for in `data_home()`; what is not there is said in one line.
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
