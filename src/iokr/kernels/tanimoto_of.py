"""The Tanimoto kernel in the features of another kernel."""

from __future__ import annotations

from typing import Any

from iokr._array import Array, array_namespace
from iokr._component import component
from iokr._validation.arguments import check_computed
from iokr.data.objects import Parts
from iokr.kernels.base import WrappedKernel

__all__ = ["TanimotoOf"]


@component
class TanimotoOf(WrappedKernel):
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

    def represent(self, X: Any) -> Parts:
        """The representation by the base kernel, and b(x, x)."""
        R = self.base_.represent(X)
        return Parts(R, check_computed(self.base_.diag(R), room=4.0))

    def block(self, R: Parts, S: Parts) -> Array:
        X, x_squares = R
        Z, z_squares = S
        both = self.base_.block(X, Z)
        either = x_squares[:, None] + z_squares[None, :] - both
        xp = array_namespace(both)
        empty = either <= 0
        one = xp.ones_like(both)
        return xp.where(empty, one, both / xp.where(empty, one, either))

    def diag(self, R: Parts) -> Array:
        """Ones."""
        return array_namespace(R.parts[1]).ones_like(R.parts[1])
