"""A given penalty matrix."""

from __future__ import annotations

from typing import Any

from iokr._array import Array, asarray_like
from iokr._component import component
from iokr._validation.matrices import check_psd
from iokr.gram.base import Gram
from iokr.manifolds.base import Manifold

__all__ = ["Given"]


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
