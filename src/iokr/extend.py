"""What a component outside this repository needs: base classes, `@component`, array functions, checks. Public.

A custom kernel, embedding, loss, manifold, decoder or solver is a class with one of these bases that imports from this
module only. `CONTRIBUTING.md` and `docs/guide/extending.rst` have complete examples. The names are public and stable
between minor versions; the modules that they come from may move.
"""

from iokr._array import (
    Array,
    array_namespace,
    asarray_like,
    blocks,
    cholesky,
    eigh,
    gemm,
    is_array,
    is_numpy,
    is_sparse,
    matmul,
    row_sq_norms,
    take_rows,
    to_numpy,
)
from iokr._component import Component, component
from iokr._validation.arguments import check_choice, check_integer, check_number, check_stops, check_vectors
from iokr.decoders.base import Decoder
from iokr.embeddings.base import CoordinateEmbedding, Embedding, EuclideanEmbedding, KernelEmbedding
from iokr.gram.base import Gram
from iokr.kernels.base import FeatureKernel, Kernel, PairwiseKernel
from iokr.losses.base import Loss
from iokr.losses.radial import RadialLoss
from iokr.manifolds.base import Manifold
from iokr.operator_kernels.base import OperatorKernel
from iokr.problem import Problem, Solution
from iokr.solvers.base import Solver

__all__ = [
    "Array",
    "Component",
    "CoordinateEmbedding",
    "Decoder",
    "Embedding",
    "EuclideanEmbedding",
    "FeatureKernel",
    "Gram",
    "Kernel",
    "KernelEmbedding",
    "Loss",
    "Manifold",
    "OperatorKernel",
    "PairwiseKernel",
    "Problem",
    "RadialLoss",
    "Solution",
    "Solver",
    "array_namespace",
    "asarray_like",
    "blocks",
    "check_choice",
    "check_integer",
    "check_number",
    "check_stops",
    "check_vectors",
    "cholesky",
    "component",
    "eigh",
    "gemm",
    "is_array",
    "is_numpy",
    "is_sparse",
    "matmul",
    "row_sq_norms",
    "take_rows",
    "to_numpy",
]
