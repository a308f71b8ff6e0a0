"""The models of `iokr links` behind one face: a search over parameters, and scores ⟨a_u, b_v⟩ of all nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from iokr._array import to_numpy
from iokr._component import Component, component
from iokr.estimators.links.cv import LinkPredictorCV
from iokr.estimators.links.predictor import LinkPredictor
from iokr.estimators.links.probability import root_mean_square
from iokr.estimators.pairs.network import AllPairsCV
from iokr.kernels.base import Kernel

if TYPE_CHECKING:
    from iokr.cli.links.clock import Clock
    from iokr.cli.links.model import Task

__all__ = ["METHODS", "SAMPLE", "Scored", "Sized", "fit_method", "sample_of", "searches"]

METHODS = {"iokr": "LinkPredictor", "pairs": "PairModel"}
SAMPLE, MANY = 1000, 2000  # parameters are chosen on so many labelled nodes where there are more than MANY

Matrix = NDArray[np.float64]


@component
class Sized(Component):
    """A link predictor whose scores between labelled nodes have the root mean square 1: folds can be compared.

    Parameters
    ----------
    model : estimator with `fit(X, adjacency, labeled)` and `decision_function()`
    """

    model: Any = None

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> Sized:
        """Fit a clone of the model."""
        self.model_ = clone(self.model).fit(X, adjacency, labeled=labeled)
        return self

    def decision_function(self) -> Matrix:
        """Scores of all nodes."""
        S, known = to_numpy(self.model_.decision_function()), self.model_.labeled_
        return np.asarray(S / root_mean_square(S[np.ix_(known, known)]))


@dataclass(frozen=True, eq=False)
class Scored:
    """A fitted model: factors of its scores, and the coefficients that explain them.

    f(u, v) = Σ_ij S_ij (l_ui r_vj + r_ui l_vj)/2 over training points i and j, with l and r rows of kernels.
    """

    method: str
    search: Any  # the estimator that has chosen the parameters
    A: Matrix
    B: Matrix
    points: NDArray[np.int64]  # the nodes that have coefficients
    kernel: Kernel
    sides: Callable[[NDArray[np.int64]], tuple[Matrix, Matrix]]  # (l, r) of some nodes
    weight: Callable[[NDArray[np.int64], NDArray[np.int64]], Matrix]  # S_ij of lists i, j of one shape
    sampled: int | None = None

    def size(self, labeled: NDArray[np.int64]) -> float:
        """The root mean square of scores between labelled nodes, at most a thousand of them."""
        some = labeled[np.linspace(0, len(labeled) - 1, min(SAMPLE, len(labeled))).astype(int)]
        return root_mean_square(self.A[some] @ self.B[some].T)

    def scores(self, pairs: NDArray[np.int64]) -> Matrix:
        """Of given pairs."""
        return np.asarray(np.einsum("ij,ij->i", self.A[pairs[:, 0]], self.B[pairs[:, 1]]))


def searches(task: Task) -> dict[str, Any]:
    """The estimators that choose their parameters, by method; those asked for."""
    options = task.options
    pairs: dict[str, Any] = {} if options.alphas is None else {"alphas": options.alphas}
    found = {"iokr": task.model, "pairs": AllPairsCV(task.model.kernel, scoring=options.scoring, **pairs)}
    return found if options.method == "auto" else {options.method: found[options.method]}


def sample_of(task: Task, size: int, seed: int) -> tuple[Any, Any, NDArray[np.int64]]:
    """(X, links, labelled nodes) of a random part of the network; as many unlabelled nodes where they take part."""
    rng, labeled = np.random.default_rng(seed), task.network.labeled
    some = rng.permutation(labeled)[:size]
    others = np.setdiff1d(np.arange(len(task.ids)), labeled)
    beside = rng.permutation(others)[:size] if task.options.unlabeled else others[:0]
    kept = np.sort(np.concatenate([some, beside]))
    return task.X[kept], task.graph[kept][:, kept], np.flatnonzero(np.isin(kept, some))


def fit_method(task: Task, method: str, clock: Clock, seed: int) -> Scored:
    """Parameters chosen, on a sample where there are many labelled nodes, and learned from all links."""
    labeled = task.network.labeled
    sampled = SAMPLE if len(labeled) > MANY and not task.options.all else None
    data = (task.X, task.graph, labeled) if sampled is None else sample_of(task, SAMPLE, seed)
    search = clone(searches(task)[method])
    if method == "pairs":
        clock.at(CHOOSE)
        model = search.fit(*data)
        if sampled is not None:
            clock.at(LEARN)
            model = clone(search).set_params(kernel=search.kernel_, alphas=(search.alpha_,), mixes=(search.mix_,))
            model.fit(task.X, task.graph, labeled)
        return _of_pairs(task, search, model, sampled)
    kernels, strengths = len(task.model.kernel), len(task.model.strengths or (0.0,))

    def watch(i: int, j: int) -> None:
        semi = f", strength {j + 1} of {strengths}" if strengths > 1 else ""
        clock.at(CHOOSE, (i * strengths + j + 1) / (kernels * strengths), f"kernel {i + 1} of {kernels}{semi}")

    clock.at(CHOOSE)
    search.fit(data[0], data[1], labeled=data[2], watch=watch)
    fitted: Any = search
    if sampled is not None:
        clock.at(LEARN)
        manifold = search.model_.manifold
        parts: dict[str, Any] = {"output_kernel": task.model.output_kernel, "manifold": manifold}
        fitted = LinkPredictor(search.model_.kernel, alpha=search.alpha_, **parts)
        fitted.fit(task.X, task.graph, labeled=labeled)
    return _of_links(task, search, fitted, sampled)


CHOOSE, LEARN = "choosing parameters", "learning from all links"


def _of_links(task: Task, search: LinkPredictorCV, fitted: Any, sampled: int | None) -> Scored:
    """⟨h(u), h(v)⟩ = Σ_ij k(u, i) ⟨c_i, c_j⟩ k(v, j)."""
    model, labeled = fitted.model_, task.network.labeled
    H, C = to_numpy(model.decision_function(task.X)), to_numpy(model.solution_.C)
    points = labeled if len(C) == len(labeled) else np.append(labeled, np.setdiff1d(np.arange(len(task.ids)), labeled))

    def sides(nodes: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        K = to_numpy(model.kernel_(task.X[nodes], task.X[points]))
        return K, K

    def weight(i: NDArray[np.int64], j: NDArray[np.int64]) -> Matrix:
        return np.asarray(np.einsum("...k,...k->...", C[i], C[j]))

    return Scored("iokr", search, H, H, points, model.kernel_, sides, weight, sampled)


def _of_pairs(task: Task, search: AllPairsCV, model: AllPairsCV, sampled: int | None) -> Scored:
    """Σ_ij S_ij (m_ui k_vj + k_ui m_vj)."""
    A, B = model.factors()
    labeled, S, mix = model.labeled_, model.pairs_.S, model.pairs_.mix

    def sides(nodes: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        K = to_numpy(model.kernel_(task.X[nodes], task.X[labeled]))
        M = (1 - mix) * K + mix * (nodes[:, None] == labeled[None, :])
        return M, K

    def weight(i: NDArray[np.int64], j: NDArray[np.int64]) -> Matrix:
        return np.asarray(2 * S[i, j])

    return Scored("pairs", search, A, B, labeled, model.kernel_, sides, weight, sampled)
