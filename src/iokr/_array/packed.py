"""One triangle of a symmetric matrix, and its Cholesky factor in the same memory: n²/2 numbers instead of n²."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import numpy as np
from array_api_compat import device, is_torch_array
from scipy.linalg import blas, get_blas_funcs, lapack

from iokr._array.factorizations import CholeskyFactor, NotPositiveDefinite, cholesky
from iokr._array.namespaces import Array, array_namespace, blocks, eye_like, is_numpy
from iokr._array.products import matmul, set_diagonal

Block = Callable[[slice, slice], Array]

_RECTANGULAR = (
    24_000  # rows up to which the packed format of LAPACK is used, whose halves are small enough for `cholesky`
)
_TILE = 1 << 18  # entries of a panel that is evaluated at a time: 2 MB, which stay in the cache
_PANEL = 32  # smallest number of rows of a panel
_SLAB = 32_768  # rows of a column of blocks that are processed at a time


class Packed(ABC):
    """A symmetric matrix by its lower triangle, to be factored in place."""

    n: int

    @abstractmethod
    def factor(self, shift: float = 0.0) -> Factor:
        """L of K + shift·I = L Lᵀ, computed in place; raises `NotPositiveDefinite`."""

    @abstractmethod
    def copy(self) -> Packed:
        """A copy."""

    @abstractmethod
    def product(self, B: Array) -> Array:
        """K B."""

    @abstractmethod
    def update(self, U: Array, W: Array) -> None:
        """K ← K − U Wᵀ − W Uᵀ, in place."""

    def project(self, U: Array, lift: float = 0.0) -> Array:
        """K ← P K P + lift·U Uᵀ in place, P = I − U Uᵀ for orthonormal columns U; returns K U of before."""
        KU = self.product(U)
        inner = matmul(U.T, KU) + lift * eye_like(int(U.shape[1]), U)
        self.update(U, KU - matmul(U, inner) / 2)
        return KU


class Triangle(Packed):
    """Half of a matrix, which is its own factor: `factor` returns the object, after L has been computed in place."""

    @abstractmethod
    def solve(self, B: Array) -> Array:
        """(K + shift·I)⁻¹ B by two triangular solves."""

    @abstractmethod
    def inverse_diagonal(self) -> Array:
        """diag((K + shift·I)⁻¹) = column sums of squares of L⁻¹; the factor may be overwritten."""

    @abstractmethod
    def largest_pivot(self) -> float:
        """max L_ii²: a lower bound of the largest eigenvalue of K + shift·I."""


Factor = CholeskyFactor | Triangle


def packed_bytes(n: int, like: Array, width: int | None = None, *, single: bool = False) -> float:
    """Peak memory of `pack` and `factor`, in bytes: the triangle, half of the diagonal blocks, and work space.

    Block columns have the usual width, or `width` if that is less.
    """
    size = 4 if single else 8
    if is_numpy(like) and n <= _RECTANGULAR:
        return size * n * (n + 1) / 2 + 8.0 * min(n * n / 2, 2.0 * max(_TILE, _PANEL * n))
    width = min(width or n, column_width(n, like))
    slab = 2 * min(n, _SLAB) * min(n, width)
    return size * (n * n / 2 + n * min(n, width) / 2 + slab)


def column_width(n: int, like: Array) -> int:
    """Columns of a block column: many for products on a device, few if they would be larger than the triangle."""
    if is_numpy(like):
        return 1024
    return 4096 if n >= 40_000 else 2048 if n >= 16_384 else max(64, -(-n // 8))


def pack(
    block: Block,
    diagonal: Array,
    scale: Array | None = None,
    *,
    width: int | None = None,
    single: bool = False,
    height: int | None = None,
) -> Packed:
    """diag(s) K diag(s), evaluated in place, without an n × n array.

    `block(rows, columns)` are entries of K for two slices, `diagonal` is its exact diagonal, without the rounding of
    blocks. `width` is the width of block columns, `single` stores float32, `height` is the number of rows that are
    evaluated at a time under NumPy: with fewer, less is evaluated above the diagonal.
    """
    n = int(diagonal.shape[0])

    def scaled(rows: slice, columns: slice) -> Array:
        values = block(rows, columns)
        return values if scale is None else values * scale[rows][:, None] * scale[columns][None, :]

    own = diagonal if scale is None else diagonal * scale * scale
    if is_numpy(diagonal) and n <= _RECTANGULAR and width is None:
        return RectangularPacked(scaled, own, np.float32 if single else np.float64, height)
    return ColumnPacked(scaled, own, width or column_width(n, diagonal), single=single)


class RectangularPacked(Triangle):
    """LAPACK's rectangular full packed format, NumPy: `dpftrf`, `dpftrs`, `dpftri`.

    With m = ⌈n/2⌉ and e = 1 if n is even, else 0, row r of one array T of shape (m, n + e) is

        K[m + r − 1 + e, m : m + r + e]   and then   K[r, r:],

    which in Fortran order is what LAPACK calls `transr="N"`, `uplo="L"`.
    """

    def __init__(self, block: Block, diagonal: np.ndarray, dtype: type, height: int | None) -> None:
        n = self.n = len(diagonal)
        m, e = (n + 1) // 2, 1 - n % 2
        self.T: np.ndarray = np.empty((m, n + e), dtype=dtype)
        for rows in blocks(m, height or max(_PANEL, _TILE // n)):
            start, stop = rows.start, rows.stop
            self.T[rows, start + e :] = block(rows, slice(start, n))
            first, last = max(start - 1 + e, 0), stop - 1 + e  # rows of the second triangle, from m on
            if last > first:
                below = block(slice(m + first, m + last), slice(m, m + last))
                part = self.T[first + 1 - e : stop]
                part[:, :first] = below[:, :first]
                corner = part[:, first:last]
                np.copyto(corner, below[:, first:last], where=np.tri(last - first, dtype=bool))
        diagonals = self._diagonals()
        diagonals[0][:] = diagonal[:m]
        diagonals[1][:] = diagonal[m:]

    def _diagonals(self) -> tuple[np.ndarray, np.ndarray]:
        """The positions of the first m diagonal entries and of the rest, as views."""
        (m, width), n = self.T.shape, self.n
        e, flat = width - n, self.T.reshape(-1)
        return flat[e :: width + 1][:m], flat[(1 - e) * width :: width + 1][: n - m]

    def factor(self, shift: float = 0.0) -> RectangularPacked:
        for part in self._diagonals():
            part += shift
        self._call("pftrf")
        return self

    def _lapack(self, name: str) -> Any:
        return getattr(lapack, f"{'s' if self.T.dtype == np.float32 else 'd'}{name}")

    def _call(self, name: str) -> None:
        flat = self.T.reshape(-1)
        out, info = self._lapack(name)(self.n, flat, transr="N", uplo="L", overwrite_a=1)
        if info:
            raise NotPositiveDefinite
        self.T = out.reshape(self.T.shape)

    def solve(self, B: np.ndarray) -> np.ndarray:
        X, _ = self._lapack("pftrs")(self.n, self.T.reshape(-1), B, transr="N", uplo="L")
        return np.asarray(X)

    def inverse_diagonal(self) -> np.ndarray:
        self._call("pftri")
        return np.concatenate(self._diagonals())

    def largest_pivot(self) -> float:
        return float(np.max(np.concatenate(self._diagonals()))) ** 2

    def copy(self) -> RectangularPacked:
        other = copy(self)
        other.T = self.T.copy()
        return other

    def product(self, B: np.ndarray) -> np.ndarray:
        Y = np.zeros((self.n, B.shape[1]))
        for part, rows, columns, triangle in self._parts():
            if triangle is None:
                Y[rows] += part @ B[columns]
                Y[columns] += part.T @ B[rows]
            else:
                half = triangle(part)
                Y[rows] += half @ B[rows] + half.T @ B[rows] - half.diagonal()[:, None] * B[rows]
        return Y

    def update(self, U: np.ndarray, W: np.ndarray) -> None:
        for part, rows, columns, triangle in self._parts():
            change = U[rows] @ W[columns].T + W[rows] @ U[columns].T
            part -= change if triangle is None else triangle(change)

    def _parts(self) -> Iterator[tuple[np.ndarray, slice, slice, Callable[[np.ndarray], np.ndarray] | None]]:
        """Views of T with their rows and columns of K; of a square on the diagonal only one triangle is K's."""
        (m, width), n = self.T.shape, self.n
        e = width - n
        for block in blocks(m, _PANEL):
            start, stop = block.start, block.stop
            rows = slice(start, stop)
            yield self.T[rows, stop + e :], rows, slice(stop, n), None
            yield self.T[rows, start + e : stop + e], rows, rows, np.triu
            first, last = max(start - 1 + e, 0), stop - 1 + e  # rows of the second triangle, from m on
            part = self.T[first + 1 - e : stop]
            rows = slice(m + first, m + last)
            yield part[:, :first], rows, slice(m, m + first), None
            yield part[:, first:last], rows, rows, np.tril


