"""𝒦(x, z) = k(x, z) A: what all such kernels take from k."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from iokr.gram.base import Gram
from iokr.kernels.base import Kernel
from iokr.operator_kernels.base import OperatorKernel

__all__ = ["Separable"]


class Separable(OperatorKernel):
    """𝒦(x, z) = k(x, z) A, k = `kernel`: a subclass says what A is, in `around`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import RBF
    >>> from iokr.operator_kernels import Decomposable
    >>> from iokr.operator_kernels.separable import Separable
    >>> kernel = Decomposable(RBF(1.0), np.eye(2))
    >>> isinstance(kernel, Separable), kernel.scalar
    (True, RBF(gamma=1.0))
    """

    kernel: Kernel

    @property
    def pairwise(self) -> bool:
        """Whether X is a Gram matrix."""
        return bool(getattr(self.kernel, "pairwise", False))

    @property
    def trusted(self) -> bool:  # type: ignore[override]
        """That of the scalar kernel."""
        return bool(getattr(self.kernel, "trusted", True))

    @property
    def domain(self) -> str:
        """The kind of inputs."""
        return str(getattr(self.kernel, "domain", "any"))

    @property
    def scalar(self) -> Kernel | None:
        """k."""
        return self.kernel

    def _fit_scalar(self, X: Any) -> None:
        """Fit a clone of k."""
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"`kernel` of {type(self).__name__} must be a scalar kernel, got {self.kernel!r:.60}.")
        self.kernel_ = clone(self.kernel).fit(X)

    def represent(self, X: Any) -> Any:
        """The scalar kernel's representation."""
        return self.kernel_.represent(X)

    def gram(self, R: Any, S: Any = None) -> Gram:
        """C ↦ K C A."""
        return self.around(self.kernel_.gram(R, S))
