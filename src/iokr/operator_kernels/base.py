"""𝒦 : X × X → L(F), an operator on the outputs for every pair of inputs, and sums of such kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from sklearn.base import clone

from iokr._array import Array
from iokr._component import Component, component
from iokr._objects import Parts
from iokr.gram.base import Gram
from iokr.gram.blocks import SumGram
from iokr.gram.scalar import ScalarGram
from iokr.kernels.base import Kernel

__all__ = ["OperatorKernel", "OperatorSum"]


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
    domain: str = "any"  # the kind of inputs
    pairwise: bool = False  # whether X is a Gram matrix
    trusted: bool = True  # known to be positive semi-definite

    @property
    def numeric(self) -> bool:
        """Whether inputs are rows of numbers, in any array library, and the Gram follows them there."""
        return self.domain in ("vectors", "fingerprints")

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
        return OperatorSum(self, other) if isinstance(other, (OperatorKernel, Kernel)) else NotImplemented

    def __radd__(self, other: Any) -> OperatorKernel:
        return OperatorSum(other, self) if isinstance(other, Kernel) else NotImplemented

    @abstractmethod
    def represent(self, X: Any) -> Any:
        """Check and parse the objects, once."""

    @abstractmethod
    def gram(self, R: Any, S: Any = None) -> Gram:
        """The map C ↦ (Σ_j 𝒦(x_i, z_j) c_j)_i."""


@component
class OperatorSum(OperatorKernel):
    """𝒦(x, z) = 𝒦₁(x, z) + 𝒦₂(x, z), written `left + right`; a scalar kernel k stands for k·I.

    k₁ A₁ + k₂ A₂ lets some combinations of the outputs vary faster than others. A sum of two different products does
    not separate, so a fit solves a system of nd unknowns, as for `BlockKernel`.

    Parameters
    ----------
    left, right : OperatorKernel or Kernel

    Attributes
    ----------
    left_, right_ : fitted kernels

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF, Linear
    >>> from iokr.operator_kernels import Decomposable
    >>> kernel = Decomposable(Linear(), np.ones((2, 2))) + Decomposable(RBF(1.0), np.eye(2))
    >>> IOKR(kernel, alpha=0.1).fit([[0.0], [1.0], [2.0]], [[0.0, 0.1], [1.0, 0.9], [2.0, 2.2]]).predict([[3.0]]).shape
    (1, 2)
    """

    left: Any
    right: Any

    @property
    def trusted(self) -> bool:  # type: ignore[override]
        """Whether both are."""
        return all(bool(getattr(part, "trusted", True)) for part in (self.left, self.right))

    @property
    def domain(self) -> str:  # type: ignore[override]
        """That of the parts."""
        domains = [str(getattr(part, "domain", "any")) for part in (self.left, self.right)]
        return next((domain for domain in domains if domain != "any"), "any")

    def fit(self, X: Any, Psi: Array | None = None) -> OperatorSum:
        """Fit both to the same inputs and outputs."""
        fitted = []
        for name in ("left", "right"):
            part = getattr(self, name)
            if not isinstance(part, (OperatorKernel, Kernel)) or part.pairwise or getattr(part, "spans", False):
                raise TypeError(
                    f"`{name}` of a sum must be a kernel or an operator kernel that does not depend on the outputs, "
                    f"and no `Precomputed()`, got {part!r:.60}."
                )
            fitted.append(clone(part).fit(X, Psi) if isinstance(part, OperatorKernel) else clone(part).fit(X))
        self.left_, self.right_ = fitted
        if Psi is None:
            raise ValueError("A sum of operator kernels needs vector outputs.")
        self.dim_ = int(Psi.shape[1])
        return self

    def represent(self, X: Any) -> Parts:
        """What each part sees of the objects."""
        return Parts(self.left_.represent(X), self.right_.represent(X))

    def gram(self, R: Any, S: Any = None) -> SumGram:
        """C ↦ G₁ C + G₂ C."""
        others = (None, None) if S is None else tuple(S)
        terms = [part.gram(a, b) for part, a, b in zip((self.left_, self.right_), R, others, strict=True)]
        return SumGram(terms, self.dim_)
