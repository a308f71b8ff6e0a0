"""Kernel PCA of the outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, row_sq_norms, to_numpy
from iokr._component import component
from iokr._objects import take
from iokr.embeddings.base import as_vectors
from iokr.embeddings.eigen import SpectralEmbedding
from iokr.kernels.algebra import Centered
from iokr.kernels.base import Kernel
from iokr.kernels.vectors import Linear

__all__ = ["KernelPCA"]


@component
class KernelPCA(SpectralEmbedding):
    """z(y) = diag(w)^{-½} Qᵀ P (k_Y(y) − K_Y 1/n), P K_Y P = Q diag(w) Qᵀ, P = I − 11ᵀ/n: the leading components.

    Unlike `Eigen(rank)` it centres, and ‖z(y)‖² is measured along the components kept, as kernel dependency estimation
    compares candidates.

    Parameters
    ----------
    rank : int, default=None
        How many components to keep; None keeps all with a positive w.
    tol : float, default=None
        Drop eigenvalues up to tol · largest; None is n times the machine precision.

    Attributes
    ----------
    eigenvalues_ : array of shape (p,)
        The w kept, descending.

    Examples
    --------
    >>> from iokr.embeddings import KernelPCA
    >>> from iokr.kernels import Linear
    >>> Y = [[0.0, 0.0], [2.0, 0.1], [4.0, 0.0]]
    >>> KernelPCA(rank=1).fit_transform(Y, Linear().fit(Y)).shape
    (3, 1)
    """

    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """Z (n, p) with Z Zᵀ = P K_Y P when all components are kept."""
        kernel = Linear() if kernel is None else kernel
        known = Y if sample_weight is None else take(Y, np.flatnonzero(np.asarray(sample_weight) > 0))
        return super().fit_transform(Y, Centered(kernel).fit(as_vectors(known, kernel, "y")))

    def sq_norms(self, S: Any) -> Array:
        """‖z(y_j)‖²."""
        return row_sq_norms(self.coordinates(S, self._Q))

    def spread(self, S: Any, weight: np.ndarray) -> float:
        """Σ_i w_i ‖z(y_i) − mean‖²."""
        Z = to_numpy(self.coordinates(S, self._Q))
        return float(weight @ row_sq_norms(Z - weight @ Z / weight.sum()))
