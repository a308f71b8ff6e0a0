"""Coordinates of an output kernel on the span of sums of training outputs."""

from __future__ import annotations

from typing import Any

from iokr._component import component
from iokr.embeddings.nystroem import ProjectedEmbedding
from iokr.kernels.landmarks import SKETCH_LIMITS, SketchedLandmarks

__all__ = ["Sketch"]


@component
class Sketch(ProjectedEmbedding):
    """z(y) = Wᵀ S k_Y(y), W Wᵀ = (S K_Y Sᵀ)⁺, S (r, n) sparse and random: ψ(y) projected on r sums of outputs.

    k_Y is evaluated with about 4r training outputs for each new one. ‖ψ(y)‖² of a candidate is k_Y(y, y). With Z as the
    targets of any regressor this is the sketched variant of deep structured prediction.

    Parameters
    ----------
    n_components : int, default=100
        r, the number of rows of S, at most the number of outputs.
    density : float, default=None
        The fraction of entries of S that are not 0. None takes about 4r outputs, 1 all of them.
    entries : {"signs", "normal"}, default="signs"
        ±1, or standard normal numbers.
    random_state : int, RandomState or None, default=None
        None is the same draw every time.

    Attributes
    ----------
    pivots_ : ndarray of shape (p′,)
        Indices of the training outputs with an entry in S.
    error_ : float
        tr(K_Y − Z Zᵀ) / tr K_Y on the training outputs: the fraction of their squared norms that is left out.

    Examples
    --------
    >>> from iokr.embeddings import Sketch
    >>> from iokr.kernels import Delta
    >>> Sketch(n_components=2).fit_transform(["a", "b", "a"], Delta().fit(["a", "b", "a"])).shape
    (3, 2)
    """

    n_components: int = 100
    density: float | None = None
    entries: str = "signs"
    random_state: Any = None

    limits = SKETCH_LIMITS

    def _choose(self, S: Any) -> SketchedLandmarks:
        return SketchedLandmarks(self.kernel_, S, self.n_components, self.density, self.entries, self.random_state)
