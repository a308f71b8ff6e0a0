"""Outputs that are functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.interpolate import CubicSpline

from iokr._array import Array, array_namespace, asarray_like, gemm, matmul, row_sq_norms, to_numpy
from iokr._component import Limits, component
from iokr._state import made_from
from iokr._validation.arguments import FLAG, check_computed, one_of
from iokr.data.curves import CurveTable, interpolate, quadrature_weights, read_curves
from iokr.data.objects import BadObject, error_context
from iokr.embeddings.base import EuclideanEmbedding
from iokr.embeddings.basis import Basis, FittedBasis
from iokr.kernels.base import Kernel

__all__ = ["Curves"]

_SPLINES = 10  # at most, for the intercept of curves with few observations at some nodes
_OBSERVATIONS_PER_SPLINE = 10


@component
class Curves(EuclideanEmbedding):
    """ψ(y)_t = √w_t y(θ_t), so that ‖ψ‖² = Σ_t w_t y(θ_t)² ≈ ∫ y²: norms of coordinates are L² norms.

    With a `basis` ψ(y) = Vᵀ(√w y), V an orthonormal basis of the span of √wΦ. What curves have outside of it, Π being
    the projection on the span, is their mean (I − Π)m, which belongs to every prediction, and a rest, by default part
    of the loss. Curves with gaps cannot be projected, and ψ is then the same as without a basis.

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
    intercept : bool, default=True
        Whether predictions have the part of the mean curve that is outside of the span of a basis; principal components
        are then those of deviations from the mean.

    Attributes
    ----------
    points_, quadrature_ : array of shape (T,)
    mean_ : array of shape (T,)
        (I − Π)m, zero without a basis.
    masked_ : bool
        Whether curves have gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.embeddings import Curves
    >>> embedding = Curves()
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
    intercept: bool = True

    functional = True
    limits: ClassVar[Limits] = {"curve_weight": one_of("equal", "points"), "intercept": FLAG}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Curves:
        """The embedding that has this state; in files of format 1 `intercept` is `centered`, with the whole mean."""
        given = dict(state)
        if "centered" in given:
            given["intercept"] = given.pop("centered")
        made: Curves = made_from(cls, given)
        return made

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
        self.functions_: FittedBasis | None = None
        self.V_: np.ndarray | None = None
        self._rest: np.ndarray | None = None
        if self.basis is not None:
            self._fit_basis(self.basis, values, w)
        S = self._coordinates(table.values)
        if self.has_residual:
            self._rest = self._outside(values)
        return self.coordinates(S, S)

    def mean_shapes(self, observed: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
        """Coordinates of splines for the intercept of curves with gaps, (r, T), where some nodes are in few curves.

        None where every node is in at least half of the curves: the intercept is then free at every node.
        """
        w = np.ones(len(observed)) if weight is None else weight
        total = w @ observed
        if np.all(total >= w.sum() / 2):
            return None
        n_functions = int(np.clip(observed.sum() // _OBSERVATIONS_PER_SPLINE, 1, _SPLINES))
        n_functions = min(n_functions, int(np.count_nonzero(total)))
        if n_functions == 1:
            return np.asarray(self.root[None, :])
        # natural cubic splines with knots that divide the observations evenly
        share = np.cumsum(total) / total.sum()
        knots = np.interp(np.linspace(0, 1, n_functions), np.r_[0.0, share], np.r_[self.points_[0], self.points_])
        knots = np.linspace(knots[0], knots[-1], n_functions) if np.any(np.diff(knots) <= 0) else knots
        splines = CubicSpline(knots, np.eye(n_functions), bc_type="natural")
        return np.asarray(splines(self.points_).T * self.root)

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_rest"}  # of the training curves, for `fit`

    def _fit_basis(self, basis: Basis, values: np.ndarray, w: np.ndarray) -> None:
        """Φ on the nodes, and for complete curves an orthonormal basis of its span, of coefficients c = Qg^{-½}h.

        V = √wΦQg^{-½} with ΦᵀWΦ = Q diag(g) Qᵀ, eigenvalues of redundant functions dropped.
        """
        if self.masked_:
            self.functions_ = basis.fitted(self.points_, None, self.quadrature_)
            return
        mean = w @ values / w.sum() if self.intercept else np.zeros(len(self.points_))
        weighted = np.sqrt(w)[:, None] * (values - mean)  # a weight of 2 is equivalent to the curve twice
        self.functions_ = basis.fitted(self.points_, weighted[w > 0], self.quadrature_)
        B = self.root[:, None] * self.functions_(self.points_, 0)
        g, Q = np.linalg.eigh(B.T @ B)
        positive = g > len(g) * np.finfo(float).eps * g[-1]
        self.to_coefficients_ = Q[:, positive] / np.sqrt(g[positive])
        self.V_ = B @ self.to_coefficients_
        scaled = self.root * mean
        self.mean_ = (scaled - self.V_ @ (self.V_.T @ scaled)) / self.root

    @property
    def root(self) -> np.ndarray:
        """√w."""
        return np.asarray(np.sqrt(self.quadrature_))

    @property
    def has_residual(self) -> bool:  # type: ignore[override]
        """Whether the rest of a curve, outside of the span of a basis, is part of the loss."""
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

    def _outside(self, values: np.ndarray) -> np.ndarray:
        """(I − Π)√w(y − mean), (n, T)."""
        assert self.V_ is not None
        Z = (values - self.mean_) * self.root
        return np.asarray(Z - (Z @ self.V_) @ self.V_.T)

    def outside(self) -> np.ndarray | None:
        """‖(I − Π)√w(y − mean)‖ of the training curves."""
        return None if self._rest is None else np.linalg.norm(self._rest, axis=1)

    def left_out(self, weight: np.ndarray | None, groups: np.ndarray | None = None) -> float:
        """Its mean square, the mean curve without each row, or group."""
        if self._rest is None:
            return 0.0
        w = np.ones(len(self._rest)) if weight is None else weight
        left = self._rest - self.moved_mean(self._rest, w, groups) if self.intercept else self._rest
        return float(np.average((left**2).sum(axis=1), weights=w))

    def moved_mean(self, outside: np.ndarray, weight: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
        """What the mean of rows, which is 0, becomes without each of them, or without its group; (n, T)."""
        together = np.arange(len(outside)) if groups is None else np.unique(groups, return_inverse=True)[1]
        sums = np.zeros((int(together.max()) + 1, outside.shape[1]))
        np.add.at(sums, together, weight[:, None] * outside)
        rest = weight.sum() - np.bincount(together, weight)
        return np.asarray(-(sums / np.where(rest > 0, rest, np.inf)[:, None])[together])

    def left_out_mean(self, Y: Any, weight: np.ndarray | None, groups: np.ndarray | None) -> np.ndarray:
        """`mean_` without each row of the training curves, or without its group, minus `mean_`; (n, T)."""
        values = to_numpy(self.values(Y))
        if self.V_ is None or not self.intercept:
            return np.zeros(values.shape)
        w = np.ones(len(values)) if weight is None else weight
        return np.asarray(self.moved_mean(self._outside(values), w, groups) / self.root)

    def represent(self, Y: Any, name: str = "y") -> Array:
        """The coordinates of curves in any form, each point moved to the nearest node, then the norm of the rest."""
        return self._coordinates(self.values(Y, name))

    def coordinates(self, S: Array, like: Array) -> Array:
        """ψ(y_j), without the rest."""
        return asarray_like(S[:, :-1] if self.has_residual else S, like)

    def inner(self, H: Array, S: Array) -> Array:
        """⟨h_i, ψ(y_j)⟩."""
        psi = self.coordinates(S, H)
        return gemm(H[:, : psi.shape[1]], psi)

    def sq_residuals(self, H: Array, S: Array) -> Array:
        """‖h_i − ψ(y_i)‖² over the observed points, the rest included."""
        psi = self.coordinates(S, H)
        squares = super().sq_residuals(H[:, : psi.shape[1]], psi)  # in files of format 1 h has a 0 for the rest
        return squares + asarray_like(S[:, -1], H) ** 2 if self.has_residual else squares

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

    def at(self, H: Array, points: Any, derivative: int = 0, *, mean: bool = True) -> Array:
        """h(x)(θ) anywhere: by the functions of the basis, or by a cubic spline through the nodes."""
        theta = np.atleast_1d(np.asarray(points, dtype=float))
        if self.functions_ is not None and self.V_ is not None:
            r = self.V_.shape[1]
            Phi = self.functions_(theta, derivative) @ self.to_coefficients_
            values = matmul(H[:, :r], asarray_like(Phi, H).T)
        else:
            splines = interpolate(self.points_, to_numpy(self.expand(H)).T, theta, derivative)
            values = asarray_like(splines.T, H)
        return values + asarray_like(self.mean_at(theta, derivative), H)[None, :] if mean else values


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
