"""Linear maps that kernels return; how a Gram matrix is stored is a detail of this folder."""

from iokr.gram.base import Gram
from iokr.gram.blocks import BlockGram, SumGram
from iokr.gram.features import FeatureGram
from iokr.gram.operators import IdentityMatrix, Multiple, Oblique, OutputOperator, Symmetric, as_array, as_operator
from iokr.gram.pairs.gram import PairGram
from iokr.gram.scalar import ScalarGram
from iokr.gram.separable import SeparableGram

__all__ = [
    "BlockGram",
    "FeatureGram",
    "Gram",
    "IdentityMatrix",
    "Multiple",
    "Oblique",
    "OutputOperator",
    "PairGram",
    "ScalarGram",
    "SeparableGram",
    "SumGram",
    "Symmetric",
    "as_array",
    "as_operator",
]
