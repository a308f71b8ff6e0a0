"""Losses that depend on the distance ‖h − ψ‖ only."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

from iokr._array import Array, array_namespace, row_sq_norms
from iokr.losses.base import Loss

__all__ = ["RadialLoss", "distances", "in_length"]


class RadialLoss(Loss):
    """ℓ(h, ψ) = φ(r), r = ‖h − ψ‖: a subclass writes φ, its slope, its proximal shrinkage and its conjugate.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.losses import Huber, RadialLoss
    >>> isinstance(Huber(), RadialLoss)
    True
    >>> Huber(1.0).prox(np.array([[5.0]]), np.array([[0.0]]), np.array([1.0]))
    array([[4.]])
    """

    radial: ClassVar[bool] = True

    @abstractmethod
    def profile(self, r: Array) -> Array:
        """φ(r), r ≥ 0."""

    @abstractmethod
    def slope(self, r: Array) -> Array:
        """φ'(r)."""

    @abstractmethod
    def shrinkage(self, m: Array, t: Array) -> tuple[Array, Array]:
        """(τ, τ_r): the proximal point of φ at distance m is τm, and τ_r is its derivative d(τm)/dm."""

    @abstractmethod
    def conjugate(self, a: Array, weight: Array) -> Array:
        """(wφ)*(a) at the length a = ‖W_i‖ of a feasible dual row."""

    def value(self, H: Array, Psi: Array) -> Array:
        """φ(‖h_i − ψ_i‖)."""
        return self.profile(distances(H, Psi))

    def gradient(self, H: Array, Psi: Array) -> Array:
        """φ'(r_i) (h_i − ψ_i)/r_i."""
        r = distances(H, Psi)
        xp = array_namespace(r)
        return (xp.where(r > 0, self.slope(r) / xp.where(r > 0, r, 1.0), 0.0))[:, None] * (H - Psi)

    def prox(self, Z: Array, Psi: Array, t: Array) -> Array:
        """ψ_i + τ_i (z_i − ψ_i)."""
        tau, _ = self.shrinkage(distances(Z, Psi), t)
        xp = array_namespace(Z)
        return xp.where(tau[:, None] == 1, Z, Psi + tau[:, None] * (Z - Psi))  # exactly z if the loss has no gradient

    def reach(self, weight: Array) -> Array | None:
        """The largest ‖W_i‖ of a feasible dual row, None if there is no limit. May be overridden."""
        return None

    def feasible(self, W: Array, Psi: Array, weight: Array) -> Array:
        """Rows shortened to the largest feasible length."""
        reach = self.reach(weight)
        if reach is None:
            return W
        xp = array_namespace(W)
        length = xp.sqrt(row_sq_norms(W))
        return W * xp.where(length > reach, reach / xp.where(length > 0, length, 1.0), 1.0)[:, None]

    def dual(self, W: Array, Psi: Array, weight: Array) -> Array:
        """⟨W_i, ψ_i⟩ − (w_i φ)*(‖W_i‖)."""
        xp = array_namespace(W)
        return xp.sum(W * Psi, axis=1) - self.conjugate(xp.sqrt(row_sq_norms(W)), weight)


def in_length(value: float, s: float, name: str) -> float:
    """`value`/s, a length of a loss in units of s; raises if it overflows."""
    found = float(value) / s
    if math.isinf(found) or (found == 0 and value != 0):
        raise ValueError(
            f"`{name}` = {value:g} overflows in the units of the outputs, whose largest is about {s:.1e}; "
            "choose one that is nearer to it, or scale the data."
        )
    return found


def distances(H: Array, Psi: Array) -> Array:
    """‖h_i − ψ_i‖."""
    squares = row_sq_norms(H - Psi)
    return array_namespace(squares).sqrt(squares)