class FullPacked(Packed):
    """A stored full matrix, factored in place: no memory is saved, but none is added."""

    def __init__(self, K: Array) -> None:
        self.K, self.n = K, int(K.shape[0])

    def factor(self, shift: float = 0.0) -> CholeskyFactor:
        return cholesky(self.K, shift, overwrite=True)

    def copy(self) -> FullPacked:
        return FullPacked(_copied(self.K, self.K.dtype))

    def product(self, B: Array) -> Array:
        if not is_numpy(self.K):
            return matmul(self.K, B)
        return np.asarray(blas.dsymm(1.0, self._upper(), B, lower=0))

    def update(self, U: Array, W: Array) -> None:
        if not is_numpy(self.K):
            for rows in blocks(self.n, _SLAB):
                self.K[rows, :] = self.K[rows, :] - (matmul(U[rows, :], W.T) + matmul(W[rows, :], U.T))
            return
        K = self._upper()
        found = blas.dsyr2k(-1.0, U, W, beta=1.0, c=K, lower=0, overwrite_c=1)
        if found is not K:
            self.K = found.T

    def _upper(self) -> np.ndarray:
        """Kᵀ in Fortran order: its upper triangle is the lower one of K."""
        if not self.K.flags.c_contiguous:
            self.K = np.ascontiguousarray(self.K)
        return np.asarray(self.K.T)


