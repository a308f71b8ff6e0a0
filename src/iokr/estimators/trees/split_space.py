"""Coordinates of the outputs that a tree splits on: all of them, the principal ones, or random directions."""

from __future__ import annotations

from math import ceil, log2
from typing import Any

import numpy as np

from iokr._array import eigh
from iokr._validation.arguments import check_choice, check_integer, check_number

__all__ = ["SplitSpace", "on_grid", "principal_axes"]


def principal_axes(Z: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(Z − μ) U and s, with U diag(s) Uᵀ the weighted covariance of the rows of Z: variances descend, their sum is all.

    The smaller of the covariance (q, q) and the Gram matrix (n, n) is diagonalised.
    """
    share = weight / weight.sum()
    Z = Z - share @ Z
    A = np.sqrt(share)[:, None] * Z
    n, q = A.shape
    if q <= n:
        s, U = eigh(A.T @ A, overwrite=True)
    else:
        s, V = eigh(A @ A.T, overwrite=True)
        if s[-1] <= 0:  # one point: any axis has all of its variance
            return Z[:, :1], np.zeros(1)
        kept = s > n * np.finfo(float).eps * float(s[-1])
        s, V = s[kept], V[:, kept]
        U = A.T @ (V / np.sqrt(s))
    return Z @ U[:, ::-1], np.clip(s[::-1], 0.0, None)


def on_grid(Z: np.ndarray, n_terms: float) -> np.ndarray:
    """Z to the nearest multiples of a power of two so large that sums of n_terms such numbers have 52 bits."""
    largest = float(np.max(np.abs(Z), initial=0.0))
    if largest == 0:
        return Z
    unit = ceil(log2(largest)) + ceil(log2(n_terms)) - 52
    return np.asarray(np.ldexp(np.rint(np.ldexp(Z, -unit)), unit))


_FAR = 1e4  # mean² over variance
_COUNTED = 2.0**26  # weights that count rows; sums with others are not exact on any grid


class SplitSpace:
    """Orthonormal coordinates Z (n, q) of the outputs, Z Zᵀ = K_Y, and what of them the splits see.

    The attribute Z are the same points, moved to 0 if they lie far from it; in principal axes when these are cut.
    Weights are for the variance of the rows. Vectors that the user has `given` go to scikit-learn as they are, whole.
    """

    def __init__(
        self,
        Z: np.ndarray,
        weight: np.ndarray,
        n_components: int | None,
        tol: float | None,
        projection: str,
        *,
        given: bool,
    ) -> None:
        self.Z, self.normalized_weight, self.given = Z, weight / weight.sum(), given
        mean = self.normalized_weight @ Z
        if mean @ mean > _FAR * self._variance(Z):
            self.Z = Z = Z - mean  # trees subtract squares of means, which leaves few digits far from 0
        counts = np.array_equal(weight, np.floor(weight)) and float(weight.sum()) < _COUNTED
        self.n_terms = max(float(weight.sum()) if counts else 0.0, len(Z))
        self.n_components, self.random = n_components, projection == "random"
        if self.random or (n_components is None and tol is None):
            return
        self.Z, s = principal_axes(Z, weight)
        beyond = np.append(np.cumsum(s[::-1])[::-1], 0.0) / max(float(s.sum()), np.finfo(float).tiny)
        within = len(s) if tol is None else int(np.argmax(beyond <= tol))
        self.n_components = max(1, min(within, len(s) if n_components is None else n_components))
        self._beyond = float(beyond[min(self.n_components, len(s))])

    @staticmethod
    def check(n_components: Any, tol: Any, projection: Any) -> None:
        """Validate parameters."""
        check_choice(projection, "projection", ("principal", "random"))
        if n_components is not None:
            check_integer(n_components, "n_components", minimum=1)
        if tol is not None and check_number(tol, "tol", minimum=0.0) >= 1:
            raise ValueError(f"`tol` must be a fraction of the variance, at least 0 and below 1, got {tol!r}.")
        if projection == "random" and (n_components is None or tol is not None):
            raise ValueError(
                '`projection="random"` needs `n_components`, how many directions to draw, and no `tol`; with one '
                'use `projection="principal"`.'
            )

    def view(self, rng: np.random.RandomState) -> tuple[slice | np.ndarray, float]:
        """What one tree is to look at (see `seen`), and the fraction of the variance that it will not see.

        Random directions are orthonormal and lengthened by √(r/k), so that variances keep their size on average.
        """
        r = self.Z.shape[1]
        if self.n_components is None or self.n_components >= r:
            return slice(None), 0.0
        if not self.random:
            return slice(self.n_components), self._beyond
        Q = np.asarray(np.linalg.qr(rng.standard_normal((r, self.n_components)))[0])
        lost = 1.0 - self._variance(self.Z @ Q) / max(self._variance(self.Z), np.finfo(float).tiny)
        return Q * np.sqrt(r / self.n_components), lost

    def seen(self, E: np.ndarray, view: slice | np.ndarray) -> np.ndarray:
        """The coordinates to split on, (n, k), of outputs or residuals with coordinates E (n, r).

        They are rounded to a grid on which sums over rows are exact. Splits that part the rows alike then gain exactly
        the same in whatever order the rows are summed, and the order of the features decides, not rounding.
        """
        seen = E[:, view] if isinstance(view, slice) else E @ view
        if self.given and E is self.Z and seen.shape == E.shape:
            return E
        return np.ascontiguousarray(on_grid(seen, self.n_terms))

    def _variance(self, Z: np.ndarray) -> float:
        return float(self.normalized_weight @ np.sum((Z - self.normalized_weight @ Z) ** 2, axis=1))
