"""ℓ : F × F → ℝ, convex in its first argument."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from iokr._array import Array
from iokr._component import Component

__all__ = ["Loss"]


class Loss(Component, ABC):
    """ℓ(h, ψ), one value per row.

    `quadratic` losses have closed forms; `smooth` ones a gradient everywhere; `calibrated` ones fix ‖h(x)‖, so that
    outputs may be ranked by distance.
    """

    quadratic: ClassVar[bool] = False
    smooth: ClassVar[bool] = True
    calibrated: ClassVar[bool] = True

    @abstractmethod
    def value(self, H: Array, Psi: Array) -> Array:
        """ℓ(h_i, ψ_i), shape (n,)."""

    @abstractmethod
    def gradient(self, H: Array, Psi: Array) -> Array:
        """∂ℓ/∂h at h_i, shape (n, q)."""
