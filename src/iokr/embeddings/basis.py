"""Functions in which curves are expanded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr._state import Stateful
from iokr._validation.arguments import check_integer, check_number, check_numbers
from iokr.data.curves import interpolate

__all__ = ["Basis", "FittedBasis", "FourierBasis", "FunctionBasis", "NamedBasis", "SplineBasis", "TableBasis"]

FittedBasis = Callable[[np.ndarray, int], np.ndarray]
"""(points, derivative) ↦ Φ (m, d)."""


@dataclass(frozen=True, eq=False)
class Basis(Stateful):
    """y(θ) ≈ Σ_j Φ_j(θ) c_j: functions, orthogonal or not, in which curves are expanded.

    Parameters
    ----------
    functions : array of shape (T, d), or sequence of d callables
        Their values on the grid of the curves, interpolated by cubic splines; or functions of an array of points.
    residual : bool, default=True
        Include ‖y − Πy‖, the norm of the part outside their span, as one more coordinate, which h cannot change.
        Without it a loss other than the square is wrong, and bases of different size cannot be compared.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.embeddings import Basis
    >>> Basis.fourier(3)
    Basis(fourier(3), residual=True)
    >>> Basis.bsplines(6).fitted(np.linspace(0.0, 1.0, 50))(np.array([0.5]), 0).sum().round(12)
    np.float64(1.0)
    """

    functions: Any
    residual: bool = True

    def __repr__(self) -> str:
        return f"Basis({self.functions!r:.60}, residual={self.residual})"

    @classmethod
    def fourier(cls, d: int, period: float | None = None, residual: bool = True) -> Basis:
        """1, √2 cos(2πjθ/p), √2 sin(2πjθ/p), …: d functions, orthonormal over a period (None: the range)."""
        return cls(NamedBasis("fourier", (d, period)), residual)

    @classmethod
    def bsplines(cls, d: int, degree: int = 3, residual: bool = True) -> Basis:
        """d B-splines with equidistant knots over the range of the grid: local, but not orthogonal."""
        return cls(NamedBasis("bsplines", (d, degree)), residual)

    @classmethod
    def principal(cls, r: int, residual: bool = True) -> Basis:
        """The first r principal components of the training curves, orthonormal: functional PCA.

        They are learned from all training curves, so leave-one-out, which holds them fixed, is optimistic; with folds
        they are learned on each training part.
        """
        return cls(NamedBasis("principal", (r,)), residual)

    @property
    def learned(self) -> bool:
        """Whether the functions are estimated from complete training curves."""
        return isinstance(self.functions, NamedBasis) and self.functions.kind == "principal"

    def fitted(self, points: np.ndarray, centred: np.ndarray | None = None, w: np.ndarray | None = None) -> FittedBasis:
        """Φ on this grid and anywhere; `centred` are the curves (n, T) that principal components come from."""
        if isinstance(self.functions, NamedBasis):
            return self.functions.fitted(points, centred, w)
        if isinstance(self.functions, Sequence) and all(callable(f) for f in self.functions) and len(self.functions):
            return FunctionBasis(tuple(self.functions))
        values = check_numbers(self.functions, "functions")
        if values.ndim != 2 or values.shape[0] != len(points) or not np.all(np.isfinite(values)):
            raise ValueError(
                f"`functions` must be a finite matrix ({len(points)}, d), with a row for each point of the grid, or a "
                f"sequence of functions of the points, got {self.functions!r:.60}."
            )
        return TableBasis(points, values)


@dataclass(frozen=True)
class TableBasis(Stateful):
    """Values on the grid, with cubic splines between them."""

    points: np.ndarray
    values: np.ndarray

    def __call__(self, at: np.ndarray, derivative: int) -> np.ndarray:
        if derivative == 0 and np.array_equal(at, self.points):
            return self.values
        return interpolate(self.points, self.values, at, derivative)


@dataclass(frozen=True)
class FunctionBasis(Stateful):
    """Functions of the user."""

    functions: tuple[Any, ...]

    def __call__(self, at: np.ndarray, derivative: int) -> np.ndarray:
        if derivative:
            raise ValueError("The `derivative` of given functions is not known; use a matrix, or `Basis.bsplines(d)`.")
        return np.column_stack([np.broadcast_to(np.asarray(f(at), dtype=float), at.shape) for f in self.functions])


@dataclass(frozen=True)
class FourierBasis(Stateful):
    """1, √2 cos(2πj(θ − start)/period), √2 sin(...)."""

    d: int
    period: float
    start: float

    def __call__(self, at: np.ndarray, derivative: int) -> np.ndarray:
        columns = [np.ones_like(at) if derivative == 0 else np.zeros_like(at)]
        for j in range(1, self.d // 2 + 1):
            rate = 2 * np.pi * j / self.period
            phase = rate * (at - self.start) + derivative * np.pi / 2  # a derivative is a quarter turn
            columns += [np.sqrt(2) * rate**derivative * np.cos(phase), np.sqrt(2) * rate**derivative * np.sin(phase)]
        return np.column_stack(columns[: self.d])


@dataclass(frozen=True)
class SplineBasis(Stateful):
    """B-splines on given knots, constant beyond these."""

    knots: np.ndarray
    degree: int

    def __call__(self, at: np.ndarray, derivative: int) -> np.ndarray:
        from scipy.interpolate import BSpline

        d = len(self.knots) - self.degree - 1
        splines = BSpline(self.knots, np.eye(d), self.degree)
        inside = np.clip(at, self.knots[0], self.knots[-1])
        return np.asarray(splines(inside, nu=derivative))


@dataclass(frozen=True)
class NamedBasis(Stateful):
    """Functions that depend on the grid, or on the curves, given by their kind: a key of `_KINDS`."""

    kind: str
    arguments: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(repr(a) for a in self.arguments if a is not None)})"

    def fitted(self, points: np.ndarray, centred: np.ndarray | None, w: np.ndarray | None) -> FittedBasis:
        """Φ on this grid."""
        return _KINDS[self.kind](self.arguments, points, centred, w)


def _fourier(
    arguments: tuple[Any, ...], points: np.ndarray, centred: np.ndarray | None, w: np.ndarray | None
) -> FourierBasis:
    d = check_integer(arguments[0], "d", minimum=1)
    period = _span(points)
    if arguments[1] is not None:
        period = check_number(arguments[1], "period", minimum=0.0, strict=True)
    return FourierBasis(d, period, float(points[0]))


def _bsplines(
    arguments: tuple[Any, ...], points: np.ndarray, centred: np.ndarray | None, w: np.ndarray | None
) -> SplineBasis:
    d = check_integer(arguments[0], "d", minimum=1)
    degree = check_integer(arguments[1], "degree", minimum=0)
    if d <= degree:
        raise ValueError(f"`d` must be above the degree {degree} of the splines, got {d}.")
    inner = np.linspace(points[0], points[0] + _span(points), d - degree + 1)
    return SplineBasis(np.r_[[inner[0]] * degree, inner, [inner[-1]] * degree], degree)


def _principal(
    arguments: tuple[Any, ...], points: np.ndarray, centred: np.ndarray | None, w: np.ndarray | None
) -> TableBasis:
    r = check_integer(arguments[0], "r", minimum=1)
    if centred is None or w is None or np.isnan(centred).any():
        raise ValueError(
            "`principal` components are learned from complete curves, and some have gaps; use `curve_kernel`, "
            "`Basis.bsplines(d)` or `Basis.fourier(d)`."
        )
    _, s, Vt = np.linalg.svd(centred * np.sqrt(w), full_matrices=False)
    rank = int(np.sum(s > max(centred.shape) * np.finfo(float).eps * s[0])) if s[0] > 0 else 0
    if r > rank:
        raise ValueError(f"`r` is {r}, but the centred curves have {rank} principal components; lower it.")
    return TableBasis(points, (Vt[:r] / np.sqrt(w)).T)


def _span(points: np.ndarray) -> float:
    """The length of the range, 1 for a single point."""
    return float(points[-1] - points[0]) or 1.0


_KINDS: dict[str, Callable[..., FittedBasis]] = {
    "fourier": _fourier,
    "bsplines": _bsplines,
    "principal": _principal,
}
