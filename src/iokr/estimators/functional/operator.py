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
from iokr.kernels.vectors import RBF

__all__ = ["CurveOperator", "curve_operator"]

_WIDTH = 0.1  # of the default Gaussian, as a fraction of the range


@dataclass(frozen=True, eq=False)
class CurveOperator:
    """A in the coordinates of the curves, and the functions that h(x) is a combination of."""

    A: np.ndarray  # (q, q)
    kernel: Kernel | None  # L, fitted; None for weights on the coefficients of a basis
    B: np.ndarray | None  # those weights
    embedding: Curves

    def _stored(self) -> dict[str, Any]:
        return {"A": self.A, "kernel": self.kernel, "B": self.B, "embedding": self.embedding}

    def atoms(self, at: np.ndarray, derivative: int) -> np.ndarray | None:
        """D (q, m) with h(x)(θ) = (k_xᵀC) D: √w_t L(θ_t, θ); None where h is known by its coordinates in a basis."""
        embedding = self.embedding
        if embedding.V_ is not None:
            return None
        points = embedding.points_
        if self.kernel is None:
            assert embedding.functions_ is not None
            values = embedding.functions_(points, 0) @ self.B @ embedding.functions_(at, derivative).T
        elif derivative == 0:
            values = to_numpy(self.kernel(points[:, None], at[:, None]))
        else:
            values = self.kernel.derivative(points, at, derivative)
        return np.asarray(embedding.root[:, None] * values)


def curve_operator(curve_kernel: Any, embedding: Any) -> CurveOperator:
    """A = √w L √w on the nodes; with a basis VᵀAV, or G^{½}BG^{½} for weights B on its coefficients.

    Where curves have gaps a basis means L(θ, θ') = Φ(θ) B Φ(θ')ᵀ on the nodes: the same h.
    """
    if curve_kernel is None and embedding.basis is None:
        width = _WIDTH * (float(embedding.points_[-1] - embedding.points_[0]) or 1.0)
        curve_kernel = RBF(1.0 / (2 * width**2))
    if isinstance(curve_kernel, Kernel):
        return _of_kernel(curve_kernel, embedding)
    if embedding.functions_ is None:
        raise TypeError(f"`curve_kernel` must be a component of `iokr.kernels`, got {curve_kernel!r:.60}.")
    return _of_weights(curve_kernel, embedding, embedding.functions_(embedding.points_, 0))


def _of_kernel(curve_kernel: Kernel, embedding: Curves) -> CurveOperator:
    points = embedding.points_[:, None]
    kernel = clone(curve_kernel).fit(points)
    A = embedding.root[:, None] * to_numpy(kernel(points, points)) * embedding.root
    if embedding.V_ is not None:
        A = embedding.V_.T @ A @ embedding.V_
    elif embedding.functions_ is not None:  # with gaps, L cannot be projected on the span of the basis
        raise ValueError(
            "With gaps give either `curve_kernel` or `basis`, or weights on its coefficients as `curve_kernel`."
        )
    return CurveOperator(_in_coordinates(A, embedding), kernel, None, embedding)


def _of_weights(weights: Any, embedding: Curves, Phi: np.ndarray) -> CurveOperator:
    B = _weights(weights, Phi.shape[1])
    left = embedding.root[:, None] * Phi
    if embedding.V_ is not None:
        left = embedding.V_.T @ left
    return CurveOperator(_in_coordinates(left @ B @ left.T, embedding), None, B, embedding)


def _in_coordinates(A: np.ndarray, embedding: Curves) -> np.ndarray:
    """A, exactly symmetric."""
    return np.asarray((A + A.T) / 2)


def _weights(B: Any, d: int) -> np.ndarray:
    """B (d, d) on the coefficients of a basis: the identity, a diagonal or a matrix."""
    if B is None:
        return np.eye(d)
    try:
        B = np.asarray(B, dtype=float)
    except (TypeError, ValueError):
        B = np.empty(0)
    if B.ndim == 1 and B.size:
        B = np.diag(B)
    if B.shape != (d, d):
        raise ValueError(
            f"`curve_kernel` with a basis must be a kernel, or weights on its {d} coefficients, ({d},) or ({d}, {d})."
        )
    return np.asarray(check_psd(B, "curve_kernel"))
