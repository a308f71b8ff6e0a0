"""𝒦 : X × X → L(F), an operator on the outputs for every pair of inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from iokr._array import Array
from iokr._component import Component
from iokr.gram.base import Gram
from iokr.gram.scalar import ScalarGram
from iokr.kernels.base import Kernel

__all__ = ["OperatorKernel"]


class OperatorKernel(Component, ABC):
    """𝒦(x, z) with 𝒦(x, z) = 𝒦(z, x)ᵀ and Σ_ij ⟨c_i, 𝒦(x_i, x_j) c_j⟩ ≥ 0; h(x) = Σ_i 𝒦(x, x_i) c_i.

    Estimators use it as they use a scalar kernel: `fit`, `represent`, `gram`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import Linear
    >>> from iokr.operator_kernels import Decomposable, OperatorKernel
    >>> kernel = Decomposable(Linear(), np.diag([1.0, 2.0])).fit([[1.0], [3.0]])
    >>> isinstance(kernel, OperatorKernel)
    True
    >>> kernel.gram(kernel.represent([[1.0]])) @ np.ones((1, 2))
    array([[1., 2.]])
    """

    explicit_outputs: bool = True  # acts on coordinates that the user gave, so ψ must be explicit
    spans: bool = False  # h(x) is a combination of the training outputs whatever the operator

    trusted: bool = True

    @property
    def pairwise(self) -> bool:
        """Whether X is a Gram matrix."""
        return False

    @property
    @abstractmethod
    def domain(self) -> str:
        """The kind of inputs."""

    def fit(self, X: Any, Psi: Array | None = None) -> OperatorKernel:
        """Learn what depends on inputs and outputs. May be overridden."""
        return self

    def adapt(self, gram: ScalarGram, Psi: Array | None, output_gram: ScalarGram | None, weight: Any) -> None:
        """Learn what depends on labelled inputs and outputs together. May be overridden.

        `gram` is that of the scalar kernel between the labelled points; `Psi` are the outputs in coordinates, or None
        where only `output_gram`, K_Y, is known; `weight` their sample weights or None.
        """

    def around(self, K: ScalarGram) -> Gram:
        """The Gram of 𝒦 = k A around that of its scalar kernel. May be overridden."""
        raise TypeError(f"{type(self).__name__} does not separate into a scalar kernel and an operator.")

    @property
    def scalar(self) -> Kernel | None:
        """The scalar kernel k of 𝒦 = k A, None where 𝒦 does not separate. May be overridden."""
        return None

    def __add__(self, other: Any) -> OperatorKernel:
        from iokr.operator_kernels.algebra import OperatorSum

        return OperatorSum(self, other) if isinstance(other, (OperatorKernel, Kernel)) else NotImplemented

    def __radd__(self, other: Any) -> OperatorKernel:
        from iokr.operator_kernels.algebra import OperatorSum

        return OperatorSum(other, self) if isinstance(other, Kernel) else NotImplemented

    @abstractmethod
    def represent(self, X: Any) -> Any:
        """Check and parse the objects, once."""

    @abstractmethod
    def gram(self, R: Any, S: Any = None) -> Gram:
        """The map C ↦ (Σ_j 𝒦(x_i, z_j) c_j)_i."""
