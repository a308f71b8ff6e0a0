"""The kernel trick for outputs: only k_Y is evaluated, never ψ(y)."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, gemm, is_numpy, matmul, pivoted_cholesky, to_numpy
from iokr._component import component
from iokr.embeddings.base import KernelEmbedding
from iokr.kernels.base import Kernel

__all__ = ["Implicit"]


@component
class Implicit(KernelEmbedding):
    """h(x) = Σ_i β_i(x) ψ(y_i): coordinates are the weights β on the training outputs, so Ψ = I.

    Exact for quadratic losses with A = aI. ⟨h(x), ψ(y)⟩ = β(x)ᵀ k_Y(y) and ‖h(x)‖² = β(x)ᵀ K_Y β(x).

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.kernels import Delta
    >>> IOKR(output_kernel=Delta()).fit([[0.0], [1.0]], ["a", "b"]).predict([[0.9]])
    array(['b'], dtype=object)
    """

    is_identity = True

    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """The identity: the weights of ψ(y_i) are those of row i."""
        S = self._fit_kernel(Y, kernel, 2.0 if is_numpy(Y) else 1.0, host=1.0)
        return np.eye(S.shape[0])

    def weights(self, H: Array) -> Array:
        """The coordinates themselves."""
        return H

    def inner(self, H: Array, S: Any) -> Array:
        """β_i · k_Y(y_j)."""
        return gemm(H, self._cross(S, H))

    def sq_norms_of(self, H: Array) -> Array:
        """β_iᵀ K_Y β_i."""
        xp = array_namespace(H)
        K = asarray_like(self.gram.dense(), H)
        return xp.sum(H * matmul(H, K), axis=1)

    def _paired(self, H: Array, S: Any) -> Array:
        return array_namespace(H).sum(H * self._cross(S, H), axis=1)

    def euclidean(self, Psi: Array) -> Array:
        """V with V Vᵀ = K_Y, by a pivoted Cholesky factorisation."""
        V, _ = pivoted_cholesky(to_numpy(self.gram.dense()))
        return asarray_like(V, Psi)

    def _combined(self, H: Array, Y: Array) -> Array:
        """Σ_i β_i y_i."""
        return H @ asarray_like(Y, H)
