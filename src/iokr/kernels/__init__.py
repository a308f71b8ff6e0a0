"""Scalar kernels k(x, z), on inputs and on outputs, and what can be built from them."""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.kernels.algebra import Centered, GaussianOf, Mean, Normalized, TanimotoOf
    from iokr.kernels.alignment import Aligned
    from iokr.kernels.base import FeatureKernel, Kernel, PairwiseKernel, Product, Scaled, Sum
    from iokr.kernels.curves import L2, Periodic, Pointwise, Warped
    from iokr.kernels.features import Columns, EmpiricalMap, Features
    from iokr.kernels.fourier import Fourier
    from iokr.kernels.generic import Delta, FromFunction
    from iokr.kernels.nodes import Diffusion, NodeKernel, RegularizedLaplacian
    from iokr.kernels.nystroem import Nystroem, Sketch
    from iokr.kernels.pairs import CartesianPair, MetricPair, MixedPair, PairKernel, TensorPair
    from iokr.kernels.precomputed import Precomputed
    from iokr.kernels.spectra import CosineBinned, ProbabilityProduct
    from iokr.kernels.spectra_metadata import Categories, CollisionEnergy, Formula, Mass
    from iokr.kernels.standardized import Standardized
    from iokr.kernels.structured.bags import SetKernel
    from iokr.kernels.structured.grakel import GraKeL
    from iokr.kernels.structured.graphs import ShortestPath, WeisfeilerLehman
    from iokr.kernels.structured.paths import Paths
    from iokr.kernels.structured.rankings import Kendall, Mallows, Spearman, order_ranks
    from iokr.kernels.structured.sequences import Positional
    from iokr.kernels.structured.series import GlobalAlignment
    from iokr.kernels.structured.sets import Hamming, Jaccard, Tanimoto
    from iokr.kernels.structured.strings import Mismatch, Spectrum
    from iokr.kernels.structured.subsequences import Subsequence
    from iokr.kernels.structured.trees import Subtree
    from iokr.kernels.subformulas import Subformulas
    from iokr.kernels.vectors import ARD, RBF, Cosine, Laplacian, Linear, Polynomial

__all__ = [
    "ARD",
    "L2",
    "RBF",
    "Aligned",
    "CartesianPair",
    "Categories",
    "Centered",
    "CollisionEnergy",
    "Columns",
    "Cosine",
    "CosineBinned",
    "Delta",
    "Diffusion",
    "EmpiricalMap",
    "FeatureKernel",
    "Features",
    "Formula",
    "Fourier",
    "FromFunction",
    "GaussianOf",
    "GlobalAlignment",
    "GraKeL",
    "Hamming",
    "Jaccard",
    "Kendall",
    "Kernel",
    "Laplacian",
    "Linear",
    "Mallows",
    "Mass",
    "Mean",
    "MetricPair",
    "Mismatch",
    "MixedPair",
    "NodeKernel",
    "Normalized",
    "Nystroem",
    "PairKernel",
    "PairwiseKernel",
    "Paths",
    "Periodic",
    "Pointwise",
    "Polynomial",
    "Positional",
    "Precomputed",
    "ProbabilityProduct",
    "Product",
    "RegularizedLaplacian",
    "Scaled",
    "SetKernel",
    "ShortestPath",
    "Sketch",
    "Spearman",
    "Spectrum",
    "Standardized",
    "Subformulas",
    "Subsequence",
    "Subtree",
    "Sum",
    "Tanimoto",
    "TanimotoOf",
    "TensorPair",
    "Warped",
    "WeisfeilerLehman",
    "order_ranks",
]

__getattr__, __dir__ = lazy_names(__name__)
