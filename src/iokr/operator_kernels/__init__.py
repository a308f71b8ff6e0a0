"""Operator-valued kernels 𝒦(x, z) ∈ L(F); a scalar kernel k stands for k·I as it is."""

from iokr.operator_kernels.base import OperatorKernel
from iokr.operator_kernels.decomposable import Decomposable

__all__ = ["Decomposable", "OperatorKernel"]
