"""ε-insensitive losses, sparse in the training points."""

from __future__ import annotations

from typing import Any, ClassVar

from iokr._array import Array, array_namespace
from iokr._component import Limits, component
from iokr._validation.arguments import NOT_NEGATIVE, check_number
from iokr.losses.radial import RadialLoss, in_length

__all__ = ["EpsilonInsensitive", "EpsilonSquare", "Insensitive"]


@component
class EpsilonSquare(RadialLoss):
    """ℓ(h, ψ) = ½ max(‖h − ψ‖ − ε, 0)²: ε-ridge.

    Parameters
    ----------
    epsilon : float, default=0.1
        ε ≥ 0: errors up to ε have no loss, and their points have no coefficients in h; 0 is the squared loss.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.losses import EpsilonSquare
    >>> EpsilonSquare(1.0).value(np.array([[0.5], [3.0]]), np.zeros((2, 1)))
    array([0., 2.])
    """

    epsilon: float = 0.1

    limits: ClassVar[Limits] = {"epsilon": NOT_NEGATIVE}
    homogeneity: ClassVar[tuple[int, int] | None] = (1, 2)

    def in_units(self, s: float) -> EpsilonSquare:
        """ε/s."""
        return EpsilonSquare(in_length(self.epsilon, s, "epsilon"))

    def profile(self, r: Array) -> Array:
        """½ max(r − ε, 0)²."""
        return self.slope(r) ** 2 / 2

    def slope(self, r: Array) -> Array:
        """max(r − ε, 0)."""
        return array_namespace(r).clip(r - self.epsilon, min=0.0)

    def shrinkage(self, m: Array, t: Array) -> tuple[Array, Array]:
        """1 while m ≤ ε, else (ε + tm)/((1 + t)m)."""
        xp = array_namespace(m)
        near = m <= self.epsilon
        far = (self.epsilon + t * m) / ((1 + t) * xp.where(near, 1.0, m))
        return xp.where(near, 1.0, far), xp.where(near, 1.0, t / (1 + t))

    def conjugate(self, a: Array, weight: Array) -> Array:
        """a²/(2w) + εa."""
        return a * a / (2 * weight) + self.epsilon * a


@component
class EpsilonInsensitive(RadialLoss):
    """ℓ(h, ψ) = max(‖h − ψ‖ − ε, 0): ε-SVR with the Euclidean norm.

    Parameters
    ----------
    epsilon : float, default=0.1
        ε ≥ 0: errors up to ε have no loss; all other points have gradients of length one, so that the loss is robust,
        too.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(1.0).value(np.array([[0.5], [3.0]]), np.zeros((2, 1)))
    array([0., 2.])
    """

    epsilon: float = 0.1

    limits: ClassVar[Limits] = {"epsilon": NOT_NEGATIVE}
    smooth: ClassVar[bool] = False
    homogeneity: ClassVar[tuple[int, int] | None] = (1, 1)

    def in_units(self, s: float) -> EpsilonInsensitive:
        """ε/s."""
        return EpsilonInsensitive(in_length(self.epsilon, s, "epsilon"))

    def profile(self, r: Array) -> Array:
        """max(r − ε, 0)."""
        return array_namespace(r).clip(r - self.epsilon, min=0.0)

    def slope(self, r: Array) -> Array:
        """1 beyond ε, else 0."""
        return array_namespace(r).astype(r > self.epsilon, r.dtype)

    def shrinkage(self, m: Array, t: Array) -> tuple[Array, Array]:
        """1 while m ≤ ε, ε/m while m ≤ ε + 1/t, else 1 − 1/(tm)."""
        xp = array_namespace(m)
        free = m <= self.epsilon
        at_kink = m <= self.epsilon + 1 / t
        safe = xp.where(free, 1.0, m)
        tau = xp.where(at_kink, self.epsilon / safe, 1 - 1 / (t * safe))
        slope = xp.astype(~at_kink, m.dtype)
        return xp.where(free, 1.0, tau), xp.where(free, 1.0, slope)

    def reach(self, weight: Array) -> Array:
        """w."""
        return weight

    def conjugate(self, a: Array, weight: Array) -> Array:
        """εa, on a ≤ w."""
        return self.epsilon * a


@component
class Insensitive(RadialLoss):
    """ℓ(h, ψ) = φ((r − ε)₊), r = ‖h − ψ‖: errors up to ε have no loss, for any radial loss φ.

    It is the infimal convolution of φ with the ball of radius ε: `Insensitive(Huber(kappa), epsilon)` is ε-Huber, both
    robust and sparse in the training points.

    Parameters
    ----------
    base : RadialLoss
        φ; for the square see `EpsilonSquare`.
    epsilon : float, default=0.1
        ε ≥ 0; 0 is φ itself.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.losses import Huber, Insensitive
    >>> Insensitive(Huber(1.0), 0.5).value(np.array([[0.4], [1.0], [3.5]]), np.zeros((3, 1)))
    array([0.   , 0.125, 2.5  ])
    """

    base: Any
    epsilon: float = 0.1

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """That of φ."""
        self._check_base()
        return bool(self.base.smooth)

    def _check_base(self) -> None:
        if not isinstance(self.base, RadialLoss):
            raise TypeError(f"`base` must be a loss of ‖h − ψ‖ such as `Huber()`, got {self.base!r:.60}.")

    def check(self, Psi: Array) -> None:
        """φ radial, ε ≥ 0."""
        self._check_base()
        check_number(self.epsilon, "epsilon", minimum=0.0)
        self.base.check(Psi)

    @property
    def homogeneity(self) -> tuple[int, int] | None:  # type: ignore[override]  # derived here, a constant elsewhere
        """That of φ."""
        self._check_base()
        form: tuple[int, int] | None = self.base.homogeneity
        return form

    def in_units(self, s: float) -> Insensitive:
        """φ in these units, and ε/s."""
        return Insensitive(self.base.in_units(s), in_length(self.epsilon, s, "epsilon"))

    def _beyond(self, r: Array) -> Array:
        """(r − ε)₊."""
        return array_namespace(r).clip(r - self.epsilon, min=0.0)

    def profile(self, r: Array) -> Array:
        """φ((r − ε)₊)."""
        return self.base.profile(self._beyond(r))

    def slope(self, r: Array) -> Array:
        """φ'(r − ε) beyond ε, else 0."""
        return array_namespace(r).where(r > self.epsilon, self.base.slope(self._beyond(r)), 0.0)

    def shrinkage(self, m: Array, t: Array) -> tuple[Array, Array]:
        """1 while m ≤ ε, else (ε + the proximal point of φ at m − ε)/m."""
        xp = array_namespace(m)
        free = m <= self.epsilon
        beyond = self._beyond(m)
        tau, slope = self.base.shrinkage(beyond, t)
        moved = (self.epsilon + tau * beyond) / xp.where(free, 1.0, m)
        return xp.where(free, 1.0, moved), xp.where(free, 1.0, slope)

    def reach(self, weight: Array) -> Array | None:
        """That of φ."""
        return self.base.reach(weight)

    def conjugate(self, a: Array, weight: Array) -> Array:
        """(wφ)*(a) + εa."""
        return self.base.conjugate(a, weight) + self.epsilon * a
