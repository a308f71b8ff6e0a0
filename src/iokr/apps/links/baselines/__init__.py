"""What predicted links are compared with: similarity of features, and regression of the kernel between nodes."""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.apps.links.baselines.base import LinkBaseline
    from iokr.apps.links.baselines.naive import Naive
    from iokr.apps.links.baselines.pkmr import PKMR

__all__ = ["PKMR", "LinkBaseline", "Naive"]

__getattr__, __dir__ = lazy_names(__name__)
