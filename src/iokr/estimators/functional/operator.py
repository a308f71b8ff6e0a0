"""(T_L f)(θ) = ∫ L(θ, θ') f(θ') dμ(θ'): the integral operator of a kernel on the points of curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from iokr._array import to_numpy
from iokr._validation.matrices import check_psd
from iokr.embeddings.curves import Curves
from iokr.kernels.base import Kernel
from iokr.kernels.curves import Periodic
from iokr.kernels.vectors import RBF

__all__ = ["CurveOperator", "curve_operator"]

_WIDTH = 0.1  # of the default Gaussian, as a share of the range


@dataclass(frozen=True, eq=False)
class CurveOperator:
    """A in the coordinates of the curves, and the atoms that h(x)(θ) is made of anywhere."""

    A: np.ndarray  # (q, q)
    kernel: Kernel | None  # L, fitted; None for weights on the coefficients of a basis
    B: np.ndarray | None  # those weights
    embedding: Curves

    def atoms(self, at: np.ndarray, derivative: int) -> np.ndarray | None:
        """D (q, m) with h(x)(θ) = (k_xᵀC) D: √w_t L(θ_t, θ); None where the values at the nodes say it all."""
        embedding = self.embedding
        if embedding.V_ is not None:
            return None
        if self.kernel is not None:
            values = _values(self.kernel, embedding.points_, at, derivative)
        else:
            assert embedding.functions_ is not None
            Phi, new = embedding.functions_(embedding.points_, 0), embedding.functions_(at, derivative)
            values = Phi @ self.B @ new.T
        return np.asarray(np.sqrt(embedding.quadrature_)[:, None] * values)


def curve_operator(curve_kernel: Any, embedding: Curves) -> CurveOperator:
    """A = √w L √w on the nodes; with a basis VᵀAV, or G^{½}BG^{½} for weights B on its coefficients.

    Where curves have gaps a basis means L(θ, θ') = Φ(θ) B Φ(θ')ᵀ on the nodes: the same h.
    """
    points, root = embedding.points_, np.sqrt(embedding.quadrature_)
    if curve_kernel is None and embedding.basis is None:
        span = float(points[-1] - points[0]) or 1.0
        width = _WIDTH * span
        if not 1e-150 < width < 1e150:
            raise ValueError(f"`grid` spans {span:.1e}, whose square is no number; choose other units for its points.")
        curve_kernel = RBF(1.0 / (2 * width**2))
    if isinstance(curve_kernel, Kernel):
        kernel = clone(curve_kernel).fit(points[:, None])
        A = root[:, None] * to_numpy(kernel(points[:, None], points[:, None])) * root
        V, B = embedding.V_, None
        if V is None and embedding.functions_ is not None:  # gaps: the span of the basis is kept by projecting L on it
            raise ValueError(
                "With gaps give either `curve_kernel` or `basis`, or weights on its coefficients as `curve_kernel`."
            )
        A = A if V is None else V.T @ A @ V
    else:
        if embedding.functions_ is None:
            raise TypeError(f"`curve_kernel` must be a component of `iokr.kernels`, got {curve_kernel!r:.60}.")
        Phi = embedding.functions_(points, 0)
        kernel, B = None, _weights(curve_kernel, Phi.shape[1])
        left = root[:, None] * Phi
        left = left if embedding.V_ is None else embedding.V_.T @ left
        A = left @ B @ left.T
    A = (A + A.T) / 2
    if embedding.has_residual:  # h does not reach what lies outside the span
        A = np.pad(A, (0, 1))
    return CurveOperator(A, kernel, B, embedding)


def _weights(B: Any, d: int) -> np.ndarray:
    """B (d, d) on the coefficients of a basis: the identity, a diagonal or a matrix."""
    if B is None:
        return np.eye(d)
    try:
        B = np.asarray(B, dtype=float)
    except (TypeError, ValueError):
        B = np.empty(0)
    B = np.diag(B) if B.ndim == 1 and B.size else B
    if B.shape != (d, d):
        raise ValueError(
            f"`curve_kernel` with a basis must be a kernel, or weights on its {d} coefficients, ({d},) or ({d}, {d})."
        )
    return np.asarray(check_psd(B, "curve_kernel"))


def _values(kernel: Kernel, points: np.ndarray, at: np.ndarray, derivative: int) -> np.ndarray:
    """∂^d L(θ_t, θ)/∂θ^d, (T, m)."""
    if derivative == 0:
        return np.asarray(to_numpy(kernel(points[:, None], at[:, None])))
    if isinstance(kernel, Periodic):
        return kernel.derivative(points, at, derivative)
    if not isinstance(kernel, RBF) or derivative not in (1, 2):
        raise ValueError(
            f"`derivative` {derivative} is known for `RBF` and `Periodic` curve kernels (1 and 2) and bases, not "
            f"for {kernel!r}."
        )
    u, gamma = at[None, :] - points[:, None], float(kernel.gamma_)
    slope = -2 * gamma * u if derivative == 1 else 4 * gamma**2 * u**2 - 2 * gamma
    return np.asarray(slope * np.exp(-gamma * u**2))
