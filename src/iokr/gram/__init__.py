"""Linear maps that kernels return; how a Gram matrix is stored is a detail of this folder."""

from iokr.gram.base import Gram
from iokr.gram.dense import DenseGram
from iokr.gram.kronecker import KroneckerGram

__all__ = ["DenseGram", "Gram", "KroneckerGram"]
