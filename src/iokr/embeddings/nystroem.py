"""Coordinates of an output kernel on the span of some training outputs, or of sums of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from iokr._array import Array, asarray_like, row_sq_norms, take_rows, to_numpy
from iokr._component import component
from iokr.embeddings.base import CoordinateEmbedding
from iokr.kernels.base import Kernel
from iokr.kernels.landmarks import LANDMARK_LIMITS, SKETCH_LIMITS, FeatureMap, Landmarks, SketchedLandmarks

__all__ = ["Nystroem", "ProjectedEmbedding", "Sketch"]


class ProjectedEmbedding(CoordinateEmbedding):
    """z(y) = Wᵀ S k_Y(P, y): ψ(y) projected on the span of some training outputs, or of sums of them."""

    _map: FeatureMap

    def _stored(self) -> dict[str, Any]:
        return {"map": self._map, "training_coordinates": self._Z}

    @abstractmethod
    def _choose(self, S: Any) -> FeatureMap:
        """z from the represented outputs at fit."""

    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """Z (n, r), Z Zᵀ ≤ K_Y."""
        S = self._fit_kernel(Y, kernel)
        self._map = self._choose(S)
        self.pivots_ = self._map.pivots
        self.error_ = self._map.error
        self._Z = self._map.take_features()
        return self._Z

    def transform(self, Y: Any) -> Array:
        """z(y), a row per output."""
        return self._map.features(self.represent(Y))

    def coordinates(self, S: Any, like: Array) -> Array:
        """z(y_j)."""
        return asarray_like(self._map.features(S), like)

    def weights(self, H: Array) -> Array:
        """Weights on the training outputs, zero except on P."""
        on_pivots = to_numpy(self._map.weights(H))
        weights = np.zeros((on_pivots.shape[0], self.S_fit_.shape[0]))
        weights[:, self.pivots_] = on_pivots
        return asarray_like(weights, H)

    def left_out(self, weight: np.ndarray | None, groups: np.ndarray | None = None) -> float:
        """tr(K_Y − Z Zᵀ)/n, to be added to errors in coordinates for those in F, which are comparable between ranks."""
        return max(0.0, float(np.average(self._sq_outside(), weights=weight)))

    def outside(self) -> np.ndarray:
        """√(k_Y(y_i, y_i) − ‖z_i‖²)."""
        return np.asarray(np.sqrt(np.clip(self._sq_outside(), 0.0, None)))

    def _sq_outside(self) -> np.ndarray:
        return np.asarray(to_numpy(self.kernel_.diag(self.S_fit_)) - to_numpy(row_sq_norms(self._Z)))

    def span(self, B: Array) -> Array:
        """Weights on P of the projections of the ψ(y_i); zero on the other outputs."""
        return self.weights(B @ asarray_like(self._Z, B))

    def _combined(self, H: Array, Y: Array) -> Array:
        """h as a combination of the vectors in P."""
        return self._map.weights(H) @ asarray_like(take_rows(Y, self.pivots_), H)


@component
class Nystroem(ProjectedEmbedding):
    """z(y) = L⁻¹ k_Y(P, y), L Lᵀ = k_Y(P, P): ψ(y) projected on the span of `n_components` training outputs P.

    K_Y is never formed. For many training outputs, covariance operators and other losses: a problem has r ≤
    `n_components` columns, and a score costs 2r flops per candidate instead of 2n. ‖ψ(y)‖² of a candidate is k_Y(y, y).

    Parameters
    ----------
    n_components : int, default=100
        The number of outputs P at most; fewer if these represent all outputs.
    tol : float, default=None
        Stop at `error_` ≤ tol, with the smallest r that reaches it; None takes `n_components` outputs.
    pivots : {"random", "greedy", "uniform"}, default="random"
        How P is chosen, as in `kernels.Nystroem`.
    random_state : int, RandomState or None, default=None
        None is the same draw every time.

    Attributes
    ----------
    pivots_ : ndarray of shape (r,)
        Indices of P among the training outputs.
    error_ : float
        tr(K_Y − Z Zᵀ) / tr K_Y on the training outputs: the fraction of their squared norms that is left out.

    Examples
    --------
    >>> from iokr.embeddings import Nystroem
    >>> from iokr.kernels import Delta
    >>> embedding = Nystroem(n_components=5)
    >>> embedding.fit_transform(["a", "b", "a"], Delta().fit(["a", "b", "a"])).shape, embedding.error_
    ((3, 2), 0.0)
    """

    n_components: int = 100
    tol: float | None = None
    pivots: str = "random"
    random_state: Any = None

    limits = LANDMARK_LIMITS

    def _choose(self, S: Any) -> Landmarks:
        return Landmarks(self.kernel_, S, self.n_components, self.tol, self.pivots, self.random_state)


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
