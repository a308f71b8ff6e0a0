"""What every rival shares: nodes in, the training graph, scores out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import (
    Array,
    array_namespace,
    asarray_like,
    eigh,
    empty_like,
    gemm,
    is_array,
    same_home,
    take_rows,
    to_numpy,
)
from iokr._memory import check_memory
from iokr._objects import n_objects, take
from iokr.estimators.inputs import check_inputs, check_kernel
from iokr.estimators.links.network import Network, check_names, check_network, fit_output_kernel
from iokr.kernels.base import Kernel, check_gram

__all__ = ["LinkRival", "Nodes", "positive_eigen", "spectral_filter"]


@dataclass(frozen=True)
class Nodes:
    """A list of m nodes to score: represented inputs R, the rows K of k(u, x_i) against the n labelled nodes, the place
    of each among them, −1 for a node without known links, and whether these are the nodes of `fit`."""

    R: Any
    K: Array
    place: np.ndarray
    fitted: bool


class LinkRival(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn is untyped
    """s(u, v): a score for any two nodes, seen or not; higher means "link".

    A subclass learns in `_learn` from K (n, n), the input kernel between the labelled nodes, and W (n, n), the links
    between them, and compares two lists of nodes in `_scores`.
    """

    kernel: Kernel | None
    output_kernel: Kernel | None = None

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> LinkRival:
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
        self._check_parameters()
        kernel = check_kernel(self.kernel)
        if not isinstance(kernel, Kernel) or kernel.pairwise:
            raise TypeError(
                f"`kernel` must be a scalar kernel of `iokr.kernels`, got {kernel!r:.80}; for a Gram matrix use "
                "`Precomputed(matrix)` and row numbers as X."
            )
        check_names(X, adjacency)
        X = check_inputs(self, X, kernel, reset=True)
        self.network_: Network = check_network(X, adjacency, labeled)
        self.labeled_ = self.network_.labeled
        self._single_precision = str(getattr(X, "dtype", "")).endswith("float32")
        self.kernel_ = self._input_kernel(kernel).fit(take(X, self.labeled_))
        self.R_fit_ = self.kernel_.represent(X)
        R, n = take_rows(self.R_fit_, self.labeled_), len(self.labeled_)
        check_memory(32.0 * n * n, f"{type(self).__name__} of {n} labelled nodes", "Way out: fewer labelled nodes.", R)
        check_gram(self.kernel_.gram(R), self.kernel_.trusted, "kernel")
        K = self.kernel_.block(R, R)
        self._home = empty_like((0, 0), K)  # an array of the library and device of the model
        self._learn((K + K.T) / 2, asarray_like(self.network_.graph.toarray(), K))
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
        U = self._nodes(X1)
        return self._cast(self._scores(U, U if X1 is None and X2 is None else self._nodes(X2)))

    @abstractmethod
    def _learn(self, K: Array, W: Array) -> None:
        """Learn from the Gram matrix K of the labelled nodes and their links W, zeros and ones; both (n, n)."""

    @abstractmethod
    def _scores(self, U: Nodes, V: Nodes) -> Array:
        """The (m1, m2) scores."""

    def _check_parameters(self) -> None:
        """Refuse what makes no sense. May be overridden."""

    def _input_kernel(self, kernel: Kernel) -> Kernel:
        """The kernel to fit. May be overridden: centred, say."""
        return clone(kernel)  # type: ignore[no-any-return]

    def _output_gram(self) -> Array:
        """K_Y (n, n), the `output_kernel` between labelled nodes."""
        if self.output_kernel is not None and not isinstance(self.output_kernel, Kernel):
            raise TypeError(f"`output_kernel` must be a component of `iokr.kernels`, got {self.output_kernel!r:.80}.")
        _, V = fit_output_kernel(self.output_kernel, self.network_)
        return asarray_like(gemm(V, V), self._home)

    def _nodes(self, X: Any) -> Nodes:
        if X is None:
            R, place = self.R_fit_, np.full(self.R_fit_.shape[0], -1)
            place[self.labeled_] = np.arange(len(self.labeled_))
        else:
            X = check_inputs(self, X, self.kernel_, reset=False)
            if self.kernel_.domain in ("vectors", "fingerprints") and is_array(X) and not same_home(X, self._home):
                raise TypeError(
                    f"The model was fitted on arrays of another library or device than X, {type(X).__name__}; "
                    "nothing is moved silently: convert X."
                )
            R, place = self.kernel_.represent(X), np.full(n_objects(X), -1)
        return Nodes(R, self.kernel_.block(R, take_rows(self.R_fit_, self.labeled_)), place, X is None)

    def _cast(self, scores: Array) -> Array:
        xp = array_namespace(scores)
        return xp.astype(scores, xp.float32) if self._single_precision else scores

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
