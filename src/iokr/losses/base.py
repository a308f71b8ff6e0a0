"""ℓ : F × F → ℝ, convex in its first argument."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from iokr._array import Array
from iokr._component import Component

__all__ = ["Loss"]


class Loss(Component, ABC):
    """ℓ(h, ψ), one value per row.

    `quadratic` losses have closed forms, `smooth` ones a gradient everywhere; `calibrated` ones fix ‖h(x)‖, so that
    outputs can be ranked by distance. A smooth loss needs `value` and `gradient` only: `LBFGS` solves it, with a bound
    of the distance to the minimum. A loss with kinks, or one with a sharper certificate, needs `prox` and `dual`, and
    `feasible` for models with an intercept: `ADMM` solves it, with the duality gap. `radial` losses depend on ‖h − ψ‖
    only; those with a `box_dual` can be solved by `CoordinateDescent`, those that can be `reweighted` by `IRLS`.
    `entrywise` losses need vector outputs.

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
    boxes: ClassVar[bool] = False  # entrywise, with `bounds`: its dual is a quadratic over boxes
    reweighted: ClassVar[bool] = False  # radial, φ'(r)/r ≤ 1 does not increase: squares with these weights majorise
    homogeneity: ClassVar[tuple[int, int] | None] = None  # (e, d) of `in_units`; None: units are not changed

    @property
    def has_prox(self) -> bool:
        """Whether the loss has a `prox`."""
        return type(self).prox is not Loss.prox

    @property
    def has_feasible(self) -> bool:
        """Whether the loss states the domain of its conjugate."""
        return type(self).feasible is not Loss.feasible

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
        """−(w_i ℓ)*(−W_i), the dual objective of row i, for W computed by `prox`, (n,). May be overridden."""
        raise ValueError(f"{self!r} has no `dual`, which a certificate needs; give the loss this method.")

    def feasible(self, W: Array, Psi: Array, weight: Array) -> Array:
        """W projected, against rounding and for an intercept, on the domain of the conjugate. May be overridden."""
        return W

    def in_units(self, s: float) -> Loss:
        """ℓ' with ℓ(sᵉh, sψ) = sᵈ ℓ'(h, ψ), (e, d) = `homogeneity`. May be overridden: by losses with lengths."""
        return self

    def check(self, Psi: Array) -> None:
        """Raise unless parameters and outputs are valid for the loss. May be overridden."""
        self.check_parameters()
