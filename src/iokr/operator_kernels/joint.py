"""Operator-valued kernels by the name of the joint kernel ⟨𝒦(x, x') ψ(y'), ψ(y)⟩ that they stand for."""

from __future__ import annotations

from typing import Any

from iokr._array import Array, array_namespace, asarray_like, eye_like, gemm
from iokr._validation import check_number
from iokr.kernels.base import Kernel
from iokr.operator_kernels.base import OperatorKernel
from iokr.operator_kernels.blocks import BlockKernel
from iokr.operator_kernels.decomposable import Decomposable

__all__ = ["diagonal_regularization", "tensor_product"]


def tensor_product(kernel: Kernel, A: Any = None) -> Kernel | OperatorKernel:
    """J((x, y), (x', y')) = k(x, x') ⟨y, A y'⟩: the operator-valued kernel k(x, x') A.

    Parameters
    ----------
    kernel : Kernel
        k, on the inputs.
    A : array of shape (q, q), default=None
        None is the identity, J = k(x, x') k_Y(y, y'), for any output kernel.

    Returns
    -------
    kernel : Kernel or Decomposable
        A scalar kernel k stands for k·I.

    Examples
    --------
    >>> from iokr.kernels import RBF
    >>> from iokr.operator_kernels import tensor_product
    >>> tensor_product(RBF(1.0))
    RBF(gamma=1.0)
    >>> tensor_product(RBF(1.0), [[1.0, 0.5], [0.5, 1.0]])
    Decomposable(A=[[1.0, 0.5], [0.5, 1.0]], kernel=RBF(gamma=1.0))
    """
    return kernel if A is None else Decomposable(kernel, A)


def diagonal_regularization(mix: float) -> BlockKernel:
    """J((x, y), (x', y')) = (1 − mix) ⟨x, x'⟩⟨y, y'⟩ + mix Σ_i x_i x'_i y_i y'_i: output i looks at input i first.

    The operator-valued kernel is 𝒦(x, x') = (1 − mix) ⟨x, x'⟩ I + mix diag(x ∘ x'), for outputs with as many
    coordinates as the inputs, for instance the pixels of an image and of its repair.

    Parameters
    ----------
    mix : float
        In [0, 1]: 0 is the tensor product of linear kernels, 1 a regression of each output on its own input.

    Returns
    -------
    kernel : BlockKernel

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.operator_kernels import diagonal_regularization
    >>> kernel = diagonal_regularization(0.5).fit(np.array([[1.0, 2.0]]))
    >>> kernel.gram(kernel.represent([[1.0, 2.0]])).flat.dense()
    array([[3. , 0. ],
           [0. , 4.5]])
    """
    if not 0 <= check_number(mix, "mix") <= 1:
        raise ValueError(f"`mix` must be between 0 and 1, got {mix!r}.")
    return BlockKernel(_Diagonal(float(mix)))


class _Diagonal:
    """(X, Z) ↦ (1 − mix) ⟨x, z⟩ I + mix diag(x ∘ z)."""

    def __init__(self, mix: float) -> None:
        self.mix = mix

    def __call__(self, X: Array, Z: Array) -> Array:
        X = X.toarray() if hasattr(X, "toarray") else X
        Z = Z.toarray() if hasattr(Z, "toarray") else Z
        Z = asarray_like(Z, X)
        xp = array_namespace(X)
        identity = eye_like(X.shape[1], X)
        shared = (1 - self.mix) * gemm(X, Z)[:, :, None, None] * identity
        own = self.mix * X[:, None, :] * Z[None, :, :]
        return xp.astype(shared + own[:, :, :, None] * identity, xp.float64)

    def __repr__(self) -> str:
        return f"diagonal_regularization({self.mix:g})"
