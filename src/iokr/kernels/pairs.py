"""Kernels on unordered pairs of nodes, made of a kernel on the nodes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, take_rows
from iokr._component import Limits, component
from iokr._validation.arguments import SHARE, check_rows
from iokr.data.objects import as_array, error_context
from iokr.gram.pairs.gram import PairGram
from iokr.gram.scalar import ScalarGram
from iokr.kernels.base import MemberKernel, fit_part

__all__ = ["CartesianPair", "MetricPair", "MixedPair", "PairKernel", "TensorPair", "check_pairs"]

_MOST = 2**62  # row numbers that are not positions in `nodes` are below


def check_pairs(pairs: Any, size: int | None, where: str = "nodes") -> np.ndarray:
    """(n, 2) row numbers below `size`, as integers."""
    with error_context("pairs"):
        values = as_array(pairs)
    if values.ndim != 2 or values.shape[1] != 2:
        raise ValueError(f"`pairs` must have two columns, the row numbers of two nodes, got shape {values.shape}.")
    return check_rows(
        values, _MOST if size is None else size, f"`pairs` must hold row numbers of the {where}, integers"
    )


class PairKernel(MemberKernel):
    """k_P({a, b}, {c, d}) from k on nodes; pairs are rows of two node numbers.

    A subclass has the fields `base` and `nodes`, and writes its formula in `block`, `diag` and, where products need no
    matrix, `gram`.

    Examples
    --------
    >>> from iokr.kernels import PairKernel, TensorPair
    >>> issubclass(TensorPair, PairKernel)
    True
    """

    nodes: Any

    domain = "pairs"

    def fit(self, X: Any) -> PairKernel:
        """Fit `base` to the nodes, or to the node numbers in X where `nodes` is None."""
        self.check_parameters()
        self.check_base("nodes")
        if self.nodes is not None:
            self.base_ = fit_part(self.base, "base", self.nodes)
            self.nodes_ = self.base_.represent(self.nodes)
        else:
            self.base_ = fit_part(self.base, "base", np.unique(check_pairs(X, None)))
        return self

    def represent(self, X: Any) -> np.ndarray:
        """Node numbers, (n, 2)."""
        return check_pairs(X, None if self.nodes is None else int(self.nodes_.shape[0]))

    def _nodes_at(self, index: np.ndarray) -> Any:
        return self.base_.represent(index) if self.nodes is None else take_rows(self.nodes_, index)

    def _between(self, R: np.ndarray, S: np.ndarray | None = None) -> tuple[Array, np.ndarray, np.ndarray, np.ndarray]:
        """k between the nodes in R and those in S, the pairs as positions there, and the place in S of each node in R.

        The place is −1 for nodes that are not in S.
        """
        u, left = np.unique(R, return_inverse=True)
        left = left.reshape(R.shape)
        if S is None:
            return self.base_.gram(self._nodes_at(u)).dense(), left, left, np.arange(len(u))
        v, right = np.unique(S, return_inverse=True)
        same = np.full(len(u), -1)
        _, here, there = np.intersect1d(u, v, assume_unique=True, return_indices=True)
        same[here] = there
        return self.base_.block(self._nodes_at(u), self._nodes_at(v)), left, right.reshape(S.shape), same


class _OrderMean(PairKernel):
    """The mean over both orders of 2[δ1{a=c} + (1 − δ)k(a, c)]k(b, d), δ = `mix`."""

    def gram(self, R: np.ndarray, S: np.ndarray | None = None) -> ScalarGram:
        """The map c ↦ f between pairs, without a matrix of pairs."""
        K, left, right, same = self._between(R, S)
        return PairGram(K, left, None if S is None else right, mix=float(self.mix), same=same)

    def block(self, R: np.ndarray, S: np.ndarray) -> Array:
        """The (n, m) array of k_P(p_i, q_j)."""
        return self.gram(R, S).dense()

    def diag(self, R: np.ndarray) -> Array:
        """The (n,) array of k_P(p_i, p_i)."""
        return self.gram(R).diagonal()


@component
class TensorPair(_OrderMean):
    """k_P({a, b}, {c, d}) = k(a, c)k(b, d) + k(a, d)k(b, c): the tensor product pairwise kernel (TPPK).

    Two pairs are similar when each node of one is similar to a node of the other. A product with the Gram matrix takes
    about 3nm multiplications for n pairs of m nodes, without a matrix of pairs.

    Parameters
    ----------
    base : Kernel
        k on the nodes.
    nodes : array or sequence of m objects, default=None
        The nodes; pairs are row numbers of it. None: `base` takes the numbers themselves, as `Precomputed(matrix)`
        does.

    References
    ----------
    Ben-Hur, Noble, Bioinformatics 21, 2005; Hue, Vert, ICML 2010, Eq. 6.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import Precomputed, TensorPair
    >>> K = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> TensorPair(Precomputed(K))([[0, 1], [2, 1]], [[1, 0]])
    array([[1.25],
           [0.  ]])
    """

    base: Any
    nodes: Any = None

    mix: ClassVar[float] = 0.0


@component
class MixedPair(_OrderMean):
    """k_P = mean over the orders of both pairs of 2[δ1{a=c} + (1 − δ)k(a, c)] k(b, d): from TPPK to local models.

    δ = 0 is `TensorPair`, δ = 1 is `CartesianPair`, which is 0 for pairs that share no node. 1{a=c} compares node
    numbers, not features: it is 0 for nodes that were not in the training set.

    Parameters
    ----------
    base, nodes : as in `TensorPair`
    mix : float
        δ from 0 to 1; larger gives more weight to pairs that share a node.

    References
    ----------
    Hue, Vert, ICML 2010, Eq. 11, whose kernel is half of this one and whose λ is our δ.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import RBF, MixedPair
    >>> k = MixedPair(RBF(1.0), 0.5, nodes=[[0.0], [1.0], [2.0]])
    >>> k([[0, 1]], [[1, 0], [0, 2], [2, 2]]).round(3)
    array([[1.068, 0.279, 0.007]])
    """

    base: Any
    mix: float
    nodes: Any = None

    limits: ClassVar[Limits] = {"mix": SHARE}


@component
class CartesianPair(_OrderMean):
    """k_P({a, b}, {c, d}) = ½[1{a=c}k(b, d) + 1{b=d}k(a, c) + 1{a=d}k(b, c) + 1{b=c}k(a, d)].

    `MixedPair(base, 1)`: a pair learns only from pairs with one of its nodes, as local models do.

    Parameters
    ----------
    base, nodes : as in `TensorPair`

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import CartesianPair, Precomputed
    >>> CartesianPair(Precomputed(np.eye(3)))([[0, 1]], [[1, 0], [0, 2], [2, 2]])
    array([[1., 0., 0.]])
    """

    base: Any
    nodes: Any = None

    mix: ClassVar[float] = 1.0


@component
class MetricPair(PairKernel):
    """k_P({a, b}, {c, d}) = [k(a, c) − k(a, d) − k(b, c) + k(b, d)]²: the metric learning pairwise kernel (MLPK).

    ⟨φ(a) − φ(b), φ(c) − φ(d)⟩²: a model with this kernel learns a quadratic form of φ(a) − φ(b), a metric between
    nodes. The kernel is 0 for self-pairs.

    Parameters
    ----------
    base, nodes : as in `TensorPair`

    References
    ----------
    Vert, Qiu, Noble, BMC Bioinformatics 8 (Suppl. 10), 2007.

    Examples
    --------
    >>> from iokr.kernels import Linear, MetricPair
    >>> MetricPair(Linear(), nodes=[[0.0], [2.0], [3.0]])([[0, 1], [2, 2]], [[2, 1]])
    array([[4.],
           [0.]])
    """

    base: Any
    nodes: Any = None

    def block(self, R: np.ndarray, S: np.ndarray) -> Array:
        """The (n, m) array of k_P(p_i, q_j)."""
        K, left, right, _ = self._between(R, S)
        xp = array_namespace(K)
        a, b = left.T
        c, d = (asarray_like(ends, K) for ends in right.T)
        rows = take_rows(K, a) - take_rows(K, b)
        return (xp.take(rows, c, axis=1) - xp.take(rows, d, axis=1)) ** 2

    def diag(self, R: np.ndarray) -> Array:
        """The (n,) array of k_P(p_i, p_i)."""
        K, left, *_ = self._between(R)
        xp = array_namespace(K)
        a, b = left.T
        diagonal = xp.linalg.diagonal(K)
        k_ab = take_rows(xp.reshape(K, (-1,)), a * K.shape[1] + b)
        return (take_rows(diagonal, a) + take_rows(diagonal, b) - 2 * k_ab) ** 2
