"""Baselines for predicted links: similarity of features, and regression of the kernel between nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import (
    Array,
    array_namespace,
    asarray_like,
    eigh,
    empty_like,
    eye_like,
    gemm,
    take_rows,
    to_numpy,
    unwarned,
)
from iokr._component import Component, Limits, component
from iokr._system.memory import check_matrix, check_memory
from iokr._validation.arguments import NOT_NEGATIVE, one_of
from iokr.data.objects import n_objects, take
from iokr.estimators.inputs import InputAdapter, adapt, check_scalar
from iokr.estimators.links.network import Network, check_names, check_network, fit_output_kernel
from iokr.kernels.base import Kernel, check_gram

__all__ = ["PKMR", "LinkBaseline", "Naive"]

_TO_REDUCE_MEMORY = "To reduce memory: fewer labelled nodes."


@dataclass(frozen=True)
class Nodes:
    """A list of m nodes to score: represented inputs R, the rows K of k(u, x_i) against the n labelled nodes, the index
    of each among them, −1 for a node without known links, and whether these are the nodes of `fit`."""

    R: Any
    K: Array
    index: np.ndarray
    fitted: bool


@component
class LinkBaseline(Component, ABC):
    """s(u, v): a score for any two nodes, seen or not; higher means "link".

    A subclass is a `@component` that adds its parameters as fields. It writes `learn`, from K (n, n), the input kernel
    between the labelled nodes, and W (n, n), the links between them, and `compare`, the scores of two lists of nodes;
    `limits`, `check_parameters` and `input_kernel` where it needs them.

    Parameters
    ----------
    kernel : Kernel, default=None
        On the inputs; None is `RBF()`.

    Attributes
    ----------
    kernel_ : Kernel
        Fitted on the labelled nodes.
    network_ : Network
        Which nodes are labelled, and the links between them.
    labeled_ : array of shape (n,)
        The labelled nodes.
    R_fit_ : array, or what the kernel represents objects by
        The nodes of `fit`, represented.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.extend import component
    >>> from iokr.apps.links.baselines import LinkBaseline
    >>> @component
    ... class Neighbours(LinkBaseline):
    ...     def learn(self, K, W):
    ...         self.weights_ = W / np.maximum(W.sum(axis=0), 1)
    ...     def compare(self, U, V):
    ...         return U.K @ self.weights_ @ V.K.T
    >>> X, graph = np.array([[0.0], [0.1], [3.0]]), np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> scores = Neighbours().fit(X, graph).decision_function()
    >>> bool(scores[0, 1] > scores[0, 2])
    True
    """

    kernel: Kernel | None = None

    def _stored(self) -> dict[str, Any]:
        return {"adapter": self._border}

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> LinkBaseline:
        """Learn from the links between labelled nodes.

        Parameters
        ----------
        X : array or sequence of N objects
            All nodes.
        adjacency : array or sparse matrix, (n, n) or (N, N)
            Symmetric links between the labelled nodes in the order of `labeled`, or between all nodes, of which only
            rows and columns in `labeled` are read.
        labeled : integers or mask, default=None
            Nodes whose links are known; None is all.

        Returns
        -------
        self
        """
        self.check_parameters()
        kernel = check_scalar(self.kernel, objects="X")
        check_names(X, adjacency)
        sample = adapt(self, X, kernel, reset=True)
        X = sample.X
        self.network_: Network = check_network(X, adjacency, labeled)
        self.labeled_ = self.network_.labeled
        self.kernel_ = self.input_kernel(kernel).fit(take(X, self.labeled_))
        self.R_fit_ = self.kernel_.represent(X)
        R, n = take_rows(self.R_fit_, self.labeled_), len(self.labeled_)
        check_memory(32.0 * n * n, f"{type(self).__name__} of {n} labelled nodes", _TO_REDUCE_MEMORY, R)
        check_gram(self.kernel_.gram(R), self.kernel_.trusted, "kernel")
        K = self.kernel_.block(R, R)
        self._border = InputAdapter(self.kernel_, empty_like((0, 0), K), sample.single)
        self.learn((K + K.T) / 2, asarray_like(self.network_.graph.toarray(), K))
        return self

    def decision_function(self, X1: Any = None, X2: Any = None) -> Array:
        """The score of every node of the first list with every node of the second.

        Parameters
        ----------
        X1, X2 : arrays or sequences of objects, default=None
            None is the nodes of `fit`, in that order.

        Returns
        -------
        scores : array of shape (m1, m2)
            Higher means "link". The score of a node with itself has no meaning.
        """
        check_is_fitted(self)
        m1, m2 = (int(self.R_fit_.shape[0]) if X is None else n_objects(X) for X in (X1, X2))
        check_matrix(m1, m2, None, 2.0, "A score for every pair")
        U = self._nodes(X1)
        return self._border.cast(self.compare(U, U if X1 is None and X2 is None else self._nodes(X2)))

    @abstractmethod
    def learn(self, K: Array, W: Array) -> None:
        """Learn from the Gram matrix K of the labelled nodes and the weights W of their links; both (n, n)."""

    @abstractmethod
    def compare(self, U: Nodes, V: Nodes) -> Array:
        """The (m1, m2) scores of two lists of nodes."""

    def input_kernel(self, kernel: Kernel) -> Kernel:
        """The kernel to fit. May be overridden: centred, say."""
        return clone(kernel)  # type: ignore[no-any-return]

    def output_gram(self, output_kernel: Kernel | None) -> Array:
        """K_Y (n, n), an output kernel between the labelled nodes; None is `Normalized(Diffusion(1.0))`."""
        if output_kernel is not None and not isinstance(output_kernel, Kernel):
            raise TypeError(f"`output_kernel` must be a component of `iokr.kernels`, got {output_kernel!r:.80}.")
        _, V = fit_output_kernel(output_kernel, self.network_)
        return asarray_like(gemm(V, V), self._border.home)

    def _nodes(self, X: Any) -> Nodes:
        if X is None:
            R, index = self.R_fit_, np.full(self.R_fit_.shape[0], -1)
            index[self.labeled_] = np.arange(len(self.labeled_))
        else:
            R = self._border.read(self, X)
            index = np.full(int(R.shape[0]), -1)
        check_matrix(int(R.shape[0]), len(self.labeled_), R)
        return Nodes(R, self.kernel_.block(R, take_rows(self.R_fit_, self.labeled_)), index, X is None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def positive_eigen(K: Array, tol: float | None = None) -> tuple[Array, Array]:
    """U (n, r) and s (r,), the eigenvalues above tol·max; None is n·eps, below which they are rounding."""
    s, U = eigh(K)
    tol = K.shape[0] * float(np.finfo(float).eps) if tol is None else tol
    first = int(np.sum(to_numpy(s) <= tol * float(s[-1]))) if float(s[-1]) > 0 else s.shape[0]
    return U[:, first:], s[first:]


def spectral_filter(U: Array, T: Array, G: Array) -> Array:
    """S = U [(Uᵀ T U) ∘ G] Uᵀ: the form k_uᵀ S k_v that IOKR, PKMR, TPPK and EM completion share.

    With K = U diag(s) Uᵀ, G_ij = 1/((s_i + λ)(s_j + λ)) is IOKR, 1/(s_i s_j + λ) ridge on pairs.
    """
    return U @ ((U.T @ T @ U) * G) @ U.T


@component
class Naive(LinkBaseline):
    """s(u, v) = k(u, v): similar inputs are linked; the graph is not looked at.

    Parameters
    ----------
    kernel : Kernel, default=None
        On the inputs; None is `RBF()`.

    References
    ----------
    Yamanishi, Vert, Kanehisa, Bioinformatics 20, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.apps.links.baselines import Naive
    >>> X, graph = np.array([[0.0], [0.1], [3.0]]), np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> scores = Naive().fit(X, graph).decision_function()
    >>> bool(scores[0, 1] > scores[0, 2])
    True
    """

    def learn(self, K: Array, W: Array) -> None:
        pass

    def compare(self, U: Nodes, V: Nodes) -> Array:
        return self.kernel_.block(U.R, V.R)


_KEPT = 1e-8  # of the largest eigenvalue of K: what is divided by


@component
class PKMR(LinkBaseline):
    """s(u, v) = k_uᵀ A k_v with min_A ½‖K_Y − K A K‖² + penalty: penalised kernel matrix regression.

    With K = U diag(s) Uᵀ, the penalty

    - ``"trace"``, λ tr(A K) over A ⪰ 0, gives A = K⁻¹ [K_Y − λK⁻¹]₊ K⁻¹: a sum of few squared functions, so the scores
      are a kernel;
    - ``"norm"``, (λ/2) tr(A K A K), gives A = U [(Uᵀ K_Y U)_ij / (s_i s_j + λ)] Uᵀ, which need not be positive.

    Parameters
    ----------
    kernel : Kernel, default=None
        On the inputs; None is `RBF()`.
    output_kernel : Kernel, default=None
        On the nodes of the training graph; None is `Normalized(Diffusion(1.0))`.
    alpha : float, default=1.0
        λ ≥ 0: larger shrinks, and under ``"trace"`` keeps fewer functions.
    penalty : {"trace", "norm"}, default="trace"

    Attributes
    ----------
    rank_ : int
        How many functions are left under ``"trace"``.

    References
    ----------
    Yamanishi, Vert, Kernel matrix regression, 2007. The paper's penalty is not certain to us.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.apps.links.baselines import PKMR
    >>> X, graph = np.array([[0.0], [0.1], [3.0], [3.1]]), np.kron(np.eye(2), 1 - np.eye(2))
    >>> scores = PKMR(alpha=0.1).fit(X, graph).decision_function([[0.2]], [[0.0], [3.0]])
    >>> bool(scores[0, 0] > scores[0, 1])
    True
    """

    _: KW_ONLY
    output_kernel: Kernel | None = None
    alpha: float = 1.0
    penalty: str = "trace"

    limits: ClassVar[Limits] = {"alpha": NOT_NEGATIVE, "penalty": one_of("trace", "norm")}

    def learn(self, K: Array, W: Array) -> None:
        K_Y = self.output_gram(self.output_kernel)
        xp = array_namespace(K)
        U, s = positive_eigen(K, _KEPT)
        if self.penalty == "norm":
            self.form_ = spectral_filter(U, K_Y, 1 / (s[:, None] * s[None, :] + self.alpha))
            return
        with unwarned():
            penalty = self.alpha * eye_like(s.shape[0], s) / s[None, :]
        if not bool(xp.all(xp.isfinite(penalty))):
            raise ValueError(f"`alpha` = {self.alpha:.3g} divided by the least eigenvalue of K overflows; lower it.")
        T = U.T @ K_Y @ U
        w, V = eigh((T + T.T) / 2 - penalty)
        self.rank_ = int(np.sum(to_numpy(w) > 0))
        w, V = w[w.shape[0] - self.rank_ :], V[:, w.shape[0] - self.rank_ :]
        self.coefficients_ = U @ (V * xp.sqrt(w)[None, :] / s[:, None])

    def compare(self, U: Nodes, V: Nodes) -> Array:
        if self.penalty == "norm":
            return U.K @ self.form_ @ V.K.T
        return (U.K @ self.coefficients_) @ (V.K @ self.coefficients_).T
