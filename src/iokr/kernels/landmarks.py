"""φ(x) = Wᵀ S k(P, x), W Wᵀ = (S k(P, P) Sᵀ)⁺: features of a kernel from some objects P."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any

import numpy as np

from iokr._array import (
    Array,
    CholeskyFactor,
    NotPositiveDefinite,
    array_namespace,
    asarray_like,
    blocks,
    cholesky,
    eigh,
    empty_like,
    is_array,
    is_numpy,
    matmul,
    pivoted_cholesky,
    row_sq_norms,
    take_rows,
    to_numpy,
)
from iokr._component import Limits
from iokr._system.memory import check_matrix
from iokr._validation.arguments import (
    COUNT,
    NOT_NEGATIVE,
    check_computed,
    check_number,
    check_random,
    either,
    one_of,
)
from iokr.data.objects import Parts
from iokr.kernels.base import Kernel

__all__ = ["LANDMARK_LIMITS", "SKETCH_LIMITS", "FeatureMap", "Landmarks", "SketchedLandmarks", "generator"]

_EPS = float(np.finfo(np.float64).eps)
_FIRST = 8  # objects drawn at a time, at least
_SHARE = 8  # objects drawn at a time, as a fraction 1/8 of those chosen before
_PER_ROW = 4  # objects in a sketch for each of its rows, by default
_SPARSEST = 1e-9  # the smallest density of a sketch: entries are divided by its root
_PANEL = 1 << 25  # numbers of a panel of features
_IN_CACHE = 1 << 21  # the same for NumPy, which takes fresh memory for each panel
_DIGITS = 1e3  # pivots above this many times n·eps·max k(x, x) are not rounding


LANDMARK_LIMITS: Limits = {
    "n_components": COUNT,
    "tol": either(None, NOT_NEGATIVE),
    "pivots": one_of("random", "greedy", "uniform"),
}
SKETCH_LIMITS: Limits = {
    "n_components": COUNT,
    "density": either(None, partial(check_number, minimum=_SPARSEST, maximum=1.0)),
    "entries": one_of("signs", "normal"),
}


def generator(random_state: Any) -> np.random.Generator:
    """Random numbers; the same ones every time for None, so that the same data have the same features."""
    seed = check_random(0 if random_state is None else random_state).randint(2**31)
    return np.random.default_rng(int(seed))


class FeatureMap(ABC):
    """φ(x) from the values k(x, p) at the objects p of P; the features of the objects at fit are kept for one use."""

    kernel: Kernel
    pivots: np.ndarray  # positions of P among the objects at fit
    P: Any  # represented
    error: float  # tr(K − K̂) / tr K
    _at_fit: Any = None  # Φ, or (X, fingerprint of X, Φ)

    def _stored(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "pivots": self.pivots, "P": self.P, "error": self.error}

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of features."""

    @abstractmethod
    def whiten(self, B: Array, out: Array | None = None) -> Array:
        """φ(x) from rows k(x, P), written to `out` if given."""

    @abstractmethod
    def weights(self, H: Array) -> Array:
        """Coordinates h as weights on the objects of P, a row each."""

    def features(self, R: Any) -> Array:
        """φ(x), a row per object; some rows at a time, so that little more than the result is in memory."""
        n = int(R.shape[0])
        height = _height(len(self.pivots), self.P)
        if n <= height:
            return self.whiten(self.kernel.block(R, self.P))
        Phi: Array | None = None
        for rows in blocks(n, height):
            B = self.kernel.block(take_rows(R, rows), self.P)
            if Phi is None:
                Phi = empty_like((n, self.width), B)
            self.whiten(B, Phi[rows, :])
        return Phi

    def remember(self, X: Any) -> None:
        """Keep Φ of the objects X at fit until the next `recall`, usually from `represent(X)` right after `fit(X)`."""
        fingerprint = _fingerprint(X)
        self._at_fit = None if fingerprint is None else (X, fingerprint, self._at_fit)

    def recall(self, X: Any) -> Array | None:
        """Φ if X is the array at fit, unchanged; it is returned once at most."""
        kept = self.take_features()
        if kept is None:
            return None
        before, fingerprint, Phi = kept
        if before is not X or not bool(array_namespace(fingerprint).all(fingerprint == _fingerprint(X))):
            return None
        return Phi

    def take_features(self) -> Any:
        """What is kept of the features at fit: Φ, until `remember`; it is returned once."""
        return vars(self).pop("_at_fit", None)

    def _finish_fit(self, Phi: Array, diagonal: Array) -> None:
        """Keep Φ, and set tr(K − K̂) / tr K from the diagonal of K."""
        self._at_fit = Phi
        xp = array_namespace(Phi)
        diagonal = asarray_like(diagonal, Phi)
        parts = blocks(int(Phi.shape[0]), _height(int(Phi.shape[1]), Phi))
        rest = [xp.sum(xp.clip(diagonal[rows] - _sq_norms(Phi[rows, :]), min=0.0)) for rows in parts]
        trace = float(xp.sum(diagonal))
        self.error = float(sum(rest[1:], rest[0])) / trace if trace > 0 else 0.0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_at_fit"}


