"""Sums of operator-valued kernels."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from iokr._array import Array
from iokr._component import component
from iokr._objects import Parts
from iokr.gram.blocks import SumGram
from iokr.kernels.base import Kernel
from iokr.operator_kernels.base import OperatorKernel

__all__ = ["OperatorSum"]


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
    def domain(self) -> str:
        """That of the parts."""
        domains = [part.domain for part in (self.left, self.right)]
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
