"""What a component outside this repository needs: base classes, `@component`, array functions, checks. Public.

A kernel, an embedding, a loss, a manifold, a decoder or a solver of yours is a class with one of these bases, in a file
of yours, that imports from here alone; `CONTRIBUTING.md` has an example of each that runs. Names stay what they are
between minor versions, as everything public does; the modules that they come from may move.
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
