"""Kernels on vectors, with the names, parameters and formulas of scikit-learn; X may be sparse."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array, diags_array

from iokr._array import (
    Array,
    array_namespace,
    asarray_like,
    centered_sq_norms,
    exp_,
    far_center,
    gemm,
    is_sparse,
    l1_distances,
    row_sq_norms,
    scale_rows,
    scaled_sq_distances,
    take_rows,
    to_numpy,
    unwarned,
)
from iokr._component import Limits, component
from iokr._validation.arguments import (
    COUNT,
    NOT_NEGATIVE,
    check_choice,
    check_computed,
    check_number,
    check_numbers,
    check_vectors,
)
from iokr.data.objects import Parts
from iokr.gram.features import FeatureGram, is_thin
from iokr.gram.scalar import ScalarGram
from iokr.kernels.base import FeatureKernel, Kernel, UnitKernel

__all__ = ["ARD", "RBF", "Cosine", "Laplacian", "Linear", "Polynomial"]


_MEDIAN_ROWS = 1000  # distinct rows whose distances the median rule uses
_FEW = 5  # objects per monomial from which a fit by features is cheaper
_SMALLEST = 1e-290  # squared distance whose inverse is finite, with room for a factor
ROOM = 16.0  # ‖x − z‖² and its parts are finite where this many times ‖x‖² is


class VectorKernel(Kernel):
    """A kernel on vectors that are represented as they are."""

    domain = "vectors"

    def represent(self, X: Any) -> Any:
        """The vectors, checked. May be overridden."""
        return check_vectors(X)


@component
class Linear(FeatureKernel):
    """k(x, z) = ⟨x, z⟩.

    Examples
    --------
    >>> from iokr.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    domain = "vectors"

    def features(self, X: Any) -> Any:
        """The vectors themselves."""
        return check_vectors(X)


@component
class Polynomial(VectorKernel):
    """k(x, z) = (γ⟨x, z⟩ + c₀)^degree.

    Parameters
    ----------
    degree : int, default=3
        Larger is more flexible.
    gamma : float, default=None
        Scale of the inner product; None is 1 / number of features.
    coef0 : float, default=1
        c₀ ≥ 0: weight of the lower orders.

    Examples
    --------
    >>> from iokr.kernels import Polynomial
    >>> Polynomial(degree=2, gamma=1.0)([[1.0]], [[2.0]])
    array([[9.]])
    """

    degree: int = 3
    gamma: float | None = None
    coef0: float = 1.0

    limits: ClassVar[Limits] = {"degree": COUNT, "coef0": NOT_NEGATIVE}

    def fit(self, X: Any) -> Polynomial:
        """Check the parameters and fix γ."""
        self.check_parameters()
        self.gamma_ = _gamma_by_width(self.gamma, X)
        return self

    def block(self, R: Any, S: Any) -> Array:
        with unwarned():
            return (self.gamma_ * gemm(R, S) + self.coef0) ** self.degree

    def gram(self, R: Any, S: Any = None) -> ScalarGram:
        """By the monomials, where there are at least five times as many objects."""
        n = int((R if S is None else S).shape[0])
        monomials = math.comb(int(R.shape[1]) + self.degree, self.degree)
        if is_sparse(R) or is_sparse(S) or _FEW * monomials > n:
            return super().gram(R, S)
        return FeatureGram(self._monomials(R), None if S is None else self._monomials(S))

    def thin_features(self, R: Any) -> Array | None:
        """The monomials."""
        return None if is_sparse(R) else self._monomials(R)

    def _monomials(self, R: Array) -> Array:
        """√(d!/Π aᵢ!) Π zᵢ^aᵢ over all a with Σ aᵢ = d, z = (√γ x, √c₀)."""
        xp = array_namespace(R)
        d = self.degree
        ones = xp.ones_like(xp.sum(R, axis=1))[:, None]
        rows = xp.concat([self.gamma_**0.5 * R, self.coef0**0.5 * ones], axis=1)
        chosen = np.array(list(itertools.combinations_with_replacement(range(int(rows.shape[1])), d)))
        repeats = [math.prod(math.factorial(c) for c in Counter(row).values()) for row in chosen.tolist()]
        columns = rows.T
        with unwarned():
            product = take_rows(columns, chosen[:, 0])
            for k in range(1, d):
                product = product * take_rows(columns, chosen[:, k])
            scale = np.sqrt(math.factorial(d) / np.array(repeats))
            return (product * asarray_like(scale, R)[:, None]).T

    def diag(self, R: Any) -> Array:
        with unwarned():
            return (self.gamma_ * row_sq_norms(R) + self.coef0) ** self.degree


