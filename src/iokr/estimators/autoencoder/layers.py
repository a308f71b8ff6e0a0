"""J(W) = min over f₂ of Σ_i ℓ(f₂(z_i), ψ_i) + (α/2)‖f₂‖², plus (α₁/2)‖W‖², Z = B W: its value and its gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from iokr.kernels.base import Kernel
from iokr.kernels.precomputed import Precomputed
from iokr.kernels.vectors import RBF, Linear
from iokr.losses.base import Loss
from iokr.problem import Problem, Solution
from iokr.solvers.auto import Auto

__all__ = ["CODE_GRADIENTS", "TwoLayers"]

Matrix = NDArray[np.float64]
_TOL = 1e-10  # relative duality gap of an outer layer without closed form: its coefficients are the gradient


def linear_gradient(kernel: Any, Z: Matrix, K: Matrix, M: Matrix) -> Matrix:
    """∂⟨M, K(Z)⟩/∂Z = 2MZ for a symmetric M."""
    return np.asarray(2 * M @ Z)


def gaussian_gradient(kernel: Any, Z: Matrix, K: Matrix, M: Matrix) -> Matrix:
    """∂⟨M, K(Z)⟩/∂Z = −4γ (diag(Q1) − Q) Z with Q = M∘K, for a symmetric M."""
    Q = M * K
    return np.asarray(-4 * float(kernel.gamma) * (Q.sum(axis=1)[:, None] * Z - Q @ Z))


CODE_GRADIENTS: dict[type, Callable[[Any, Matrix, Matrix, Matrix], Matrix]] = {
    Linear: linear_gradient,
    RBF: gaussian_gradient,
}


@dataclass
class TwoLayers:
    """J of the two layers on training data, for `scipy.optimize.minimize`.

    Parameters
    ----------
    B : array of shape (n, r)
        K₁ = B Bᵀ; the inner layer is f₁(x_i) = Wᵀ b_i, ‖f₁‖ = ‖W‖.
    T : array of shape (n, q)
        ψ(y_i) in orthonormal coordinates.
    kernel : Kernel
        k₂ on codes, `RBF(gamma)` or `Linear()`.
    loss : Loss
    alpha, code_alpha : float
        α of the outer layer, α₁ of the inner one.
    """

    B: Matrix
    T: Matrix
    kernel: Kernel
    loss: Loss
    alpha: float
    code_alpha: float
    _last: Solution | None = field(default=None, init=False)

    def outer(self, Z: Matrix) -> tuple[float, Matrix, Matrix]:
        """(value, C, K₂) of the outer layer on codes Z: its minimum, f₂ = Σ_i k₂(·, z_i) c_i, and k₂(z_i, z_j).

        With the square loss C = (K₂ + αI)⁻¹T and the value is (α/2)⟨T, C⟩.
        """
        K = np.asarray(self.kernel(Z))
        if self.loss.quadratic:
            C = self._ridge(K)
            return self.alpha / 2 * float(np.sum(self.T * C)), C, K
        rows = np.arange(len(K))
        problem = Problem(Precomputed(K).fit(rows).gram(rows), self.T, self.loss, self.alpha)
        self._last = Auto(tol=_TOL).solve(problem, self._last)
        C = np.asarray(self._last.C)
        return problem.objective(C), C, K

    def _ridge(self, K: Matrix) -> Matrix:
        """(K + αI)⁻¹T."""
        try:
            factor = cho_factor(K + self.alpha * np.eye(len(K)), lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            raise ValueError(
                f"`alpha` = {self.alpha:g} is too small for the kernel on codes, whose matrix is singular; "
                "choose a larger one."
            ) from None
        return np.asarray(cho_solve(factor, self.T, check_finite=False))

    def __call__(self, flat: Any) -> tuple[float, Matrix]:
        """J and ∂J/∂W, flat.

        The outer layer is at its minimum, so the derivative of its value in K₂ is −(α/2) C Cᵀ, C held fixed.
        """
        W = np.reshape(flat, (self.B.shape[1], -1))
        Z = self.B @ W
        value, C, K = self.outer(Z)
        slope = CODE_GRADIENTS[type(self.kernel)](self.kernel, Z, K, -self.alpha / 2 * (C @ C.T))
        gradient = self.B.T @ slope + self.code_alpha * W
        return value + self.code_alpha / 2 * float(np.sum(W * W)), gradient.ravel()
