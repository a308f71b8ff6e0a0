"""φ(x) = Wᵀ S k(P, x), W Wᵀ = (S k(P, P) Sᵀ)⁺: a kernel through a few of its objects, chosen and whitened."""

from __future__ import annotations

from abc import ABC, abstractmethod
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
from iokr._system.memory import check_matrix
from iokr._validation.arguments import check_choice, check_computed, check_integer, check_number, check_random
from iokr.kernels.base import Kernel

__all__ = ["FeatureMap", "Landmarks", "SketchedLandmarks", "check_landmarks", "check_sketch", "generator"]

PIVOTS = ("random", "greedy", "uniform")
ENTRIES = ("signs", "normal")
_EPS = float(np.finfo(np.float64).eps)
_FIRST, _SHARE = 8, 8  # objects drawn at a time: at least 8, an eighth of those that there are
_PER_ROW = 4  # objects in a sketch for each of its rows, by default
_SPARSEST = 1e-9  # density of a sketch, at least: entries are divided by its root
_PANEL, _IN_CACHE = 1 << 25, 1 << 21  # numbers of a panel of features; under NumPy, whose memory is new to it each time
_DIGITS = 1e3  # times n·eps·max k(x, x), from which pivots are beyond doubt


def check_landmarks(n_components: Any, tol: Any, pivots: Any) -> tuple[int, float | None]:
    """`n_components` ≥ 1, `tol` ≥ 0 or None, and a known way to choose."""
    check_choice(pivots, "pivots", PIVOTS)
    return check_integer(n_components, "n_components", minimum=1), None if tol is None else check_number(
        tol, "tol", minimum=0.0
    )


def check_sketch(n_components: Any, density: Any, entries: Any) -> tuple[int, float | None]:
    """`n_components` ≥ 1, 1e-9 ≤ `density` ≤ 1 or None, and known entries."""
    check_choice(entries, "entries", ENTRIES)
    share = None if density is None else check_number(density, "density", minimum=_SPARSEST)
    if share is not None and share > 1:
        raise ValueError(f"`density` must be a fraction of at most 1, got {density!r}.")
    return check_integer(n_components, "n_components", minimum=1), share


def generator(random_state: Any) -> np.random.Generator:
    """Random numbers; None is the same ones every time, so that the same data give the same features."""
    return np.random.default_rng(int(check_random(0 if random_state is None else random_state).randint(2**31)))


class FeatureMap(ABC):
    """φ(x) from the values k(x, p) at the objects p of P; what it was for the objects at fit may be asked for once."""

    kernel: Kernel
    pivots: np.ndarray  # positions of P among the objects at fit
    P: Any  # represented
    error: float  # tr(K − K̂) / tr K
    _at_fit: Any = None

    @property
    @abstractmethod
    def width(self) -> int:
        """Numbers of φ(x)."""

    @abstractmethod
    def whiten(self, B: Array, out: Array | None = None) -> Array:
        """φ(x) from rows k(x, P), in `out` if that is given."""

    @abstractmethod
    def weights(self, H: Array) -> Array:
        """Coordinates h as weights on the objects of P, a row each."""

    def features(self, R: Any) -> Array:
        """φ(x), a row per object, so many at a time that little but the answer is held."""
        n, Phi = int(R.shape[0]), None
        height = _height(len(self.pivots), self.P)
        if n <= height:
            return self.whiten(self.kernel.block(R, self.P))
        for rows in blocks(n, height):
            B = self.kernel.block(take_rows(R, rows), self.P)
            Phi = empty_like((n, self.width), B) if Phi is None else Phi
            self.whiten(B, Phi[rows, :])
        return Phi

    def remember(self, X: Any) -> None:
        """X is what R was made of: then Φ need not be computed again when X is represented next."""
        Phi, seen = self._at_fit, _fingerprint(X)
        self._at_fit = None if seen is None else (X, seen, Phi)

    def recall(self, X: Any) -> Array | None:
        """Φ if X is, unchanged, what it was made of; it is forgotten in any case."""
        kept, self._at_fit = self._at_fit, None
        if kept is None or kept[0] is not X:
            return None
        return kept[2] if bool(array_namespace(kept[1]).all(kept[1] == _fingerprint(X))) else None

    def take_features(self) -> Array:
        """Φ of the objects at fit, once."""
        Phi, self._at_fit = self._at_fit, None
        return Phi

    def _state_error(self, Phi: Array, diagonal: Array) -> None:
        """tr(K − K̂) / tr K; Φ is kept."""
        xp, diagonal = array_namespace(Phi), asarray_like(diagonal, Phi)
        parts = blocks(int(Phi.shape[0]), _height(int(Phi.shape[1]), Phi))
        rest = [xp.sum(xp.clip(diagonal[rows] - _sq_norms(Phi[rows, :]), min=0.0)) for rows in parts]
        trace = float(xp.sum(diagonal))
        self.error = float(sum(rest[1:], rest[0])) / trace if trace > 0 else 0.0
        self._at_fit = Phi

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_at_fit"}


