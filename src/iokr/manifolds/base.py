"""(μ/2) Σ_ij L_ij ⟨h(x_i), h(x_j)⟩ over labelled, then unlabelled points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from iokr._array import Array, asarray_like
from iokr._component import Component, component
from iokr._validation.matrices import check_psd
from iokr.gram.base import Gram

__all__ = ["Given", "Manifold"]


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


@component
class Given(Manifold):
    """(μ/2) Σ_ij matrix_ij ⟨h(x_i), h(x_j)⟩ for any positive semi-definite matrix.

    Parameters
    ----------
    weight : float
        μ ≥ 0.
    matrix : array of shape (N, N)
        Over the labelled points, then the unlabelled ones, in the order of `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.manifolds import Given
    >>> Given(2.0, np.eye(2)).weight
    2.0
    """

    weight: float
    matrix: Any

    def penalty(self, R: Any, gram: Gram) -> Array:
        """The matrix, checked."""
        L = check_psd(self.matrix, "matrix")
        N = gram.shape[0]
        if L.shape[0] != N:
            raise ValueError(
                f"`matrix` of Given has shape {tuple(L.shape)} but there are {N} labelled and unlabelled points."
            )
        return asarray_like(L, gram.diagonal())
