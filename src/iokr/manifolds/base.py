"""(μ/2) Σ_ij L_ij ⟨h(x_i), h(x_j)⟩ over labelled, then unlabelled points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from iokr._array import Array
from iokr._component import Component
from iokr.gram.base import Gram

__all__ = ["Manifold"]


class Manifold(Component, ABC):
    """(μ/2) Σ_ij L_ij ⟨h(x_i), h(x_j)⟩, L symmetric positive semi-definite over all N points, labelled first.

    `strength` is μ ≥ 0: larger makes h vary less between neighbours.
    """

    strength: float

    @abstractmethod
    def penalty(self, R: Any, gram: Gram) -> Array:
        """L, shape (N, N), from the represented points and the Gram of the scalar input kernel."""
