"""𝒦 : X × X → L(F), operator-valued kernels, and their sums and products."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, Self

from sklearn.base import clone

from iokr._array import Array, array_namespace
from iokr._component import Component, component
from iokr._validation.arguments import check_number
from iokr.data.objects import Parts
from iokr.gram.base import Gram
from iokr.gram.blocks import BlockGram, SumGram
from iokr.gram.scalar import ScalarGram
from iokr.kernels.base import Kernel

__all__ = ["OperatorKernel", "OperatorProduct", "OperatorSum", "is_factor"]


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

    explicit_outputs: bool = True  # acts on coordinates of the outputs, so that the embedding must have some
    spans: bool = False  # whether h(x) lies in the span of the training outputs for every operator
    domain: str = "any"  # the kind of inputs
    pairwise: bool = False  # whether X is a Gram matrix
    trusted: bool = True  # positive semi-definite by construction
    supervised: bool = False  # learns from the Gram of the outputs: scalar kernels only; operators have `adapt`
    isotropic: bool = False  # whether 𝒦 = a·k·I, which also acts on outputs without coordinates
    scalar: Kernel | None = None  # k of 𝒦 = k A, fitted if 𝒦 is; None where 𝒦 does not separate

    @property
    def numeric(self) -> bool:
        """Whether inputs are rows of numbers, in any array library, and the Gram is in the same library."""
        return self.domain in ("vectors", "fingerprints")

    def fit(self, X: Any, Psi: Array | None = None) -> OperatorKernel:
        """Learn what depends on inputs and outputs. May be overridden."""
        return self

    def adapt(self, gram: ScalarGram, Psi: Array | None, output_gram: ScalarGram | None, weight: Any) -> None:
        """Learn what depends on labelled inputs and outputs together. May be overridden.

        `gram` is that of the scalar kernel between the labelled points; `Psi` are the outputs in coordinates, or None
        if only `output_gram`, K_Y, is known; `weight` are their sample weights, or None.
        """

    def around(self, K: ScalarGram) -> Gram:
        """The Gram of 𝒦 = k A around that of its scalar kernel. May be overridden."""
        raise TypeError(f"{type(self).__name__} does not separate into a scalar kernel and an operator.")

    def __add__(self, other: Any) -> OperatorKernel:
        return OperatorSum(self, other) if isinstance(other, (OperatorKernel, Kernel)) else NotImplemented

    def __radd__(self, other: Any) -> OperatorKernel:
        return OperatorSum(other, self) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> OperatorKernel:
        return OperatorProduct(self, other) if _multiplies(other) else NotImplemented

    def __rmul__(self, other: Any) -> OperatorKernel:
        return OperatorProduct(other, self) if _multiplies(other) else NotImplemented

    @abstractmethod
    def represent(self, X: Any) -> Any:
        """Check and parse the objects, once."""

    @abstractmethod
    def gram(self, R: Any, S: Any = None) -> Gram:
        """The map C ↦ (Σ_j 𝒦(x_i, z_j) c_j)_i."""


def is_factor(other: Any) -> bool:
    """Whether it is a number that a kernel can be multiplied with."""
    return isinstance(other, Real) and not isinstance(other, bool)


def _multiplies(other: Any) -> bool:
    return isinstance(other, (OperatorKernel, Kernel)) or is_factor(other)


class _Pair(OperatorKernel):
    """Two kernels on the same inputs and outputs."""

    left: Any
    right: Any

    @property
    def trusted(self) -> bool:  # type: ignore[override]
        """Whether both kernels are."""
        return all(part.trusted for part in self._kernels)

    @property
    def domain(self) -> str:  # type: ignore[override]
        """That of the kernels."""
        domains = [part.domain for part in self._kernels]
        return next((domain for domain in domains if domain != "any"), "any")

    @property
    def _kernels(self) -> list[Kernel | OperatorKernel]:
        """Those of the two that are kernels, not numbers."""
        parts = {"left": self.left, "right": self.right}
        return [self._checked(part, name) for name, part in parts.items() if not is_factor(part)]

    def _checked(self, part: Any, name: str) -> Kernel | OperatorKernel:
        if isinstance(part, (OperatorKernel, Kernel)) and not part.pairwise and not part.spans:
            return part
        raise TypeError(
            f"`{name}` of a {self._what} must be a kernel or an operator kernel that does not depend on the outputs, "
            f"and no `Precomputed()`, got {part!r:.60}."
        )

    @property
    def _what(self) -> str:
        """ "sum" or "product"."""
        return type(self).__name__.removeprefix("Operator").lower()

    def fit(self, X: Any, Psi: Array | None = None) -> Self:
        """Fit both to the same inputs and outputs."""
        self.left_ = self._fit_part(self.left, "left", X, Psi)
        self.right_ = self._fit_part(self.right, "right", X, Psi)
        self._check_outputs(Psi)
        return self

    def _check_outputs(self, Psi: Array | None) -> None:
        """Store d. May be overridden."""
        if Psi is None:
            raise ValueError(f"A {self._what} of operator kernels needs vector outputs.")
        self.dim_ = int(Psi.shape[1])

    def _fit_part(self, part: Any, name: str, X: Any, Psi: Array | None) -> Any:
        """A fitted clone. May be overridden."""
        part = clone(self._checked(part, name))
        return part.fit(X, Psi) if isinstance(part, OperatorKernel) else part.fit(X)

    def represent(self, X: Any) -> Parts:
        """The representations of both; a number has that of the other."""
        left: Any = self.right_ if isinstance(self.left_, float) else self.left_
        right: Any = self.left_ if isinstance(self.right_, float) else self.right_
        return Parts(left.represent(X), right.represent(X))


@component
class OperatorSum(_Pair):
    """𝒦(x, z) = 𝒦₁(x, z) + 𝒦₂(x, z), written `left + right`; a scalar kernel k means k·I.

    k₁ A₁ + k₂ A₂ lets some combinations of the outputs vary faster than others. It does not separate, so that a fit
    solves a system of nd unknowns, as for `BlockKernel`.

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

    def gram(self, R: Any, S: Any = None) -> SumGram:
        """C ↦ G₁ C + G₂ C."""
        others = (None, None) if S is None else tuple(S)
        terms = [part.gram(a, b) for part, a, b in zip((self.left_, self.right_), R, others, strict=True)]
        return SumGram(terms, self.dim_)


