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

    `weight` is μ ≥ 0: larger makes h vary less between neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import RBF
    >>> from iokr.manifolds import Laplacian, Manifold
    >>> isinstance(Laplacian(), Manifold)
    True
    >>> kernel = RBF(1.0).fit([[0.0], [1.0]])
    >>> R = kernel.represent([[0.0], [1.0]])
    >>> Laplacian().penalty(R, kernel.gram(R)).sum(axis=1)
    array([0., 0.])
    """

    weight: float

    @abstractmethod
    def penalty(self, R: Any, gram: Gram) -> Array:
        """L, shape (N, N), from the represented points and the Gram of the scalar input kernel."""
