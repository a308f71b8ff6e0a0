"""Linear maps that kernels return; how a Gram matrix is stored is a detail of this folder."""

from iokr.gram.base import Gram
from iokr.gram.blocks import BlockGram, SumGram
from iokr.gram.features import FeatureGram
from iokr.gram.kronecker import KroneckerGram
from iokr.gram.oblique import ObliqueGram
from iokr.gram.pairs.gram import PairGram
from iokr.gram.scalar import DenseGram

__all__ = ["BlockGram", "DenseGram", "FeatureGram", "Gram", "KroneckerGram", "ObliqueGram", "PairGram", "SumGram"]
