"""C ↦ (Σ_j 𝒦(x_i, z_j) c_j)_i for operator-valued kernels that do not separate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, blocks, take_rows
from iokr.gram.base import Gram
from iokr.gram.scalar import ScalarGram

__all__ = ["BlockGram", "SumGram"]

_PANEL = 1 << 22  # numbers that a product evaluates at a time


class _Unseparated(Gram):
    """A Gram without a scalar part, on d = `dim` outputs."""

    operator = None
    dim: int

    @property
    def K(self) -> ScalarGram:  # type: ignore[override]
        """Raises: there is none."""
        raise ValueError(
            "A kernel that does not separate into k(x, z) A has no scalar Gram matrix to make a graph of the "
            "points from; give the penalty: `Given(weight, matrix)`."
        )

    @cached_property
    def flat(self) -> _Matrix:
        """The matrix with block (i, j) = 𝒦(x_i, z_j), point-major; evaluated at the first use."""
        return _Matrix(self._evaluate, self.shape[0] * self.dim, self.shape[1] * self.dim)

    @abstractmethod
    def _evaluate(self) -> Array:
        """𝐊, point-major."""


class _Matrix(ScalarGram):
    """A ScalarGram on the rows of an (n, m) matrix, evaluated as a whole by a function."""

    def __init__(self, evaluate: Callable[[], Array], n: int, m: int) -> None:
        super().__init__(lambda R, S: evaluate(), np.arange(n), None if n == m else np.arange(m))

    @property
    def stored(self) -> bool:
        """Whether the matrix has been evaluated."""
        return self._kept is not None

    def _evaluate(self, *, mirror: bool) -> Array:
        return self._block(self._R, self._S)

    def rows(self, index: Any) -> Array:
        """The rows at `index`."""
        return take_rows(self.dense(), index)

    def restrict(self, rows: Any) -> ScalarGram:
        """Some rows and the same columns."""
        return _Matrix(lambda: take_rows(self.rows(rows).T, rows).T, len(rows), len(rows))


def kronecker(K: Array, A: Array) -> Array:
    """K ⊗ A: block (i, j) is K_ij A."""
    blocks_of = K[:, None, :, None] * A[None, :, None, :]
    return array_namespace(K).reshape(blocks_of, (K.shape[0] * A.shape[0], K.shape[1] * A.shape[1]))


class BlockGram(_Unseparated):
    """(G C)_i = Σ_j 𝒦(x_i, z_j) c_j from a function that returns arrays of blocks.

    Parameters
    ----------
    block : callable
        `block(R, S)` is the (n, m, d, d) array with [i, j] = 𝒦(x_i, z_j).
    R, S : representations of the objects; without S, those of R among themselves.
    dim : int
        d.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.gram import BlockGram
    >>> X = np.array([[1.0], [2.0]])
    >>> gram = BlockGram(lambda R, S: (R @ S.T)[:, :, None, None] * np.eye(2), X, None, 2)
    >>> gram @ np.array([[1.0, 0.0], [0.0, 1.0]])
    array([[1., 2.],
           [2., 4.]])
    >>> gram.flat.dense().shape
    (4, 4)
    """

    def __init__(self, block: Callable[[Any, Any], Array], R: Any, S: Any, dim: int) -> None:
        self._block, self._R, self.dim = block, R, dim
        self._S = R if S is None else S
        self.shape = (int(R.shape[0]), int(self._S.shape[0]))
        self.size = self.shape[0] * dim

    def diagonal(self) -> Array:
        """The diagonals of the 𝒦(x_i, x_i), one after the other."""
        parts = []
        for i in range(self.shape[0]):
            own = take_rows(self._R, slice(i, i + 1))
            block = self._block(own, own)[0, 0, ...]
            parts.append(array_namespace(block).linalg.diagonal(block))
        return array_namespace(parts[0]).concat(parts)

    def restrict(self, rows: Any) -> BlockGram:
        """The Gram of some of the objects among themselves."""
        return BlockGram(self._block, take_rows(self._R, rows), None, self.dim)

    def _panels(self) -> Any:
        """(rows, matrix of these rows), some points at a time."""
        n, m = self.shape
        for rows in blocks(n, max(1, _PANEL // max(1, m * self.dim**2))):
            part = self._block(take_rows(self._R, rows), self._S)
            xp = array_namespace(part)
            yield rows, xp.reshape(xp.permute_dims(part, (0, 2, 1, 3)), (-1, m * self.dim))

    def _evaluate(self) -> Array:
        parts = [panel for _, panel in self._panels()]
        return parts[0] if len(parts) == 1 else array_namespace(parts[0]).concat(parts, axis=0)

    def __matmul__(self, C: Array) -> Array:
        xp = array_namespace(C)
        vector = xp.reshape(C, (-1, 1))
        if self.flat.stored:
            values = self.flat @ vector
        else:
            values = xp.concat([panel @ vector for _, panel in self._panels()], axis=0)
        return xp.reshape(values, (self.shape[0], self.dim))


class SumGram(_Unseparated):
    """C ↦ Σ_l G_l C: a sum of operator-valued kernels, each with its own Gram.

    Parameters
    ----------
    terms : sequence of Gram
        Of one shape; scalar ones are k·I.
    dim : int
        d.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.gram import SumGram
    >>> from iokr.kernels import Linear
    >>> gram = SumGram([Linear().gram(np.array([[1.0]])), Linear().gram(np.array([[2.0]]))], 2)
    >>> gram @ np.array([[1.0, 2.0]])
    array([[ 5., 10.]])
    """

    def __init__(self, terms: Sequence[Gram], dim: int) -> None:
        self.terms, self.dim, self.shape = list(terms), dim, terms[0].shape
        self.size = self.shape[0] * dim

    def diagonal(self) -> Array:
        """The sum of the diagonals."""
        return sum(self._own(term) for term in self.terms)

    def _own(self, term: Gram) -> Array:
        """The diagonal of a term, d entries for each object."""
        values = term.diagonal()
        if term.operator is None:
            return values
        xp = array_namespace(values)
        own = xp.linalg.diagonal(term.operator.matrix(self.dim, values))
        return xp.reshape(values[:, None] * own[None, :], (-1,))

    def restrict(self, rows: Any) -> SumGram:
        """The Gram of some of the objects among themselves."""
        return SumGram([term.restrict(rows) for term in self.terms], self.dim)

    def _evaluate(self) -> Array:
        return sum(self._matrix(term) for term in self.terms)

    def _matrix(self, term: Gram) -> Array:
        """The matrix of a term, point-major."""
        if term.operator is None:
            return term.flat.dense()
        K = term.K.dense()
        return kronecker(K, term.operator.matrix(self.dim, K))

    def __matmul__(self, C: Array) -> Array:
        return sum(term @ C for term in self.terms)
