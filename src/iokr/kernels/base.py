"""The three shapes of a scalar kernel: blocks, pairs, features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import clone

from iokr._array import Array, array_namespace, asarray_like, gemm, is_sparse, pivoted_cholesky, row_sq_norms, to_numpy
from iokr._component import Component
from iokr._objects import as_objects
from iokr._validation import check_psd
from iokr.gram.scalar import ScalarGram

__all__ = ["FeatureKernel", "Kernel", "PairwiseKernel", "check_gram", "fit_part"]


class Kernel(Component, ABC):
    """k : X × X → ℝ, symmetric and positive semi-definite.

    A subclass writes `block` and `diag` on represented objects: whatever `represent` returns, as long as it has
    `shape[0]` and can be sliced by rows. Kernels add, multiply and scale: `k1 + k2`, `k1 * k2`, `2.0 * k1`.

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

    domain: str = "any"  # "vectors", "strings", ...: the objects it takes
    trusted: bool = True  # known to be positive semi-definite; what the user brings is checked
    panel: int | None = None  # rows of a symmetric Gram matrix at a time: few where an entry costs much
    supervised: bool = False  # `fit(X, target)` learns from the Gram of the outputs, too

    @property
    def pairwise(self) -> bool:
        """Whether X is the Gram matrix itself (`Precomputed()` alone)."""
        return False

    def fit(self, X: Any) -> Kernel:
        """Learn what depends on data (a bandwidth, a vocabulary, a mean). May be overridden."""
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
        """The array of k(x_i, z_j); a kernel that was not fitted learns from X for this call."""
        k = self if any(name.endswith("_") for name in vars(self)) else clone(self).fit(X)
        R = k.represent(np.arange(len(X)) if k.pairwise and Z is None else X)
        return k.gram(R, None if Z is None else k.represent(Z)).dense()

    def __add__(self, other: Any) -> Kernel:
        from iokr.kernels.algebra import Sum

        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        from iokr.kernels.algebra import Product, Scaled

        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, other) if isinstance(other, (int, float)) else NotImplemented

    def __rmul__(self, other: Any) -> Kernel:
        return self.__mul__(other)


def check_gram(gram: ScalarGram, trusted: bool, name: str) -> None:
    """Refuse a Gram matrix that overflows, or, unless trusted, is not positive semi-definite."""
    diagonal = gram.diagonal()
    xp = array_namespace(diagonal)
    if not bool(xp.all(xp.isfinite(diagonal))):
        raise ValueError(f"`{name}` overflows on these objects: k(x, x) is not finite; scale the data.")
    if not trusted:
        check_psd(gram.dense(), f"{name} (its Gram matrix)")


def fit_part(kernel: Any, name: str, X: Any) -> Any:
    """A fitted clone of the kernel that another kernel is made of."""
    if not isinstance(kernel, Kernel):
        raise TypeError(f"`{name}` must be a component of `iokr.kernels`, got {kernel!r:.60}.")
    return clone(kernel).fit(X)


class PairwiseKernel(Kernel):
    """k(x, z) one pair at a time: write `pair(x, z)`, the loops are written for you.

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
        """The (n, m) array of k(x_i, z_j)."""
        return np.array([[self.pair(x, z) for z in S] for x in R], dtype=np.float64).reshape(len(R), len(S))

    def diag(self, R: Any) -> Array:
        """The (n,) array of k(x_i, x_i)."""
        return np.array([self.pair(x, x) for x in R], dtype=np.float64)


class FeatureKernel(Kernel):
    """k(x, z) = ⟨φ(x), φ(z)⟩: write `features(X)`, dense or sparse rows φ(x_i).

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

    def coordinates(self, R: Any) -> Array:
        """The features themselves, unless they are longer than the objects are many."""
        return super().coordinates(R) if is_sparse(R) or R.shape[1] > R.shape[0] else R
