"""`PairModel` on all pairs of the labelled nodes of a network: matrices in place of lists of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import eigh, matmul, to_numpy
from iokr._component import Component, component
from iokr.data.objects import take
from iokr.estimators.areas import AREAS, AreaRule, areas_by_name
from iokr.estimators.progress import Progress
from iokr.estimators.search.engine import Part, cv_results, n_points, select
from iokr.estimators.search.grid import listed
from iokr.estimators.search.result import Axis, drop_single_axes
from iokr.kernels.base import Kernel
from iokr.kernels.nodes import check_graph
from iokr.model_selection.nodes import NodeKFold, TooFewLinks, check_labeled

__all__ = ["AllPairs", "AllPairsCV"]


@dataclass(frozen=True, eq=False)
class AllPairs:
    """f(u, v) = m_uᵀ S k_v + k_uᵀ S m_v, S = U [(Uᵀ Y U) / (E + 2λ)] Uᵀ, m_u = δ e_u + (1 − δ) k_u, K = U diag(s) Uᵀ.

    Ridge on every pair of n nodes, E the eigenvalues of the pair kernel (`CompletePairs`): what `PairModel` with
    δ = mix learns from all pairs, each node being linked with itself, in O(n³) whatever the number of pairs.
    """

    S: np.ndarray
    mix: float

    @classmethod
    def path(cls, K: np.ndarray, linked: np.ndarray, grid: Sequence[tuple[float, float]]) -> Iterator[AllPairs]:
        """For each (mix, alpha), from one eigendecomposition of K."""
        s, U, T = _spectrum(K, linked)
        for mix, alpha in grid:
            yield cls(np.asarray(matmul(matmul(U, T / _shrunk(s, mix, alpha)), np.ascontiguousarray(U.T))), mix)

    @staticmethod
    def new_scores(
        K: np.ndarray, linked: np.ndarray, K_new: np.ndarray, others: np.ndarray, grid: Sequence[tuple[float, float]]
    ) -> Iterator[np.ndarray]:
        """For each (mix, alpha), f(u, v) of new nodes u, rows of `K_new`, and v, the n nodes, then `others`, new too.

        k_uᵀ U [(Uᵀ Y U)/(E + 2λ)] Uᵀ (δ e_v + 2(1 − δ) k_v): S is not needed, and Uᵀ k_v = s ∘ Uᵀ e_v for known v.
        """
        s, U, T = _spectrum(K, linked)
        left, right = matmul(K_new, U), np.vstack([U * s, matmul(others, U)])
        own = np.vstack([U, np.zeros((len(others), len(U)))])
        for mix, alpha in grid:
            ends = 2 * (1 - mix) * right + mix * own
            yield np.asarray(matmul(matmul(left, T / _shrunk(s, mix, alpha)), np.ascontiguousarray(ends.T)))

    def factors(self, K: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(A, B) with f(u, v) = ⟨a_u, b_v⟩; rows of K are k(u, x_i), `own` the i of a node that is x_i, else −1."""
        M = (1 - self.mix) * K
        rows = np.flatnonzero(own >= 0)
        M[rows, own[rows]] += self.mix
        return np.hstack([matmul(M, self.S), matmul(K, self.S)]), np.hstack([K, M])