class ColumnPacked(Triangle):
    """Block columns of the lower triangle, C_j = K[jb:, jb : (j + 1)b], each an array of its own.

    Left-looking: C_j −= P (P[:b])ᵀ for k < j with P = C_k[(j − k)b:], then C_j[:b] = chol(C_j[:b]) and
    C_j[b:] = C_j[b:] L_jj⁻ᵀ in slabs of rows, so that no temporary is as large as a column.
    """

    def __init__(self, block: Block, diagonal: Array, width: int, *, single: bool) -> None:
        n, self.width = int(diagonal.shape[0]), width
        self.n = n
        xp = array_namespace(diagonal)
        dtype = xp.float32 if single else xp.float64
        self.pieces = list(blocks(n, width))
        self.columns: list[Array] = []
        for J in self.pieces:
            C = xp.empty((n - J.start, J.stop - J.start), dtype=dtype, device=device(diagonal))
            for rows in blocks(n - J.start, _SLAB):
                values = block(slice(J.start + rows.start, J.start + rows.stop), J)
                C[rows, :] = xp.astype(values, C.dtype, copy=False)
            self.columns.append(C)
        self._diagonal = xp.astype(diagonal, self.columns[0].dtype, copy=False)

    def _lower(self, j: int) -> CholeskyFactor:
        """L_jj."""
        C = self.columns[j]
        return CholeskyFactor(C[: C.shape[1], :])

    def factor(self, shift: float = 0.0) -> ColumnPacked:
        for j, J in enumerate(self.pieces):
            C, b = self.columns[j], J.stop - J.start
            C[:b, :] = set_diagonal(C[:b, :], self._diagonal[J] + shift)
            for k in range(j):
                P = self.columns[k][(j - k) * self.width :, :]
                _subtract(C, slice(0, C.shape[0]), P, P[:b, :].T)
            C[:b, :] = cholesky(C[:b, :]).L
            own = self._lower(j)
            for rows in blocks(C.shape[0] - b, _SLAB):
                below = slice(b + rows.start, b + rows.stop)
                C[below, :] = own.solve_lower(C[below, :].T).T
        return self

    def solve(self, B: Array) -> Array:
        Y = _copied(B, self._diagonal.dtype)
        pieces, end = self.pieces, self.n
        for j, J in enumerate(pieces):
            C, b = self.columns[j], J.stop - J.start
            Y[J, :] = self._lower(j).solve_lower(Y[J, :])
            _subtract(Y, slice(J.stop, end), C[b:, :], Y[J, :])
        for j, J in reversed(list(enumerate(pieces))):
            C, b = self.columns[j], J.stop - J.start
            _subtract(Y, J, C[b:, :].T, Y[J.stop :, :])
            Y[J, :] = self._lower(j).solve_lower(Y[J, :], transpose=True)
        return Y

    def inverse_diagonal(self) -> Array:
        """‖L⁻¹e_i‖², a block of unit vectors at a time: L⁻¹E_j is zero above row jb."""
        pieces, parts = self.pieces, []
        xp = array_namespace(self._diagonal)
        for j, J in enumerate(pieces):
            b = J.stop - J.start
            W = xp.eye(self.n - J.start, b, dtype=self._diagonal.dtype, device=device(self._diagonal))
            total = xp.zeros_like(self._diagonal[J])
            for k in range(j, len(pieces)):
                rows = slice(pieces[k].start - J.start, pieces[k].stop - J.start)
                own = self._lower(k).solve_lower(W[rows, :])
                total = total + xp.sum(own * own, axis=0)
                _subtract(W, slice(rows.stop, W.shape[0]), self.columns[k][rows.stop - rows.start :, :], own)
            parts.append(total)
        return xp.concat(parts)

    def largest_pivot(self) -> float:
        xp = array_namespace(self._diagonal)
        return max(float(xp.max(xp.linalg.diagonal(C[: C.shape[1], :]))) for C in self.columns) ** 2

    def copy(self) -> ColumnPacked:
        other = copy(self)
        other.columns = [_copied(C, C.dtype) for C in self.columns]
        return other

    def product(self, B: Array) -> Array:
        dtype = self._diagonal.dtype
        own = _copied(B, dtype)
        Y = own * self._diagonal[:, None]
        xp = array_namespace(Y)
        for J, C in zip(self.pieces, self.columns, strict=True):
            b = J.stop - J.start
            square = set_diagonal(xp.tril(C[:b, :]), xp.zeros_like(self._diagonal[J]))
            Y[J, :] = Y[J, :] + square @ own[J, :] + square.T @ own[J, :] + C[b:, :].T @ own[J.stop :, :]
            Y[J.stop :, :] = Y[J.stop :, :] + C[b:, :] @ own[J, :]
        return xp.astype(Y, B.dtype, copy=False)

    def update(self, U: Array, W: Array) -> None:
        left, right = _copied(U, self._diagonal.dtype), _copied(W, self._diagonal.dtype)
        for J, C in zip(self.pieces, self.columns, strict=True):
            for rows in blocks(C.shape[0], _SLAB):
                at = slice(J.start + rows.start, J.start + rows.stop)
                C[rows, :] = C[rows, :] - (left[at, :] @ right[J, :].T + right[at, :] @ left[J, :].T)
        self._diagonal = self._diagonal - 2 * array_namespace(left).sum(left * right, axis=1)


