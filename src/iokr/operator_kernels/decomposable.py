"""𝒦(x, z) = k(x, z) A: one scalar kernel, one operator on the outputs."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from iokr._array import Array, asarray_like
from iokr._component import component
from iokr._validation import check_psd
from iokr.gram.base import Gram
from iokr.gram.operators import as_operator
from iokr.gram.scalar import ScalarGram
from iokr.gram.separable import SeparableGram
from iokr.kernels.base import Kernel
from iokr.operator_kernels.base import OperatorKernel

__all__ = ["Decomposable", "Separable"]


class Separable(OperatorKernel):
    """𝒦(x, z) = k(x, z) A, k = `kernel`: a subclass says what A is, in `around`."""

    kernel: Kernel

    @property
    def pairwise(self) -> bool:  # type: ignore[override]
        """Whether X is a Gram matrix."""
        return bool(getattr(self.kernel, "pairwise", False))

    @property
    def trusted(self) -> bool:  # type: ignore[override]
        """That of the scalar kernel."""
        return bool(getattr(self.kernel, "trusted", True))

    @property
    def domain(self) -> str:  # type: ignore[override]
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


@component
class Decomposable(Separable):
    """𝒦(x, z) = k(x, z) A.

    A says which outputs should go together: ‖h‖² = Σ_pq (A⁺)_pq ⟨h^p, h^q⟩_k, so h stays in the range of A.
    It acts on the coordinates of vector outputs, hence it is refused with an implicit output kernel unless A = aI.

    Parameters
    ----------
    kernel : Kernel
        Scalar kernel on the inputs.
    A : array of shape (q, q)
        Symmetric positive semi-definite, possibly singular.

    Attributes
    ----------
    kernel_ : Kernel
        The fitted scalar kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF
    >>> from iokr.operator_kernels import Decomposable
    >>> A = np.array([[1.0, 0.9], [0.9, 1.0]])
    >>> model = IOKR(Decomposable(RBF(), A), alpha=0.1).fit([[0.0], [1.0]], [[0.0, 0.1], [1.0, 0.9]])
    >>> model.predict([[0.5]]).shape
    (1, 2)
    """

    kernel: Kernel
    A: Any

    def fit(self, X: Any, Psi: Array | None = None) -> Decomposable:
        """Fit a clone of the kernel and check A against the outputs."""
        self._fit_scalar(X)
        self.A_ = check_psd(self.A, "A")
        if Psi is not None:  # None: implicit outputs, where the estimator has seen to A = aI
            if Psi.shape[1] != self.A_.shape[0]:
                raise ValueError(
                    f"`A` has shape {tuple(self.A_.shape)} but the outputs have {Psi.shape[1]} coordinates; "
                    f"it must be ({Psi.shape[1]}, {Psi.shape[1]})."
                )
            self.A_ = asarray_like(self.A_, Psi)
        return self

    @classmethod
    def of_fitted(cls, kernel: Kernel, A: Array) -> Decomposable:
        """k·A of a scalar kernel that is fitted, for an operator found after it; nothing is checked or copied."""
        made = cls(kernel, A)
        made.kernel_, made.A_ = kernel, A
        return made

    def around(self, K: ScalarGram) -> SeparableGram:
        """C ↦ K C A."""
        return SeparableGram(K, as_operator(self.A_))