def _spectrum(K: np.ndarray, linked: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """s, U and Uᵀ Y U, a node being linked with itself."""
    s, U = (to_numpy(part) for part in eigh(K))
    s, U = np.clip(s, 0.0, None), np.ascontiguousarray(U)
    return s, U, np.asarray(matmul(matmul(U.T, np.where(linked, 1.0, 0.0) + np.eye(len(K))), U))


def _shrunk(s: np.ndarray, mix: float, alpha: float) -> np.ndarray:
    """E + 2λ."""
    E = np.outer(mix + (1 - mix) * s, s)
    return np.asarray(E + E.T + 2 * alpha)


@component
class AllPairsCV(Component):
    """`AllPairs` with kernel, δ and α by the areas of pairs with a new node, over folds of the labelled nodes.

    Parameters
    ----------
    kernel : Kernel, or a list of them
    alphas, mixes : sequences of float
        Values of λ and of δ.
    scoring : {"roc_auc", "average_precision", "both"}
    cv : int

    Attributes
    ----------
    kernel_, alpha_, mix_, scores_, areas_, best_index_, labeled_, pairs_ :
        As in `PairModelCV`; `pairs_` is the fitted `AllPairs`.
    """

    kernel: Any = None
    _: KW_ONLY
    alphas: Sequence[float] = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)
    mixes: Sequence[float] = (0.0, 0.5)
    scoring: str = "roc_auc"
    cv: int = 3

    cv_results_ = cv_results

    def fit(self, X: Any, adjacency: Any, labeled: Any = None, progress: Progress | None = None) -> AllPairsCV:
        """Choose, where there is a choice, and learn from all pairs of labelled nodes.

        Parameters
        ----------
        X, adjacency, labeled :
            As in `LinkPredictor.fit`.
        progress : callable, default=None
            Called as `progress(done, total, what)` each time that a point of the grid is scored on a fold.
        """
        index = check_labeled(labeled, len(X))
        graph = check_graph(adjacency, "adjacency").toarray()
        linked = (graph if len(graph) == len(index) < len(X) else graph[np.ix_(index, index)]) != 0
        kernels: list[Kernel] = listed(self.kernel, "kernel")
        target = np.where(linked, 1.0, 0.0) + np.eye(len(linked))  # what a kernel that is aligned with outputs sees
        given = [(take(X, index), target) if kernel.supervised else (take(X, index),) for kernel in kernels]
        fitted = [clone(kernel).fit(*parts) for kernel, parts in zip(kernels, given, strict=True)]
        axes = [Axis("kernel", fitted), Axis("mix", list(self.mixes)), Axis("alpha", list(self.alphas))]
        self.kernel_, self.mix_, self.alpha_ = fitted[0], float(self.mixes[0]), float(self.alphas[0])
        if n_points(axes) > 1:
            rule = AreaRule(self.scoring, "best")
            settings: dict[str, Any] = {"rule": rule, "n_folds": self.cv, "progress": progress}
            found = select(self, axes, self._evaluate(fitted, take(X, index), linked), name="scores_", **settings)
            self.areas_ = {name: drop_single_axes(found.measures[name])[0] for name in AREAS}
            self.kernel_, self.mix_, self.alpha_ = found.best["kernel"], found.best["mix"], found.best["alpha"]
        self.labeled_, self.nodes_ = index, X
        grid = [(self.mix_, self.alpha_)]
        [self.pairs_] = AllPairs.path(to_numpy(self.kernel_(take(X, index))), linked, grid)
        return self

    def _evaluate(self, kernels: list[Kernel], X: Any, linked: np.ndarray) -> Iterator[Part]:
        """Areas of pairs with a node of the fold, from one eigendecomposition for each kernel and fold."""
        points = list(product(range(len(self.mixes)), range(len(self.alphas))))
        grid = [(float(self.mixes[j]), float(self.alphas[k])) for j, k in points]
        found = False
        for i, kernel in enumerate(kernels):
            K = to_numpy(kernel(X))
            for fold, (train, test) in enumerate(NodeKFold(self.cv).split(K)):
                above = np.triu_indices(len(test), k=1)
                labels = np.concatenate([linked[test][:, train].ravel(), linked[test][:, test][above]])
                if not labels.any() or labels.all() or not linked[np.ix_(train, train)].any():
                    continue
                found = True
                known, new = K[np.ix_(train, train)], K[np.ix_(test, train)]
                path = AllPairs.new_scores(known, linked[np.ix_(train, train)], new, new, grid)
                for (j, k), F in zip(points, path, strict=True):
                    scores = np.concatenate([F[:, : len(train)].ravel(), F[:, len(train) :][above]])
                    yield Part((i, j, k), areas_by_name(labels, scores), fold)
        if not found:
            raise TooFewLinks("No fold has links to learn from and links to find; use fewer folds.")

    def factors(self, X: Any = None, *, nodes: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """(A, B) with f(u, v) = ⟨a_u, b_v⟩ for the nodes of `fit`, all or some by their numbers, or for new ones, X."""
        check_is_fitted(self)
        some = np.arange(len(self.nodes_)) if nodes is None else np.asarray(nodes)
        K = to_numpy(self.kernel_(take(self.nodes_, some) if X is None else X, take(self.nodes_, self.labeled_)))
        own = np.full(len(K), -1)
        if X is None:
            position = np.full(len(self.nodes_), -1)
            position[self.labeled_] = np.arange(len(self.labeled_))
            own = position[some]
        return self.pairs_.factors(K, own)

    def decision_function(self, X1: Any = None, X2: Any = None) -> np.ndarray:
        """f(u, v), (m1, m2), for nodes of X1 and of X2; None is all nodes of `fit`."""
        A, B = self.factors(X1)
        return np.asarray(matmul(A, np.ascontiguousarray((B if X2 is X1 else self.factors(X2)[1]).T)))

    def scores_among(self, nodes: Any) -> np.ndarray:
        """f between some of the nodes of `fit`, given by their numbers, (m, m); the others are not scored."""
        A, B = self.factors(nodes=nodes)
        return np.asarray(matmul(A, np.ascontiguousarray(B.T)))
