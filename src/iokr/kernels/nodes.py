"""Kernels on the nodes of a graph: functions of its Laplacian."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array

from iokr._array import Array, blocks, eigh, is_sparse, to_numpy
from iokr._component import Limits, component
from iokr._system.memory import check_memory
from iokr._validation.arguments import POSITIVE, check_vectors
from iokr.kernels.base import FeatureKernel
from iokr.kernels.precomputed import check_indices

__all__ = ["Diffusion", "NodeKernel", "RegularizedLaplacian", "check_graph"]

_EXACT = 2048  # nodes up to which a sparse Laplacian is diagonalised; beyond, a series is faster and smaller
_DENSE = 0.05  # fraction of non-zero weights above which every Laplacian is diagonalised
_COLUMNS = 64  # columns of a product with the Laplacian at a time, which stay in the cache
_EPS = float(np.finfo(np.float64).eps)
_ADVICE = "To reduce memory: fewer labelled nodes, or a machine with more memory."


@component
class NodeKernel(FeatureKernel):
    """k(i, j) = g(L)_ij, g a positive decreasing function, L = diag(W1) − W the Laplacian of a graph with weights W.

    Objects are node numbers. φ(i) is row i of √g(L), so that Gram matrices are positive semi-definite whether √g(L) is
    exact or approximate: it is computed by an eigendecomposition up to 2048 nodes (or if more than a twentieth of the
    weights are not zero), else by a Chebyshev series in the sparse Laplacian, N columns of length N at most.

    Attributes
    ----------
    error_ : float
        A bound of |k − g(L)| except for rounding: 0 after an eigendecomposition; for a series twice the sum of the
        coefficients left out.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import Diffusion, NodeKernel
    >>> isinstance(Diffusion(), NodeKernel)
    True
    """

    beta: float = 1.0
    graph: Any = None

    domain = "indices"
    limits: ClassVar[Limits] = {"beta": POSITIVE}

    @abstractmethod
    def root(self, values: np.ndarray) -> np.ndarray:
        """√g at eigenvalues l ≥ 0 of the Laplacian."""

    def fit(self, X: Any) -> NodeKernel:
        """Factor g(L) of the graph, or expand √g; X is not used."""
        self.check_parameters()
        if self.graph is None:
            raise ValueError(
                f"{type(self).__name__} needs the graph whose nodes it compares: set `graph` to its symmetric matrix "
                "of weights (`LinkPredictor` supplies the graph of the labelled nodes)."
            )
        W = check_graph(self.graph, "graph")
        L = csr_array(diags_array(W.sum(axis=1)) - W)
        self.n_nodes_ = W.shape[0]
        if self.n_nodes_ <= _EXACT or W.nnz > _DENSE * self.n_nodes_**2:
            check_memory(32.0 * self.n_nodes_**2, f"{type(self).__name__} of {self.n_nodes_} nodes", _ADVICE)
            values, U = eigh(L.toarray(), overwrite=True)
            self.features_ = np.ascontiguousarray(U * self.root(np.clip(values, 0.0, None)))
            self.error_ = 0.0
        else:
            top = _largest(W)
            self.coefficients_, dropped = chebyshev(self.root, top)
            self.laplacian_ = csr_array(L * (2 / top) - diags_array(np.ones(self.n_nodes_)))  # spectrum in [−1, 1]
            self.error_ = 2 * dropped * float(self.root(np.zeros(1))[0]) + dropped**2
        return self

    def features(self, X: Any) -> np.ndarray:
        """Rows of √g(L), (n, N), in some orthonormal basis."""
        index = check_indices(X, self.n_nodes_, type(self).__name__, "node")
        if self.error_ == 0.0:
            return np.asarray(self.features_[index])
        check_memory(8.0 * len(index) * self.n_nodes_, f"{type(self).__name__} of {len(index)} nodes", _ADVICE)
        rows = np.empty((len(index), self.n_nodes_))
        for part in blocks(len(index), _COLUMNS):
            unit = np.zeros((self.n_nodes_, part.stop - part.start))
            unit[index[part], np.arange(part.stop - part.start)] = 1.0
            rows[part] = _clenshaw(self.laplacian_, self.coefficients_, unit).T
        return rows


@component
class Diffusion(NodeKernel):
    """k(i, j) = exp(−βL)_ij: the heat on node j after time β that starts on node i.

    Wrap it as `Normalized(Diffusion(beta))` for a unit diagonal: on real networks most heat of nodes of small degree
    stays there, and k(i, i) varies by orders of magnitude. `error_` is that of `NodeKernel`.

    Parameters
    ----------
    beta : float, default=1.0
        Diffusion time: larger reaches further.
    graph : array or sparse matrix of shape (N, N), default=None
        Symmetric weights of at least 0, zero on the diagonal; `LinkPredictor` supplies it.

    References
    ----------
    Kondor, Lafferty, ICML 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import Diffusion
    >>> path = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> Diffusion(1.0, path)([0], [0, 1, 2]).round(3)
    array([[0.526, 0.317, 0.158]])
    """

    def root(self, values: np.ndarray) -> np.ndarray:
        """exp(−βl/2)."""
        return np.exp(-self.beta / 2 * values)


@component
class RegularizedLaplacian(NodeKernel):
    """k(i, j) = ((I + βL)⁻¹)_ij: walks of every length, with less weight for long ones; `error_` as in `NodeKernel`.

    Parameters
    ----------
    beta : float, default=1.0
        Larger reaches further.
    graph : array or sparse matrix of shape (N, N), default=None
        Symmetric weights of at least 0, zero on the diagonal; `LinkPredictor` supplies it.

    References
    ----------
    Smola, Kondor, COLT 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import RegularizedLaplacian
    >>> RegularizedLaplacian(1.0, np.array([[0.0, 1.0], [1.0, 0.0]]))([0], [0, 1]).round(3)
    array([[0.667, 0.333]])
    """

    def root(self, values: np.ndarray) -> np.ndarray:
        """(1 + βl)^{-½}."""
        return 1 / np.sqrt(1 + self.beta * values)


def check_graph(W: Any, name: str) -> csr_array:
    """Weights of a graph as a sparse matrix: square, finite, symmetric, at least 0, zero on the diagonal."""
    W = check_vectors(W, name)
    W = csr_array(W if is_sparse(W) else to_numpy(W))
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"`{name}` must be square, a row and a column per node, got shape {tuple(W.shape)}.")
    if W.shape[0] == 0:
        raise ValueError(f"`{name}` is empty; at least one node is needed.")
    W.sum_duplicates()
    W.eliminate_zeros()
    if W.nnz and W.data.min() < 0:
        i, j = _where(W, W.data < 0)
        raise ValueError(f"`{name}` must be weights of at least 0, got {W[i, j]:g} between nodes {i} and {j}.")
    loops = np.flatnonzero(W.diagonal())
    if len(loops):
        plural = "s" if len(loops) > 1 else ""
        raise ValueError(
            f"`{name}` links node {loops[0]} to itself ({len(loops)} such node{plural}); links join two nodes: set the "
            "diagonal to zero."
        )
    gap = csr_array(abs(W - W.T))
    if gap.nnz and gap.data.max() > 1e-8 * W.data.max():
        i, j = _where(gap, gap.data == gap.data.max())
        raise ValueError(
            f"`{name}` must be symmetric, but is {W[i, j]:g} from node {i} to {j} and {W[j, i]:g} back; if directions "
            "do not matter, take the larger of the two."
        )
    return csr_array((W + W.T) / 2) if gap.nnz else W


def _where(W: csr_array, which: np.ndarray) -> tuple[int, int]:
    """Row and column of the first stored entry for which `which` is True."""
    found = W.tocoo()
    place = int(np.flatnonzero(which)[0])
    return int(found.row[place]), int(found.col[place])


def _largest(W: csr_array) -> float:
    """max of d_i + d_j over links: a bound of the eigenvalues of the Laplacian."""
    degree = W.sum(axis=1)
    ends = W.tocoo()
    return float(np.max(degree[ends.row] + degree[ends.col], initial=1.0))


def chebyshev(f: Callable[[np.ndarray], np.ndarray], top: float) -> tuple[np.ndarray, float]:
    """Coefficients c with f(l) ≈ Σ_k c_k T_k(2l/top − 1) on [0, top], and a bound of the error.

    For these functions |c_k| falls with k; the series ends where it reaches rounding. The part left out, and the part
    that interpolation adds to the other coefficients, are at most twice the sum of the coefficients left out.
    """
    from scipy.fft import dct

    count = 64  # nodes; doubled until half of the coefficients are rounding
    while True:
        nodes = np.cos(np.pi * (np.arange(count) + 0.5) / count)
        c = dct(f(top / 2 * (1 + nodes))) / count
        c[0] /= 2
        small = np.flatnonzero(np.abs(c) <= _EPS * np.max(np.abs(c)))
        if len(small) and small[0] <= count // 2:
            return c[: small[0]], 2 * float(np.sum(np.abs(c[small[0] :])))
        count *= 2


def _clenshaw(M: csr_array, c: np.ndarray, B: np.ndarray) -> Array:
    """Σ_k c_k T_k(M) B by Clenshaw's recurrence: u_k = c_k B + 2 M u_{k+1} − u_{k+2}."""
    u1 = np.zeros_like(B)  # u_{k+1}
    u2 = np.zeros_like(B)  # u_{k+2}
    twice = 2 * M
    for value in c[:0:-1]:
        u = twice @ u1
        u -= u2
        u += value * B
        u2 = u1
        u1 = u
    return c[0] * B + M @ u1 - u2
