"""k(x, P) k(P, P)⁻¹ k(P, z): any kernel through a few of its objects, chosen by pivoted Cholesky."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, CholeskyFactor, asarray_like, take_rows, to_numpy
from iokr._component import component
from iokr._memory import check_matrix
from iokr._validation import check_computed, check_integer
from iokr.gram.features import FeatureGram
from iokr.gram.scalar import ScalarGram
from iokr.kernels.base import FeatureKernel, Kernel, fit_part

__all__ = ["Landmarks", "Nystroem"]


class Landmarks:
    """K ≈ V Vᵀ after `rank` steps of Cholesky with diagonal pivoting: the objects P whose columns were needed.

    Each step takes the object that is represented worst. K itself is never formed: n·rank evaluations of the kernel,
    n·rank² flops. `pivots` are the positions of P among the represented objects R, fewer when nothing is left;
    `error` is tr(K − V Vᵀ) / tr K, where tr(K − V Vᵀ) bounds every eigenvalue of K − V Vᵀ, positive semi-definite.
    """

    def __init__(self, kernel: Kernel, R: Any, rank: int) -> None:
        from scipy.linalg.blas import dgemv

        n = int(R.shape[0])
        check_matrix(n, min(rank, n), None, 2.0, "Columns of a kernel matrix")
        left = np.array(check_computed(to_numpy(kernel.diag(R))), dtype=np.float64)
        total, floor = float(left.sum()), n * np.finfo(float).eps * float(left.max(initial=0.0))
        V = np.zeros((n, min(rank, n)), order="F")
        pivots: list[int] = []
        for step in range(V.shape[1]):
            p = int(np.argmax(left))
            if not left[p] > floor:
                break
            column = to_numpy(kernel.block(R, take_rows(R, np.array([p]))))[:, 0]
            if step:  # SciPy's BLAS, as everywhere: see `_array.matmul`
                column = column - dgemv(1.0, V[:, :step], V[p, :step])
            column = column / np.sqrt(left[p])
            V[:, step] = column
            left -= column * column
            np.maximum(left, 0.0, out=left)
            left[p] = 0.0
            pivots.append(p)
        r = len(pivots)
        self.kernel, self.pivots = kernel, np.array(pivots, dtype=np.intp)
        self.error = float(left.sum()) / total if total > 0 else 0.0
        self._P = take_rows(R, self.pivots)
        self._L = np.tril(V[self.pivots, :r])

    def features(self, R: Any) -> Array:
        """φ(x) = L⁻¹ k(P, x) with L Lᵀ = k(P, P), a row per object."""
        B = self.kernel.block(R, self._P)
        return CholeskyFactor(asarray_like(self._L, B)).solve_lower(B.T).T

    def weights(self, H: Array) -> Array:
        """L⁻ᵀ h: coordinates h as weights on the objects of P, a row each."""
        return CholeskyFactor(asarray_like(self._L, H)).solve_lower(H.T, transpose=True).T


@component
class Nystroem(FeatureKernel):
    """k̂(x, z) = k(x, P) k(P, P)⁻¹ k(P, z), P at most `rank` training objects: the best fit of k on their span.

    P is found by Cholesky with pivoting. Features are rank numbers an object, so that a model costs n·rank² with
    `solver=LowRank()` and never forms an n × n matrix; everything else is exact for k̂. `error_` says what was left out.

    Parameters
    ----------
    base : Kernel
        k.
    rank : int, default=100
        How many objects at most; fewer when they represent all.

    Attributes
    ----------
    base_ : Kernel
        Fitted.
    pivots_ : ndarray of shape (r,)
        Positions of P among the objects at fit.
    error_ : float
        tr(K − K̂) / tr K on the objects at fit; K − K̂ is positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import RBF, Nystroem
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> kernel = Nystroem(RBF(1.0), rank=8).fit(X)
    >>> kernel.error_ < 1e-8, bool(np.allclose(kernel(X), RBF(1.0)(X), atol=1e-5))
    (True, True)
    """

    base: Kernel
    rank: int = 100

    @property
    def domain(self) -> str:  # type: ignore[override]
        """That of the base."""
        return str(getattr(self.base, "domain", "any"))

    @property
    def trusted(self) -> bool:  # type: ignore[override]
        """That of the base."""
        return bool(getattr(self.base, "trusted", True))

    def fit(self, X: Any) -> Nystroem:
        """Fit a clone of the base and choose P."""
        rank = check_integer(self.rank, "rank", minimum=1)
        self.base_ = fit_part(self.base, "base", X)
        if self.base_.pairwise:
            raise ValueError("`Nystroem` needs a kernel on objects; give the Gram matrix as `Precomputed(matrix)`.")
        self._landmarks = Landmarks(self.base_, self.base_.represent(X), rank)
        self.pivots_, self.error_ = self._landmarks.pivots, self._landmarks.error
        return self

    def features(self, X: Any) -> Array:
        """L⁻¹ k(P, x), L Lᵀ = k(P, P)."""
        return self._landmarks.features(self.base_.represent(X))

    def gram(self, R: Any, S: Any = None) -> ScalarGram:
        """C ↦ Φ (Φᵀ C)."""
        return FeatureGram(R, S)
