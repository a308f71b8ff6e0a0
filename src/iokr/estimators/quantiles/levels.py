"""The kernel on levels, and the slopes that keep quantiles from crossing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline
from sklearn.base import clone

from iokr._array import Array, asarray_like, to_numpy
from iokr._validation.arguments import check_number, check_numbers
from iokr._validation.matrices import check_psd
from iokr.gram.operators import as_operator
from iokr.kernels.base import Kernel
from iokr.kernels.vectors import RBF
from iokr.losses.pinball import Boxes

__all__ = ["Levels", "fit_levels"]

WIDTH = 9.0  # c of the default kernel exp(−c(s − t)²)
_NOT_SMOOTH = 1e-4  # ε of the interpolation of b, as a fraction of the diagonal of G
_SAME = 1e-12  # levels closer than this are equal: (1 − 0.8)/2 is not 0.1


@dataclass(frozen=True, eq=False)
class Levels:
    """m trained levels θ_j, and m̃ anchors θ̃_b between them, at which negative slopes ∂_θh are penalised.

    G = [k_Θ, ∂₂k_Θ; ∂₁k_Θ, ∂₁∂₂k_Θ] over levels and anchors, scaled to a unit diagonal: G/(r rᵀ).
    """

    theta: np.ndarray  # (m,) ascending
    anchors: np.ndarray  # (m̃,), empty without the penalty
    kernel: Kernel | None  # fitted; None for a matrix over the trained levels
    constant: float  # added to the kernel with an intercept: a shift of all levels costs as little as of one
    G: np.ndarray  # (m + m̃, m + m̃)
    crossing: float  # ν

    def _stored(self) -> dict[str, Any]:
        return {
            "theta": self.theta,
            "anchors": self.anchors,
            "kernel": self.kernel,
            "constant": self.constant,
            "G": self.G,
            "crossing": self.crossing,
        }

    @property
    def r(self) -> np.ndarray:
        """diag(G)^{½}."""
        return np.sqrt(np.diag(self.G))

    def operator(self, like: Array) -> Any:
        """G/(r rᵀ)."""
        return as_operator(asarray_like(self.G / np.outer(self.r, self.r), like))

    def loss(self) -> Boxes:
        """(1/m) Σ_j ρ_θj and ν Σ_b max(0, −∂h), in the scaled coordinates."""
        m = len(self.theta)
        slopes = len(self.anchors)
        lo = np.r_[(self.theta - 1) / m, np.zeros(slopes)] * self.r
        hi = np.r_[self.theta / m, np.full(slopes, self.crossing)] * self.r
        return Boxes(lo, hi)

    def targets(self, y: np.ndarray) -> np.ndarray:
        """[y … y | 0 … 0]/r, (n, m + m̃)."""
        Psi = np.zeros((len(y), len(self.r)))
        Psi[:, : len(self.theta)] = y[:, None]
        return np.asarray(Psi / self.r)

    def atoms(self, levels: np.ndarray) -> np.ndarray:
        """[k_Θ(θ_j, θ) ; ∂₂k_Θ(θ, θ̃_b)]/r, (m + m̃, L): h(x)(θ) = k_xᵀC times this."""
        if self.kernel is None:
            return np.asarray(self.G[:, self._trained(levels)] / self.r[:, None])
        return np.asarray(_rows(self.kernel, self.theta, self.anchors, levels, self.constant) / self.r[:, None])

    def shapes(self) -> np.ndarray:
        """What each b_j is in the coordinates of `targets`, (m, m + m̃): values at levels, and slopes at anchors."""
        smooth, rest = self._interpolation
        m = len(self.theta)
        slopes = smooth @ self.G[:m, m:]
        if len(self.anchors):
            slopes = slopes + rest @ (np.diff(np.eye(m), axis=0) / np.diff(self.theta)[:, None]).T
        return np.asarray(np.hstack([np.eye(m), slopes]) / self.r)

    def constants(self, b: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """b(θ) from its coordinates: as smooth between the trained levels as k_Θ, and b_j at these."""
        values = (b * self.r)[: len(self.theta)]
        if self.kernel is None:
            return np.asarray(values[self._trained(levels)])
        smooth, rest = self._interpolation
        rows = _rows(self.kernel, self.theta, np.empty(0), levels, self.constant)
        return np.asarray((values @ smooth) @ rows + self._linear(values @ rest, levels))

    @cached_property
    def _interpolation(self) -> tuple[np.ndarray, np.ndarray]:
        """(I − 11ᵀ/m)(G + εI)⁻¹ over the levels and I minus that times G: a smooth part of b, and what is left, linear.

        The mean of b over the levels has no slope. Without ε values that are not smooth would swing between levels.
        """
        m = len(self.theta)
        G = self.G[:m, :m]
        smooth = (np.eye(m) - 1 / m) @ np.linalg.inv(G + _NOT_SMOOTH * np.diag(np.diag(G)))
        return smooth, np.eye(m) - smooth @ G

    def _linear(self, values: np.ndarray, levels: np.ndarray) -> np.ndarray:
        if len(values) == 1:
            return np.full(len(levels), values[0])
        return np.asarray(make_interp_spline(self.theta, values, k=1)(levels))

    def _trained(self, levels: np.ndarray) -> np.ndarray:
        """The indices of trained levels."""
        distance = np.abs(levels[:, None] - self.theta)
        unknown = levels[distance.min(axis=1) > _SAME]
        if len(unknown):
            raise ValueError(
                f"`level_kernel` is a matrix over the trained levels, so {unknown[0]:g} cannot be predicted; use a "
                "kernel such as `RBF(9.0)`."
            )
        return np.asarray(distance.argmin(axis=1))


def fit_levels(theta: np.ndarray, level_kernel: Any, crossing: float, constant: float) -> Levels:
    """Levels with a kernel, or a matrix over them, to which no constant is added: the identity couples no levels."""
    order = np.argsort(theta)
    crossing = check_number(crossing, "crossing", minimum=0.0)
    if level_kernel is None:
        level_kernel = RBF(WIDTH)
    if isinstance(level_kernel, Kernel):
        return _with_kernel(theta[order], level_kernel, crossing, constant)
    if isinstance(level_kernel, (str, bytes)) or not hasattr(level_kernel, "__len__"):
        raise TypeError(
            f"`level_kernel` must be a component of `iokr.kernels`, or a matrix over the levels, got "
            f"{level_kernel!r:.60}."
        )
    A = np.asarray(check_psd(check_numbers(level_kernel, "level_kernel"), "level_kernel"))
    if A.shape != (len(theta), len(theta)) or np.any(np.diag(A) <= 0):
        raise ValueError(
            f"`level_kernel` must be a kernel, or a matrix ({len(theta)}, {len(theta)}) over the levels with a "
            f"positive diagonal, got shape {A.shape}."
        )
    if crossing > 0:
        raise ValueError("`crossing` needs levels between the trained ones; with a matrix over these set `crossing=0`.")
    return Levels(theta[order], np.empty(0), None, 0.0, A[np.ix_(order, order)], 0.0)


def _with_kernel(theta: np.ndarray, level_kernel: Kernel, crossing: float, constant: float) -> Levels:
    kernel = clone(level_kernel).fit(theta[:, None])
    anchors = (theta[1:] + theta[:-1]) / 2 if crossing > 0 else np.empty(0)
    if len(anchors) and not kernel.has_derivatives:
        raise ValueError(
            f"`crossing` needs the slope of the level kernel, which is known for `RBF` and `Periodic`, got {kernel!r}; "
            "set `crossing=0`."
        )
    G = _rows(kernel, theta, anchors, theta, constant)
    if len(anchors):
        # columns [∂₂k_Θ(θ_j, θ̃_b) ; ∂₁∂₂k_Θ(θ̃_a, θ̃_b)]; ∂₁∂₂k = −∂₂²k, as k is stationary
        slopes = np.vstack([kernel.derivative(theta, anchors, 1), -kernel.derivative(anchors, anchors, 2)])
        G = np.hstack([G, slopes])
    return Levels(theta, anchors, kernel, constant, (G + G.T) / 2, crossing)


def _rows(kernel: Kernel, theta: np.ndarray, anchors: np.ndarray, levels: np.ndarray, constant: float) -> np.ndarray:
    """Rows [k_Θ(θ_j, ·) + constant ; ∂₁k_Θ(θ̃_b, ·)] at some levels; a constant has no slope."""
    values = to_numpy(kernel(theta[:, None], levels[:, None])) + constant
    if not len(anchors):
        return np.asarray(values)
    return np.vstack([values, kernel.derivative(levels, anchors, 1).T])  # ∂₁k(s, t) = ∂₂k(t, s)
