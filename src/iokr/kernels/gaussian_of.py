"""A Gaussian in the feature space of another kernel."""

from __future__ import annotations

from typing import Any, ClassVar

from iokr._array import Array, array_namespace, unwarned
from iokr._component import Limits, component
from iokr._validation.arguments import POSITIVE, check_computed
from iokr.data.objects import Parts
from iokr.kernels.base import WrappedKernel

__all__ = ["GaussianOf"]


@component
class GaussianOf(WrappedKernel):
    """k(x, z) = exp(−γ ‖φ(x) − φ(z)‖²) = exp(−γ (base(x, x) + base(z, z) − 2 base(x, z))), φ the features of `base`.

    `GaussianOf(Linear(), gamma)` is `RBF(gamma)`; for a normalised base such as `Tanimoto()` it is exp(−2γ(1 − base)).

    Parameters
    ----------
    base : Kernel
    gamma : float, default=1.0
        Larger is more local.

    Examples
    --------
    >>> from iokr.kernels import GaussianOf, Tanimoto
    >>> GaussianOf(Tanimoto(), gamma=1.0)([[1, 1, 0]], [[1, 0, 1], [1, 1, 0]]).round(4)
    array([[0.2636, 1.    ]])
    """

    gamma: float = 1.0

    limits: ClassVar[Limits] = {"gamma": POSITIVE}

    def represent(self, X: Any) -> Parts:
        """The base's representation and base(x, x)."""
        R = self.base_.represent(X)
        return Parts(R, check_computed(self.base_.diag(R), room=4.0))

    def block(self, R: Parts, S: Parts) -> Array:
        X, x_squares = R
        Z, z_squares = S
        with unwarned():
            squares = x_squares[:, None] + z_squares[None, :] - 2 * self.base_.block(X, Z)
            xp = array_namespace(squares)
            return xp.exp(-self.gamma * xp.clip(squares, min=0.0))

    def diag(self, R: Parts) -> Array:
        """Ones."""
        return array_namespace(R.parts[1]).ones_like(R.parts[1])
