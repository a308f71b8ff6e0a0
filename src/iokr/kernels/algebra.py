"""Kernels of other kernels: means, normalised and centred ones, Gaussian and Tanimoto in their features.

Sums, products and multiples are in `base.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from iokr._array import (
    Array,
    array_namespace,
    asarray_like,
    blocks,
    gemm,
    is_array,
    is_sparse,
    row_sq_norms,
    take_rows,
    unwarned,
)
from iokr._component import Limits, component
from iokr._validation.arguments import POSITIVE, check_computed
from iokr.data.objects import Parts
from iokr.kernels.base import CompositeKernel, FeatureKernel, Kernel, UnitKernel, WrappedKernel, check_part

__all__ = ["Centered", "GaussianOf", "Mean", "Normalized", "SeveralKernels", "TanimotoOf"]


_PANEL = 1 << 22  # entries of the Gram matrix that are evaluated at a time for its means


@component
class SeveralKernels(CompositeKernel):
    """Several kernels on the same objects: the base of `Mean` and `Aligned`."""

    kernels: Sequence[Kernel]

    @property
    def members(self) -> Sequence[Kernel]:
        """The kernels."""
        if not isinstance(self.kernels, (list, tuple)):
            raise TypeError(f"`kernels` must be a list of kernels, got {self.kernels!r:.60}.")
        if len(self.kernels) == 0:
            raise ValueError("`kernels` is empty; at least one kernel is needed.")
        return [check_part(kernel, "kernels") for kernel in self.kernels]

    @property
    def fitted_members(self) -> Sequence[Kernel]:
        """The kernels, fitted."""
        return self.kernels_

    def fit(self, X: Any) -> SeveralKernels:
        """Fit a clone of each."""
        self.kernels_ = [clone(kernel).fit(X) for kernel in self.members]
        return self


@component
class Mean(SeveralKernels):
    """k(x, z) = (1/T) Σ_t k_t(x, z): several views of the same objects, with equal weights.

    Parameters
    ----------
    kernels : sequence of Kernel

    Examples
    --------
    >>> from iokr.kernels import Linear, Mean
    >>> Mean([Linear(), 3.0 * Linear()])([[1.0]], [[2.0]])
    array([[4.]])
    """

    def combined(self, parts: Iterable[Array]) -> Array:
        """Their mean."""
        return super().combined(parts) / len(self.kernels_)


@component
class Normalized(WrappedKernel):
    """k(x, z) = base(x, z) / √(base(x, x) base(z, z)): ψ scaled to unit length; 0 where ψ(x) = 0.

    Examples
    --------
    >>> from iokr.kernels import Linear, Normalized
    >>> Normalized(Linear())([[3.0]], [[2.0], [-5.0]])
    array([[ 1., -1.]])
    """

    def represent(self, X: Any) -> Parts:
        """The base's representation and 1/√base(x, x)."""
        R = self.base_.represent(X)
        squares = check_computed(self.base_.diag(R))
        xp = array_namespace(squares)
        return Parts(R, xp.where(squares > 0, 1 / xp.sqrt(xp.where(squares > 0, squares, 1.0)), 0.0))

    def block(self, R: Parts, S: Parts) -> Array:
        X, x_scale = R
        Z, z_scale = S
        return self.base_.block(X, Z) * x_scale[:, None] * z_scale[None, :]

    def diag(self, R: Parts) -> Array:
        """One, or zero where base(x, x) = 0."""
        scale = R.parts[1]
        xp = array_namespace(scale)
        return xp.astype(scale > 0, scale.dtype)

    def coordinates(self, R: Parts) -> Array:
        """Rows of the base's coordinates, scaled to unit length."""
        X, scale = R
        return self.base_.coordinates(X) * scale[:, None]


