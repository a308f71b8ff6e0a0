"""Maximum margin regression: h(x) in the direction of ψ(y)."""

from __future__ import annotations

import warnings
from typing import ClassVar

from iokr._array import Array, array_namespace, row_sq_norms
from iokr._component import component
from iokr.losses.base import Loss

__all__ = ["MaxMargin"]


@component
class MaxMargin(Loss):
    """ℓ(h, ψ) = max(0, 1 − ⟨h, ψ⟩), without a bias.

    The hinge does not fix the length of h(x): candidates are ranked by ⟨h(x), ψ(y)⟩. Normalise the output kernel;
    otherwise the margin 1 is a different angle for each output.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.losses import MaxMargin
    >>> MaxMargin().value(np.array([[0.5, 0.0], [2.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    array([0.5, 0. ])
    """

    smooth: ClassVar[bool] = False
    calibrated: ClassVar[bool] = False
    box_dual: ClassVar[bool] = True
    homogeneity: ClassVar[tuple[int, int] | None] = (-1, 0)

    def check(self, Psi: Array) -> None:
        """Raise if an output is zero, warn if their lengths differ."""
        xp = array_namespace(Psi)
        sizes = xp.max(xp.abs(Psi), axis=1)
        if bool(xp.any(sizes <= 0)):
            row = int(xp.argmin(sizes))
            raise ValueError(
                f"`MaxMargin()` needs outputs of positive length, but ψ(y) is zero in row {row}; drop such rows."
            )
        squares = row_sq_norms(Psi / xp.max(sizes))
        difference = float(xp.max(squares)) - float(xp.min(squares))
        if difference > 1e-6 * float(xp.mean(squares)):
            warnings.warn(
                "The outputs have different lengths ‖ψ(y)‖, so that the margin 1 is a different angle for each; "
                "normalise the output kernel, `Normalized(output_kernel)`, or the output vectors.",
                UserWarning,
                stacklevel=3,
            )

    def value(self, H: Array, Psi: Array) -> Array:
        """max(0, 1 − ⟨h_i, ψ_i⟩)."""
        xp = array_namespace(H)
        return xp.clip(1 - xp.sum(H * Psi, axis=1), min=0.0)

    def gradient(self, H: Array, Psi: Array) -> Array:
        """−ψ_i inside the margin, else 0."""
        xp = array_namespace(H)
        inside = xp.sum(H * Psi, axis=1) < 1
        return xp.where(inside[:, None], -Psi, 0.0)

    def prox(self, Z: Array, Psi: Array, t: Array) -> Array:
        """z_i + a_i ψ_i/t_i, a_i = clip(t_i (1 − ⟨ψ_i, z_i⟩)/‖ψ_i‖², 0, 1)."""
        xp = array_namespace(Z)
        a = xp.clip(t * (1 - xp.sum(Z * Psi, axis=1)) / row_sq_norms(Psi), min=0.0, max=1.0)
        return Z + (a / t)[:, None] * Psi

    def feasible(self, W: Array, Psi: Array, weight: Array) -> Array:
        """α_i ψ_i with 0 ≤ α_i ≤ w_i."""
        xp = array_namespace(W)
        alpha = xp.clip(self.dual(W, Psi, weight), min=0.0)
        return xp.where(alpha > weight, weight, alpha)[:, None] * Psi

    def dual(self, W: Array, Psi: Array, weight: Array) -> Array:
        """α_i, for W_i = α_i ψ_i."""
        return array_namespace(W).sum(W * Psi, axis=1) / row_sq_norms(Psi)
