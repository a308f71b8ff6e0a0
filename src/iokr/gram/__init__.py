"""Linear maps that kernels return; how a Gram matrix is stored is a detail of this folder."""

from iokr.gram.base import Gram
from iokr.gram.blocks import BlockGram, SumGram
from iokr.gram.dense import DenseGram
from iokr.gram.feature import FeatureGram
from iokr.gram.kronecker import KroneckerGram
from iokr.gram.oblique import ObliqueGram
from iokr.gram.pairs import PairGram

__all__ = ["BlockGram", "DenseGram", "FeatureGram", "Gram", "KroneckerGram", "ObliqueGram", "PairGram", "SumGram"]
