"""Asymmetric squares: expectiles instead of means."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, array_namespace, asarray_like
from iokr._component import component
from iokr.losses.base import Loss
from iokr.losses.pinball import check_levels

__all__ = ["Expectile"]


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

    def dual(self, W: Array, Psi: Array, weight: Array) -> Array:
        """Σ_j W_j ψ_j − W_j²/(2wa_j), a by the sign of W."""
        return array_namespace(W).sum(W * Psi - W * W / (2 * weight[:, None] * self._slopes(W)), axis=1)
