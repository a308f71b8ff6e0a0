"""ℓ : F × F → ℝ, convex in its first argument."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from iokr._array import Array
from iokr._component import Component

__all__ = ["Loss"]


class Loss(Component, ABC):
    """ℓ(h, ψ), one value per row.

    `quadratic` losses have closed forms; `smooth` ones a gradient everywhere; `calibrated` ones fix ‖h(x)‖, so that
    outputs may be ranked by distance. A smooth loss needs no more than `value` and `gradient`: `LBFGS` solves it, and
    bounds how far it is from the minimum. One with kinks, or a sharper certificate, asks for `prox` and `dual`, from
    which `ADMM` solves it with the duality gap. `radial` ones depend on ‖h − ψ‖ alone; those with a `box_dual` suit
    `CoordinateDescent`, those that can be `reweighted` `IRLS`. `entrywise` ones need outputs that are vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.losses import Loss, Square
    >>> isinstance(Square(), Loss), Square.quadratic
    (True, True)
    >>> Square().gradient(np.array([[2.0]]), np.array([[1.0]]))
    array([[1.]])
    """

    quadratic: ClassVar[bool] = False
    smooth: ClassVar[bool] = True
    calibrated: ClassVar[bool] = True
    radial: ClassVar[bool] = False  # a `RadialLoss`, which has `shrinkage`, `slope` and `profile`
    box_dual: ClassVar[bool] = False  # its dual is a quadratic over 0 ≤ α ≤ w, W_i = α_i ψ_i
    entrywise: ClassVar[bool] = False  # a sum over coordinates that a rotation of these changes
    boxes: ClassVar[bool] = False  # entrywise, its dual a quadratic over boxes: has `bounds`
    reweighted: ClassVar[bool] = False  # radial, and φ'(r)/r ≤ 1 does not increase: squares with these weights majorise
    homogeneity: ClassVar[tuple[int, int] | None] = None  # (e, d) of `in_units`; None: units are left as they are

    @property
    def has_prox(self) -> bool:
        """Whether the loss says its `prox`."""
        return type(self).prox is not Loss.prox

    @abstractmethod
    def value(self, H: Array, Psi: Array) -> Array:
        """ℓ(h_i, ψ_i), shape (n,)."""

    @abstractmethod
    def gradient(self, H: Array, Psi: Array) -> Array:
        """∂ℓ/∂h at h_i (a subgradient where there is a kink), shape (n, q)."""

    def prox(self, Z: Array, Psi: Array, t: Array) -> Array:
        """argmin_u ℓ(u, ψ_i) + (t_i/2)‖u − z_i‖², t (n,) positive. May be overridden."""
        raise ValueError(f"{self!r} has no `prox`, so `ADMM()` cannot use it; give the loss this method.")

    def dual(self, W: Array, Psi: Array, weight: Array) -> Array:
        """−(w_i ℓ)*(−W_i), the dual objective's part of row i, for W that `prox` made, (n,). May be overridden."""
        raise ValueError(f"{self!r} has no `dual`, so nothing certifies a solution; give the loss this method.")

    def feasible(self, W: Array, Psi: Array, weight: Array) -> Array:
        """W brought back, from rounding, to where the conjugate is finite. May be overridden."""
        return W

    def in_units(self, s: float) -> Loss:
        """ℓ' with ℓ(sᵉh, sψ) = sᵈ ℓ'(h, ψ), (e, d) = `homogeneity`. May be overridden: where a loss has lengths."""
        return self

    def check(self, Psi: Array) -> None:
        """Refuse parameters and outputs that the loss cannot take. May be overridden."""
