"""Shared parts over all parts, for any kernel."""

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

    Where features are 0 and 1, as with `Paths(6)`, the fraction of those of x and z that both have. Positive
    semi-definite for every b: Σ_t b(x, z)ᵗ / (b(x, x) + b(z, z))ᵗ, and 1/(s + s')ᵗ is a kernel of two numbers. For rows
    of numbers, `Tanimoto()` is `TanimotoOf(Linear())`.

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
        """The base's representation and b(x, x)."""
        R = self.base_.represent(X)
        return Parts(R, check_computed(self.base_.diag(R), room=4.0))

    def block(self, R: Parts, S: Parts) -> Array:
        (X, x_squares), (Z, z_squares) = R, S
        both = self.base_.block(X, Z)
        either = x_squares[:, None] + z_squares[None, :] - both
        xp = array_namespace(both)
        empty = either <= 0
        return xp.where(empty, xp.ones_like(both), both / xp.where(empty, xp.ones_like(both), either))

    def diag(self, R: Parts) -> Array:
        """Ones."""
        return array_namespace(R.parts[1]).ones_like(R.parts[1])
