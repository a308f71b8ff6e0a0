"""k(x, ·)Sᵀ (S K Sᵀ)⁺ S k(·, z): an approximation of a kernel by sums of objects."""

from __future__ import annotations

from typing import Any

from iokr._component import component
from iokr.kernels.base import Kernel
from iokr.kernels.landmarks import SKETCH_LIMITS, SketchedLandmarks
from iokr.kernels.nystroem import ProjectedKernel

__all__ = ["Sketch"]


@component
class Sketch(ProjectedKernel):
    """k̂(x, z) = k(x, X)Sᵀ (S K Sᵀ)⁺ S k(X, z), S (r, n) sparse and random: the projection of k on r signed sums.

    Each feature is a signed sum of several training objects, p′ = 4r of them in all by default, so that features cost
    four times as many evaluations of k as with `Nystroem`, often for a small gain.

    Parameters
    ----------
    base : Kernel
        k.
    n_components : int, default=100
        r, the number of rows of S, at most the number of objects.
    density : float, default=None
        The fraction of entries of S that are not 0; larger takes more objects. None takes about 4r objects, 1 all
        objects, for small n.
    entries : {"signs", "normal"}, default="signs"
        ±1, or standard normal numbers.
    random_state : int, RandomState or None, default=None
        None is the same draw every time.

    Attributes
    ----------
    base_ : Kernel
        Fitted.
    pivots_ : ndarray of shape (p′,)
        Indices of the objects with an entry in S, among those at fit.
    error_ : float
        tr(K − K̂) / tr K on the objects at fit; K − K̂ is positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import RBF, Sketch
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> kernel = Sketch(RBF(1.0), n_components=10).fit(X)
    >>> kernel.features(X).shape, kernel.error_ < 1e-8
    ((200, 10), True)
    """

    base: Kernel
    n_components: int = 100
    density: float | None = None
    entries: str = "signs"
    random_state: Any = None

    limits = SKETCH_LIMITS

    def _choose(self, R: Any) -> SketchedLandmarks:
        return SketchedLandmarks(self.base_, R, self.n_components, self.density, self.entries, self.random_state)