def _copied(B: Array, dtype: Any) -> Array:
    """A copy of B, in C order under NumPy."""
    return np.array(B, dtype=dtype, order="C") if is_numpy(B) else array_namespace(B).astype(B, dtype, copy=True)


def _subtract(Y: Array, rows: slice, A: Array, B: Array) -> None:
    """Y[rows] −= A B, in place if the library can, else in slabs."""
    if rows.stop <= rows.start or 0 in B.shape:
        return
    if is_torch_array(Y):
        Y[rows].addmm_(A, B, alpha=-1)
        return
    if is_numpy(Y) and Y.flags.c_contiguous:
        part = Y[rows]
        (gemm,) = get_blas_funcs(("gemm",), (part, A, B))
        # (A B)ᵀ = Bᵀ Aᵀ in Fortran order, in place; no factor is copied.
        b, trans_b = (B.T, 0) if B.flags.c_contiguous else (B, 1)
        a, trans_a = (A.T, 0) if A.flags.c_contiguous else (A, 1)
        gemm(-1.0, b, a, 1.0, part.T, trans_a=trans_b, trans_b=trans_a, overwrite_c=1)
        return
    for some in blocks(rows.stop - rows.start, _SLAB):
        at = slice(rows.start + some.start, rows.start + some.stop)
        Y[at, :] = Y[at, :] - A[some, :] @ B
