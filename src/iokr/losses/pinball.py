"""Asymmetric losses, with a different slope on each side: quantiles and expectiles."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, array_namespace, asarray_like
from iokr._component import component
from iokr._validation.arguments import check_numbers
from iokr.losses.base import Loss

__all__ = ["BoxLoss", "Boxes", "Expectile", "Pinball", "check_levels"]


_RAREST = float(np.finfo(float).tiny)  # 1/θ is finite


def check_levels(levels: Any, *, distinct: bool = True) -> np.ndarray:
    """Numbers strictly between 0 and 1; `distinct`: all different, as for the levels of one output."""
    values = np.atleast_1d(check_numbers(levels, "levels"))
    if values.ndim != 1 or values.size == 0 or not np.all((values >= _RAREST) & (values < 1)):
        raise ValueError(f"`levels` must lie strictly between 0 and 1, got {levels!r:.60}.")
    if distinct and len(np.unique(values)) < len(values):
        raise ValueError(f"`levels` must be distinct, got {levels!r:.60}.")
    return values


class BoxLoss(Loss):
    """ℓ(h, ψ) = Σ_j max(hi_j e_j, lo_j e_j), e = ψ − h, lo ≤ 0 ≤ hi: the dual is a quadratic over boxes w[lo, hi].

    A subclass defines `bounds`. `ADMM` solves such losses in the eigenbases of kernel and operator.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.losses import BoxLoss
    >>> class Absolute(BoxLoss):
    ...     def bounds(self, q):
    ...         return -np.ones(q), np.ones(q)
    >>> Absolute().value(np.zeros((2, 2)), np.array([[1.0, -2.0], [0.5, 0.0]]))
    array([3. , 0.5])
    """

    smooth: ClassVar[bool] = False
    entrywise: ClassVar[bool] = True
    boxes: ClassVar[bool] = True
    homogeneity: ClassVar[tuple[int, int] | None] = (1, 1)

    @abstractmethod
    def bounds(self, q: int) -> tuple[np.ndarray, np.ndarray]:
        """lo and hi of q outputs, (q,) each."""

    def _bounds(self, like: Array) -> tuple[Array, Array]:
        lo, hi = self.bounds(int(like.shape[1]))
        return asarray_like(lo, like)[None, :], asarray_like(hi, like)[None, :]

    def value(self, H: Array, Psi: Array) -> Array:
        """Σ_j max(hi_j e_j, lo_j e_j)."""
        xp = array_namespace(H)
        (lo, hi) = self._bounds(H)
        E = Psi - H
        return xp.sum(xp.where(E > 0, hi * E, lo * E), axis=1)

    def gradient(self, H: Array, Psi: Array) -> Array:
        """−hi_j below the target, −lo_j above it."""
        lo, hi = self._bounds(H)
        return array_namespace(H).where(Psi > H, -hi + 0.0 * H, -lo + 0.0 * H)

    def prox(self, Z: Array, Psi: Array, t: Array) -> Array:
        """z + clip(t(ψ − z), lo, hi)/t."""
        return Z + self._clip(t[:, None] * (Psi - Z), 1.0) / t[:, None]

    def _clip(self, W: Array, weight: Array | float) -> Array:
        xp = array_namespace(W)
        (lo, hi) = self._bounds(W)
        return xp.minimum(xp.maximum(W, weight * lo + 0.0 * W), weight * hi + 0.0 * W)

    def feasible(self, W: Array, Psi: Array, weight: Array) -> Array:
        """W clipped to w[lo, hi]."""
        return self._clip(W, weight[:, None])

    def dual(self, W: Array, Psi: Array, weight: Array) -> Array:
        """Σ_j W_j ψ_j."""
        return array_namespace(W).sum(W * Psi, axis=1)


@component
class Boxes(BoxLoss):
    """ℓ(h, ψ) = Σ_j max(hi_j e_j, lo_j e_j) with given bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.losses.pinball import Boxes
    >>> Boxes([0.0], [2.0]).value(np.array([[0.0], [3.0]]), np.ones((2, 1)))
    array([2., 0.])
    """

    lo: Any
    hi: Any

    def bounds(self, q: int) -> tuple[np.ndarray, np.ndarray]:
        """The given ones."""
        return np.asarray(self.lo, dtype=float), np.asarray(self.hi, dtype=float)


@component
class Pinball(BoxLoss):
    """ℓ(h, ψ) = Σ_j η_j max(θ_j e_j, (θ_j − 1) e_j), e = ψ − h: h_j estimates the quantile at level θ_j.

    Parameters
    ----------
    levels : float or sequence of float, default=0.5
        θ in (0, 1), one for all outputs or one for each; 0.5 is half the absolute error.
    weights : float or sequence of float, default=None
        η > 0, one for all outputs or one for each; None is ones.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.losses import Pinball
    >>> Pinball(0.9).value(np.array([[0.0], [2.0]]), np.ones((2, 1)))
    array([0.9, 0.1])
    """

    levels: Any = 0.5
    weights: Any = None

    def check(self, Psi: Array) -> None:
        """Levels in (0, 1) and positive weights, one or as many as outputs."""
        self.bounds(int(Psi.shape[1]))

    def bounds(self, q: int) -> tuple[np.ndarray, np.ndarray]:
        """η(θ − 1) and ηθ."""
        theta = check_levels(self.levels, distinct=False)
        eta = np.ones(1) if self.weights is None else np.atleast_1d(check_numbers(self.weights, "weights"))
        if eta.ndim != 1 or not np.all(eta > 0) or not np.all(np.isfinite(eta)):
            raise ValueError(f"`weights` must be positive numbers, one or one per output, got {eta!r:.60}.")
        for name, given in (("levels", theta), ("weights", eta)):
            if len(given) not in (1, q):
                raise ValueError(
                    f"`{name}` has {len(given)} entries but there are {q} outputs; give one, or one per output."
                )
        return np.broadcast_to(eta * (theta - 1), (q,)), np.broadcast_to(eta * theta, (q,))


@component
class Expectile(Loss):
    """ℓ(h, ψ) = ½ Σ_j a_j e_j², e = ψ − h, a = θ where e > 0 and 1 − θ elsewhere: smooth, unlike the pinball.

    Parameters
    ----------
    levels : float or sequence of float, default=0.5
        θ in (0, 1), one for all outputs or one for each; 0.5 is half the squared loss.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.losses import Expectile
    >>> Expectile(0.9).value(np.array([[0.0], [2.0]]), np.ones((2, 1)))
    array([0.45, 0.05])
    """

    levels: Any = 0.5

    entrywise: ClassVar[bool] = True
    homogeneity: ClassVar[tuple[int, int] | None] = (1, 2)

    def check(self, Psi: Array) -> None:
        """Levels in (0, 1), one or as many as outputs."""
        theta = check_levels(self.levels, distinct=False)
        q = int(Psi.shape[1])
        if len(theta) not in (1, q):
            raise ValueError(f"`levels` has {len(theta)} entries but there are {q} outputs; give one, or one each.")

    def _slopes(self, E: Array) -> Array:
        """θ where e > 0, else 1 − θ."""
        xp = array_namespace(E)
        theta = asarray_like(np.atleast_1d(np.asarray(self.levels, dtype=float)), E)[None, :]
        return xp.where(E > 0, theta + 0.0 * E, 1 - theta + 0.0 * E)

    def value(self, H: Array, Psi: Array) -> Array:
        """½ Σ_j a_j e_j²."""
        E = Psi - H
        return array_namespace(H).sum(self._slopes(E) * E * E, axis=1) / 2

    def gradient(self, H: Array, Psi: Array) -> Array:
        """−a_j e_j."""
        E = Psi - H
        return -self._slopes(E) * E

    def prox(self, Z: Array, Psi: Array, t: Array) -> Array:
        """(aψ + tz)/(a + t), a by the side of z."""
        a = self._slopes(Psi - Z)
        return (a * Psi + t[:, None] * Z) / (a + t[:, None])

    def feasible(self, W: Array, Psi: Array, weight: Array) -> Array:
        """W: the conjugate is finite everywhere."""
        return W

    def dual(self, W: Array, Psi: Array, weight: Array) -> Array:
        """Σ_j W_j ψ_j − W_j²/(2wa_j), a by the sign of W."""
        return array_namespace(W).sum(W * Psi - W * W / (2 * weight[:, None] * self._slopes(W)), axis=1)
