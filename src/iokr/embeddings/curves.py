"""Outputs that are functions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, matmul, row_sq_norms, to_numpy
from iokr._component import Limits, component
from iokr._validation.arguments import FLAG, check_computed, one_of
from iokr.data.curves import CurveTable, interpolate, quadrature_weights, read_curves
from iokr.data.objects import BadObject, error_context
from iokr.embeddings.base import EuclideanEmbedding
from iokr.embeddings.basis import Basis, FittedBasis
from iokr.kernels.base import Kernel

__all__ = ["Curves"]

_FOR_SPLINE = 5  # nodes that a smoothing spline needs


@component
class Curves(EuclideanEmbedding):
    """ψ(y)_t = √w_t (y(θ_t) − mean(θ_t)), so that ‖ψ‖² = Σ_t w_t y(θ_t)² ≈ ∫ y²: norms of coordinates are L² norms.

    With a `basis` ψ(y) = Vᵀ(√w y), V an orthonormal basis of the span of √wΦ, and by default ‖y − Πy‖ as one more
    coordinate. Curves with gaps cannot be projected, and ψ is then the same as without a basis.

    Parameters
    ----------
    grid : array of shape (T,), default=None
        Points of the columns; None is T points on [0, 1], or the union of the points of the curves.
    basis : Basis, default=None
        None uses the values at the nodes.
    quadrature : {"trapezoid", "uniform"} or array of shape (T,), default="trapezoid"
        w; "uniform" is for periodic curves, whose last point is not their first. Both are means over the range.
    curve_weight : {"equal", "points"}, default="equal"
        With "equal" a curve observed at T_i of T nodes has weight T/T_i, so that curves count equally; with "points"
        it has weight one, so that points do.
    centered : bool, default=True
        Subtract the mean curve, smoothed by a spline where fewer than half of the curves were observed at some node.

    Attributes
    ----------
    points_, quadrature_, mean_ : array of shape (T,)
    masked_ : bool
        Whether curves have gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.embeddings import Curves
    >>> embedding = Curves(centered=False)
    >>> Psi = embedding.fit_transform([([0.0, 1.0], [2.0, 2.0]), ([0.0, 0.5], [1.0, 3.0])])
    >>> Psi.shape, embedding.points_, embedding.quadrature_
    ((2, 3), array([0. , 0.5, 1. ]), array([0.25, 0.5 , 0.25]))
    >>> embedding.vectors(Psi)
    array([[ 2., nan,  2.],
           [ 1.,  3., nan]])
    """

    grid: Any = None
    basis: Basis | None = None
    quadrature: Any = "trapezoid"
    curve_weight: str = "equal"
    centered: bool = True

    functional = True
    limits: ClassVar[Limits] = {"curve_weight": one_of("equal", "points"), "centered": FLAG}

    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """Ψ (n, q); NaN where a curve was not observed."""
        if kernel is not None:
            raise ValueError("`Curves()` represents functions by their values; leave `output_kernel` out.")
        self.check_parameters()
        if self.basis is not None and not isinstance(self.basis, Basis):
            raise TypeError(f"`basis` must be a `Basis`, got {self.basis!r:.60}.")
        table = _read(Y, self.grid, "y")
        values = to_numpy(table.values)
        observed = ~np.isnan(values)
        w = np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        self.points_ = table.points
        self.quadrature_ = quadrature_weights(self.quadrature, table.points)
        self.masked_ = not bool(observed.all())
        self.mean_ = np.zeros(len(self.points_))
        if self.centered:
            self.mean_ = _mean_curve(values, observed, w, self.points_)
        self.functions_: FittedBasis | None = None
        self.V_: np.ndarray | None = None
        if self.basis is not None:
            self._fit_basis(self.basis, values, w)
        return self._coordinates(table.values)

    def _fit_basis(self, basis: Basis, values: np.ndarray, w: np.ndarray) -> None:
        """Φ on the nodes, and for complete curves an orthonormal basis of its span, of coefficients c = Qg^{-½}h.

        V = √wΦQg^{-½} with ΦᵀWΦ = Q diag(g) Qᵀ, eigenvalues of redundant functions dropped.
        """
        if self.masked_:
            self.functions_ = basis.fitted(self.points_, None, self.quadrature_)
            return
        weighted = np.sqrt(w)[:, None] * (values - self.mean_)  # a weight of 2 is equivalent to the curve twice
        self.functions_ = basis.fitted(self.points_, weighted[w > 0], self.quadrature_)
        B = self.root[:, None] * self.functions_(self.points_, 0)
        g, Q = np.linalg.eigh(B.T @ B)
        positive = g > len(g) * np.finfo(float).eps * g[-1]
        self.to_coefficients_ = Q[:, positive] / np.sqrt(g[positive])
        self.V_ = B @ self.to_coefficients_

    @property
    def root(self) -> np.ndarray:
        """√w."""
        return np.asarray(np.sqrt(self.quadrature_))

    @property
    def has_residual(self) -> bool:
        """Whether the last coordinate is ‖y − Πy‖."""
        return self.V_ is not None and self.basis is not None and self.basis.residual

    def _coordinates(self, values: Array) -> Array:
        xp = array_namespace(values)
        centred = values - asarray_like(self.mean_, values)[None, :]
        Z = centred * asarray_like(self.root, values)[None, :]
        if self.V_ is None:
            return Z
        if bool(xp.any(xp.isnan(Z))):
            raise ValueError("A curve with gaps cannot be projected on the basis, which was fitted to complete curves.")
        V = asarray_like(self.V_, Z)
        Psi = matmul(Z, V)
        if not self.has_residual:
            return Psi
        rest = Z - matmul(Psi, V.T)
        return xp.concat([Psi, xp.sqrt(xp.sum(rest * rest, axis=1))[:, None]], axis=1)

    def represent(self, Y: Any, name: str = "y") -> Array:
        """The coordinates of curves in any form, each point moved to the nearest node."""
        return self._coordinates(self.values(Y, name))

    def values(self, Y: Any, name: str = "y") -> Array:
        """The values of curves at the nodes of fit, (n, T); NaN where they were not observed."""
        return _read(Y, self.points_, name).values

    def expand(self, H: Array) -> Array:
        """h(x) at the nodes from its coordinates, without the mean, (n, T)."""
        root = asarray_like(self.root, H)[None, :]
        if self.V_ is None:
            return H / root
        r = self.V_.shape[1]
        return matmul(H[:, :r], asarray_like(self.V_, H).T) / root

    def vectors(self, H: Array) -> Array:
        """h(x)(θ_t) = H_t/√w_t + mean(θ_t)."""
        return self.expand(H) + asarray_like(self.mean_, H)[None, :]

    def mean_at(self, at: np.ndarray, derivative: int = 0) -> np.ndarray:
        """The mean curve anywhere, or its derivative."""
        return interpolate(self.points_, self.mean_[:, None], at, derivative)[:, 0]

    def at(self, H: Array, points: Any, derivative: int = 0) -> Array:
        """h(x)(θ) anywhere: by the functions of the basis, or by a cubic spline through the nodes."""
        theta = np.atleast_1d(np.asarray(points, dtype=float))
        if self.functions_ is not None and self.V_ is not None:
            r = self.V_.shape[1]
            Phi = self.functions_(theta, derivative) @ self.to_coefficients_
            values = matmul(H[:, :r], asarray_like(Phi, H).T)
        else:
            splines = interpolate(self.points_, to_numpy(self.expand(H)).T, theta, derivative)
            values = asarray_like(splines.T, H)
        return values + asarray_like(self.mean_at(theta, derivative), H)[None, :]


def _read(Y: Any, grid: Any, name: str) -> CurveTable:
    """The curves, whose squares do not overflow; candidates have no gaps."""
    table = read_curves(Y, grid, name)
    xp = array_namespace(table.values)
    gaps = xp.isnan(table.values)
    with error_context(name):
        squares = row_sq_norms(xp.where(gaps, 0.0, table.values))
        check_computed(squares, "Curve", "Σ∫y²", room=float(squares.shape[0]))
        if name != "y" and bool(xp.any(gaps)):
            row = int(xp.argmax(xp.astype(xp.any(gaps, axis=1), xp.int8)))
            raise BadObject("Curve", row, " has gaps, or no point near some node, so there is no distance to it.")
    return table


def _mean_curve(values: np.ndarray, observed: np.ndarray, w: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The weighted mean at each node; a smoothing spline through the means where some come from few curves."""
    weight = observed * w[:, None]
    total = weight.sum(axis=0)
    sums = (weight * np.nan_to_num(values)).sum(axis=0)
    means = np.where(total > 0, sums / np.where(total > 0, total, 1.0), 0.0)
    if np.all(total >= w.sum() / 2):
        return np.asarray(means)
    known = np.flatnonzero(total > 0)
    if len(known) < _FOR_SPLINE:
        return np.asarray(np.interp(points, points[known], means[known]))
    from scipy.interpolate import make_smoothing_spline

    spline = make_smoothing_spline(points[known], means[known], w=total[known] / total.max())
    return np.asarray(spline(np.clip(points, points[known[0]], points[known[-1]])))
