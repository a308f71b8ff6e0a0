"""The squared loss, which has closed forms."""

from __future__ import annotations

from typing import ClassVar

from iokr._array import Array, row_sq_norms
from iokr._component import component
from iokr.losses.base import Loss

__all__ = ["Square"]


@component
class Square(Loss):
    """ℓ(h, ψ) = ½‖h − ψ‖².

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.losses import Square
    >>> Square().value(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0]]))
    array([2.])
    """

    quadratic: ClassVar[bool] = True
    homogeneity: ClassVar[tuple[int, int] | None] = (1, 2)

    def value(self, H: Array, Psi: Array) -> Array:
        """½‖h_i − ψ_i‖²."""
        return row_sq_norms(H - Psi) / 2

    def gradient(self, H: Array, Psi: Array) -> Array:
        """h_i − ψ_i."""
        return H - Psi
