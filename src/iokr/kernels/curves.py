"""Kernels for curves as inputs, and on the points where curves are periodic."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from iokr._array import (
    Array,
    array_namespace,
    asarray_like,
    exp_,
    row_sq_norms,
    scaled_sq_distances,
    to_numpy,
    unwarned,
)
from iokr._component import Limits, component
from iokr._validation.arguments import POSITIVE, check_choice, check_computed, check_vectors
from iokr.data.curves import interpolate, quadrature_weights, read_curves
from iokr.data.objects import Parts, as_objects
from iokr.kernels.base import Kernel, UnitKernel, fit_part
from iokr.kernels.structured.series import GlobalAlignment
from iokr.kernels.vectors import RBF

__all__ = ["L2", "Periodic", "Pointwise", "Warped"]


class CurveInputs(Kernel):
    """A kernel on curves in any form that `Functional` takes, from one on their values."""

    base_: Kernel

    domain = "curves"

    def block(self, R: Any, S: Any) -> Array:
        """base(x_i, z_j), of what `represent` returns. May be overridden."""
        return self.base_.block(R, S)

    def diag(self, R: Any) -> Array:
        """base(x_i, x_i). May be overridden."""
        return self.base_.diag(R)


@component
class CurvesOnGrid(CurveInputs):
    """A kernel on the values of curves at common nodes; gaps are filled by splines."""

    base: Kernel | None = None
    grid: Any = None
    quadrature: Any = "trapezoid"

    def represent(self, X: Any) -> Any:
        """Values at the nodes. May be overridden."""
        return self._complete(to_numpy(read_curves(X, self.points_, "X").values))

    def _fit_nodes(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The values of X at the nodes, and the weights of these."""
        table = read_curves(X, self.grid, "X")
        self.points_ = table.points
        values = self._complete(to_numpy(table.values))
        return values, quadrature_weights(self.quadrature, self.points_)

    def _complete(self, values: np.ndarray) -> np.ndarray:
        values = np.array(values, dtype=float)
        for i in np.flatnonzero(np.isnan(values).any(axis=1)):
            observed = ~np.isnan(values[i])
            values[i] = interpolate(self.points_[observed], values[i, observed, None], self.points_)[:, 0]
        return values


@component
class L2(CurvesOnGrid):
    """k(x, z) = base(√w x, √w z): a kernel on vectors in the geometry of L², ‖x − z‖² = ∫(x − z)².

    Parameters
    ----------
    base : Kernel, default=None
        On vectors: `Linear()` is the inner product ∫ x z, `RBF()` (None) the Gaussian of the L² distance.
    grid : array, default=None
        As in `Functional`: points of the columns, or nodes for pairs of points and values.
    quadrature : {"trapezoid", "uniform"} or array, default="trapezoid"

    Examples
    --------
    >>> from iokr.kernels import L2, Linear
    >>> L2(Linear())([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0]])
    array([[1. , 1. ],
           [1. , 1.5]])
    """

    def fit(self, X: Any) -> L2:
        """The nodes, and the base kernel on the weighted values."""
        values, weights = self._fit_nodes(X)
        self.root_ = np.sqrt(weights)
        self.base_ = fit_part(RBF() if self.base is None else self.base, "base", values * self.root_)
        return self

    def represent(self, X: Any) -> Any:
        """The base kernel's representation of the weighted values."""
        return self.base_.represent(super().represent(X) * self.root_)


@component
class Pointwise(CurvesOnGrid):
    """k(x, z) = Σ_t w_t base(x(θ_t), z(θ_t)): the mean over points of a kernel on values.

    Parameters
    ----------
    base : Kernel, default=None
        On numbers, which are vectors of one coordinate; None is `RBF()`.
    grid, quadrature :
        As in `L2`; "uniform" is the plain mean.

    Examples
    --------
    >>> from iokr.kernels import Laplacian, Pointwise
    >>> Pointwise(Laplacian(1.0), quadrature="uniform")([[0.0, 0.0], [0.0, 1.0]]).round(3)
    array([[1.   , 0.684],
           [0.684, 1.   ]])
    """

    def fit(self, X: Any) -> Pointwise:
        """The nodes, and the base kernel on all values."""
        values, self.w_ = self._fit_nodes(X)
        self.base_ = fit_part(RBF() if self.base is None else self.base, "base", values.reshape(-1, 1))
        return self

    def block(self, R: Any, S: Any) -> Array:
        """Σ_t w_t base(x_i(θ_t), z_j(θ_t))."""
        total = np.zeros((len(R), len(S)))
        for t, w in enumerate(self.w_):
            left = self.base_.represent(R[:, t : t + 1])
            right = self.base_.represent(S[:, t : t + 1])
            total += w * to_numpy(self.base_.block(left, right))
        return total

    def diag(self, R: Any) -> Array:
        """Σ_t w_t base(x_i(θ_t), x_i(θ_t))."""
        total = np.zeros(len(R))
        for t, w in enumerate(self.w_):
            total += w * to_numpy(self.base_.diag(self.base_.represent(R[:, t : t + 1])))
        return total


