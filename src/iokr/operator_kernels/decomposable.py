"""𝒦(x, z) = k(x, z) A: one scalar kernel, one operator on the outputs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone

from iokr._array import Array, asarray_like, to_numpy
from iokr._component import component
from iokr._validation.matrices import check_psd
from iokr.data.frames import read
from iokr.gram.base import Gram
from iokr.gram.operators import as_operator
from iokr.gram.scalar import ScalarGram
from iokr.gram.separable import SeparableGram
from iokr.kernels.base import Kernel
from iokr.operator_kernels.base import OperatorKernel, is_factor

__all__ = ["Decomposable", "Separable", "tensor_product"]


class Separable(OperatorKernel):
    """𝒦(x, z) = k(x, z) A, k = `kernel`: a subclass defines A, by `around`."""

    kernel: Kernel
    kernel_: Kernel | None = None

    @property
    def pairwise(self) -> bool:  # type: ignore[override]
        """Whether X is a Gram matrix."""
        return self._given.pairwise

    @property
    def trusted(self) -> bool:  # type: ignore[override]
        """That of the scalar kernel."""
        return self._given.trusted

    @property
    def domain(self) -> str:  # type: ignore[override]
        """The kind of inputs."""
        return self._given.domain

    @property
    def scalar(self) -> Kernel:  # type: ignore[override]
        """k, fitted if 𝒦 is."""
        return self._given if self.kernel_ is None else self.kernel_

    @property
    def _given(self) -> Kernel:
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"`kernel` of {type(self).__name__} must be a scalar kernel, got {self.kernel!r:.60}.")
        return self.kernel

    def __mul__(self, other: Any) -> OperatorKernel:
        if isinstance(other, Kernel) or is_factor(other):
            return self._with_kernel(self.kernel * other)
        return super().__mul__(other)

    def __rmul__(self, other: Any) -> OperatorKernel:
        if isinstance(other, Kernel) or is_factor(other):
            return self._with_kernel(other * self.kernel)
        return super().__rmul__(other)

    def _with_kernel(self, kernel: Kernel) -> Self:
        changed: Self = clone(self).set_params(kernel=kernel)
        return changed

    def represent(self, X: Any) -> Any:
        """The scalar kernel's representation."""
        return self.scalar.represent(X)

    def gram(self, R: Any, S: Any = None) -> Gram:
        """C ↦ K C A."""
        return self.around(self.scalar.gram(R, S))


@component
class Decomposable(Separable):
    """𝒦(x, z) = k(x, z) A.

    A couples the outputs: ‖h‖² = Σ_pq (A⁺)_pq ⟨h^p, h^q⟩_k, and h lies in the range of A. It acts on the coordinates of
    vector outputs; with an implicit output kernel only A = aI is valid.

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

    @property
    def isotropic(self) -> bool:  # type: ignore[override]
        """Whether A = a·I."""
        A = np.asarray(to_numpy(self.A), dtype=float)
        return A.ndim == 2 and A.shape[0] == A.shape[1] and np.array_equal(A, A[0, 0] * np.eye(A.shape[0]))

    def __mul__(self, other: Any) -> OperatorKernel:
        if not isinstance(other, Decomposable):
            return super().__mul__(other)
        A = check_psd(self.A, "A")
        B = check_psd(other.A, "A")
        if A.shape != B.shape:
            raise ValueError(f"Two operators of shapes {tuple(A.shape)} and {tuple(B.shape)} have no product.")
        return Decomposable(self.kernel * other.kernel, A * asarray_like(B, A))

    def fit(self, X: Any, Psi: Array | None = None) -> Decomposable:
        """Fit a clone of the kernel and check A against the outputs."""
        self.kernel_ = clone(self._given).fit(X)
        self.A_ = check_psd(self.A, "A")
        if Psi is not None:  # None for implicit outputs, for which the estimator has checked that A = aI
            if Psi.shape[1] != self.A_.shape[0]:
                raise ValueError(
                    f"`A` has shape {tuple(self.A_.shape)} but the outputs have {Psi.shape[1]} coordinates; "
                    f"it must be ({Psi.shape[1]}, {Psi.shape[1]})."
                )
            self.A_ = asarray_like(self.A_, Psi)
        return self

    @classmethod
    def of_fitted(cls, kernel: Kernel, A: Array) -> Decomposable:
        """k·A of a fitted scalar kernel, for an operator that is computed later; nothing is checked or copied."""
        made = cls(kernel, A)
        made.kernel_ = kernel
        made.A_ = A
        return made

    def around(self, K: ScalarGram) -> SeparableGram:
        """C ↦ K C A."""
        return SeparableGram(K, as_operator(self.A_))


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
        A scalar kernel k means k·I.

    Examples
    --------
    >>> from iokr.kernels import RBF
    >>> from iokr.operator_kernels import tensor_product
    >>> tensor_product(RBF(1.0))
    RBF(gamma=1.0)
    >>> tensor_product(RBF(1.0), [[1.0, 0.5], [0.5, 1.0]])
    Decomposable(A=[[1.0, 0.5], [0.5, 1.0]], kernel=RBF(gamma=1.0))
    """
    return kernel if A is None else Decomposable(kernel, read(A))