@component
class OperatorProduct(_Pair):
    """𝒦(x, z) = 𝒦₁(x, z) ∘ 𝒦₂(x, z), entry by entry, written `left * right`, also with a scalar kernel or a number.

    A Schur product, hence positive semi-definite. k₁A₁ ∘ k₂A₂ is (k₁k₂)(A₁ ∘ A₂) and separable: `left * right` of two
    `Decomposable` is one. Others do not separate, so that a fit solves a system of nd unknowns, as for `BlockKernel`.

    Parameters
    ----------
    left, right : OperatorKernel, Kernel, or a positive number

    Attributes
    ----------
    left_, right_ : fitted kernels

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF
    >>> from iokr.operator_kernels import Decomposable, diagonal_regularization
    >>> kernel = RBF(0.1) * diagonal_regularization(0.5)
    >>> IOKR(kernel, alpha=0.1).fit([[0.0, 1.0], [1.0, 2.0]], [[0.0, 0.9], [1.1, 2.0]]).predict([[1.0, 1.0]]).shape
    (1, 2)
    >>> 2.0 * Decomposable(RBF(1.0), np.eye(2)) * Decomposable(RBF(0.5), np.ones((2, 2)))
    Decomposable(A=array([[1., 0.],
           [0., 1.]]),
                 kernel=Product(left=Scaled(base=RBF(gamma=1.0), factor=2.0),
                                right=RBF(gamma=0.5)))
    """

    left: Any
    right: Any

    def _fit_part(self, part: Any, name: str, X: Any, Psi: Array | None) -> Any:
        if is_factor(part):
            return check_number(part, name, minimum=0.0, strict=True)
        return super()._fit_part(part, name, X, Psi)

    def _check_outputs(self, Psi: Array | None) -> None:
        if not any(isinstance(part, OperatorKernel) for part in (self.left_, self.right_)):
            raise TypeError("`left` or `right` of a product of operator kernels must be an operator kernel.")
        super()._check_outputs(Psi)

    def _block(self, R: Any, S: Any) -> Array:
        left: Array = self._factor(self.left_, R.parts[0], S.parts[0])
        return left * self._factor(self.right_, R.parts[1], S.parts[1])

    def _factor(self, part: Any, R: Any, S: Any) -> Any:
        """𝒦(x_i, z_j), (n, m, d, d); a number or (n, m, 1, 1) for factors of a whole block."""
        if isinstance(part, float):
            return part
        if isinstance(part, Kernel):
            return part.gram(R, S).dense()[:, :, None, None]
        flat = SumGram([part.gram(R, S)], self.dim_).flat.dense()  # K ⊗ A where it separates
        xp, d = array_namespace(flat), self.dim_
        return xp.permute_dims(xp.reshape(flat, (flat.shape[0] // d, d, flat.shape[1] // d, d)), (0, 2, 1, 3))

    def gram(self, R: Any, S: Any = None) -> BlockGram:
        """C ↦ (Σ_j 𝒦(x_i, z_j) c_j)_i."""
        return BlockGram(self._block, R, S, self.dim_)
