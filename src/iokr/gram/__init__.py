"""Linear maps that kernels return, for all ways of storing a Gram matrix."""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.gram.base import Gram
    from iokr.gram.blocks import BlockGram, SumGram
    from iokr.gram.features import FeatureGram
    from iokr.gram.pairs.gram import PairGram
    from iokr.gram.scalar import ScalarGram
    from iokr.gram.separable import SeparableGram

__all__ = ["BlockGram", "FeatureGram", "Gram", "PairGram", "ScalarGram", "SeparableGram", "SumGram"]

__getattr__, __dir__ = lazy_names(__name__)