@component
class Centered(WrappedKernel):
    """k(x, z) = ⟨φ(x) − m, φ(z) − m⟩, m the mean of φ over the objects at fit.

    The mean is over the labelled rows of positive weight, each counted once: unlike that of `Identity(centered=True)`
    it does not depend on the sample weights.

    Examples
    --------
    >>> from iokr.kernels import Centered, Linear
    >>> Centered(Linear())([[0.0], [2.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    def fit(self, X: Any) -> Centered:
        """Fit a clone of the base and the mean."""
        super().fit(X)
        R = self.base_.represent(X)
        self.center_ = _mean_features(self.base_, R)
        if self.center_ is None:
            self.R_fit_ = R
            means = check_computed(self._means(R), what="the mean of k(x, ·)")
            self.mean_ = float(array_namespace(means).mean(means))  # ‖m‖²
        return self

    def represent(self, X: Any) -> Any:
        """φ(x) − m where features are known, else the base's representation and ⟨φ(x), m⟩."""
        R = self.base_.represent(X)
        if self.center_ is None:
            return Parts(R, check_computed(self._means(R), what="the mean of k(x, ·)"))
        return _about(R, self.center_)

    def block(self, R: Any, S: Any) -> Array:
        if self.center_ is not None:
            return gemm(R, S)
        X, x_means = R
        Z, z_means = S
        return self.base_.block(X, Z) - x_means[:, None] - z_means[None, :] + self.mean_

    def diag(self, R: Any) -> Array:
        if self.center_ is not None:
            return row_sq_norms(R)
        X, means = R
        return self.base_.diag(X) - 2 * means + self.mean_

    def _means(self, R: Any) -> Array:
        """⟨φ(x_i), m⟩, some rows at a time."""
        height = max(1, _PANEL // max(self.R_fit_.shape[0], 1))
        panels = (self.base_.block(take_rows(R, rows), self.R_fit_) for rows in blocks(R.shape[0], height))
        with unwarned():
            means = [array_namespace(K).mean(K, axis=1) for K in panels]
        return array_namespace(means[0]).concat(means)


def _mean_features(kernel: Kernel, R: Any) -> tuple[Array, Array] | None:
    """m as a sum of two parts, a float and its rounding error; None where features are not known or best kept sparse.

    Sparse features are subtracted from where they are far from 0: a difference of products would lose digits.
    """
    if not isinstance(kernel, FeatureKernel):
        return None
    if is_sparse(R):
        m = np.asarray(R.mean(axis=0)).ravel()
        if 2 * float(m @ m) <= float(np.mean(row_sq_norms(R))):
            return None
    elif is_array(R):
        m = array_namespace(R).mean(R, axis=0)
    else:
        return None
    return m, array_namespace(m).mean(_about(R, (m,)), axis=0)


def _about(R: Any, parts: tuple[Array, ...]) -> Array:
    """φ(x_i) − m, by the parts of m."""
    if is_sparse(R):
        R = R.toarray()
    for part in parts:
        R = R - asarray_like(part, R)[None, :]
    return R


class _WithSquares(UnitKernel, WrappedKernel):
    """A kernel from base(x, z), base(x, x) and base(z, z)."""

    def represent(self, X: Any) -> Parts:
        """The base's representation and base(x, x)."""
        R = self.base_.represent(X)
        return Parts(R, check_computed(self.base_.diag(R), room=4.0))


@component
class GaussianOf(_WithSquares):
    """k(x, z) = exp(−γ ‖φ(x) − φ(z)‖²) = exp(−γ (base(x, x) + base(z, z) − 2 base(x, z))), φ the features of `base`.

    `GaussianOf(Linear(), gamma)` is `RBF(gamma)`; for a normalised base such as `Tanimoto()` it is exp(−2γ(1 − base)).

    Parameters
    ----------
    base : Kernel
    gamma : float, default=1.0
        Larger is more local.

    Examples
    --------
    >>> from iokr.kernels import GaussianOf, Tanimoto
    >>> GaussianOf(Tanimoto(), gamma=1.0)([[1, 1, 0]], [[1, 0, 1], [1, 1, 0]]).round(4)
    array([[0.2636, 1.    ]])
    """

    gamma: float = 1.0

    limits: ClassVar[Limits] = {"gamma": POSITIVE}

    def block(self, R: Parts, S: Parts) -> Array:
        X, x_squares = R
        Z, z_squares = S
        with unwarned():
            squares = x_squares[:, None] + z_squares[None, :] - 2 * self.base_.block(X, Z)
            xp = array_namespace(squares)
            return xp.exp(-self.gamma * xp.clip(squares, min=0.0))


@component
class TanimotoOf(_WithSquares):
    """k(x, z) = b(x, z) / (b(x, x) + b(z, z) − b(x, z)) for a kernel b: the Tanimoto kernel in its features; 0/0 is 1.

    For features 0 and 1, as of `Paths(6)`, it is the number of shared features divided by the number of features of
    either. It is positive semi-definite for every b, as a sum Σ_t b(x, z)ᵗ / (b(x, x) + b(z, z))ᵗ of products of
    kernels. For vectors, `Tanimoto()` is `TanimotoOf(Linear())`.

    Parameters
    ----------
    base : Kernel

    Examples
    --------
    >>> from iokr.kernels import Spectrum, TanimotoOf
    >>> TanimotoOf(Spectrum(1))(["abc"], ["abd", "abc"])
    array([[0.5, 1. ]])
    """

    def block(self, R: Parts, S: Parts) -> Array:
        X, x_squares = R
        Z, z_squares = S
        both = self.base_.block(X, Z)
        either = x_squares[:, None] + z_squares[None, :] - both
        xp = array_namespace(both)
        empty = either <= 0
        one = xp.ones_like(both)
        return xp.where(empty, one, both / xp.where(empty, one, either))