@component
class RBF(UnitKernel):
    """k(x, z) = exp(−γ‖x − z‖²).

    Parameters
    ----------
    gamma : float, default=None
        Inverse squared width: larger is more local. None takes 1 / median of the squared distances between
        distinct rows of the labelled data (at most 1000 of them, evenly from the sorted rows), which does not depend
        on the order, the repetition or the weights of rows.

    Attributes
    ----------
    gamma_ : float
        The γ in use.
    center_ : array of shape (p,), or None
        The mean at fit, about which distances are computed, if it is far from 0.

    Notes
    -----
    The error is at most 8·eps·p·max(1, γd²), d the largest distance in the block, for data at any offset: time stamps
    need not be centred.

    Examples
    --------
    >>> from iokr.kernels import RBF
    >>> RBF(gamma=0.5)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """

    gamma: float | None = None

    domain = "vectors"

    def fit(self, X: Any) -> RBF:
        """Fix γ, by the median rule unless it is given, and the centre."""
        X = check_vectors(X)
        check_computed(row_sq_norms(X), "Row", "‖x‖²", room=ROOM)
        if self.gamma is None:
            self.gamma_ = median_gamma(X)
        else:
            self.gamma_ = check_number(self.gamma, "gamma", minimum=0.0, strict=True)
        self.center_ = far_center(X)
        return self

    def represent(self, X: Any) -> Parts:
        """The vectors and their squared norms about the centre."""
        R = check_vectors(X)
        norms = centered_sq_norms(R, self.center_)
        return Parts(R, check_computed(norms, "Row", "γ‖x‖²", room=ROOM * max(self.gamma_, 1.0)))

    def block(self, R: Parts, S: Parts) -> Array:
        return exp_(self.log_block(R, S))

    def derivative(self, points: np.ndarray, at: np.ndarray, order: int) -> np.ndarray:
        """−2γu k and (4γ²u² − 2γ)k for numbers, u = t − s."""
        check_choice(order, "derivative", (1, 2))
        gamma = float(self.gamma_)
        u = at[None, :] - points[:, None]
        slope = -2 * gamma * u if order == 1 else 4 * gamma**2 * u**2 - 2 * gamma
        return np.asarray(slope * np.exp(-gamma * u**2))

    def log_block(self, R: Parts, S: Parts) -> Array:
        """−γ‖x_i − z_j‖², which differs even where the exponential rounds to zero."""
        X, x_norms = R
        Z, z_norms = S
        return scaled_sq_distances(X, x_norms, Z, z_norms, -self.gamma_, self.center_)


@component
class Laplacian(VectorKernel):
    """k(x, z) = exp(−γ‖x − z‖₁).

    Parameters
    ----------
    gamma : float, default=None
        Inverse width: larger is more local. None is 1 / number of features.

    Examples
    --------
    >>> from iokr.kernels import Laplacian
    >>> Laplacian(gamma=1.0)([[0.0]], [[1.0]]).round(4)
    array([[0.3679]])
    """

    gamma: float | None = None

    def fit(self, X: Any) -> Laplacian:
        """Check or choose γ."""
        self.gamma_ = _gamma_by_width(self.gamma, X)
        return self

    def block(self, R: Any, S: Any) -> Array:
        return exp_(-self.gamma_ * l1_distances(R, S))

    def diag(self, R: Any) -> Array:
        """Ones."""
        squares = row_sq_norms(R)
        return array_namespace(squares).ones_like(squares)


@component
class Cosine(VectorKernel):
    """k(x, z) = ⟨x, z⟩ / (‖x‖‖z‖); a zero vector is orthogonal to everything, itself included.

    Examples
    --------
    >>> from iokr.kernels import Cosine
    >>> Cosine()([[1.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.7071]])
    """

    def represent(self, X: Any) -> Any:
        """The vectors scaled to unit length."""
        R = check_vectors(X)
        norms = check_computed(row_sq_norms(R), "Row", "‖x‖²")
        return scale_rows(R, array_namespace(norms).sqrt(norms))

    def gram(self, R: Any, S: Any = None) -> ScalarGram:
        """By the unit vectors, where they have fewer entries than there are objects."""
        return FeatureGram(R, S, self.diag) if is_thin(R, S) else super().gram(R, S)

    def thin_features(self, R: Any) -> Array | None:
        """The unit vectors."""
        return None if is_sparse(R) else R

    def block(self, R: Any, S: Any) -> Array:
        return gemm(R, S)

    def diag(self, R: Any) -> Array:
        """One, or zero for a zero vector."""
        norms = row_sq_norms(R)
        xp = array_namespace(norms)
        return xp.astype(norms > 0.5, norms.dtype)


def median_gamma(X: Any) -> float:
    """1 / median of ‖x_i − x_j‖² over pairs of distinct rows, at most 1000 taken evenly from the sorted rows."""
    return _inverse_median(typical_rows(X), "sqeuclidean", "‖x_i − x_j‖²")


def median_gamma_l1(X: Any) -> float:
    """1 / median of ‖x_i − x_j‖₁ over the same pairs."""
    return _inverse_median(typical_rows(X), "cityblock", "‖x_i − x_j‖₁")


