"""𝒦(x, z) = k(x, z) C, C a covariance operator of the outputs, estimated on the training set."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from iokr._array import (
    Array,
    array_namespace,
    asarray_like,
    cholesky,
    eigh,
    largest_eigenvalue,
    matmul,
    thin_svd,
    to_numpy,
)
from iokr._component import component
from iokr._system.memory import check_memory
from iokr._validation.arguments import check_choice, check_number
from iokr._validation.matrices import check_psd
from iokr.gram.base import Gram
from iokr.gram.operators import Oblique, as_operator
from iokr.gram.scalar import ScalarGram
from iokr.gram.separable import SeparableGram
from iokr.kernels.base import Kernel
from iokr.operator_kernels.decomposable import Separable

__all__ = ["ConditionalCovariance", "Covariance"]

_EPS = float(np.finfo(np.float64).eps)
_SHARE = 1e-2  # of the largest eigenvalue: ε by default
_LESS_MEMORY = (
    "To reduce memory: fewer rows, or features by `kernel=Nystroem(kernel, n_components)` and "
    "`embedding=Nystroem(n_components)`."
)


class _OutputCovariance(Separable):
    """𝒦(x, z) = k(x, z) A with A = Φ F Fᵀ Φᵀ, Φ = [ψ(y_1) … ψ(y_n)]: a subclass defines F.

    For vector outputs A = (FᵀΨ)ᵀ(FᵀΨ). Outputs known through K_Y only need FᵀK_YF = W diag(t) Wᵀ: on weights of the
    ψ(y_i), the eigenvectors of A are the columns of E = K_Y F W and the rows of L = (F W)ᵀ, with L E = diag(t).
    """

    centered: bool

    A_: Array | None = None  # A on vector outputs
    _oblique: Oblique | None = None  # A on weights of the ψ(y_i), for outputs known through K_Y

    explicit_outputs = False
    spans = True

    def _stored(self) -> dict[str, Any]:
        return {"oblique": self._oblique}

    def fit(self, X: Any, Psi: Array | None = None) -> _OutputCovariance:
        """Fit a clone of the scalar kernel; the operator is computed by `adapt`."""
        check_choice(self.centered, "centered", (True, False))
        self.kernel_ = clone(self._given).fit(X)
        return self

    def adapt(self, gram: ScalarGram, Psi: Array | None, output_gram: ScalarGram | None, weight: Any) -> None:
        """Estimate A from the labelled points."""
        self.A_ = None
        self._oblique = None
        n = gram.shape[0]
        like = gram.diagonal() if Psi is None else Psi
        squares = 6 if Psi is None else self._squares(gram)
        check_memory(8.0 * squares * n * n, f"{type(self).__name__} of {n} points", _LESS_MEMORY, like)
        plain = _Factor(np.ones(n) if weight is None else np.asarray(weight, dtype=float), self.centered, like)
        half = self._factor(gram, plain, Psi is not None)
        if Psi is not None:
            B = half.transposed(Psi)
            self.A_ = matmul(B.T, B)
            return
        if output_gram is None:
            raise ValueError(f"{self!r} needs the outputs; fit it through an estimator.")
        K_Y = asarray_like(output_gram.dense(), like)
        t, W = eigh(half.congruence(K_Y), overwrite=True)
        values = np.clip(to_numpy(t), 0.0, None)
        rounding = int(np.count_nonzero(values <= n * _EPS * values[-1]))  # these directions do not contribute to h
        first = min(rounding, n - 1)
        vectors = half(W[:, first:])  # F W
        xp = array_namespace(like)
        self._oblique = Oblique(values[first:], matmul(K_Y, vectors), vectors.T, xp.linalg.diagonal(K_Y) * 1.0)

    def _squares(self, gram: ScalarGram) -> int:
        """The number of n × n arrays that F takes when the outputs are in coordinates. May be overridden."""
        return 0

    @abstractmethod
    def _factor(self, gram: ScalarGram, plain: _Factor, explicit: bool) -> _Factor:
        """F; outputs in coordinates (`explicit`) need Fᵀ Ψ only."""

    def around(self, K: ScalarGram) -> Gram:
        """C ↦ K C A, or B ↦ K B where B contains A."""
        if self.A_ is not None:
            return SeparableGram(K, as_operator(self.A_))
        if self._oblique is not None:
            return SeparableGram(K, self._oblique)
        return K


class _Factor:
    """F = √(w/Σw) P with P = I − √w√wᵀ/Σw or I, for moments about the mean or about zero."""

    def __init__(self, weight: np.ndarray, centered: bool, like: Array) -> None:
        self.weight = asarray_like(np.sqrt(weight / weight.sum()), like)
        self.centered = centered
        self.even = not centered and bool(np.all(weight == weight[0]))

    def center(self, B: Array) -> Array:
        """P B."""
        if not self.centered:
            return B
        return B - self.weight[:, None] * (self.weight[None, :] @ B)

    def __call__(self, B: Array) -> Array:
        """F B. May be overridden."""
        return self.weight[:, None] * self.center(B)

    def transposed(self, B: Array) -> Array:
        """Fᵀ B. May be overridden."""
        return self.center(self.weight[:, None] * B)

    def congruence(self, K_Y: Array) -> Array:
        """Fᵀ K_Y F, a new array. May be overridden."""
        B = self.weight[:, None] * K_Y * self.weight[None, :]
        return self.center(self.center(B).T) if self.centered else B


@dataclass(eq=False)
class _Through(_Factor):
    """F = √a √(w/Σw) P M, for M given by its products B ↦ M B and B ↦ Mᵀ B."""

    plain: _Factor
    times: Callable[[Array], Array]
    times_transposed: Callable[[Array], Array]
    scale: float = 1.0  # a

    def __call__(self, B: Array) -> Array:
        return self.scale**0.5 * self.plain(self.times(B))

    def transposed(self, B: Array) -> Array:
        return self.scale**0.5 * self.times_transposed(self.plain.transposed(B))

    def congruence(self, K_Y: Array) -> Array:
        half = self.times_transposed(self.plain.congruence(K_Y))
        M = self.scale * self.times_transposed(half.T)
        return (M + M.T) / 2


def _thin_conditional(plain: _Factor, Phi: Array, epsilon: float) -> _Factor:
    """F = √(w/Σw) P Ĝ, Ĝ = I − V diag(1 − √(ε/(σ² + ε))) Vᵀ, when K = Φ Φᵀ and P√(w/Σw) Φ = V diag(σ) Qᵀ is thin."""
    V, sigma = thin_svd(plain.transposed(Phi))
    shrunk = 1 - array_namespace(Phi).sqrt(epsilon / (sigma * sigma + epsilon))

    def half(B: Array) -> Array:
        """Ĝ B."""
        return B - matmul(V, shrunk[:, None] * matmul(V.T, B))

    return _Through(plain, half, half)


class _SpectralConditionalFactor(_Factor):
    """F = n^{-½} U diag(√(ε/(s/n + ε))) with K = U diag(s) Uᵀ, without weights and centring; the solver also uses U."""

    def __init__(self, pairs: tuple[Array, Array], epsilon: float) -> None:
        s, self.U = pairs
        n = s.shape[0]
        xp = array_namespace(s)
        self.r = xp.sqrt(epsilon / (xp.clip(s, min=0.0) / n + epsilon) / n)

    def __call__(self, B: Array) -> Array:
        return matmul(self.U, self.r[:, None] * B)

    def transposed(self, B: Array) -> Array:
        return self.r[:, None] * matmul(self.U.T, B)

    def congruence(self, K_Y: Array) -> Array:
        M = matmul(self.U.T, matmul(K_Y, self.U))
        M *= self.r[:, None]
        M *= self.r[None, :]
        return M


class _GivenFactor(_Factor):
    """F = √(w/Σw) P R with R Rᵀ = G."""

    def __init__(self, plain: _Factor, G: Array) -> None:
        self.plain = plain
        s, U = eigh(G)
        xp = array_namespace(s)
        self.R = U * xp.sqrt(xp.clip(s, min=0.0))[None, :]

    def __call__(self, B: Array) -> Array:
        return self.plain(matmul(self.R, B))

    def transposed(self, B: Array) -> Array:
        return matmul(self.R.T, self.plain.transposed(B))

    def congruence(self, K_Y: Array) -> Array:
        M = matmul(self.R.T, matmul(self.plain.congruence(K_Y), self.R))
        return (M + M.T) / 2


@component
class Covariance(_OutputCovariance):
    """𝒦(x, z) = k(x, z) C_YY, C_YY = (1/n) Σ_i ψ(y_i) ⊗ ψ(y_i); with G, A = (1/n) Σ_ij G_ij ψ(y_i) ⊗ ψ(y_j).

    Directions in which the outputs vary little are shrunk more. For vector outputs, and for outputs known only through
    an output kernel, then by two eigendecompositions of size n. Leave-one-out keeps C_YY fixed; cross-validation
    (`IOKRCV(cv=5)`) estimates it in each fold.

    Parameters
    ----------
    kernel : Kernel
        Scalar kernel on the inputs.
    centered : bool, default=False
        Second moments about the mean; False is the published operator, about zero. Predictions differ.
    G : array of shape (n, n), default=None
        Positive semi-definite, over the labelled rows in their order: which outputs vary together, such as a kernel on
        side information about them. None is I. `ConditionalCovariance` has a G computed from the inputs.
        Cross-validation cannot be used with a G, which it cannot split.

    Attributes
    ----------
    kernel_ : Kernel
        The fitted scalar kernel.
    A_ : array of shape (q, q)
        A, for vector outputs.

    Notes
    -----
    Kadri, Ghavamzadeh and Preux 2012, Eq. 5, and Eq. 3 and 4 with G; their λ (of nλ) is `alpha`. A weight of 2 is the
    row twice: with weights and centring A = Φ D P G P D Φᵀ, D = diag(√(w/Σw)).

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF
    >>> from iokr.operator_kernels import Covariance
    >>> model = IOKR(Covariance(RBF(1.0)), output_kernel=RBF(1.0), alpha=0.01)
    >>> model.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]).predict([[1.1]])
    array([1.])
    """

    kernel: Kernel
    centered: bool = False
    G: Any = None

    def _squares(self, gram: ScalarGram) -> int:
        """G, its eigenvectors and their scaled copy."""
        return 0 if self.G is None else 4

    def _factor(self, gram: ScalarGram, plain: _Factor, explicit: bool) -> _Factor:
        if self.G is None:
            return plain
        G = check_psd(self.G, "G")
        n = int(gram.shape[0])
        if tuple(G.shape) != (n, n):
            raise ValueError(
                f"`G` must have a row and a column for each of the {n} labelled rows, got shape {tuple(G.shape)}."
            )
        return _GivenFactor(plain, asarray_like(G, plain.weight))


@component
class ConditionalCovariance(_OutputCovariance):
    """𝒦(x, z) = k(x, z) (C_YY − C_YX (C_XX + εI)⁻¹ C_XY): the part of the covariance that x does not explain.

    Parameters
    ----------
    kernel : Kernel
        Scalar kernel on the inputs, also of C_XX.
    epsilon : float, default=None
        ε > 0: larger explains less by x, up to `Covariance`; None is 1e-2 s_max(K)/n.
    centered : bool, default=False
        Moments about the means; False is the published operator, about zero.

    Attributes
    ----------
    epsilon_ : float
    kernel_ : Kernel
        The fitted scalar kernel.
    A_ : array of shape (q, q)
        The operator, for vector outputs.

    Notes
    -----
    Kadri, Ghavamzadeh and Preux 2012, Eq. 7: with G = nε(K + nεI)⁻¹ the operator is (1/n) Φ G Φᵀ. As ε → 0 it
    vanishes when K is regular.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF
    >>> from iokr.operator_kernels import ConditionalCovariance
    >>> model = IOKR(ConditionalCovariance(RBF(1.0), epsilon=0.1), output_kernel=RBF(1.0), alpha=0.01)
    >>> model.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]).predict([[1.1]])
    array([1.])
    """

    kernel: Kernel
    epsilon: float | None = None
    centered: bool = False

    def _squares(self, gram: ScalarGram) -> int:
        """K, its scaled copy and the factor, unless K is a product of thin matrices."""
        return 3 if gram.factor is None else 0

    def _factor(self, gram: ScalarGram, plain: _Factor, explicit: bool) -> _Factor:
        if gram.factor is not None:  # K = Φ Φᵀ: no n × n matrix is needed
            rows = plain.weight[:, None] * gram.factor
            self.epsilon_ = self._epsilon(lambda: largest_eigenvalue(matmul(rows.T, rows)))
            return _thin_conditional(plain, gram.factor, self.epsilon_)
        pairs = gram.eigenpairs() if plain.even and not explicit else None
        if pairs is not None:
            largest = float(pairs[0][-1]) / gram.shape[0]
            self.epsilon_ = self._epsilon(lambda: largest)
            return _SpectralConditionalFactor(pairs, self.epsilon_)
        K = gram.dense()
        w = plain.weight
        self.epsilon_ = self._epsilon(lambda: largest_eigenvalue(w[:, None] * K * w[None, :]))
        # F = √(w/Σw) P √ε S⁻ᵀ with S Sᵀ = P√w K√wP/Σw + εI
        S = cholesky(plain.congruence(K), self.epsilon_, overwrite=True)
        return _Through(plain, lambda B: S.solve_lower(B, transpose=True), S.solve_lower, self.epsilon_)

    def _epsilon(self, largest: Callable[[], float]) -> float:
        """ε, by default 1e-2 times the largest eigenvalue of √(w/Σw) K √(w/Σw), 1 if that is 0."""
        if self.epsilon is not None:
            return check_number(self.epsilon, "epsilon", minimum=0.0, strict=True)
        return _SHARE * largest() or 1.0