class Landmarks(FeatureMap):
    """φ(x) = L⁻¹ k(P, x), L Lᵀ = k(P, P): S takes the objects P, and K̂ = Φ Φᵀ ≤ K is the projection on their span.

    "random": randomly pivoted Cholesky. An object is drawn with probability proportional to its residual k(x, x) −
    k̂(x, x), many at a time, each then kept with the probability that those before it leave it: what is kept is
    distributed as if drawn one by one, and a smaller rank takes the first of the same objects. "greedy" takes the
    object that is represented worst, one at a time. "uniform" draws once. K itself is never formed: n·rank evaluations,
    n·rank² flops. What is represented to rounding is dropped, never jittered.

    `pivots` are the positions of P among the represented objects R; `error` is tr(K − K̂) / tr K, where tr(K − K̂)
    bounds every eigenvalue of K − K̂, positive semi-definite. With `tol` the rank is the least with error ≤ tol.
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
        self.kernel, rng = kernel, generator(random_state)
        diagonal = check_computed(kernel.diag(R))
        floor = n * _EPS * float(array_namespace(diagonal).max(diagonal)) if n else 0.0
        if pivots == "uniform":
            Phi = self._draw(R, rng.permutation(n)[:rank], ordered=tol is not None)
        else:
            Phi = self._factor(R, rank, diagonal, floor, None if pivots == "greedy" else rng)
        if tol is not None:
            Phi = self._first(Phi, diagonal, tol)
        self._state_error(Phi, diagonal)

    def _draw(self, R: Any, chosen: np.ndarray, *, ordered: bool) -> Array:
        """Φ of P among the chosen objects, less those that the others represent; `ordered`: the best ones first."""
        P = take_rows(R, chosen)
        M = self.kernel.block(P, P)
        known = None if ordered else _lower(M)
        if known is None:
            M = to_numpy(M)
            L, order = pivoted_cholesky(np.ascontiguousarray((M + M.T) / 2))
            known, chosen = np.tril(L[order]), chosen[order]
            P = take_rows(R, chosen)
        self.pivots, self.P, self.L = chosen, P, known
        return self.features(R)

    def _factor(self, R: Any, rank: int, left: Array, floor: float, rng: np.random.Generator | None) -> Array:
        """Φ by Cholesky with pivoting; the greedy one without random numbers."""
        n, found, xp = int(R.shape[0]), 0, array_namespace(left)
        chosen: list[np.ndarray] = []
        closed = np.zeros(n, dtype=bool)
        Phi = np.empty((n, rank), order="F") if is_numpy(left) else empty_like((n, rank), left)
        while found < rank:
            room = xp.where((left <= floor) | asarray_like(closed, left), 0.0, left)
            if rng is None:
                J = np.array([int(xp.argmax(room))])
                L = np.sqrt(to_numpy(take_rows(room, J)))[:, None]
                if not L[0, 0] > 0:
                    break
            else:
                summed = xp.cumulative_sum(room)
                top = float(summed[-1])
                if not top > 0:
                    break
                drawn = rng.random(max(_FIRST, found // _SHARE)) * top
                J = np.minimum(to_numpy(xp.searchsorted(summed, asarray_like(drawn, left), side="right")), n - 1)
                J, L = self._keep(R, J, to_numpy(take_rows(room, J)), Phi[:, :found], floor, rng)
            J, L = J[: rank - found], L[: rank - found, : rank - found]
            there = J if is_numpy(left) else asarray_like(J, left)
            columns = self.kernel.block(R, take_rows(R, there))
            if found:
                columns = columns - matmul(Phi[:, :found], take_rows(Phi[:, :found], there).T)
            new = CholeskyFactor(asarray_like(np.ascontiguousarray(L), columns)).solve_rows(columns)
            Phi[:, found : found + len(J)] = new
            left = left - _sq_norms(new)
            chosen.append(J)
            closed[J] = True
            found += len(J)
        self.pivots = np.concatenate([np.empty(0, dtype=np.intp), *chosen])
        self.P, Phi = take_rows(R, self.pivots), Phi[:, :found]
        self.L = xp.tril(take_rows(Phi, self.pivots))
        return np.ascontiguousarray(Phi) if is_numpy(Phi) else Phi

    def _keep(
        self, R: Any, J: np.ndarray, room: np.ndarray, Phi: Array, floor: float, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of the drawn objects J, with residuals `room`, those that are kept, and the factor of their residual."""
        there = J if is_numpy(Phi) else asarray_like(J, Phi)
        some, rows = take_rows(R, there), take_rows(Phi, there)
        S = to_numpy(self.kernel.block(some, some) - matmul(rows, rows.T))
        kept: list[int] = []
        L, chances = np.zeros(S.shape), rng.uniform(size=len(J))
        for i, (chance, before) in enumerate(zip(chances.tolist(), room.tolist(), strict=True)):
            own = L[i, : len(kept)]
            now = before if i == 0 else float(S[i, i] - own @ own)
            if i and not (now > floor and chance * before < now):
                continue
            L[i:, len(kept)] = (S[i:, i] - L[i:, : len(kept)] @ own) / now**0.5
            kept.append(i)
        return J[kept], np.tril(L[kept, : len(kept)])

    def _first(self, Phi: Array, diagonal: Array, tol: float) -> Array:
        """The first columns of Φ whose error is at most `tol`."""
        xp = array_namespace(Phi)
        explained = np.cumsum(to_numpy(xp.sum(Phi * Phi, axis=0)))
        r = min(len(self.pivots), 1 + int(np.searchsorted(explained, (1 - tol) * float(xp.sum(diagonal)))))
        self.pivots, self.P, self.L = self.pivots[:r], take_rows(self.P, slice(0, r)), self.L[:r, :r]
        return Phi[:, :r]

    @property
    def width(self) -> int:
        """One for each object of P."""
        return len(self.pivots)

    def whiten(self, B: Array, out: Array | None = None) -> Array:
        """L⁻¹ k(P, x)."""
        self.L = asarray_like(self.L, B)  # beside the rows from now on
        return CholeskyFactor(self.L).solve_rows(B, out)

    def weights(self, H: Array) -> Array:
        """L⁻ᵀ h."""
        return CholeskyFactor(asarray_like(self.L, H)).solve_lower(H.T, transpose=True).T


