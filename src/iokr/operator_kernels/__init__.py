"""Operator-valued kernels 𝒦(x, z) ∈ L(F); a scalar kernel k means k·I."""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.operator_kernels.base import OperatorKernel, OperatorProduct, OperatorSum
    from iokr.operator_kernels.blocks import BlockKernel, Transformable, diagonal_regularization
    from iokr.operator_kernels.covariance import ConditionalCovariance, Covariance
    from iokr.operator_kernels.decomposable import Decomposable, tensor_product

__all__ = [
    "BlockKernel",
    "ConditionalCovariance",
    "Covariance",
    "Decomposable",
    "OperatorKernel",
    "OperatorProduct",
    "OperatorSum",
    "Transformable",
    "diagonal_regularization",
    "tensor_product",
]

__getattr__, __dir__ = lazy_names(__name__)