class Landmarks(FeatureMap):
    """φ(x) = L⁻¹ k(P, x), L Lᵀ = k(P, P): K̂ = Φ Φᵀ ≤ K is the projection of K on the span of the objects P.

    "random": randomly pivoted Cholesky. Objects are drawn with probability proportional to the residual k(x, x) −
    k̂(x, x), many at a time, and each is then accepted with the ratio of its residual after the others before it to
    that at the draw: the result has the distribution of draws one by one, and a smaller rank takes the first of the
    same objects. "greedy" takes the object with the largest residual, one at a time. "uniform" draws all at once. K is
    not formed: n·rank evaluations, n·rank² flops. Objects whose residual is rounding are left out; no jitter is added.

    `pivots` are the positions of P among the represented objects R; `error` is tr(K − K̂) / tr K. K − K̂ is positive
    semi-definite, so that tr(K − K̂) bounds its eigenvalues. With `tol` the rank is the smallest with error ≤ tol.
    """

    def __init__(
        self,
        kernel: Kernel,
        R: Any,
        n_components: int,
        tol: float | None = None,
        pivots: str = "random",
        random_state: Any = None,
    ) -> None:
        n = int(R.shape[0])
        rank = min(n_components, n)
        check_matrix(n, rank, R, 2.0, "Columns of a kernel matrix")
        self.kernel = kernel
        rng = generator(random_state)
        diagonal = check_computed(kernel.diag(R))
        rounding = n * _EPS * float(array_namespace(diagonal).max(diagonal)) if n else 0.0
        if pivots == "uniform":
            Phi = self._draw(R, rng.permutation(n)[:rank], ordered=tol is not None)
        else:
            Phi = self._factor(R, rank, diagonal, rounding, None if pivots == "greedy" else rng)
        if tol is not None:
            Phi = self._first(Phi, diagonal, tol)
        self._finish_fit(Phi, diagonal)

    def _stored(self) -> dict[str, Any]:
        return {"L": self.L}

    def _draw(self, R: Any, chosen: np.ndarray, *, ordered: bool) -> Array:
        """Φ of P among the chosen objects, without those that the others represent; `ordered`: the best ones first."""
        self.pivots = chosen
        self.P = take_rows(R, chosen)
        M = self.kernel.block(self.P, self.P)
        factor = None if ordered else _lower(M)
        if factor is None:
            M = to_numpy(M)
            L, order = pivoted_cholesky(np.ascontiguousarray((M + M.T) / 2))
            factor = np.tril(L[order])
            self.pivots = chosen[order]
            self.P = take_rows(R, self.pivots)
        self.L = factor
        return self.features(R)

    def _factor(self, R: Any, rank: int, left: Array, rounding: float, rng: np.random.Generator | None) -> Array:
        """Φ by Cholesky with pivoting; the greedy one without random numbers. `left` is the diagonal of K − K̂."""
        n = int(R.shape[0])
        xp = array_namespace(left)
        Phi = np.empty((n, rank), order="F") if is_numpy(left) else empty_like((n, rank), left)
        chosen: list[np.ndarray] = []
        closed = np.zeros(n, dtype=bool)  # which objects are chosen
        count = 0
        while count < rank:
            residual = xp.where((left <= rounding) | asarray_like(closed, left), 0.0, left)
            known = Phi[:, :count]
            J, L = self._worst(residual) if rng is None else self._drawn(R, residual, known, rounding, rng)
            if not len(J):
                break
            J = J[: rank - count]
            L = L[: rank - count, : rank - count]
            rows = asarray_like(J, left)
            columns = self.kernel.block(R, take_rows(R, rows))
            if count:
                columns = columns - matmul(known, take_rows(known, rows).T)
            # the next columns of Φ: (k(x, x_J) − k̂(x, x_J)) L⁻ᵀ
            new = CholeskyFactor(asarray_like(np.ascontiguousarray(L), columns)).solve_rows(columns)
            Phi[:, count : count + len(J)] = new
            left = left - _sq_norms(new)
            chosen.append(J)
            closed[J] = True
            count += len(J)
        self.pivots = np.concatenate([np.empty(0, dtype=np.intp), *chosen])
        self.P = take_rows(R, self.pivots)
        Phi = Phi[:, :count]
        self.L = xp.tril(take_rows(Phi, self.pivots))
        return np.ascontiguousarray(Phi) if is_numpy(Phi) else Phi

    def _worst(self, residual: Array) -> tuple[np.ndarray, np.ndarray]:
        """The object with the largest residual, and its root; none where all residuals are 0."""
        xp = array_namespace(residual)
        J = np.array([int(xp.argmax(residual))])
        L = np.sqrt(to_numpy(take_rows(residual, J)))[:, None]
        return (J, L) if L[0, 0] > 0 else (J[:0], L[:0])

    def _drawn(
        self, R: Any, residual: Array, Phi: Array, rounding: float, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Objects drawn with probability proportional to their residuals, and the factor of their residual matrix."""
        xp = array_namespace(residual)
        summed = xp.cumulative_sum(residual)
        total = float(summed[-1])
        if not total > 0:
            return np.empty(0, dtype=np.intp), np.empty((0, 0))
        draws = rng.random(max(_FIRST, int(Phi.shape[1]) // _SHARE)) * total
        places = to_numpy(xp.searchsorted(summed, asarray_like(draws, residual), side="right"))
        J = np.minimum(places, int(residual.shape[0]) - 1)
        return self._accepted(R, J, to_numpy(take_rows(residual, J)), Phi, rounding, rng)

    def _accepted(
        self, R: Any, J: np.ndarray, residual: np.ndarray, Phi: Array, rounding: float, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """The accepted ones of the drawn objects J, and the factor of their residual matrix."""
        rows = asarray_like(J, Phi)
        drawn = take_rows(R, rows)
        features = take_rows(Phi, rows)
        S = to_numpy(self.kernel.block(drawn, drawn) - matmul(features, features.T))
        accepted: list[int] = []
        L = np.zeros(S.shape)
        chances = rng.uniform(size=len(J))
        for i, (chance, before) in enumerate(zip(chances.tolist(), residual.tolist(), strict=True)):
            count = len(accepted)
            own = L[i, :count]
            now = before if i == 0 else float(S[i, i] - own @ own)  # the residual after the accepted ones
            if i and not (now > rounding and chance * before < now):  # the first is always accepted
                continue
            L[i:, count] = (S[i:, i] - L[i:, :count] @ own) / now**0.5
            accepted.append(i)
        return J[accepted], np.tril(L[accepted, : len(accepted)])

    def _first(self, Phi: Array, diagonal: Array, tol: float) -> Array:
        """The first columns of Φ with an error of at most `tol`."""
        xp = array_namespace(Phi)
        explained = np.cumsum(to_numpy(xp.sum(Phi * Phi, axis=0)))
        enough = 1 + int(np.searchsorted(explained, (1 - tol) * float(xp.sum(diagonal))))
        r = min(len(self.pivots), enough)
        self.pivots = self.pivots[:r]
        self.P = take_rows(self.P, slice(0, r))
        self.L = self.L[:r, :r]
        return Phi[:, :r]

    @property
    def width(self) -> int:
        """One for each object of P."""
        return len(self.pivots)

    def whiten(self, B: Array, out: Array | None = None) -> Array:
        """L⁻¹ k(P, x)."""
        self.L = asarray_like(self.L, B)  # moved to the device of the rows once
        return CholeskyFactor(self.L).solve_rows(B, out)

    def weights(self, H: Array) -> Array:
        """L⁻ᵀ h."""
        return CholeskyFactor(asarray_like(self.L, H)).solve_lower(H.T, transpose=True).T


class SketchedLandmarks(FeatureMap):
    """φ(x) = Wᵀ S k(P, x), S (rank, p′) with entries ±1 or N(0, 1), W Wᵀ = (S k(P, P) Sᵀ)⁺: sums of several objects.

    S is drawn over all n objects; each entry differs from 0 with probability `density` and is scaled by
    1/√(rank·density). P are the p′ objects whose column is not all zero, 4·rank of them by default. With density 1 S is
    sub-Gaussian and P are all objects. Directions whose eigenvalue is rounding are left out.
    """

    def __init__(
        self,
        kernel: Kernel,
        R: Any,
        n_components: int,
        density: float | None = None,
        entries: str = "signs",
        random_state: Any = None,
    ) -> None:
        n = int(R.shape[0])
        rank = min(n_components, n)
        if density is None:
            density = _usual_density(rank, n)
        S, self.pivots = _sketch(rank, n, density, entries, generator(random_state))
        check_matrix(n, len(self.pivots), R, 1.0, "Columns of a kernel matrix")
        self.kernel = kernel
        self.P = take_rows(R, self.pivots)
        diagonal = check_computed(kernel.diag(R))
        M = matmul(S, matmul(to_numpy(kernel.block(self.P, self.P)), S.T))
        values, V = eigh((M + M.T) / 2)
        positive = values > rank * _EPS * max(float(values[-1]), 0.0)
        self.T = np.ascontiguousarray(matmul(S.T, V[:, positive] / np.sqrt(values[positive])))
        self._finish_fit(self.features(R), diagonal)

    def _stored(self) -> dict[str, Any]:
        return {"T": self.T}

    @property
    def width(self) -> int:
        """One for each direction with a positive eigenvalue."""
        return int(self.T.shape[1])

    def whiten(self, B: Array, out: Array | None = None) -> Array:
        """Wᵀ S k(P, x)."""
        self.T = asarray_like(self.T, B)  # moved to the device of the rows once
        Phi = matmul(B, self.T)
        if out is None:
            return Phi
        out[...] = Phi
        return out

    def weights(self, H: Array) -> Array:
        """SᵀW h."""
        return matmul(H, asarray_like(self.T, H).T)


def _height(width: int, like: Any) -> int:
    """Rows of features that are computed at a time."""
    while isinstance(like, Parts):
        like = like.parts[0]
    entries = _IN_CACHE if is_numpy(like) else _PANEL
    return max(1, entries // max(width, 1))


def _sq_norms(Phi: Array) -> Array:
    """‖φ_i‖², on a device without an array of squares."""
    if is_numpy(Phi):
        return row_sq_norms(Phi)
    return array_namespace(Phi).linalg.vector_norm(Phi, axis=1) ** 2


def _lower(M: Array) -> Array | None:
    """L of M = L Lᵀ where every pivot is far above rounding, so that no object is represented by others; else None."""
    xp = array_namespace(M)
    n = int(M.shape[0])
    try:
        L = cholesky(M).L
    except NotPositiveDefinite:
        return None
    smallest = float(xp.min(xp.linalg.diagonal(L))) ** 2
    doubtful = _DIGITS * n * _EPS * float(xp.max(xp.linalg.diagonal(M)))
    return xp.tril(L) if smallest > doubtful else None


def _usual_density(rank: int, n: int) -> float:
    """The density with which 4·rank columns of S are expected to have an entry: n (1 − (1 − density)^rank) = 4·rank."""
    if _PER_ROW * rank >= n:
        return 1.0
    return -float(np.expm1(np.log1p(-_PER_ROW * rank / n) / rank))


def _sketch(rank: int, n: int, density: float, entries: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """S on its columns that are not all zero, and the numbers of these columns; a row without an entry gets one."""
    if density >= 1:
        flat = np.arange(rank * n)
    else:
        count = int(rng.binomial(rank * n, density))
        flat = rng.choice(rank * n, size=count, replace=False)
    rows, columns = np.divmod(flat, n)
    empty = np.setdiff1d(np.arange(rank), rows)
    rows = np.concatenate([rows, empty])
    columns = np.concatenate([columns, rng.integers(n, size=len(empty))])
    values = rng.choice([-1.0, 1.0], size=len(rows)) if entries == "signs" else rng.normal(size=len(rows))
    used, position = np.unique(columns, return_inverse=True)
    S = np.zeros((rank, len(used)))
    S[rows, position] = values / np.sqrt(rank * min(density, 1.0))
    return S, used


def _fingerprint(X: Any) -> Array | None:
    """A number per row that changes when an entry does; None unless X is a dense matrix of floats."""
    if not is_array(X) or X.ndim != 2 or (is_numpy(X) and X.dtype.kind != "f"):
        return None
    xp = array_namespace(X)
    if not xp.isdtype(X.dtype, "real floating"):
        return None
    v = np.cos(np.arange(1.0, X.shape[1] + 1))
    return xp.sum(xp.astype(X, xp.float64) * asarray_like(v, X)[None, :], axis=1)