def typical_rows(X: Any) -> np.ndarray:
    """At most 1000 distinct rows, evenly from the sorted ones: not changed by the order or repetition of rows."""
    X = check_vectors(X)
    rows = np.unique(X.toarray() if is_sparse(X) else to_numpy(X), axis=0)
    count = rows.shape[0]
    if count > _MEDIAN_ROWS:
        rows = rows[np.arange(_MEDIAN_ROWS) * (count - 1) // (_MEDIAN_ROWS - 1)]
    return rows


def _inverse_median(rows: np.ndarray, metric: Literal["sqeuclidean", "cityblock"], distance: str) -> float:
    if len(rows) < 2:
        return 1.0
    from scipy.spatial.distance import pdist

    median = float(np.median(pdist(rows, metric)))
    if not _SMALLEST < median < math.inf:
        remedy = "multiply" if median < 1 else "divide"
        raise ValueError(
            f"The default of `gamma` is 1 / median of {distance}, but that median is {median:.3g}, out of the range "
            f"of floats; {remedy} the data by a constant or set `gamma`."
        )
    return 1 / median


def _gamma_by_width(gamma: float | None, X: Any) -> float:
    """γ as given, or scikit-learn's 1 / number of features."""
    if gamma is None:
        return 1.0 / float(max(check_vectors(X).shape[1], 1))
    return check_number(gamma, "gamma", minimum=0.0, strict=True)


@component
class ARD(UnitKernel):
    """k(x, z) = exp(−Σ_l γ_l (x_l − z_l)²): automatic relevance determination, a width for each feature.

    `model_selection.tune` finds the widths by gradients; a feature whose γ ends near 0 plays no role. With equal widths
    this is `RBF`.

    Parameters
    ----------
    gammas : sequence of float, float, or None, default=None
        γ_l ≥ 0: a larger one gives feature l more weight. A number is for all features; None takes the median rule of
        `RBF` for all.

    Attributes
    ----------
    gammas_ : array of shape (p,)
        The γ in use.

    Examples
    --------
    >>> from iokr.kernels import ARD
    >>> ARD([1.0, 0.0])([[0.0, 5.0]], [[1.0, 9.0], [0.0, 7.0]]).round(4)
    array([[0.3679, 1.    ]])
    """

    gammas: Any = None

    domain = "vectors"

    @property
    def widths(self) -> np.ndarray | None:  # type: ignore[override]
        """γ of each feature."""
        return self.gammas_

    @property
    def active(self) -> np.ndarray:
        """The features with γ_l > 0; the first where there is none."""
        found = np.flatnonzero(self.gammas_)
        return found if len(found) else np.arange(1)

    def fit(self, X: Any) -> ARD:
        """Check the widths and fix a centre, about which distances are computed with less cancellation."""
        X = check_vectors(X)
        check_computed(row_sq_norms(X), "Row", "‖x‖²", room=ROOM)
        self.gammas_ = _widths(median_gamma(X) if self.gammas is None else self.gammas, int(X.shape[1]))
        if is_sparse(X):  # columns that are mostly 0 are not moved, so that rows stay sparse
            often = 2 * X.count_nonzero(axis=0) > X.shape[0]
            self.center_ = np.where(often, np.ravel(X.sum(axis=0)) / max(X.shape[0], 1), 0.0)
        else:
            self.center_ = to_numpy(array_namespace(X).mean(X, axis=0))
        return self

    def represent(self, X: Any) -> Parts:
        """√γ_l (x_l − mean_l) of the features that play a role, and the squared norms."""
        R = check_vectors(X)
        if int(R.shape[1]) != len(self.gammas_):
            raise ValueError(f"X has {int(R.shape[1])} features, but `gammas` has {len(self.gammas_)}.")
        active = self.active
        center = self.center_[active]
        root = np.sqrt(self.gammas_[active])
        if len(active) < len(self.gammas_):
            R = R[:, active] if is_sparse(R) else array_namespace(R).take(R, asarray_like(active, R), axis=1)
        if is_sparse(R) and 2 * np.count_nonzero(center) > len(root):
            R = R.toarray()
        with unwarned():
            if is_sparse(R):
                moved = R - csr_array(np.ones((R.shape[0], 1))) @ csr_array(center[None, :])
                R = (moved @ diags_array(root)).tocsr()
            else:
                R = (R - asarray_like(center, R)[None, :]) * asarray_like(root, R)[None, :]
            norms = row_sq_norms(R)
        return Parts(R, check_computed(norms, "Row", "Σ γ_l x_l²", room=ROOM))

    def block(self, R: Parts, S: Parts) -> Array:
        X, x_norms = R
        Z, z_norms = S
        return exp_(scaled_sq_distances(X, x_norms, Z, z_norms, -1.0))


def _widths(gammas: Any, p: int) -> np.ndarray:
    """γ for each of p features."""
    values = check_numbers(gammas, "gammas")
    if values.shape not in ((), (p,)):
        raise ValueError(f"`gammas` has shape {values.shape} but X has {p} features; give one for each.")
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ValueError(f"`gammas` must be finite numbers of at least 0, got {gammas!r:.60}.")
    return np.broadcast_to(values, (p,)).copy()
