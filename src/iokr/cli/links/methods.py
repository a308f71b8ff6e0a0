"""The models of `iokr links` behind one face: a search over parameters, and scores ⟨a_u, b_v⟩ of all nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from iokr._array import to_numpy
from iokr._component import Component, component
from iokr.estimators.links.cv import LinkPredictorCV
from iokr.estimators.links.predictor import LinkPredictor
from iokr.estimators.links.probability import root_mean_square
from iokr.estimators.links.stack import LinkStack
from iokr.estimators.pairs.network import AllPairsCV
from iokr.kernels.base import Kernel

if TYPE_CHECKING:
    from iokr.cli.links.clock import Clock
    from iokr.cli.links.model import Task

__all__ = ["COMPARED", "METHODS", "SAMPLE", "Scored", "Sized", "fit_method", "sample_of", "sample_size", "searches"]

METHODS = {"iokr": "LinkPredictor", "pairs": "PairModel", "stack": "LinkPredictor and PairModel together"}
SAMPLE, MANY = 1000, 2000  # parameters are chosen on so many labelled nodes where there are more than MANY
COMPARED = 800  # labelled nodes in the folds that compare models, at most
STACK_FOLDS = 3  # by which the models of a stack are weighed

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


class Choices(dict[Any, Any]):
    """Models with the parameters that a search has chosen, by method and training links: no search is made twice."""

    def __deepcopy__(self, memo: Any) -> Choices:
        return self

    @staticmethod
    def key(method: str, adjacency: Any, labeled: Any) -> tuple[str, bytes, bytes]:
        """What a search was given."""
        W = adjacency.tocsr()
        return method, np.asarray(labeled).tobytes(), W.indptr.tobytes() + W.indices.tobytes() + W.data.tobytes()


@component
class Search(Component):
    """A search over parameters that keeps its choice.

    Parameters
    ----------
    method : str
    model : `LinkPredictorCV` or `AllPairsCV`
    choices : Choices
    watch : callable, default=None
        Called with the part that is done, and where the search is.
    """

    method: str
    model: Any
    choices: Any
    watch: Any = None

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> Search:
        """Search, and learn."""
        watch = None if self.watch is None else partial(_told, self.method, self.model, self.watch)
        self.model_ = clone(self.model).fit(X, adjacency, labeled=labeled, watch=watch)
        self.labeled_ = self.model_.labeled_
        self.choices[Choices.key(self.method, adjacency, labeled)] = _chosen(self.method, self.model_)
        return self

    def decision_function(self) -> Matrix:
        """Scores of all nodes."""
        return np.asarray(to_numpy(self.model_.decision_function()))


@component
class Stacked(Component):
    """`LinkStack` of log-odds, whose models have the parameters that they choose alone; a score is Σ_m slope_m s_m.

    Parameters
    ----------
    searches : list of Search
    """

    searches: Any

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> Stacked:
        """Choose what has not been chosen yet, then weigh the models."""
        models = []
        for search in self.searches:
            key = Choices.key(search.method, adjacency, labeled)
            if key not in search.choices:
                clone(search).fit(X, adjacency, labeled=labeled)
            models.append(search.choices[key])
        self.stack_ = LinkStack(models, combine="logits", cv=STACK_FOLDS).fit(X, adjacency, labeled=labeled)
        self.labeled_ = self.stack_.labeled_
        return self

    def decision_function(self) -> Matrix:
        """Scores of all nodes."""
        parts = (slope * to_numpy(model.decision_function()) for slope, model in zip(*self._parts(), strict=True))
        return np.asarray(sum(parts))

    def _parts(self) -> tuple[Any, Any]:
        return self.stack_.slopes_, self.stack_.models_


def _chosen(method: str, search: Any) -> Any:
    """The model at the parameters of a search, not fitted."""
    if method == "pairs":
        model = clone(search)
        return model.set_params(kernel=clone(search.kernel_), alphas=(search.alpha_,), mixes=(search.mix_,))
    parts: dict[str, Any] = {"output_kernel": search.output_kernel, "manifold": search.model_.manifold}
    return LinkPredictor(clone(search.model_.kernel), alpha=search.alpha_, **parts)


def _told(method: str, model: Any, watch: Callable[[float, str], None], i: int, j: int, k: int) -> None:
    """Where a search is, in words and as a part of it."""
    kernels = len(model.kernel)
    if method == "iokr":
        middle, inner = len(model.strengths or (0.0,)), len(model.alphas)
        between = f", strength {j + 1} of {middle}" if middle > 1 else ""
        last = f", alpha {k + 1} of {inner}"
    else:
        middle, inner = model.cv, len(model.mixes) * len(model.alphas)
        mix, alpha = divmod(k, len(model.alphas))
        between = f", part {j + 1} of {middle}"
        last = f", mix {mix + 1} of {len(model.mixes)}, alpha {alpha + 1} of {len(model.alphas)}"
    share = ((i * middle + j) * inner + k + 1) / (kernels * middle * inner)
    watch(share, f"kernel {i + 1} of {kernels}{between}{last}")


@dataclass(frozen=True, eq=False)
class Scored:
    """A fitted model: factors of its scores, and the coefficients that explain them.

    f(u, v) = Σ_ij S_ij (l_ui r_vj + r_ui l_vj)/2 over training points i and j, with l and r rows of kernels.
    """

    method: str
    searches: dict[str, Any]  # the estimators that have chosen the parameters, by method
    A: Matrix
    B: Matrix
    points: NDArray[np.int64]  # the nodes that have coefficients
    kernel: Kernel
    sides: Callable[[NDArray[np.int64]], tuple[Matrix, Matrix]]  # (l, r) of some nodes
    weight: Callable[[NDArray[np.int64], NDArray[np.int64]], Matrix]  # S_ij of lists i, j of one shape
    sampled: int | None = None
    kernels: dict[str, Kernel] = field(default_factory=dict)  # of each search
    shares: dict[str, float] = field(default_factory=dict)  # of a stack: what each model's scores weigh

    def size(self, labeled: NDArray[np.int64]) -> float:
        """The root mean square of scores between labelled nodes, at most a thousand of them."""
        return root_mean_square(self._among(labeled))

    def deviation(self, labeled: NDArray[np.int64]) -> float:
        """Of scores between two different labelled nodes, at most a thousand of them."""
        S = self._among(labeled)
        return float(S[np.triu_indices(len(S), k=1)].std()) or 1.0

    def _among(self, labeled: NDArray[np.int64]) -> Matrix:
        some = labeled[np.linspace(0, len(labeled) - 1, min(SAMPLE, len(labeled))).astype(int)]
        return np.asarray(self.A[some] @ self.B[some].T)

    def scores(self, pairs: NDArray[np.int64]) -> Matrix:
        """Of given pairs."""
        return np.asarray(np.einsum("ij,ij->i", self.A[pairs[:, 0]], self.B[pairs[:, 1]]))


def searches(task: Task, watch: Callable[[str, float, str], None] | None = None) -> dict[str, Any]:
    """The models that choose their parameters, by method; those asked for."""
    options, choices = task.options, Choices()
    pairs: dict[str, Any] = {} if options.alphas is None else {"alphas": options.alphas}
    models = {"iokr": task.model, "pairs": AllPairsCV(task.model.kernel, scoring=options.scoring, **pairs)}
    found: dict[str, Any] = {
        method: Search(method, model, choices, None if watch is None else partial(watch, method))
        for method, model in models.items()
    }
    found["stack"] = Stacked(list(found.values()))
    return found if options.method == "auto" else {options.method: found[options.method]}


def sample_size(task: Task) -> int | None:
    """On how many labelled nodes parameters are chosen; None is all, and all others that take part."""
    n = len(task.network.labeled)
    taking_part = len(task.ids) if task.options.unlabeled else n
    return min(n, SAMPLE) if taking_part > MANY and not task.options.all else None


def sample_of(task: Task, size: int, seed: int) -> tuple[Any, Any, NDArray[np.int64]]:
    """(X, links, labelled nodes) of a random part of the network; as many unlabelled nodes where they take part."""
    rng, labeled = np.random.default_rng(seed), task.network.labeled
    some = rng.permutation(labeled)[:size]
    others = np.setdiff1d(np.arange(len(task.ids)), labeled)
    beside = rng.permutation(others)[: max(size, COMPARED)] if task.options.unlabeled else others[:0]
    kept = np.sort(np.concatenate([some, beside]))
    return task.X[kept], task.graph[kept][:, kept], np.flatnonzero(np.isin(kept, some))


def fit_method(task: Task, method: str, clock: Clock, seed: int) -> Scored:
    """Parameters chosen, on a sample where there are many labelled nodes, and learned from all links."""
    labeled, sampled = task.network.labeled, sample_size(task)
    data = (task.X, task.graph, labeled) if sampled is None else sample_of(task, sampled, seed)
    parts = ["iokr", "pairs"] if method == "stack" else [method]

    def watch(name: str, share: float, where: str) -> None:
        several = f"{METHODS[name]}, " if len(parts) > 1 else ""
        clock.at(CHOOSE, (parts.index(name) + share) / len(parts), several + where)

    models = searches(replace(task, options=replace(task.options, method="auto")), watch)
    clock.at(CHOOSE)
    found = {name: clone(models[name]).fit(*data) for name in parts}
    slopes = _slopes(models["stack"], data) if method == "stack" else {}
    if sampled is not None:
        clock.at(LEARN)
    scored = []
    for k, name in enumerate(parts):
        search = found[name].model_
        if sampled is not None:
            fitted = _chosen(name, search).fit(task.X, task.graph, labeled=labeled)
            clock.at(LEARN, (k + 1) / len(parts), METHODS[name])
        else:
            fitted = search
        scored.append((_of_links if name == "iokr" else _of_pairs)(task, search, fitted, sampled))
    return _together(scored, slopes, labeled) if method == "stack" else scored[0]


def _slopes(stacked: Stacked, data: Any) -> dict[str, float]:
    """What scores in units of their deviation weigh, by method."""
    stack = clone(stacked).fit(*data).stack_
    weights = stack.weights_ * stack.lines_[:, 0]
    return dict(zip(("iokr", "pairs"), weights.tolist(), strict=True))


def _together(scored: list[Scored], slopes: dict[str, float], labeled: NDArray[np.int64]) -> Scored:
    """Σ_m slope_m s_m/deviation_m as one model: factors and points of both, no term between them."""
    one, other = scored
    c, d = (slopes[part.method] / part.deviation(labeled) for part in scored)
    n = len(one.points)

    def sides(nodes: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        (L, R), (M, K) = one.sides(nodes), other.sides(nodes)
        return np.hstack([L, M]), np.hstack([R, K])

    def weight(i: NDArray[np.int64], j: NDArray[np.int64]) -> Matrix:
        i, j = np.broadcast_arrays(i, j)
        first, second = (i < n) & (j < n), (i >= n) & (j >= n)
        S = np.zeros(i.shape)
        S[first] = c * one.weight(i[first], j[first])
        S[second] = d * other.weight(i[second] - n, j[second] - n)
        return S

    return Scored(
        "stack",
        one.searches | other.searches,
        np.hstack([c * one.A, d * other.A]),
        np.hstack([one.B, other.B]),
        np.concatenate([one.points, other.points]),
        one.kernel,
        sides,
        weight,
        one.sampled,
        one.kernels | other.kernels,
        slopes,
    )


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

    kernel = model.kernel_
    return Scored("iokr", {"iokr": search}, H, H, points, kernel, sides, weight, sampled, {"iokr": kernel})


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

    kernel = model.kernel_
    return Scored("pairs", {"pairs": search}, A, B, labeled, kernel, sides, weight, sampled, {"pairs": kernel})
