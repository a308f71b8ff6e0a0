"""A Gaussian kernel with a width for each feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from iokr._array import (
    Array,
    array_namespace,
    asarray_like,
    exp_,
    is_sparse,
    row_sq_norms,
    scaled_sq_distances,
    to_numpy,
    unwarned,
)
from iokr._component import component
from iokr._validation.arguments import check_computed, check_numbers, check_vectors
from iokr.data.objects import Parts
from iokr.kernels.base import UnitKernel
from iokr.kernels.vectors import ROOM, median_gamma

__all__ = ["ARD"]


@component
class ARD(UnitKernel):
    """k(x, z) = exp(−Σ_l γ_l (x_l − z_l)²): automatic relevance determination, a width for each feature.

    `model_selection.tune` finds the widths by gradients; a feature whose γ ends near 0 plays no role. With equal widths
    this is `RBF`.

    Parameters
    ----------
    gammas : sequence of float, float, or None, default=None
        γ_l ≥ 0: a larger one gives feature l more weight. A number is for all features; None takes the median rule of
        `RBF` for all.

    Attributes
    ----------
    gammas_ : array of shape (p,)
        The γ in use.

    Examples
    --------
    >>> from iokr.kernels import ARD
    >>> ARD([1.0, 0.0])([[0.0, 5.0]], [[1.0, 9.0], [0.0, 7.0]]).round(4)
    array([[0.3679, 1.    ]])
    """

    gammas: Any = None

    domain = "vectors"

    @property
    def widths(self) -> np.ndarray | None:
        """γ of each feature."""
        return self.gammas_

    def fit(self, X: Any) -> ARD:
        """Check the widths and fix a centre, about which distances are computed with less cancellation."""
        X = check_vectors(X)
        check_computed(row_sq_norms(X), "Row", "‖x‖²", room=ROOM)
        self.gammas_ = _widths(median_gamma(X) if self.gammas is None else self.gammas, int(X.shape[1]))
        if is_sparse(X):  # columns that are mostly 0 are not moved, so that rows stay sparse
            often = 2 * X.count_nonzero(axis=0) > X.shape[0]
            self.center_ = np.where(often, np.ravel(X.sum(axis=0)) / max(X.shape[0], 1), 0.0)
        else:
            self.center_ = to_numpy(array_namespace(X).mean(X, axis=0))
        return self

    def represent(self, X: Any) -> Parts:
        """√γ_l (x_l − mean_l), and the squared norms."""
        R = check_vectors(X)
        if int(R.shape[1]) != len(self.gammas_):
            raise ValueError(f"X has {int(R.shape[1])} features, but `gammas` has {len(self.gammas_)}.")
        root = np.sqrt(self.gammas_)
        if is_sparse(R) and 2 * np.count_nonzero(self.center_) > len(root):
            R = R.toarray()
        with unwarned():
            if is_sparse(R):
                moved = R - csr_array(np.ones((R.shape[0], 1))) @ csr_array(self.center_[None, :])
                R = (moved @ diags_array(root)).tocsr()
            else:
                R = (R - asarray_like(self.center_, R)[None, :]) * asarray_like(root, R)[None, :]
            norms = row_sq_norms(R)
        check_computed(norms, "Row", "Σ γ_l x_l²", room=ROOM)
        return Parts(R, norms)

    def block(self, R: Parts, S: Parts) -> Array:
        X, x_norms = R
        Z, z_norms = S
        return exp_(scaled_sq_distances(X, x_norms, Z, z_norms, -1.0))


def _widths(gammas: Any, p: int) -> np.ndarray:
    """γ for each of p features."""
    values = check_numbers(gammas, "gammas")
    if values.shape not in ((), (p,)):
        raise ValueError(f"`gammas` has shape {values.shape} but X has {p} features; give one for each.")
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ValueError(f"`gammas` must be finite numbers of at least 0, got {gammas!r:.60}.")
    return np.broadcast_to(values, (p,)).copy()
