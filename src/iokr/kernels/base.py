"""Scalar kernels by blocks, by pairs and by features, and their sums, products and multiples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add, mul
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from iokr._array import (
    Array,
    array_namespace,
    asarray_like,
    gemm,
    is_array,
    is_numpy,
    is_sparse,
    pivoted_cholesky,
    row_sq_norms,
    to_numpy,
    unwarned,
)
from iokr._component import Component, Limits, component
from iokr._system.memory import check_matrix
from iokr._validation.arguments import NOT_NEGATIVE, check_component, check_computed, check_home
from iokr._validation.matrices import check_psd
from iokr.data.objects import BadObject, Parts, as_objects, error_context, n_objects
from iokr.gram.features import FeatureGram, is_thin
from iokr.gram.scalar import ScalarGram

__all__ = [
    "BinaryKernel",
    "CompositeKernel",
    "FeatureKernel",
    "Kernel",
    "MemberKernel",
    "PairwiseKernel",
    "Product",
    "Scaled",
    "Sum",
    "UnitKernel",
    "WrappedKernel",
    "check_gram",
    "check_part",
    "fit_part",
]


class Kernel(Component, ABC):
    """k : X × X → ℝ, symmetric and positive semi-definite.

    A subclass writes `block` and `diag` on represented objects: `represent` may return anything that has `shape[0]` and
    can be sliced by rows. Kernels add, multiply and scale: `k1 + k2`, `k1 * k2`, `2.0 * k1`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import Kernel
    >>> class Minimum(Kernel):
    ...     def represent(self, X):
    ...         return np.asarray(X, dtype=float)
    ...     def block(self, R, S):
    ...         return np.minimum(R[:, None], S[None, :])
    ...     def diag(self, R):
    ...         return R
    >>> Minimum()([1.0, 2.0])
    array([[1., 1.],
           [1., 2.]])
    """

    domain: str = "any"  # the kind of objects: "vectors", "strings", ...
    trusted: bool = True  # positive semi-definite by construction; Gram matrices of other kernels are checked
    pairwise: bool = False  # whether X is the Gram matrix itself (`Precomputed()` only)
    # rows of a symmetric Gram matrix that are evaluated at a time: few where an entry is costly
    panel: int | None = None
    supervised: bool = False  # `fit(X, target)` also learns from the Gram of the outputs; `fixed()` keeps the result
    spans: bool = False  # whether h(x) lies in the span of the training outputs for every operator: operator kernels
    n_components: int | None = None  # the most features that an approximation computes; None for exact kernels
    widths: np.ndarray | None = None  # γ of each feature, (p,), for kernels with several

    @property
    def numeric(self) -> bool:
        """Whether objects are rows of numbers, in any array library, and the Gram matrix is in the same library."""
        return self.domain in ("vectors", "fingerprints")

    @property
    def scalar(self) -> Kernel | None:
        """k of the operator kernel k·A: the kernel itself, which acts as k·I."""
        return self

    @property
    def members(self) -> Sequence[Kernel]:
        """The kernels it is made of. May be overridden."""
        return ()

    @property
    def fitted_members(self) -> Sequence[Kernel]:
        """The fitted kernels it is made of. May be overridden."""
        return ()

    @property
    def terms(self) -> list[tuple[float, Kernel]]:
        """The fitted kernels of a weighted sum, with their weights. May be overridden."""
        return [(1.0, self)]

    @property
    def has_features(self) -> bool:
        """Whether k(x, z) = ⟨φ(x), φ(z)⟩ for rows φ(x) that `features` returns."""
        return type(self).features is not Kernel.features

    def features(self, X: Any) -> Any:
        """The (n, p) matrix of φ(x_i). May be overridden."""
        raise TypeError(f"{self!r:.60} has no features; approximate it by some: `Nystroem({self!r:.40})`.")

    def thin_features(self, R: Any) -> Array | None:
        """Φ of represented objects where `gram` may store K as ΦΦᵀ, else None. May be overridden, with `gram`."""
        return None

    @property
    def has_derivatives(self) -> bool:
        """Whether `derivative` is known: for some stationary kernels on numbers."""
        return type(self).derivative is not Kernel.derivative

    def derivative(self, points: np.ndarray, at: np.ndarray, order: int) -> np.ndarray:
        """∂^order k(s, t)/∂t^order for numbers, (n, m), order 1 or 2. May be overridden: stationary kernels."""
        raise ValueError(
            f"`derivative` is known for `RBF` and `Periodic` kernels on numbers, not for {self!r:.60}: use these."
        )

    def fit(self, X: Any) -> Kernel:
        """Check the parameters, and learn what depends on data (a bandwidth, a mean). May be overridden."""
        self.check_parameters()
        return self

    def represent(self, X: Any) -> Any:
        """Check and parse the objects, once. May be overridden."""
        return as_objects(X)

    @abstractmethod
    def block(self, R: Any, S: Any) -> Array:
        """The (n, m) array of k(x_i, z_j)."""

    @abstractmethod
    def diag(self, R: Any) -> Array:
        """The (n,) array of k(x_i, x_i)."""

    def gram(self, R: Any, S: Any = None) -> ScalarGram:
        """The map C ↦ K C. May be overridden: how K is stored."""
        return ScalarGram(self.block, R, S, self.diag, panel=self.panel)

    def coordinates(self, R: Any) -> Array:
        """V (n, r) with V Vᵀ = K: the objects in Euclidean coordinates. May be overridden."""
        K = self.gram(R).detach()
        V, _ = pivoted_cholesky(to_numpy(K), overwrite=isinstance(K, np.ndarray) and K.flags.c_contiguous)
        return asarray_like(V, K)

    def __call__(self, X: Any, Z: Any = None) -> Array:
        """The array of k(x_i, z_j); a kernel that is not fitted is fitted to X for this call."""
        _check_not_empty(X, "X")
        if Z is not None:
            _check_not_empty(Z, "Z")
        with error_context("X"):
            is_fitted = any(name.endswith("_") for name in vars(self))
            kernel = self if is_fitted else clone(self).fit(X)
            own = kernel.pairwise and Z is None  # X is the Gram matrix: its objects are the numbers of its rows
            R = kernel.represent(np.arange(n_objects(X)) if own else X)
        with error_context("Z"):
            S = R if Z is None else kernel.represent(Z)
        if kernel.numeric:
            _check_widths(R, S)
        copies = 1.0 if is_numpy(X) else 2.0
        check_matrix(R.shape[0], S.shape[0], R, copies)
        with unwarned():
            try:
                return check_computed(kernel.gram(R, None if Z is None else S).dense(), what="k(x, z)")
            except BadObject:  # an object with infinite k(x, x) is the one to name
                for name, objects in {"X": R, "Z": S}.items():
                    with error_context(name):
                        check_computed(kernel.diag(objects))
                raise

    def __add__(self, other: Any) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, other) if isinstance(other, (int, float)) else NotImplemented

    __rmul__ = __mul__


def _check_not_empty(objects: Any, name: str) -> None:
    if n_objects(objects, name) == 0:
        raise ValueError(f"`{name}` is empty; at least one object is needed.")


def _width(R: Any) -> int | None:
    """The number of columns of a matrix, None for other objects."""
    shape = tuple(getattr(R, "shape", ()))
    return int(shape[1]) if len(shape) == 2 else None


def _check_widths(R: Any, S: Any) -> None:
    """Vectors of the same length, at least one, in one array library."""
    if isinstance(R, Parts):
        for left, right in zip(R, S, strict=True):
            _check_widths(left, right)
        return
    p = _width(R)
    q = _width(S)
    if p == 0:
        raise ValueError("`X` has no columns: its objects have no entries.")
    if p != q:
        raise ValueError(f"`Z` has {q} columns but X has {p}; k(x, z) compares vectors of the same length.")
    check_home(R, S, "`X` and `Z`")


def check_gram(gram: ScalarGram, trusted: bool, name: str) -> None:
    """Reject a Gram matrix that overflows, or, unless trusted, is not positive semi-definite."""
    with unwarned():
        check_computed(gram.diagonal(), what=f"k(x, x) of `{name}`")
    if not trusted:
        check_matrix(*gram.shape, gram.diagonal(), 5.0, f"The check that `{name}` is positive semi-definite,")
        check_psd(gram.dense(), f"{name} (its Gram matrix)")


def check_part(kernel: Any, name: str) -> Kernel:
    """The kernel that another kernel is made of."""
    return check_component(kernel, Kernel, name, "kernels")  # type: ignore[type-abstract]


def fit_part(kernel: Any, name: str, X: Any) -> Any:
    """A fitted clone of the kernel that another kernel is made of."""
    return clone(check_part(kernel, name)).fit(X)


class MemberKernel(Kernel):
    """A kernel on objects made of members, or of pairs of them, that `base` compares."""

    base: Any

    @property
    def trusted(self) -> bool:  # type: ignore[override]
        """That of the kernel on members."""
        return check_part(self.base, "base").trusted

    def check_base(self, members: str) -> None:
        """Raise unless the base compares any `members`."""
        if check_part(self.base, "base").pairwise:
            raise ValueError(
                f"`base` must be a kernel between any {members}: use `Precomputed(matrix)`, not `Precomputed()`."
            )


class UnitKernel(Kernel):
    """A kernel with k(x, x) = 1."""

    def diag(self, R: Any) -> Array:
        """Ones."""
        if not isinstance(R, Parts):
            return np.ones(len(R))
        numbers = R.parts[-1]  # one for each object
        return array_namespace(numbers).ones_like(numbers)


class PairwiseKernel(Kernel):
    """k(x, z) for one pair at a time: a subclass writes `pair(x, z)` only.

    Examples
    --------
    >>> from iokr.kernels import PairwiseKernel
    >>> class Shared(PairwiseKernel):
    ...     def pair(self, x, z):
    ...         return len(set(x) & set(z))
    >>> Shared()(["ab", "bc"])
    array([[2., 1.],
           [1., 2.]])
    """

    @abstractmethod
    def pair(self, x: Any, z: Any) -> float:
        """k(x, z) as a number."""

    def block(self, R: Any, S: Any) -> Array:
        K = np.empty((len(R), len(S)))
        with unwarned():
            for i, x in enumerate(R):
                K[i] = [self.pair(x, z) for z in S]
        return K

    def diag(self, R: Any) -> Array:
        with unwarned():
            return np.array([self.pair(x, x) for x in R], dtype=np.float64)


class FeatureKernel(Kernel):
    """k(x, z) = ⟨φ(x), φ(z)⟩: a subclass writes `features(X)` only, dense or sparse rows φ(x_i).

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import FeatureKernel
    >>> class Lengths(FeatureKernel):
    ...     def features(self, X):
    ...         return np.array([[float(len(x))] for x in X])
    >>> Lengths()(["ab"], ["abc"])
    array([[6.]])
    """

    @abstractmethod
    def features(self, X: Any) -> Any:
        """The (n, p) matrix of φ(x_i)."""

    def represent(self, X: Any) -> Any:
        """φ(x_i), a row per object."""
        return self.features(X)

    def block(self, R: Any, S: Any) -> Array:
        """The (n, m) array of ⟨φ(x_i), φ(z_j)⟩."""
        return gemm(R, S)

    def diag(self, R: Any) -> Array:
        """The (n,) array of ‖φ(x_i)‖²."""
        return row_sq_norms(R)

    def gram(self, R: Any, S: Any = None) -> ScalarGram:
        """C ↦ Φ (Φᵀ C) where features are dense and fewer than objects. May be overridden."""
        return FeatureGram(R, S) if is_thin(R, S) else super().gram(R, S)

    def thin_features(self, R: Any) -> Array | None:
        """The features. May be overridden, with `gram`."""
        return R if is_array(R) else None

    def coordinates(self, R: Any) -> Array:
        """The features themselves, unless there are more of them than objects."""
        if is_sparse(R) or R.shape[1] > R.shape[0]:
            return super().coordinates(R)
        return R


# ---------------------------------------------------------------------------------------------- kernels of kernels


class CompositeKernel(Kernel):
    """A kernel made of other kernels: domain, trust and panels follow from theirs."""

    @property
    @abstractmethod
    def members(self) -> Sequence[Kernel]:
        """The kernels it is made of."""

    @property
    def domain(self) -> str:  # type: ignore[override]
        """That of the members, "any" where they differ."""
        domains = {k.domain for k in self.members}
        return domains.pop() if len(domains) == 1 else "any"

    @property
    def trusted(self) -> bool:  # type: ignore[override]
        """Whether all members are."""
        return all(k.trusted for k in self.members)

    @property
    def pairwise(self) -> bool:  # type: ignore[override]
        """Whether a member is `Precomputed()`."""
        return any(k.pairwise for k in self.members)

    def represent(self, X: Any) -> Any:
        """The representations of the fitted members. May be overridden."""
        return Parts(*(k.represent(X) for k in self.fitted_members))

    def block(self, R: Any, S: Any) -> Array:
        """The blocks of the members, combined. May be overridden."""
        with unwarned():
            return self.combined(k.block(r, s) for k, r, s in zip(self.fitted_members, R, S, strict=True))

    def diag(self, R: Any) -> Array:
        """The diagonals of the members, combined. May be overridden."""
        with unwarned():
            return self.combined(k.diag(r) for k, r in zip(self.fitted_members, R, strict=True))

    def combined(self, parts: Iterable[Array]) -> Array:
        """Blocks, or diagonals, of the members in one; by default their sum. May be overridden."""
        return reduce(add, parts)

    @property
    def panel(self) -> int | None:  # type: ignore[override]
        """The smallest of the members."""
        heights = [k.panel for k in self.members if k.panel is not None]
        return min(heights, default=None)


@component
class BinaryKernel(CompositeKernel):
    """A kernel made of two others."""

    left: Kernel
    right: Kernel

    @property
    def members(self) -> Sequence[Kernel]:
        """Both."""
        return [check_part(self.left, "left"), check_part(self.right, "right")]

    @property
    def fitted_members(self) -> Sequence[Kernel]:
        """Both, fitted."""
        return [self.left_, self.right_]

    def fit(self, X: Any) -> BinaryKernel:
        """Fit clones of both."""
        self.left_ = fit_part(self.left, "left", X)
        self.right_ = fit_part(self.right, "right", X)
        return self


@component
class Sum(BinaryKernel):
    """k(x, z) = left(x, z) + right(x, z); written `left + right`.

    Examples
    --------
    >>> from iokr.kernels import Linear
    >>> (Linear() + Linear())([[1.0]], [[2.0]])
    array([[4.]])
    """

    @property
    def terms(self) -> list[tuple[float, Kernel]]:
        """Those of both."""
        return [*self.left_.terms, *self.right_.terms]

    def gram(self, R: Parts, S: Parts | None = None) -> ScalarGram:
        """Features of both, one after the other, where both have few."""
        others = (None, None) if S is None else S.parts
        left = self.left_.gram(R.parts[0], others[0])
        right = self.right_.gram(R.parts[1], others[1])
        joined = left.joined(right)
        return super().gram(R, S) if joined is None else joined

    def thin_features(self, R: Parts) -> Array | None:
        """Those of both, one after the other."""
        left = self.left_.thin_features(R.parts[0])
        right = self.right_.thin_features(R.parts[1])
        if left is None or right is None:
            return None
        return array_namespace(left).concat([left, right], axis=1)


@component
class Product(BinaryKernel):
    """k(x, z) = left(x, z) · right(x, z); written `left * right`.

    Examples
    --------
    >>> from iokr.kernels import Linear
    >>> (Linear() * Linear())([[1.0]], [[2.0]])
    array([[4.]])
    """

    def combined(self, parts: Iterable[Array]) -> Array:
        """Their product."""
        return reduce(mul, parts)


@component
class WrappedKernel(CompositeKernel):
    """A kernel made of one other."""

    base: Kernel

    @property
    def members(self) -> Sequence[Kernel]:
        """The base."""
        return [check_part(self.base, "base")]

    @property
    def fitted_members(self) -> Sequence[Kernel]:
        """The base, fitted."""
        return [self.base_]

    def fit(self, X: Any) -> WrappedKernel:
        """Check the parameters, and fit a clone of the base."""
        self.check_parameters()
        self.base_ = fit_part(self.base, "base", X)
        return self

    def represent(self, X: Any) -> Any:
        """The base's representation. May be overridden."""
        return self.base_.represent(X)

    def block(self, R: Any, S: Any) -> Array:
        """That of the base. May be overridden."""
        return self.base_.block(R, S)

    def diag(self, R: Any) -> Array:
        """That of the base. May be overridden."""
        return self.base_.diag(R)


@component
class Scaled(WrappedKernel):
    """k(x, z) = factor · base(x, z); written `factor * base`.

    Examples
    --------
    >>> from iokr.kernels import Linear
    >>> (3.0 * Linear())([[1.0]], [[2.0]])
    array([[6.]])
    """

    factor: float = 1.0

    limits: ClassVar[Limits] = {"factor": NOT_NEGATIVE}

    @property
    def terms(self) -> list[tuple[float, Kernel]]:
        """Those of the base, times the factor."""
        return [(float(self.factor) * weight, kernel) for weight, kernel in self.base_.terms]

    def gram(self, R: Any, S: Any = None) -> ScalarGram:
        """√factor Φ where the base has few features."""
        scaled = self.base_.gram(R, S).scaled(self.factor)
        return super().gram(R, S) if scaled is None else scaled

    def thin_features(self, R: Any) -> Array | None:
        """√factor times those of the base."""
        Phi = self.base_.thin_features(R)
        return None if Phi is None else self.factor**0.5 * Phi

    def block(self, R: Any, S: Any) -> Array:
        with unwarned():
            return self.factor * self.base_.block(R, S)

    def diag(self, R: Any) -> Array:
        with unwarned():
            return self.factor * self.base_.diag(R)
