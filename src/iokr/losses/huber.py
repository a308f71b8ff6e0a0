"""Quadratic near the target, linear far from it."""

from __future__ import annotations

from typing import ClassVar

from iokr._array import Array, array_namespace
from iokr._component import Limits, component
from iokr._validation.arguments import POSITIVE
from iokr.losses.radial import RadialLoss, in_length

__all__ = ["Huber"]


@component
class Huber(RadialLoss):
    """ℓ(h, ψ) = r²/2 if r ≤ κ, else κ(r − κ/2), with r = ‖h − ψ‖.

    The gradient has at most length κ, so that outliers have little influence.

    Parameters
    ----------
    kappa : float, default=1.0
        κ > 0: the distance from which on the loss is linear; a large κ is the squared loss.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.losses import Huber
    >>> Huber(1.0).value(np.array([[0.5], [3.0]]), np.zeros((2, 1)))
    array([0.125, 2.5  ])
    """

    kappa: float = 1.0

    limits: ClassVar[Limits] = {"kappa": POSITIVE}
    reweighted: ClassVar[bool] = True
    homogeneity: ClassVar[tuple[int, int] | None] = (1, 2)

    def in_units(self, s: float) -> Huber:
        """κ/s."""
        return Huber(in_length(self.kappa, s, "kappa"))

    def profile(self, r: Array) -> Array:
        """min(r, κ)(r − min(r, κ)/2)."""
        near = array_namespace(r).clip(r, max=self.kappa)
        return near * (r - near / 2)

    def slope(self, r: Array) -> Array:
        """min(r, κ)."""
        return array_namespace(r).clip(r, max=self.kappa)

    def shrinkage(self, m: Array, t: Array) -> tuple[Array, Array]:
        """t/(1+t) while m ≤ κ(1 + 1/t), else 1 − κ/(tm)."""
        xp = array_namespace(m)
        near = m <= self.kappa * (1 + 1 / t)
        fraction = t / (1 + t)
        far = 1 - self.kappa / (t * xp.where(near, 1.0, m))
        return xp.where(near, fraction, far), xp.where(near, fraction, 1.0)

    def reach(self, weight: Array) -> Array:
        """wκ."""
        return weight * self.kappa

    def conjugate(self, a: Array, weight: Array) -> Array:
        """a²/(2w), on a ≤ wκ."""
        return a * a / (2 * weight)
