"""Scalar kernels k(x, z), on inputs and on outputs, and what can be built from them."""

from iokr.kernels.algebra import Centered, Mean, Normalized, Product, Scaled, Sum
from iokr.kernels.base import FeatureKernel, Kernel, PairwiseKernel
from iokr.kernels.features import Features
from iokr.kernels.generic import Delta, FromFunction
from iokr.kernels.precomputed import Precomputed
from iokr.kernels.sets import Tanimoto
from iokr.kernels.vectors import RBF, Columns, Cosine, Laplacian, Linear, Polynomial

__all__ = [
    "RBF",
    "Centered",
    "Columns",
    "Cosine",
    "Delta",
    "FeatureKernel",
    "Features",
    "FromFunction",
    "Kernel",
    "Laplacian",
    "Linear",
    "Mean",
    "Normalized",
    "PairwiseKernel",
    "Polynomial",
    "Precomputed",
    "Product",
    "Scaled",
    "Sum",
    "Tanimoto",
]