class SketchedLandmarks(FeatureMap):
    """φ(x) = Wᵀ S k(P, x), S (rank, p′) with entries ±1 or N(0, 1), W Wᵀ = (S k(P, P) Sᵀ)⁺: sums of several objects.

    S is drawn over all n objects, each entry different from 0 with probability `density`, and scaled by
    1/√(rank·density); P are the p′ objects whose column is not all zero, 4·rank of them by default. With density 1 S is
    sub-Gaussian and P is everything. Directions whose eigenvalue is 0 to rounding are dropped.
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
        if density is None:  # 4·rank columns are expected not to be all zero
            density = 1.0 if _PER_ROW * rank >= n else -float(np.expm1(np.log1p(-_PER_ROW * rank / n) / rank))
        S, self.pivots = _sketch(rank, n, density, entries, generator(random_state))
        check_matrix(n, len(self.pivots), R, 1.0, "Columns of a kernel matrix")
        self.kernel, self.P = kernel, take_rows(R, self.pivots)
        diagonal = check_computed(kernel.diag(R))
        M = matmul(S, matmul(to_numpy(kernel.block(self.P, self.P)), S.T))
        values, V = eigh((M + M.T) / 2)
        keep = values > rank * _EPS * max(float(values[-1]), 0.0)
        self.T = np.ascontiguousarray(matmul(S.T, V[:, keep] / np.sqrt(values[keep])))
        self._state_error(self.features(R), diagonal)

    @property
    def width(self) -> int:
        """One for each direction that is not 0 to rounding."""
        return int(self.T.shape[1])

    def whiten(self, B: Array, out: Array | None = None) -> Array:
        """Wᵀ S k(P, x)."""
        self.T = asarray_like(self.T, B)  # beside the rows from now on
        Phi = matmul(B, self.T)
        if out is None:
            return Phi
        out[...] = Phi
        return out

    def weights(self, H: Array) -> Array:
        """SᵀW h."""
        return matmul(H, asarray_like(self.T, H).T)


def _height(width: int, like: Any) -> int:
    """Rows of features that are made at a time."""
    while hasattr(like, "parts"):
        like = like.parts[0]
    return max(1, (_IN_CACHE if is_numpy(like) else _PANEL) // max(width, 1))


def _sq_norms(Phi: Array) -> Array:
    """‖φ_i‖², on a device without an array of squares."""
    return row_sq_norms(Phi) if is_numpy(Phi) else array_namespace(Phi).linalg.vector_norm(Phi, axis=1) ** 2


def _lower(M: Array) -> Array | None:
    """L of M = L Lᵀ where every pivot is beyond doubt, so that no object is represented by the others; else None."""
    xp, n = array_namespace(M), int(M.shape[0])
    try:
        L = cholesky(M).L
    except NotPositiveDefinite:
        return None
    least = float(xp.min(xp.linalg.diagonal(L))) ** 2
    return xp.tril(L) if least > _DIGITS * n * _EPS * float(xp.max(xp.linalg.diagonal(M))) else None


def _sketch(rank: int, n: int, density: float, entries: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """S on its columns that are not all zero, and which these are; a row without an entry gets one."""
    count = rank * n if density >= 1 else int(rng.binomial(rank * n, density))
    flat = np.arange(rank * n) if density >= 1 else rng.choice(rank * n, size=count, replace=False)
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
    """A number per row that changes when an entry does; None for what is no dense matrix of numbers."""
    if not is_array(X) or X.ndim != 2 or (is_numpy(X) and X.dtype.kind != "f"):
        return None
    xp = array_namespace(X)
    if not xp.isdtype(X.dtype, "real floating"):
        return None
    v = np.cos(np.arange(1.0, X.shape[1] + 1))
    return xp.sum(xp.astype(X, xp.float64) * asarray_like(v, X)[None, :], axis=1)
