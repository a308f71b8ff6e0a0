"""Selection of kernel, strength and alpha for link prediction: leave-one-out AUC in closed form, or node folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from iokr._array import Array, gemm, take_rows, to_numpy
from iokr._objects import take
from iokr._validation import check_choice
from iokr.estimators.links.network import Network, fit_output_kernel
from iokr.estimators.links.predictor import LinkPredictor, LinkRegression
from iokr.estimators.regression.cv import _ALPHAS, IOKRCV, _grid
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.base import Kernel
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.metrics.pairs import pair_metrics
from iokr.model_selection.nodes import node_folds
from iokr.problem import Solution
from iokr.solvers.base import Path, Solver

__all__ = ["LinkPredictorCV", "both_areas"]

_AREAS = ("roc_auc", "average_precision")
_SCORINGS = (*_AREAS, "both")


def both_areas(roc_auc: Any, average_precision: Any) -> Any:
    """√(rp) / (√(rp) + √((1−r)(1−p))) of the areas r and p: the share whose odds are the geometric mean of theirs.

    The area under the ROC curve lies between ½ and 1 and moves by hundredths; that under the precision-recall curve
    starts from the prevalence and moves by multiples. Odds put them on one scale: doubling those of a link before
    another pair counts as much as doubling those of a link among the pairs that are named.
    """
    r, p = np.asarray(roc_auc), np.asarray(average_precision)
    good, bad = np.sqrt(r * p), np.sqrt((1 - r) * (1 - p))
    return good / (good + bad)


def _criterion(areas: dict[str, np.ndarray], scoring: str) -> np.ndarray:
    """What is maximised, where both areas are known."""
    return np.asarray(both_areas(**areas) if scoring == "both" else areas[scoring])


def _ranked(linked: np.ndarray, scores: np.ndarray) -> list[float]:
    """Both areas, from one sort."""
    figures = pair_metrics(linked, scores)
    return [figures[name] for name in _AREAS]


class _LinkSearch(IOKRCV):
    """`IOKRCV` that maximises a ranking of pairs in place of minimising squared errors."""

    links: tuple[np.ndarray, np.ndarray, np.ndarray]  # rows and columns of the pairs i < j, and whether they are linked
    scoring: str
    areas: list[np.ndarray]  # for each kernel and strength, a row per area and a column per alpha

    def _loo_errors(self, path: Path, targets: Array, alphas: list[float]) -> np.ndarray:
        rows, columns, linked = self.links
        found = []
        for alpha in alphas:
            H = targets - path.loo_residuals(targets, alpha)
            found.append(_ranked(linked, to_numpy(gemm(H, H))[rows, columns]))
        self.areas.append(np.array(found).T)
        return -_criterion(dict(zip(_AREAS, self.areas[-1], strict=True)), self.scoring)


class LinkPredictorCV(LinkRegression):
    """argmax over kernel, μ and α of the AUC of ⟨h₋ᵢ(x_i), h₋ⱼ(x_j)⟩ over labelled pairs, in closed form.

    One factorisation per kernel (and, with a strong manifold penalty, per strength) serves every alpha. The output
    kernel is held fixed in leave-one-out, so it still knows the links of the node left out and the figures are
    optimistic: they are there to choose by. `cv=5` recomputes it from the links of each training fold instead, for any
    loss.

    Parameters
    ----------
    kernel : Kernel, or a list of them, default=None
        As in `LinkPredictor`; a list is searched.
    alphas : sequence of float
        Values of λ; 19 from 1e-6 to 1e3 by default.
    strengths : sequence of float, default=None
        Values of the manifold's μ; None is its own `strength`.
    scoring : {"roc_auc", "average_precision", "both"}, default="roc_auc"
        "both" maximises √(rp) / (√(rp) + √((1−r)(1−p))), r and p the two areas: the geometric mean of their odds, for
        one model that is good by either.
    cv : int, splitter of nodes or None, default=None
        None is leave-one-out in closed form (quadratic losses); an integer is `NodeKFold(cv)`, scored on pairs with a
        node of the fold.
    output_kernel, loss, manifold, solver :
        As in `LinkPredictor`.

    Attributes
    ----------
    alpha_, strength_ : float
        The selected values.
    scores_ : array
        Axes kernel × strength × alpha, axes of length one dropped.
    areas_ : dict of str to array
        "roc_auc" and "average_precision" at the same places, whatever `scoring`.
    best_index_ : tuple of int
        Where the largest score stands.
    labeled_, threshold_, model_, output_kernel_, n_features_in_ :
        As in `LinkPredictor`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import LinkPredictorCV
    >>> from iokr.kernels import RBF
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> adjacency = (abs(X - X.T) < 0.5) - np.eye(40)
    >>> model = LinkPredictorCV([RBF(0.01), RBF(1.0)], alphas=(0.01, 1.0)).fit(X, adjacency)
    >>> model.scores_.round(2)
    array([[0.94, 0.84],
           [1.  , 1.  ]])
    >>> model.kernel_, model.alpha_
    (RBF(gamma=1.0), 0.01)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        alphas: Sequence[float] = _ALPHAS,
        strengths: Sequence[float] | None = None,
        scoring: str = "roc_auc",
        cv: Any = None,
        output_kernel: Kernel | None = None,
        loss: Loss | None = None,
        manifold: Manifold | None = None,
        solver: Solver | None = None,
    ) -> None:
        self.kernel = kernel
        self.alphas = alphas
        self.strengths = strengths
        self.scoring = scoring
        self.cv = cv
        self.output_kernel = output_kernel
        self.loss = loss
        self.manifold = manifold
        self.solver = solver

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> LinkPredictorCV:
        """Select, and learn h from the links between labelled nodes.

        Parameters
        ----------
        X, adjacency, labeled :
            As in `LinkPredictor.fit`.

        Returns
        -------
        self
        """
        check_choice(self.scoring, "scoring", _SCORINGS)
        search = self._search()
        kernels = search._kernels()
        alphas, strengths = _grid(self.alphas, "alphas", strict=True), search._strengths()
        X_labeled, V, X_unlabeled = self._prepare(X, adjacency, labeled, kernels)
        n = len(self.labeled_)
        if self.network_.graph.nnz == n * (n - 1):
            raise ValueError("Every two labelled nodes are linked, so no score tells links from other pairs.")
        if self.cv is None:
            search.links, search.areas = self._labeled_pairs(), []
            search.fit(X_labeled, V, X_unlabeled=X_unlabeled)
            self.model_, self.scores_, self.best_index_ = search, -search.loo_errors_, search.best_index_
            values = np.stack(search.areas, axis=1)
            self.areas_ = {name: v.reshape(self.scores_.shape) for name, v in zip(_AREAS, values, strict=True)}
            del search.links, search.areas  # n² numbers that the model needs no more
            self.alpha_, self.strength_ = search.alpha_, search.strength_
            self.kernel_ = search.kernel_
            return self
        areas = self._by_folds(search, kernels, strengths, alphas)
        scores = _criterion(areas, self.scoring)
        kept = tuple(s for s in scores.shape if s > 1)
        self.areas_ = {name: values.reshape(kept) for name, values in areas.items()}
        self.scores_ = scores.reshape(kept)
        self.best_index_ = tuple(int(i) for i in np.unravel_index(np.argmax(self.scores_), kept)) if kept else ()
        i, j, k = (int(b) for b in np.unravel_index(np.argmax(scores), scores.shape))
        self.alpha_, self.strength_ = alphas[k], strengths[j]
        self.model_ = IOKR(kernels[i], loss=self.loss, alpha=self.alpha_, manifold=self._manifold(), solver=self.solver)
        self.model_.fit(X_labeled, V, X_unlabeled=X_unlabeled)
        self.kernel_ = self.model_.kernel_
        return self

    def _search(self) -> _LinkSearch:
        shared = ("kernel", "alphas", "strengths", "loss", "manifold", "solver")
        search = _LinkSearch(**{name: getattr(self, name) for name in shared})
        search.scoring = self.scoring
        return search

    def _manifold(self) -> Manifold | None:
        """The manifold at the selected strength."""
        return None if self.manifold is None else clone(self.manifold).set_params(strength=self.strength_)

    def _selected(self) -> LinkPredictor:
        kernels = self._search()._kernels()
        kernel = kernels[self.best_index_[0]] if len(kernels) > 1 else kernels[0]
        return LinkPredictor(
            kernel,
            output_kernel=self.output_kernel,
            loss=self.loss,
            alpha=self.alpha_,
            manifold=self._manifold(),
            solver=self.solver,
        )

    def _by_folds(
        self, search: _LinkSearch, kernels: list[Any], strengths: list[float], alphas: list[float]
    ) -> dict[str, np.ndarray]:
        """Mean areas over the folds, of pairs with a node of the fold, whose links the model never saw."""
        if self._pairwise:
            raise ValueError("`cv` needs the Gram over all nodes: give `Precomputed(matrix)` and node numbers as X.")
        n, labeled, graph = len(self.labeled_), self.labeled_, self.network_.graph
        X, linked = take(self.nodes_, labeled), graph.toarray() > 0
        splits = list(node_folds(self.cv).split(np.arange(n)))
        areas, used = np.zeros((len(kernels), len(strengths), len(alphas), len(_AREAS))), 0
        for train, test in splits:
            new = np.isin(np.arange(n), test)
            rows, columns = np.nonzero(np.triu(new[:, None] | new[None, :], k=1))
            truth = linked[rows, columns]
            ours = np.where(new[rows], rows, columns)  # a node of the fold: only rows of these are scored
            place = np.searchsorted(np.flatnonzero(new), ours), rows + columns - ours
            part = graph[train][:, train]
            if part.nnz == 0 or not truth.any() or truth.all():
                continue
            used += 1
            network = Network(self.network_.n_nodes, labeled[train], part)
            _, V = fit_output_kernel(self.output_kernel, network)
            others = take(self.nodes_, network.unlabeled) if self.manifold is not None else None
            for i, kernel in enumerate(kernels):
                model = search._model(kernel)
                data = model._check_data(take(X, train), V, None, others, kernel)
                problem = replace(model._pose(data, kernel), strength=strengths[0])
                for j, k, C in search._grid_solutions(problem, strengths, alphas):
                    model.solution_ = Solution(C)
                    H = model._values(X)
                    areas[i, j, k] += _ranked(truth, to_numpy(gemm(take_rows(H, np.flatnonzero(new)), H))[place])
        if not used:
            raise ValueError("No fold has links to learn from and links to find; use fewer folds.")
        return dict(zip(_AREAS, np.moveaxis(areas / used, -1, 0), strict=True))
