"""Several kernels in one, weighted by their alignment with the outputs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from iokr._array import Array, array_namespace, asarray_like
from iokr._component import Limits, component
from iokr._system.memory import check_matrix
from iokr._validation.arguments import check_computed, check_numbers, one_of
from iokr.kernels.algebra import SeveralKernels
from iokr.kernels.base import Kernel

__all__ = ["Aligned", "alignment", "alignment_weights"]


@component
class Aligned(SeveralKernels):
    """k(x, z) = Σ_t ω_t k_t(x, z), ω ≥ 0 with Σ ω_t = 1 chosen for its alignment with the output kernel K_Y.

    Alignment is the cosine ⟨K̄, K̄_Y⟩ / (‖K̄‖ ‖K̄_Y‖) of centred Gram matrices on the labelled objects. "alignf" finds the
    weights whose sum aligns best, by non-negative least squares in T unknowns. "align" weights each kernel by its own
    alignment, regardless of its correlation with the others. The estimator supplies K_Y. The kernels are added without
    centring. Normalise them first (`Normalized`): the sum of "align" depends on their scales, unlike that of "alignf".

    Parameters
    ----------
    kernels : sequence of Kernel
    method : {"alignf", "align"}, default="alignf"
    weights : sequence of T numbers, default=None
        ω itself, at least 0 and not all 0; None learns it from the outputs.

    Attributes
    ----------
    weights_ : array of shape (T,)
        ω.
    alignments_ : array of shape (T,)
        Alignment of each kernel alone with K_Y, if ω was learned.
    alignment_ : float
        Alignment of the weighted sum, if ω was learned.

    Notes
    -----
    Costs T²n² flops and T n² numbers of memory at fit. It must be the `kernel` of an estimator itself: as a part of
    another kernel, or fitted without outputs, it gives all kernels equal weights and warns.

    References
    ----------
    Cortes, Mohri, Rostamizadeh, JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF, Aligned, Columns
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = IOKR(Aligned([Columns(RBF(), [0]), Columns(RBF(), [1])])).fit(X, np.sin(X[:, 0]))
    >>> model.kernel_.weights_.round(1)
    array([1., 0.])
    """

    method: str = "alignf"
    weights: Sequence[float] | None = None

    limits: ClassVar[Limits] = {"method": one_of("alignf", "align")}

    @property
    def supervised(self) -> bool:  # type: ignore[override]  # derived here, a constant elsewhere
        """Whether there are weights to learn."""
        return self.weights is None

    def fit(self, X: Any, target: Array | None = None) -> Aligned:
        """Fit a clone of each, and the weights; `target` is K_Y, the Gram matrix (n, n) of the outputs of X."""
        self.check_parameters()
        super().fit(X)
        count = len(self.kernels_)
        if self.weights is not None:
            self.weights_ = _checked_weights(self.weights, count)
            return self
        if target is None:
            warnings.warn(
                "Aligned() has no outputs to align with and gives all kernels equal weights; it must be the `kernel` "
                "of an estimator itself, not a part of another kernel.",
                UserWarning,
                stacklevel=2,
            )
            self.weights_ = np.full(count, 1 / count)
            return self
        objects = np.arange(target.shape[0]) if self.pairwise else X
        maps = [k.gram(k.represent(objects)) for k in self.kernels_]
        n, m = maps[0].shape
        check_matrix(n, m, target, 2.0 * count + 1, f"The alignment of {count} kernel matrices")
        for gram in maps:
            check_computed(gram.diagonal())
        grams = [gram.dense() for gram in maps]
        self.weights_, self.alignments_, self.alignment_ = alignment_weights(grams, target, self.method)
        return self

    @property
    def terms(self) -> list[tuple[float, Kernel]]:
        """The kernels with the weights that were learned."""
        return list(zip(self.weights_.tolist(), self.kernels_, strict=True))

    def fixed(self) -> Aligned:
        """The same kernels, not fitted, with the learned weights as `weights`."""
        fixed: Aligned = clone(self).set_params(weights=[float(w) for w in self.weights_])
        return fixed

    def combined(self, parts: Iterable[Array]) -> Array:
        """Σ_t ω_t times them."""
        return super().combined(float(w) * part for w, part in zip(self.weights_, parts, strict=True))


def _checked_weights(weights: Any, count: int) -> np.ndarray:
    found = check_numbers(weights, "weights")
    if found.shape != (count,) or not np.all(np.isfinite(found)) or np.any(found < 0) or not found.any():
        raise ValueError(
            f"`weights` must be {count} numbers of at least 0, one per kernel and not all 0, got {weights!r:.60}."
        )
    return found


def alignment(K: Array, target: Array) -> float:
    """⟨K̄, K̄_Y⟩ / (‖K̄‖ ‖K̄_Y‖), the cosine of two centred Gram matrices; 0 where one of them is constant."""
    return float(_cosines([_centered(K)], _centered(asarray_like(target, K)))[1][0])


def alignment_weights(grams: Sequence[Array], target: Array, method: str) -> tuple[np.ndarray, np.ndarray, float]:
    """ω, the alignment of each Gram matrix with the target, and that of Σ ω_t K_t."""
    centered = [_centered(K) for K in grams]
    M, a = _cosines(centered, _centered(asarray_like(target, grams[0])))
    sizes = np.array([_norm(K) for K in centered])
    if not np.any(a > 0):
        warnings.warn("No kernel is aligned with the outputs; all get equal weights.", UserWarning, stacklevel=3)
        weights = np.full(len(grams), 1 / len(grams))
    elif method == "align":
        weights = a / a.sum()
    else:
        v = _nonnegative(M, a) / np.where(sizes > 0, sizes, 1.0)  # weights of K_t, not of K̄_t/‖K̄_t‖
        weights = v / v.sum()
    u = weights * sizes
    length = float(np.sqrt(u @ M @ u))
    return weights, a, float(u @ a / length) if length else 0.0


def _cosines(centered: Sequence[Array], target: Array) -> tuple[np.ndarray, np.ndarray]:
    """Between centred Gram matrices, (T, T), and of each with the centred target, (T,), at least 0."""
    xp = array_namespace(target)
    everything = [*centered, target]
    sizes = np.array([_norm(K) for K in everything])
    scale = np.where(sizes > 0, 1 / np.where(sizes > 0, sizes, 1.0), 0.0)
    T = len(centered)
    cosines = np.zeros((T + 1, T + 1))
    for i in range(T + 1):
        for j in range(i + 1):
            cosines[i, j] = cosines[j, i] = float(xp.sum(everything[i] * everything[j])) * scale[i] * scale[j]
    # traces of products of positive semi-definite matrices are not negative
    return cosines[:T, :T], np.clip(cosines[:T, T], 0.0, None)


def _nonnegative(M: np.ndarray, a: np.ndarray) -> np.ndarray:
    """argmin_{v ≥ 0} vᵀMv − 2vᵀa, exactly: min ‖Rv − R⁻ᵀa‖ with M = RᵀR, on the range of M, in which a lies."""
    from scipy.optimize import nnls

    m, Q = np.linalg.eigh(M)
    kept = m > len(m) * np.finfo(float).eps * m[-1]
    root = np.sqrt(m[kept])
    v, _ = nnls(root[:, None] * Q[:, kept].T, (Q[:, kept].T @ a) / root)
    return np.asarray(v)


def _centered(K: Array) -> Array:
    """P K P with P = I − 11ᵀ/n; zero where only rounding is left."""
    xp = array_namespace(K)
    rows = xp.mean(K, axis=1)
    centered = K - rows[:, None] - rows[None, :] + xp.mean(rows)
    rounding = K.shape[0] * float(np.finfo(float).eps) * _norm(K)
    return centered if _norm(centered) > rounding else centered * 0.0


def _norm(K: Array) -> float:
    return float(array_namespace(K).linalg.vector_norm(K))
