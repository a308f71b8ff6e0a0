"""Kernels projected on the span of some objects P, k(x, P) k(P, P)⁻¹ k(P, z), or of sums of objects."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from iokr._array import Array, gemm, row_sq_norms
from iokr._component import component
from iokr._validation.arguments import check_home
from iokr.data.objects import Parts
from iokr.gram.features import FeatureGram
from iokr.gram.scalar import ScalarGram
from iokr.kernels.base import Kernel, WrappedKernel
from iokr.kernels.landmarks import LANDMARK_LIMITS, SKETCH_LIMITS, FeatureMap, Landmarks, SketchedLandmarks

__all__ = ["Nystroem", "ProjectedKernel", "Sketch"]


class ProjectedKernel(WrappedKernel):
    """k̂(x, z) = ⟨φ(x), φ(z)⟩, the projection of k on the span of some objects: K̂ ≤ K.

    Objects are represented by their features and by the base, so that K − K̂ can be evaluated.
    """

    _map: FeatureMap

    def _stored(self) -> dict[str, Any]:
        return {"map": self._map}

    @abstractmethod
    def _choose(self, R: Any) -> FeatureMap:
        """φ from the represented objects at fit."""

    def fit(self, X: Any) -> ProjectedKernel:
        """Fit a clone of the base and choose P."""
        super().fit(X)
        if self.base_.pairwise:
            raise ValueError(
                f"`{type(self).__name__}` needs a kernel on objects; give the Gram matrix as `Precomputed(matrix)`."
            )
        self._map = self._choose(self.base_.represent(X))
        self._map.remember(X)
        self.pivots_, self.error_ = self._map.pivots, self._map.error
        return self

    def represent(self, X: Any) -> Parts:
        """φ(x_i), and the base's representation."""
        R = self.base_.represent(X)
        check_home(_first_part(R), _first_part(self._map.P), "`X` here and at `fit`")
        Phi = self._map.recall(X)
        return Parts(self._map.features(R) if Phi is None else Phi, R)

    def features(self, X: Any) -> Array:
        """φ(x_i), a row per object."""
        return self.represent(X).parts[0]

    def block(self, R: Parts, S: Parts) -> Array:
        """⟨φ(x_i), φ(z_j)⟩."""
        return gemm(R.parts[0], S.parts[0])

    def diag(self, R: Parts) -> Array:
        """‖φ(x_i)‖²."""
        return row_sq_norms(R.parts[0])

    def coordinates(self, R: Parts) -> Array:
        """The features."""
        return R.parts[0]

    def gram(self, R: Parts, S: Parts | None = None) -> ScalarGram:
        """C ↦ Φ (Φᵀ C)."""
        return FeatureGram(R.parts[0], None if S is None else S.parts[0])

    def thin_features(self, R: Parts) -> Array:
        """φ(x_i), a row per object."""
        return R.parts[0]


def _first_part(R: Any) -> Any:
    return R.parts[0] if isinstance(R, Parts) else R


@component
class Nystroem(ProjectedKernel):
    """k̂(x, z) = k(x, P) k(P, P)⁻¹ k(P, z), P at most `n_components` training objects: k projected on their span.

    An object has r ≤ `n_components` features, so that a model costs n·r² with `solver=LowRank()` and no n × n matrix is
    formed; everything else is exact for k̂. `error_` is the part of k that is left out; `model_selection.certify`
    bounds its effect on a fit. Leave-one-out keeps P fixed.

    Parameters
    ----------
    base : Kernel
        k.
    n_components : int, default=100
        The number of objects P at most; fewer if these represent all objects.
    tol : float, default=None
        Stop at `error_` ≤ tol, with the smallest r that reaches it; None takes `n_components` objects.
    pivots : {"random", "greedy", "uniform"}, default="random"
        "random": drawn with probability proportional to the residual k(x, x) − k̂(x, x) (randomly pivoted Cholesky);
        with the same `random_state` a smaller number takes the first of the same objects. "greedy" takes the largest
        residual each time, often an outlier. "uniform" draws all at once with equal probabilities.
    random_state : int, RandomState or None, default=None
        None is the same draw every time.

    Attributes
    ----------
    base_ : Kernel
        Fitted.
    pivots_ : ndarray of shape (r,)
        Indices of P among the objects at fit.
    error_ : float
        tr(K − K̂) / tr K on the objects at fit; K − K̂ is positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import RBF, Nystroem
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> kernel = Nystroem(RBF(1.0), n_components=10).fit(X)
    >>> kernel.error_ < 1e-8, bool(np.allclose(kernel(X), RBF(1.0)(X), atol=1e-5))
    (True, True)
    >>> len(Nystroem(RBF(1.0), tol=1e-3).fit(X).pivots_)
    4
    """

    base: Kernel
    n_components: int = 100
    tol: float | None = None
    pivots: str = "random"
    random_state: Any = None

    limits = LANDMARK_LIMITS

    def _choose(self, R: Any) -> Landmarks:
        return Landmarks(self.base_, R, self.n_components, self.tol, self.pivots, self.random_state)


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