@component
class Warped(CurveInputs):
    """k(x, z) = base of the sequences of values: for curves that pass through the same values at different speeds.

    Parameters
    ----------
    base : Kernel, default=None
        On series; None is `GlobalAlignment()`.

    Examples
    --------
    >>> from iokr.kernels import GlobalAlignment, Warped
    >>> curves = [([0.0, 1.0, 2.0], [0.0, 1.0, 2.0]), ([0.0, 0.5, 1.0, 2.0], [0.0, 0.0, 1.0, 2.0])]
    >>> Warped(GlobalAlignment(1.0))(curves).round(3)
    array([[1.   , 0.711],
           [0.711, 1.   ]])
    """

    base: Kernel | None = None

    def fit(self, X: Any) -> Warped:
        """The base kernel on the series."""
        self.base_ = fit_part(GlobalAlignment() if self.base is None else self.base, "base", _series(X))
        return self

    def represent(self, X: Any) -> Any:
        """The base kernel's representation of the observed values."""
        return self.base_.represent(_series(X))


def _series(X: Any) -> np.ndarray:
    """The observed values of each curve, in the order of their points."""
    values = to_numpy(read_curves(X, None, "X").values)
    return as_objects([row[~np.isnan(row)] for row in values])


@component
class Periodic(UnitKernel):
    """k(s, t) = exp(−γ (p/π)² Σ sin²(π(s − t)/p)): `RBF(gamma)` on a circle of circumference p.

    Parameters
    ----------
    gamma : float, default=1.0
        γ > 0: larger is rougher.
    period : float, default=1.0
        p > 0.

    Examples
    --------
    >>> from iokr.kernels import Periodic
    >>> Periodic(50.0)([[0.0], [0.95]]).round(3)
    array([[1.   , 0.883],
           [0.883, 1.   ]])
    """

    gamma: float = 1.0
    period: float = 1.0

    domain = "vectors"
    limits: ClassVar[Limits] = {"gamma": POSITIVE, "period": POSITIVE}

    def fit(self, X: Any) -> Periodic:
        """Check γ and p, and choose an origin among the data, so that positions lose no digits."""
        self.check_parameters()
        X = check_vectors(X, sparse=False)
        self.center_ = array_namespace(X).sort(X, axis=0)[X.shape[0] // 2, :]
        return self

    def represent(self, X: Any) -> Parts:
        """Positions on the circle, p/(2π) (cos θ − 1, sin θ) for each coordinate, and their squared norms."""
        X = check_vectors(X, sparse=False)
        xp = array_namespace(X)
        with unwarned():
            away = check_computed(X - asarray_like(self.center_, X)[None, :], "Row", "x − c")
        arc = xp.remainder(xp.abs(away), self.period)  # exact
        arc = xp.where(arc > self.period / 2, arc - self.period, arc) * xp.sign(away)
        angle = arc * (2 * np.pi / self.period)
        radius = self.period / (2 * np.pi)
        R = radius * xp.concat([-2 * xp.sin(angle / 2) ** 2, xp.sin(angle)], axis=1)
        return Parts(R, row_sq_norms(R))

    def block(self, R: Parts, S: Parts) -> Array:
        """The (n, m) array of k(s_i, t_j)."""
        X, x_norms = R
        Z, z_norms = S
        return exp_(scaled_sq_distances(X, x_norms, Z, z_norms, -self.gamma))

    def derivative(self, points: np.ndarray, at: np.ndarray, order: int) -> np.ndarray:
        """gk and (g² − 2γ cos(2πu/p))k for numbers, u = t − s and g = −γ(p/π) sin(2πu/p)."""
        check_choice(order, "derivative", (1, 2))
        p = self.period
        gamma = self.gamma
        u = at[None, :] - points[:, None]
        k = np.exp(-gamma * (p / np.pi) ** 2 * np.sin(np.pi * u / p) ** 2)
        slope = -gamma * (p / np.pi) * np.sin(2 * np.pi * u / p)
        if order == 1:
            return np.asarray(k * slope)
        return np.asarray(k * (slope**2 - 2 * gamma * np.cos(2 * np.pi * u / p)))
