"""A Gram matrix that fits in memory, evaluated when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iokr._array import (
    Array,
    FullPacked,
    Packed,
    array_namespace,
    blocks,
    column_width,
    eigh,
    is_cuda,
    is_numpy,
    matmul,
    pack,
    packed_bytes,
    set_diagonal,
    take_rows,
)
from iokr._system.memory import available_memory, check_matrix
from iokr.gram.base import Gram
from iokr.gram.operators import Multiple, OutputOperator

__all__ = ["ScalarGram", "product_rows"]

_TILE = 1 << 18  # entries of a panel: 2 MB, which stay in the cache between passes
_PANEL = 32  # smallest number of rows of a panel
_PRODUCT = 1 << 24  # entries of the panel of rows in a product: 128 MB
_DEVICE_ROWS = 8192  # rows of that panel on a device, if memory allows


def product_rows(m: int, like: Array) -> int:
    """Rows of K, m entries each, that a product evaluates at a time: few on the host, as many as fit on a device."""
    rows = max(1, _PRODUCT // max(m, 1))
    if not is_cuda(like):
        return rows
    free = available_memory(like)
    return _DEVICE_ROWS if free is None else max(rows, min(_DEVICE_ROWS, int(free / (32.0 * max(m, 1)))))


class ScalarGram(Gram):
    """K_ij = k(x_i, z_j), evaluated in blocks when needed.

    `dense()` evaluates the matrix once and caches it. `detach()` returns a matrix that the caller may overwrite (the
    cached one, or a new one) and forgets it, so that a factorisation in place needs one n × n array; `packed()` returns
    its lower triangle only. Products evaluate rows as needed if nothing is cached.

    Parameters
    ----------
    block : callable
        `block(R, S)` is the (n, m) array of k(x_i, z_j).
    R, S : representations of the objects; without S the matrix is symmetric.
    diag : callable, optional
        `diag(R)`, the exact diagonal of a symmetric matrix.
    panel : int, optional
        Rows of a symmetric matrix that are evaluated at a time: with fewer, less is evaluated above the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.gram import ScalarGram
    >>> ScalarGram(lambda R, S: R @ S.T, np.array([[1.0], [2.0]])).dense()
    array([[1., 2.],
           [2., 4.]])
    """

    operator: OutputOperator = Multiple(1.0)

    def __init__(
        self,
        block: Callable[[Any, Any], Array],
        R: Any,
        S: Any = None,
        diag: Callable[[Any], Array] | None = None,
        *,
        panel: int | None = None,
    ) -> None:
        self.symmetric = S is None
        self._block, self._R, self._diag, self._panel = block, R, diag, panel
        self._S = R if S is None else S
        self.shape = (int(R.shape[0]), int(self._S.shape[0]))
        self.size = self.shape[0]
        self._kept: Array | None = None
        self._eigenpairs: tuple[Array, Array] | None = None

    @property
    def K(self) -> ScalarGram:  # type: ignore[override]
        """The Gram itself: the kernel is scalar."""
        return self

    @property
    def described(self) -> str:
        """The `repr` of the kernel, `kernel` if it is unknown or long."""
        words = repr(getattr(self._block, "__self__", None))
        return words if words[0].isupper() and len(words) <= 60 and words != "None" else "kernel"

    @property
    def n_columns(self) -> int | None:
        """The number of coordinates of objects that are vectors, else None."""
        R = self._R
        while hasattr(R, "parts"):
            R = R.parts[0]
        shape: tuple[int, ...] = getattr(R, "shape", ())
        return int(shape[1]) if len(shape) == 2 else None

    def diagonal(self) -> Array:
        """k(x_i, x_i). May be overridden."""
        if self._kept is not None:
            return array_namespace(self._kept).linalg.diagonal(self._kept)
        if self._diag is None:
            return array_namespace(self.dense()).linalg.diagonal(self.dense())
        return self._diag(self._R)

    def dense(self) -> Array:
        """The whole matrix, which is cached and must not be changed. May be overridden."""
        if self._kept is None:
            self._kept = self._evaluate(mirror=True)
        return self._kept

    def detach(self, *, lower: bool = False) -> Array:
        """The matrix, for the caller to overwrite; with `lower` only its lower triangle is valid. May be overridden."""
        kept, self._kept = self._kept, None
        return self._evaluate(mirror=not lower) if kept is None else kept

    def packed(self, scale: Array | None = None, *, single: bool = False) -> Packed:
        """diag(s) K diag(s) by its lower triangle, in half the memory, for the caller to factor in place.

        A cached matrix is passed on as by `detach`. With `single` in float32. May be overridden.
        """
        if self._kept is not None or self._diag is None:
            return self._packed_whole(scale)
        diagonal = self._diag(self._R)
        n, width = self.shape[0], None
        if not is_numpy(diagonal):
            free, narrow = available_memory(diagonal), 2048
            short = free is not None and packed_bytes(n, diagonal, single=single) > free
            width = min(column_width(n, diagonal), narrow) if short else None

        def block(rows: slice, columns: slice) -> Array:
            return self._block(take_rows(self._R, rows), take_rows(self._R, columns))

        return pack(block, diagonal, scale, width=width, single=single, height=self._panel)

    def _packed_whole(self, scale: Array | None) -> Packed:
        K = self.detach(lower=True)
        if scale is not None:
            K *= scale[:, None]
            K *= scale[None, :]
        if is_numpy(K):
            return FullPacked(K)
        return pack(lambda rows, columns: K[rows, columns], array_namespace(K).linalg.diagonal(K))

    def eigenpairs(self, *, known: bool = False) -> tuple[Array, Array] | None:
        """(s, U) with K = U diag(s) Uᵀ, s ascending, computed once; with `known`, None unless already computed."""
        if self._eigenpairs is None and not known:
            self._eigenpairs = eigh(self.detach(lower=True), overwrite=True)
        return self._eigenpairs

    def rows(self, index: Any) -> Array:
        """The rows at `index` (a slice or integers). May be overridden."""
        if self._kept is not None:
            return take_rows(self._kept, index)
        return self._block(take_rows(self._R, index), self._S)

    def restrict(self, rows: Any) -> ScalarGram:
        """The Gram of some of the objects among themselves. May be overridden."""
        return ScalarGram(self._block, take_rows(self._R, rows), diag=self._diag, panel=self._panel)

    def scaled(self, c: float) -> ScalarGram | None:
        """cK, if it is known without evaluation, else None. May be overridden."""
        return None

    def joined(self, other: ScalarGram) -> ScalarGram | None:
        """K + K′, if it is known without evaluation, else None. May be overridden."""
        return None

    def __matmul__(self, C: Array) -> Array:
        if self._kept is not None:
            return matmul(self._kept, C)
        n, m = self.shape
        height = product_rows(m, C)
        if n <= height:
            return matmul(self.rows(slice(0, n)), C)
        return array_namespace(C).concat([matmul(self.rows(block), C) for block in blocks(n, height)], axis=0)

    def _evaluate(self, *, mirror: bool) -> Array:
        n, m = self.shape
        check_matrix(n, m, self._R)
        usual = max(_PANEL, _TILE // max(m, 1))
        height = min(n, self._panel or usual if self.symmetric else usual)
        head = take_rows(self._R, slice(0, height))
        first = self._block(head, head if self.symmetric else self._S)
        if first.shape == self.shape:
            K = first
        elif not is_numpy(first):  # one large product is faster on a device than panels that fit a cache
            K = self._block(self._R, self._S)
        else:
            K = self._in_panels(first, height, mirror=mirror)
        if not self.symmetric or self._diag is None:
            return K
        return set_diagonal(K, self._diag(self._R))  # without the rounding of blocks

    def _in_panels(self, first: np.ndarray, height: int, *, mirror: bool) -> np.ndarray:
        """K, `height` rows at a time; `first` are the first of them."""
        K = np.empty(self.shape)
        for rows in blocks(self.shape[0], height):
            # of a symmetric matrix, panels of the lower triangle: half the evaluations
            S = take_rows(self._S, slice(0, rows.stop)) if self.symmetric else self._S
            panel = first if rows.start == 0 else self._block(take_rows(self._R, rows), S)
            K[rows, : panel.shape[1]] = panel
            if self.symmetric and mirror:
                K[: rows.start, rows] = panel[:, : rows.start].T
        return K
